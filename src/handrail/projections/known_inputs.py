"""The values that hold at a step, for an agent that no longer knows what it sent. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.ids import NodeId
from handrail.engine.facts import facts_at
from handrail.engine.history import History
from handrail.engine.reply import RecapInput
from handrail.workflows.compiled import CompiledWorkflow

INPUTS_BUDGET_BYTES = 2_048
LONGEST_INPUT_BYTES = 400


def known_inputs(
    history: History, workflow: CompiledWorkflow, node_id: NodeId
) -> tuple[list[RecapInput], int]:
    """By name, as far as their budget goes, and how many were left out.

    Context that no input names is not told again: what an agent keeps there is its own.
    """
    values = facts_at(history, workflow, node_id).values
    names = [name for name in workflow.inputs if name in values]
    shown: list[RecapInput] = []
    used = 0
    for name in names:
        held = RecapInput(name=name, value=_fitting(values[name]))
        used += len(msgspec.json.encode(held))
        if used > INPUTS_BUDGET_BYTES:
            break
        shown.append(held)
    return shown, len(names) - len(shown)


def _fitting(value: Any) -> Any:
    encoded = msgspec.json.encode(value)
    if len(encoded) <= LONGEST_INPUT_BYTES:
        return value
    return encoded[: LONGEST_INPUT_BYTES - 3].decode(errors="ignore") + "…"
