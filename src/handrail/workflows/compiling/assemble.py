"""Turn placed parts into compiled ones: prompts rendered, conditions named, contracts embedded. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, assert_never

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json, make_from
from handrail.workflows.builtins.prompt_texts import CAPABILITIES, make_observation
from handrail.workflows.builtins.specs import CapabilitySpec, Site
from handrail.workflows.compiled import (
    VALUE_PREFIX,
    Action,
    Choice,
    Contract,
    Count,
    Delegate,
    ForEach,
    Fragment,
    Gate,
    InputSpec,
    Loop,
    Part,
    Provenance,
    Repeat,
    Step,
    Until,
    While,
)
from handrail.workflows.compiling.children import ChildCompiler, check_delegate
from handrail.workflows.compiling.compilation import (
    ConditionTable,
    Placed,
    PlacedLeaf,
    PlacedLoop,
    report_unknown,
    walk,
)
from handrail.workflows.compiling.expand_templates import CAPABILITY_OBSERVATION, FeatureTexts
from handrail.workflows.compiling.shelf import Shelf
from handrail.workflows.conditions import asks_for_decision
from handrail.workflows.contracts.field_lines import describe_fields
from handrail.workflows.limits import MAX_PROMPT_BYTES
from handrail.workflows.model import (
    PromptBlocks,
    PromptPart,
    RefPart,
    RepeatUntil,
    RepeatWhile,
    SourceAction,
    SourceChoice,
    SourceDelegate,
    SourceGate,
    SourceRepeat,
    SourceStep,
    SourceWorkflow,
    value_named,
)
from handrail.workflows.part_contents import texts_of
from handrail.workflows.problem import (
    NO_EDIT,
    Findings,
    guess_name,
    guess_surely,
    quote_name,
    rename_key,
    replace_value,
)
from handrail.workflows.prompt_sections import (
    ARTIFACT_TO_DELIVER,
    ASSESSMENT_TO_REPORT,
    QUESTIONS,
    make_section,
    make_user_section,
    show_example,
)
from handrail.workflows.reading.repairs import find_free_id

# The step that decides for its loop
#
# A loop that asks for a decision gets one from a step of its body that declares the contract, else from the
# last one (DESIGN section 9).

LOOP_CONTROL = "wr.contracts.loop_control"


def loop_deciders(parts: tuple[Placed, ...], table: ConditionTable, trail: Findings) -> Mapping[str, str]:
    """Map the id of each deciding step to the id of its loop."""
    deciders: dict[str, str] = {}
    for part in walk(parts):
        if isinstance(part, PlacedLoop):
            steps = [
                leaf.part
                for leaf in part.body
                if isinstance(leaf, PlacedLeaf) and isinstance(leaf.part, SourceStep)
            ]
            declared = [step.id for step in steps if step.contract_ref == LOOP_CONTROL]
            deciders.update(dict.fromkeys(declared, part.id))
            if not declared and _wants_decision(part, table):
                deciders.update(_appointed(part, steps, trail))
    return deciders


def _appointed(loop: PlacedLoop, steps: list[SourceStep], trail: Findings) -> dict[str, str]:
    if not steps:
        message = f"The loop {loop.id} waits for a decision, but its body has no step that could take it."
    elif steps[-1].contract_ref:
        message = f"The last step of the loop {loop.id} delivers something else, so nothing decides."
    else:
        return {steps[-1].id: loop.id}
    fix = f"End the body with a step whose output.contractRef is {LOOP_CONTROL}."
    trail.report("loop_without_decision", loop.loop.pointer, message, fix)
    return {}


def _wants_decision(loop: PlacedLoop, table: ConditionTable) -> bool:
    match loop.loop.repeat:
        case RepeatWhile(condition=when) | RepeatUntil(condition=when):
            return asks_for_decision(table.condition(when))
        case _:
            return False


# Probes for required capabilities, before all other steps
#
# EXEC "Capabilities": required is probed early; preferred is tried where it is needed.


def add_probes(source: SourceWorkflow, parts: tuple[Placed, ...]) -> tuple[Placed, ...]:
    """Put a probe in front for each required capability that no part observes first."""
    taken = {part.id for part in walk(parts)}
    probes = tuple(
        _probe(spec, taken)
        for spec in CAPABILITIES
        if source.capabilities.get(spec.id) == "required" and not _is_probed(parts, spec.id)
    )
    return (*probes, *parts)


def _is_probed(parts: tuple[Placed, ...], capability: str) -> bool:
    """Whether a step that always runs observes it: a top-level one without a condition."""
    return any(
        isinstance(part, PlacedLeaf) and part.capability == capability and not part.whens for part in parts
    )


def _probe(spec: CapabilitySpec, taken: set[str]) -> PlacedLeaf:
    step_id = find_free_id(f"probe_{spec.id}", taken)
    taken.add(step_id)
    return PlacedLeaf(
        part=SourceStep(
            id=step_id,
            title=f"Probe: {spec.title}",
            prompt=spec.probe,
            contract_ref=CAPABILITY_OBSERVATION,
            pointer=f"/capabilities/{spec.id}",
        ),
        provenance=Provenance(kind="capability_probe", origin=spec.id),
        capability=spec.id,
    )


# Compiled parts

ASSESSMENT = "wr.contracts.assessment"
NOTES = "notes"
_NOTES_NEEDED = "This step needs notes."
_NAMES_OF_NOTES = frozenset({"notes", "notesmarkdown", "notes_markdown"})


class Assembly(msgspec.Struct, frozen=True, kw_only=True):
    """Everything with which the parts of one workflow are built."""

    source: SourceWorkflow
    table: ConditionTable
    shelf: Shelf
    trail: Findings
    features: FeatureTexts
    deciders: Mapping[str, str]
    """Deciding steps, each with its loop."""
    first: frozenset[str]
    """Steps with which a run can begin."""
    children: ChildCompiler


def assemble(assembly: Assembly, parts: tuple[Placed, ...]) -> tuple[Part, ...]:
    return tuple(_part(assembly, part) for part in parts)


def _part(assembly: Assembly, placed: Placed) -> Part:
    if isinstance(placed, PlacedLoop):
        return _loop(assembly, placed)
    match placed.part:
        case SourceStep() as step:
            return _step(assembly, placed, step)
        case SourceChoice() as choice:
            return _choice(assembly, placed, choice)
        case SourceAction() as action:
            when = assembly.table.id_of(*placed.whens)
            title = action.title.strip()
            return make_from(Action, action, title=title, when=when, provenance=placed.provenance)
        case SourceDelegate() as delegate:
            return _delegate(assembly, placed, delegate)
        case never:
            assert_never(never)


def _delegate(assembly: Assembly, placed: PlacedLeaf, step: SourceDelegate) -> Delegate:
    check_delegate(step, assembly.trail)
    made = [
        assembly.children.compile(step, child, assembly.table.id_of(child.when)) for child in step.children
    ]
    return make_from(
        Delegate,
        step,
        title=step.title.strip(),
        children=tuple(child for child in made if child is not None),
        when=assembly.table.id_of(*placed.whens),
        provenance=placed.provenance,
    )


def _step(assembly: Assembly, placed: PlacedLeaf, step: SourceStep) -> Step:
    contract_id, contract = _contract(assembly, placed, step)
    required = _require_outputs(assembly, step, contract_id)
    others = [assembly.shelf.contract(one, step.pointer) for one in required if not value_named(one)]
    asked_for = step.require_confirmation
    gates = tuple(gate for one in step.gates if (gate := _gate(assembly, one)) is not None)
    own = step.prompt if step.blocks is None else render_blocks(step.blocks, assembly.shelf.ref_text)
    hints = [
        *step.hints,
        *([_NOTES_NEEDED] if step.notes_required or NOTES in step.requires else []),
        *_describe_values(assembly.source, step, required),
    ]
    asked = [
        make_user_section(step.user_only) if step.user_only else "",
        *map(_gate_lines, gates),
        _artifact(contract, _example(assembly, placed, contract_id, contract)),
        *(_artifact(other, {} if other is None else other.example) for other in others),
    ]
    beside = [
        make_section("Guidance", _bullets(step.guidance)),
        make_section("Hints", _bullets(hints)),
    ]
    site = Site(contract_id=contract_id, artifact_kind=contract.artifact_kind if contract else "")
    compiled = make_from(
        Step,
        step,
        title=step.title.strip(),
        prompt=_render_prompt(assembly, placed, site, [own, *beside], asked, step.agent_role),
        fragments=tuple(
            Fragment(when=assembly.table.id_of(one.when), text=one.text) for one in step.fragments
        ),
        when=assembly.table.id_of(*placed.whens),
        require_confirmation=asked_for if isinstance(asked_for, bool) else assembly.table.id_of(asked_for),
        contract=contract_id,
        gates=gates,
        functions=assembly.shelf.function_names(step.function_refs, f"{step.pointer}/functionRefs"),
        capability=placed.capability,
        notes_required=_needs_notes(step),
        asks=_list_asks(step),
        requires=required,
        provenance=placed.provenance,
    )
    _check_budget(assembly, compiled, step.pointer)
    return compiled


def _needs_notes(step: SourceStep) -> bool:
    """Whether the author requires notes: by the key, or by a prompt block that asks for them."""
    names = () if step.notes_optional else _list_required(step)
    parts = (name.rpartition(".")[2].lower() for name in names if not value_named(name))
    is_required = step.notes_required or NOTES in step.requires
    return is_required or any(part in _NAMES_OF_NOTES for part in parts)


def _list_asks(step: SourceStep) -> tuple[str, ...]:
    """Return the values that the author wants delivered; one that only the user gives is asked for
    as such.
    """
    values = dict.fromkeys(map(value_named, (*_list_required(step), *step.requires)))
    return tuple(one for one in values if one and (step.user_only is None or one != step.user_only.input))


def _require_outputs(assembly: Assembly, step: SourceStep, contract_id: str) -> tuple[str, ...]:
    """Return the requirements of a step besides notes and its own contract; the order has no meaning."""
    found = {contract_id, ""}
    for place, name in enumerate(step.requires):
        pointer = f"{step.pointer}/requires/{place}"
        value = value_named(name)
        if name == NOTES:
            if step.notes_optional:
                message = "The step requires notes, and notesOptional says that it needs none."
                assembly.trail.report("bad_value", pointer, message, "Remove one of them.")
        elif value and name != f"{VALUE_PREFIX}{value}":
            message = f"{quote_name(name)} is a member of a value; a step requires a whole value."
            fix = f"Write {VALUE_PREFIX}{value}."
            edit = replace_value(pointer, f"{VALUE_PREFIX}{value}")
            assembly.trail.report("bad_value", pointer, message, fix, edit)
        else:
            found.add(name if value else assembly.shelf.contract_of_kind(name, pointer))
    return tuple(sorted(found - {contract_id, ""}))


def _describe_values(source: SourceWorkflow, step: SourceStep, required: Iterable[str]) -> list[str]:
    """Return hints about required values that the prompt does not name itself."""
    named = set(map(value_named, _list_required(step)))
    values = (value_named(one) for one in required)
    return [_describe_value(source, name) for name in values if name and name not in named]


def _describe_value(source: SourceWorkflow, name: str) -> str:
    """Return the hint that a value is required, with what is accepted and the placeholder for it."""
    spec = source.inputs.get(name, InputSpec())
    allowed = f" ({', '.join(map(_spell_value, spec.enum))})" if spec.enum else ""
    if spec.default is msgspec.UNSET:
        return f"This step needs {VALUE_PREFIX}{name}{allowed}."
    default = _spell_value(spec.default)
    return f"Send {VALUE_PREFIX}{name}{allowed}; if nobody sends it, {default} holds."


def _spell_value(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _list_required(step: SourceStep) -> tuple[str, ...]:
    """Return the names of what the prompt of a step wants delivered."""
    return () if step.blocks is None else tuple(name for name, _ in step.blocks.output_required)


def _render_prompt(
    assembly: Assembly, placed: PlacedLeaf, site: Site, own: list[str], asked: list[str], role: str = ""
) -> str:
    """Return the whole prompt: the part's own text, its requirements, and what the workflow adds
    around them.

    The step's own role takes precedence (EXEC "AgentRole").
    """
    source = assembly.source
    is_first = placed.id in assembly.first
    role = role.strip() or source.agent_role.strip()
    site = msgspec.structs.replace(site, is_first=is_first, is_probe=bool(placed.capability))
    before, after = assembly.features.around(site)
    opening = [
        make_section("Before you begin, make sure of this", _bullets(source.preconditions)),
        make_section(QUESTIONS, _bullets(source.questions)),
    ]
    rules = make_section("Rules for every step", _bullets(source.guidance))
    stance = f"Role: {role}" if role else ""
    return _joined([stance, *before, *(opening if is_first else ()), *own, rules, *asked, *after])


def _contract(assembly: Assembly, placed: PlacedLeaf, step: SourceStep) -> tuple[str, Contract | None]:
    contract_id = step.contract_ref or (LOOP_CONTROL if placed.id in assembly.deciders else "")
    if not contract_id:
        return "", None
    contract = assembly.shelf.contract(contract_id, f"{step.pointer}/output/contractRef")
    return ("", None) if contract is None else (contract_id, contract)


def _example(
    assembly: Assembly, placed: PlacedLeaf, contract_id: str, contract: Contract | None
) -> dict[str, Json]:
    """Return the contract's example, adapted to its place, so that a copy of it is accepted there."""
    if contract is None:
        return {}
    example = dict(contract.example)
    if contract_id == LOOP_CONTROL and placed.id in assembly.deciders:
        example["loopId"] = assembly.deciders[placed.id]
    if contract_id == CAPABILITY_OBSERVATION and placed.capability:
        return make_observation(example, placed.capability)
    return example


