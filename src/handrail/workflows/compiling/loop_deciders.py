"""Which step of a loop says whether it goes on. Pure.

A loop that asks for a decision gets one: a step of its body that declares the contract, else the last
one is given it (DESIGN section 9).
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.workflows.compiling.condition_table import ConditionTable, asks_for_decision
from handrail.workflows.compiling.placed import Placed, PlacedLeaf, PlacedLoop, walk
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.model import RepeatUntil, RepeatWhile, SourceStep

LOOP_CONTROL = "wr.contracts.loop_control"


def loop_deciders(parts: tuple[Placed, ...], table: ConditionTable, trail: Trail) -> Mapping[str, str]:
    """Id of each deciding step to the id of the loop it decides for."""
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


def _appointed(loop: PlacedLoop, steps: list[SourceStep], trail: Trail) -> dict[str, str]:
    if not steps:
        message = f"The loop {loop.id} waits for a decision, but its body has no step that could take it."
    elif steps[-1].contract_ref:
        message = f"The last step of the loop {loop.id} delivers something else, so nothing decides."
    else:
        why = "the loop asks for a decision and no step of its body declared the contract"
        trail.decide("contract", LOOP_CONTROL, steps[-1].id, why)
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
