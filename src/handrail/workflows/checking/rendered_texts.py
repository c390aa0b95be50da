"""Placeholders in prompts as a run renders them: what contracts, features and templates bring along. Pure.

What the author wrote is checked in its own place. This file checks the rest of what an agent reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from handrail.workflows.checking.names import UNSURE, Slot, slots_in
from handrail.workflows.compiled import (
    Choice,
    CompiledWorkflow,
    Leaf,
    Loop,
    Part,
    Step,
    loop_variables,
    names_set_inside,
)
from handrail.workflows.reading.findings import Findings, guess_name, quote_name


def check_rendered(found: Findings, workflow: CompiledWorkflow, pointers: Mapping[str, str]) -> None:
    """Report every placeholder that nothing fills, once for each part that shows it."""
    declared = {name for name, spec in workflow.inputs.items() if not spec.implicit}
    given = frozenset(declared | set(names_set_inside(workflow.steps)))
    for leaf, known in _leaves(workflow.steps, given):
        told: set[str] = set()
        for text in _texts(leaf, workflow.functions):
            for slot in slots_in(text, known):
                written = text[slot.start : slot.end]
                is_filled = slot.kind in UNSURE or (slot.kind == "name" and slot.name in known)
                if not is_filled and written not in told:
                    told.add(written)
                    _report(found, workflow, leaf, slot, written, known, pointers.get(leaf.id, ""))


def _report(
    found: Findings,
    workflow: CompiledWorkflow,
    leaf: Leaf,
    slot: Slot,
    written: str,
    known: frozenset[str],
    pointer: str,
) -> None:
    contract = workflow.contracts.get(leaf.contract) if isinstance(leaf, Step) else None
    is_of_contract = contract is not None and written in contract.guidance
    near = guess_name(slot.name, known) if slot.name else ""
    origin = f"the contract {leaf.contract}" if is_of_contract and isinstance(leaf, Step) else "its prompt"
    message = f"Nothing fills {quote_name(written)}, which {leaf.id} shows from {origin}."
    fix = f"Did you mean {{{{{near}}}}}?" if near else f"Declare {quote_name(slot.name)} under inputs."
    if slot.kind != "name":
        fix = "Write a declared name in double braces there, or say it in words."
    # A template of another collection gets its names from whoever calls it, and a run asks for them.
    is_certain = slot.kind == "name" and leaf.provenance.kind != "template"
    tell = found.report if is_certain else found.warn
    tell("bad_placeholder", f"{pointer}/output/contractRef" if is_of_contract else pointer, message, fix)


def _leaves(parts: tuple[Part, ...], known: frozenset[str]) -> Iterator[tuple[Leaf, frozenset[str]]]:
    for part in parts:
        if isinstance(part, Loop):
            yield from _leaves(part.body, known | loop_variables(part))
        else:
            yield part, known


def _texts(leaf: Leaf, functions: Mapping[str, str]) -> list[str]:
    match leaf:
        case Step():
            named = [functions[name] for name in leaf.functions if name in functions]
            return [leaf.prompt, *(fragment.text for fragment in leaf.fragments), *named]
        case Choice():
            return [leaf.prompt]
        case _:
            return []