def _gate(assembly: Assembly, gate: SourceGate) -> Gate | None:
    declared = {one.id: one for one in assembly.source.assessments}
    assessment = declared.get(gate.assessment_id)
    if assessment is None:
        stand_in = "The step reports no assessment."
        place = f"{gate.pointer}/assessmentId"
        report_unknown(assembly.trail, "assessment", gate.assessment_id, declared, place, stand_in)
        return None
    assembly.shelf.contract(ASSESSMENT, gate.pointer)
    levels = {level for levels in assessment.dimensions.values() for level in levels}
    for level in sorted(set(gate.followups) - levels):
        _unknown_level(assembly, gate, level, levels)
    return Gate(
        assessment_id=gate.assessment_id,
        purpose=assessment.purpose,
        dimensions=assessment.dimensions,
        followups={level: text for level, text in sorted(gate.followups.items()) if level in levels},
    )


def _unknown_level(assembly: Assembly, gate: SourceGate, level: str, levels: set[str]) -> None:
    """Report a follow-up for a level that the assessment does not have; it is a key, so the edit
    renames it.
    """
    trail, place = assembly.trail, join_pointer(f"{gate.pointer}/followups", level)
    free = [one for one in levels if one not in gate.followups]
    near, sure = guess_name(level, free), guess_surely(level, free)
    fix = f"Did you mean {near}?" if near else f"Use one of {', '.join(sorted(levels))}."
    stand_in = " Nothing follows from it." if trail.has_open_names else ""
    message = f"There is no level of {gate.assessment_id}: {quote_name(level)}.{stand_in}"
    edit = rename_key(place, sure) if sure else NO_EDIT
    trail.report("unknown_id", place, message, fix, edit, severity=trail.severity_of_unknown)


