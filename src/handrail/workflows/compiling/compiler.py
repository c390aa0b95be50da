"""The compiler: it turns an authored workflow into a pinned one and every problem. Pure.

Order: expand templates, apply features, inject capability probes, resolve names, render prompts,
normalise, freeze. The same meaning gives the same hash on every machine. No customisation silently
removes a step with proof, with a question to a person, or an action.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import msgspec

from handrail.contract.ids import WorkflowHash, blob_ref
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault, make_from
from handrail.workflows.compiled import (
    COMPILED_VERSION,
    WITH_CHILDREN,
    WITH_EVIDENCE,
    WITH_PROOF,
    Action,
    Choice,
    CompiledBase,
    CompiledWorkflow,
    Delegate,
    Leaf,
    LeftOut,
    Part,
    Pinned,
    Step,
    decode_compiled,
    list_leaves,
    list_wanted_checks,
)
from handrail.workflows.compiling.assemble import Assembly, add_probes, assemble, loop_deciders
from handrail.workflows.compiling.children import ChildCompiler, check_count
from handrail.workflows.compiling.compilation import (
    BaseCompilation,
    Compilation,
    ConditionTable,
    Placed,
    Surroundings,
    find_first_steps,
    find_implicit_inputs,
    name_origins,
    placeholder_names,
    pointer_of,
    to_plain_json,
    walk,
)
from handrail.workflows.compiling.expand_templates import collect_feature_texts, expand_templates
from handrail.workflows.compiling.shelf import Shelf
from handrail.workflows.contracts.heavy_parts import find_heavy_parts
from handrail.workflows.contracts.own_members import list_own_members
from handrail.workflows.evidence import CoversChange
from handrail.workflows.limits import RESERVED_NAMESPACE
from handrail.workflows.model import Displaced, SourceOverlay, SourceSlot, SourceWorkflow
from handrail.workflows.problem import Findings, is_within


def compile_workflow(
    source: SourceWorkflow, surroundings: Surroundings | None = None, above: tuple[str, ...] = ()
) -> Compilation:
    """Expand, resolve, render and freeze. Total: every error becomes a problem, all of them at
    once.

    `above` are the workflows that delegate this one, the outermost first.
    """
    around = Surroundings() if surroundings is None else surroundings
    trail = Findings(has_open_names=source.has_open_names)
    expanded, source = expand_templates(source, around, trail)
    parts = add_probes(source, name_origins(source, expanded))
    pointers = {part.id: pointer_of(part) for part in walk(parts)}
    children = ChildCompiler(
        source,
        around,
        trail,
        above,
        # The base is that of the whole: with it, each child would change whenever the base does.
        lambda child: compile_workflow(
            child, msgspec.structs.replace(around, base=None), (*above, source.id)
        ),
    )
    check_count(source, trail)
    try:
        workflow = _compiled(source, around, parts, trail, children)
        _report_heavy(source, workflow, pointers, trail)
        pinned = None if trail.has_errors else _freeze(workflow, tuple(children.pins.values()), source.slots)
    except Fault as fault:  # RFC 8785 takes I-JSON only: 2^53 + 1 in a default, a schema or a condition
        fix = fault.hint or "Write a value that every JSON reader keeps."
        trail.report("bad_value", "", fault.message, fix)
        pinned = None
    return Compilation(
        pinned=pinned,
        problems=tuple(trail.problems),
        inline=tuple(children.inline),
        pointers=pointers,
    )


def _compiled(
    source: SourceWorkflow,
    around: Surroundings,
    parts: tuple[Placed, ...],
    trail: Findings,
    children: ChildCompiler,
) -> CompiledWorkflow:
    truths = [name for name, spec in source.inputs.items() if spec.type == "boolean"]
    table = ConditionTable(source.conditions, trail, truths)
    for slot in source.slots:
        if slot.when is not None:  # an unknown name is reported; an empty slot compiles to nothing
            table.condition(slot.when)
    shelf = Shelf(around, source, trail)
    assembly = Assembly(
        source=source,
        table=table,
        shelf=shelf,
        trail=trail,
        features=collect_feature_texts(source, trail),
        deciders=loop_deciders(parts, table, trail),
        first=find_first_steps(parts, table),
        children=children,
    )
    steps = assemble(assembly, parts)
    conditions = table.sorted()
    contracts = shelf.used_contracts()
    kinds = frozenset(contract.artifact_kind for contract in contracts.values())
    implicit = find_implicit_inputs(steps, conditions, source.functions, source.inputs, kinds)
    if children.is_outermost:  # a child delivers but a part of what its customisation tightens
        shelf.report_untightened(children.contracts_inside())
    base = None
    if source.overlay is not None and around.base is not None:
        base = describe_base(source.overlay, around.base, trail)
        _warn_of_lost_values(source.overlay, around.base, steps, trail)
    rules = [rule for contract in contracts.values() for rule in contract.evidence]
    looks = bool(rules) or any(list_wanted_checks(steps))
    is_new = any(isinstance(rule, CoversChange) for rule in rules)
    plain = WITH_EVIDENCE if looks else COMPILED_VERSION
    handed = WITH_CHILDREN if any(_waits_for_others(leaf) for leaf in list_leaves(steps)) else plain
    return make_from(
        CompiledWorkflow,
        source,
        v=WITH_PROOF if is_new or any(_wants_proof(leaf) for leaf in list_leaves(steps)) else handed,
        inputs=dict(sorted({**implicit, **source.inputs}.items())),
        capabilities=dict(sorted(source.capabilities.items())),
        conditions=conditions,
        contracts=contracts,
        functions=dict(sorted(source.functions.items())),
        steps=steps,
        base=base,
    )


def _waits_for_others(leaf: Leaf) -> bool:
    """Whether the step needs a program that supports delegation and named confirmers."""
    return isinstance(leaf, Delegate) or (isinstance(leaf, Step) and bool(leaf.confirmed_by))


def _wants_proof(leaf: Leaf) -> bool:
    """Whether a step uses what version 4 added: a proof, required outputs, a marked option."""
    match leaf:
        case Step():
            return leaf.proof is not None or bool(leaf.requires)
        case Choice():
            return any(option.irreversible or option.recommended for option in leaf.options)
        case Action() | Delegate():
            return False
        case never:
            assert_never(never)


def _report_heavy(
    source: SourceWorkflow, workflow: CompiledWorkflow, pointers: dict[str, str], trail: Findings
) -> None:
    """Report parts that would keep a run busy, whoever wrote them."""
    places = {name: f"/conditions/{place}" for place, name in enumerate(source.conditions)}
    for found in find_heavy_parts(workflow):
        pointer = pointers.get(found.part_id, "") or places.get(found.condition_id, "")
        here = f"{pointer}/validation" if found.key == "validation" else pointer
        trail.report("too_large", here, found.message, found.fix)


def _freeze(
    workflow: CompiledWorkflow, children: tuple[Pinned, ...], slots: tuple[SourceSlot, ...]
) -> Pinned:
    content = canonical_bytes(to_plain_json(workflow))
    # What a run gets later is decoded from these bytes, so the first step sees exactly that, too.
    return Pinned(
        workflow=decode_compiled(content),
        content=content,
        workflow_hash=WorkflowHash(blob_ref(content)),
        children=children,
        slots=tuple(one.place for one in slots),
    )


# What no customisation takes away quietly


def describe_base(overlay: SourceOverlay, base: BaseCompilation, trail: Findings) -> CompiledBase:
    """Return the base in its pinned form, with the guarded steps that the customisation skips or
    rewrites.

    A bundled workflow may lose none of them, so that is reported.
    """
    workflow = base.pinned.workflow
    left_out: list[LeftOut] = []
    for displaced, leaf in _list_displaced(overlay, base):
        reason = _guard_of(leaf, workflow)
        if not reason:
            continue
        left_out.append(LeftOut(id=leaf.id, title=leaf.title, how=displaced.how))
        if workflow.id.startswith(RESERVED_NAMESPACE):
            message = f"{leaf.id} of {workflow.id} {reason}, so a customisation does not {displaced.how} it."
            fix = "Append or prepend a text instead, or copy the workflow under an id of your own."
            trail.report("bad_value", displaced.pointer, message, fix)
    return CompiledBase(id=workflow.id, hash=base.pinned.workflow_hash, left_out=tuple(left_out))


def _warn_of_lost_values(
    overlay: SourceOverlay, base: BaseCompilation, steps: tuple[Part, ...], trail: Findings
) -> None:
    """Warn if a new text no longer inserts, or asks for, a value that the base's text does."""
    kept = {leaf.id: _list_named(leaf) for leaf in list_leaves(steps)}
    for displaced, leaf in _list_displaced(overlay, base):
        lost = ", ".join(one for one in _list_named(leaf) if one not in kept.get(leaf.id, _list_named(leaf)))
        if lost:
            message = f"The text of {leaf.id} in the base has {lost}, and this one does not."
            fix = f"Write {lost} where the agent has to know it, or append a text instead."
            trail.warn("unused", displaced.pointer, message, fix)


