"""How far a run is: the steps that are done, and the least number there will be in all. Pure.

Honest about what is not known: a step with a condition, a loop that may not be entered and every round
after the first count for nothing until they happen.
"""

from __future__ import annotations

from handrail.contract.payload import Payload
from handrail.engine.history import History, Node
from handrail.engine.state import Running
from handrail.workflows.compiled import CompiledWorkflow, Count, ForEach, Loop, Part, Until, While
from handrail.workflows.conditions import LoopControl


class Progress(Payload, frozen=True, kw_only=True):
    """`done` of `atLeast` steps."""

    done: int
    at_least: int


NOT_BEGUN = Progress(done=0, at_least=0)


def progress_at(history: History, workflow: CompiledWorkflow, node: Node) -> Progress:
    """How far the run is at a node."""
    done = 0
    current: Node | None = node
    while current is not None:
        if current.kind == "step" and current.parent is not None:
            done += 1
        current = None if current.parent is None else history.nodes[current.parent]
    if not isinstance(node.state, Running):
        return Progress(done=done, at_least=done)
    return Progress(done=done, at_least=done + 1 + _after(workflow, workflow.steps, node.state.step_id))


def _after(workflow: CompiledWorkflow, parts: tuple[Part, ...], step_id: str) -> int:
    """The steps that surely follow a step; of the loop it stands in, those of its round."""
    for place, part in enumerate(parts):
        if isinstance(part, Loop):
            if _holds_step(part.body, step_id):
                return _after(workflow, part.body, step_id) + _surely(workflow, parts[place + 1 :])
        elif part.id == step_id:
            return _surely(workflow, parts[place + 1 :])
    return 0


def _holds_step(parts: tuple[Part, ...], step_id: str) -> bool:
    return any(
        _holds_step(part.body, step_id) if isinstance(part, Loop) else part.id == step_id for part in parts
    )


def _surely(workflow: CompiledWorkflow, parts: tuple[Part, ...]) -> int:
    total = 0
    for part in parts:
        if part.when:
            continue
        total += _surely(workflow, part.body) * _rounds(workflow, part) if isinstance(part, Loop) else 1
    return total


def _rounds(workflow: CompiledWorkflow, loop: Loop) -> int:
    """The rounds that a loop surely makes."""
    match loop.repeat:
        case Count(count=count):
            return min(count, loop.max_iterations)
        case While(condition=condition):
            return 1 if isinstance(workflow.conditions[condition], LoopControl) else 0
        case Until():
            return 1
        case ForEach():
            return 0