def _choice(assembly: Assembly, placed: PlacedLeaf, choice: SourceChoice) -> Choice:
    compiled = make_from(
        Choice,
        choice,
        title=choice.title.strip(),
        options=tuple(
            msgspec.structs.replace(one, irreversible=one.irreversible or choice.irreversible)
            for one in choice.options
        ),
        prompt=_render_prompt(assembly, placed, Site(), [choice.prompt], []),
        when=assembly.table.id_of(*placed.whens),
        provenance=placed.provenance,
    )
    _check_budget(assembly, compiled, choice.pointer)
    return compiled


def _loop(assembly: Assembly, placed: PlacedLoop) -> Loop:
    return Loop(
        id=placed.id,
        repeat=_repeat(assembly, placed.loop.repeat),
        max_iterations=placed.loop.max_iterations,
        body=assemble(assembly, placed.body),
        when=assembly.table.id_of(*placed.whens),
        provenance=placed.provenance,
    )


def _repeat(assembly: Assembly, repeat: SourceRepeat) -> Repeat:
    match repeat:
        case RepeatWhile(condition=when):
            return While(condition=assembly.table.id_of(when))
        case RepeatUntil(condition=when):
            return Until(condition=assembly.table.id_of(when))
        case ForEach() | Count():
            return repeat
        case never:
            assert_never(never)