def _list_named(leaf: Leaf) -> dict[str, None]:
    """Return the values of a text as they are written: inserted ones, and those that the step delivers."""
    inserted = placeholder_names(leaf.prompt) if isinstance(leaf, Step | Choice) else ()
    asked = leaf.asks if isinstance(leaf, Step) else ()
    return dict.fromkeys([*(f"{{{{{name}}}}}" for name in inserted), *(f"context.{name}" for name in asked)])


def _list_displaced(overlay: SourceOverlay, base: BaseCompilation) -> Iterator[tuple[Displaced, Leaf]]:
    """Yield the compiled steps of a displaced part: itself, those inside it, or those made from it."""
    for displaced in overlay.displaced:
        for leaf in list_leaves(base.pinned.workflow.steps):
            place = base.pointers.get(leaf.id, "")
            if leaf.id in displaced.ids or is_within(place, displaced.base_pointer):
                yield displaced, leaf


def _guard_of(leaf: Leaf, workflow: CompiledWorkflow) -> str:
    match leaf:
        case Step():
            contract = workflow.contracts[leaf.contract] if leaf.contract else None
            is_looked_at = contract and (contract.evidence or list_own_members(contract.schema))
            if leaf.check or leaf.proof or is_looked_at:
                return "has to be proven"
            return "asks a person" if leaf.require_confirmation or leaf.user_only else ""
        case Choice():
            return "asks a person" if leaf.non_assumable else ""
        case Action():
            return "is an action"
        case Delegate():
            return "delegates work"
        case never:
            assert_never(never)