def _check_budget(assembly: Assembly, part: Step | Choice, pointer: str) -> None:
    """Report a prompt that is too long, because a prompt is never cut.

    The longest form counts: with all its fragments, and with its functions after a rehydrate.
    """
    size = len("\n\n".join(texts_of(part, assembly.source.functions)).encode())
    if size > MAX_PROMPT_BYTES:
        message = f"The prompt of {part.id} has {size} bytes when rendered; the limit is {MAX_PROMPT_BYTES}."
        fix = "Split the step, or move shared text into a reference."
        assembly.trail.report("too_large", pointer, message, fix)


# Prompts as an agent reads them: fixed headings in a fixed order, the same source the same text.


RefText: TypeAlias = Callable[[RefPart], str]


def render_blocks(blocks: PromptBlocks, ref_text: RefText) -> str:
    """Return the five blocks, each under its own heading (EXEC "PromptBlocks")."""

    def texts(parts: tuple[PromptPart, ...]) -> list[str]:
        return [part if isinstance(part, str) else ref_text(part) for part in parts]

    required = [(name, texts((part,))[0]) for name, part in blocks.output_required]
    return _joined(
        [
            make_section("Goal", _joined(texts(blocks.goal))),
            make_section("Constraints", _bullets(texts(blocks.constraints))),
            make_section("Procedure", _numbers(texts(blocks.procedure))),
            make_section("Output required", _bullets(f"{name}: {text.strip()}" for name, text in required)),
            make_section("Verify", _bullets(texts(blocks.verify))),
        ]
    )


def gate_example(gate: Gate) -> dict[str, Json]:
    """Return a report that lets the run continue: of each dimension the first level that requires nothing."""
    levels = {
        name: next((level for level in levels if level not in gate.followups), levels[0])
        for name, levels in gate.dimensions.items()
    }
    return {"kind": "wr.assessment", "assessmentId": gate.assessment_id, "dimensions": levels}


def _artifact(contract: Contract | None, example: dict[str, Json]) -> str:
    if contract is None:
        return ""
    body = _joined([contract.guidance, show_example(example), _bullets(describe_fields(contract.schema))])
    return make_section(f"{ARTIFACT_TO_DELIVER}{contract.artifact_kind}", body)


def _gate_lines(gate: Gate) -> str:
    levels = _bullets(f"{name}: {', '.join(levels)}" for name, levels in sorted(gate.dimensions.items()))
    asked = f"Report one level for each dimension:\n{levels}"
    body = _joined([gate.purpose, asked, show_example(gate_example(gate))])
    return make_section(f"{ASSESSMENT_TO_REPORT}{gate.assessment_id}", body)


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {_hung(item, 2)}" for item in items if item.strip())


def _numbers(items: Iterable[str]) -> str:
    kept = [item for item in items if item.strip()]
    return "\n".join(f"{place}. {_hung(item, 3)}" for place, item in enumerate(kept, 1))


def _hung(text: str, indent: int) -> str:
    """Return text with later lines indented under the first, so that a list stays one list."""
    return text.strip().replace("\n", "\n" + " " * indent)


def _joined(pieces: Iterable[str]) -> str:
    return "\n\n".join(piece.strip() for piece in pieces if piece.strip())
