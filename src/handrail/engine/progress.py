"""How far a run is: its steps, the work that it delegated, and the way behind it. Pure.

A step with a condition and a round of a loop count as soon as a given value decides about them.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, assert_never

from handrail.contract.outcome import Payload
from handrail.contract.wording import format_count
from handrail.engine.history import Node, NotRun
from handrail.engine.navigate import Running, find_loop, leaves_of
from handrail.workflows.compiled import (
    CompiledWorkflow,
    Count,
    Delegate,
    ForEach,
    Loop,
    Part,
    Until,
    While,
    derive_once,
)
from handrail.workflows.conditions import Facts, LoopControl, Not, is_ruled_out, named_value

ChildStatus: TypeAlias = Literal["open", "blocked", "needs_person", "done", "done_with_gaps", "closed"]
JoinOption: TypeAlias = Literal["again", "without", "stop"]
JOIN_OPTIONS: Final[dict[JoinOption, str]] = {
    "again": "Delegate the closed work again",
    "without": "Continue without it; a gap says so",
    "stop": "Close this run, too",
}
"""Options for work that was closed; a token names one by its position here."""


def describe_handed_out(step: Delegate) -> str:
    """Return what a step with children says when a run arrives there."""
    needed = f"at least {step.at_least} of them are" if step.at_least else "all of them are"
    return (
        "This work is handed out: give each child's brief and workToken to a helper, or do the children "
        f"yourself, one after the other. The run goes on when {needed} done; then read this step again with "
        "its stateToken."
    )


def mark_collected(workflow: CompiledWorkflow, name: str, text: str) -> str:
    """Return the text of a value for a prompt; text from helpers is put between marks, like other stored
    text.
    """
    is_theirs = text != "[]" and name.partition(".")[0] in derive_once(workflow, _list_collected)
    if not is_theirs:
        return text
    from handrail.contract.fence import fence_text  # noqa: PLC0415 - few prompts hold what helpers wrote

    return fence_text(text, f"{name}, from the helpers")


def _list_collected(workflow: CompiledWorkflow) -> frozenset[str]:
    leaves = leaves_of(workflow).values()
    return frozenset(leaf.collect for leaf in leaves if isinstance(leaf, Delegate) and leaf.collect)


STOPPED: Final = (
    "This run is closed, because work that it waited for was closed: nothing is delegated any more, and its "
    "helpers can stop. Whoever reads this step with its stateToken and takes an option opens the run again."
)


class HandedOut(Payload, frozen=True, kw_only=True):
    """A child in a reply: what to give to a helper. A recorded reply never includes its status."""

    child_id: str
    work_token: str = ""
    """Left out if a search finds work that is no longer needed."""
    brief: str = ""
    status: ChildStatus | Literal[""] = ""
    step_id: str = ""
    """The step that is pending in it."""
    closed: str = ""
    """The reason for closing it."""
    worker: str = ""
    """The name that its worker gave itself."""
    result: str = ""
    """The beginning of its last notes, if a search finds work that is done."""


class Progress(Payload, frozen=True, kw_only=True):
    """Progress of a run: `done` of `atLeast` steps."""

    done: int
    at_least: int


NOT_BEGUN = Progress(done=0, at_least=0)


def progress_at(workflow: CompiledWorkflow, node: Node, facts: Facts) -> Progress:
    """Return how far the run is at a node, with what is known there."""
    done = node.steps_done
    if not isinstance(node.state, Running):
        return Progress(done=done, at_least=done)
    following = _count_following(workflow, workflow.steps, node.state, facts)
    return Progress(done=done, at_least=done + 1 + (following or 0))


def _count_following(
    workflow: CompiledWorkflow, parts: tuple[Part, ...], state: Running, facts: Facts
) -> int | None:
    """Return the number of steps that surely follow a position, including further rounds of its loops. None
    if the position is not in these parts.
    """
    for place, part in enumerate(parts):
        inside = 0 if part.id == state.step_id else None
        if isinstance(part, Loop):
            inside = _count_following(workflow, part.body, state, facts)
            made = next((frame.iteration + 1 for frame in state.loops if frame.loop_id == part.id), 0)
            left = max(0, _count_sure_rounds(workflow, part, facts) - made)
            inside = None if inside is None else inside + left * _count_sure(workflow, part.body, facts)
        if inside is not None:
            return inside + _count_sure(workflow, parts[place + 1 :], facts)
    return None


def _count_sure(workflow: CompiledWorkflow, parts: tuple[Part, ...], facts: Facts) -> int:
    """Return the number of steps that given values make certain: a default may still be changed."""
    total = 0
    for part in parts:
        if part.when and not is_ruled_out(Not(of=workflow.conditions[part.when]), facts):
            continue
        if isinstance(part, Loop):
            total += _count_sure_rounds(workflow, part, facts) * _count_sure(workflow, part.body, facts)
        else:
            total += 1
    return total


def _count_sure_rounds(workflow: CompiledWorkflow, loop: Loop, facts: Facts) -> int:
    """Return the number of rounds that a loop surely makes."""
    match loop.repeat:
        case Count(count=count):
            return min(count, loop.max_iterations)
        case While(condition=condition):
            return 1 if isinstance(workflow.conditions[condition], LoopControl) else 0
        case Until():
            return 1
        case ForEach(input=name):
            items = named_value(facts.values, name)
            is_given = isinstance(items, list) and name.partition(".")[0] not in facts.assumed
            return min(len(items), loop.max_iterations) if is_given else 0


# What a recap shows of the way to a node


class RecapEntry(Payload, frozen=True, kw_only=True):
    """The notes that one step or checkpoint left behind."""

    node_id: str
    step_id: str
    title: str
    is_checkpoint: bool = False
    notes: str


class RecapArtifact(Payload, frozen=True, kw_only=True):
    """The current artifact of a kind."""

    kind: str
    step_id: str
    body: dict[str, Any]


class RecapInput(Payload, frozen=True, kw_only=True):
    """A value in force at the step; a long one is cut, and is text then."""

    name: str
    value: Any


class BranchSummary(Payload, frozen=True, kw_only=True):
    """One earlier branch from the step of a reply: its first node, and the state at its end."""

    node_id: str
    is_preferred: bool
    status: str
    pending_step_id: str | None
    notes: str = ""


def describe_not_run(not_run: NotRun) -> str:
    """Return text such as `2 parts did not run`; empty if everything ran."""
    return f"{format_count(not_run.total, 'part')} did not run" if not_run.total else ""


def render_rounds(workflow: CompiledWorkflow, state: Running, facts: Facts) -> str:
    """Return the rounds of the loops around the step, outermost first."""
    lines = []
    for frame in state.loops:
        loop, number = find_loop(workflow, frame.loop_id), frame.iteration + 1
        match loop.repeat:
            case ForEach(input=name):
                items = named_value(facts.values, name)
                total = len(items) if isinstance(items, list) else number
                spec = workflow.inputs.get(name)
                if spec is not None and spec.counted_by:
                    lines.append(f"Round {number} of {min(total, loop.max_iterations)} (loop {loop.id}).")
                    continue
                most = loop.max_iterations
                cut = f", of which {most} at most are taken" if total > most else ""
                lines.append(f"Item {number} of {total} in {name}{cut} (loop {loop.id}).")
            case Count(count=count):
                lines.append(f"Round {number} of {min(count, loop.max_iterations)} (loop {loop.id}).")
            case While() | Until():
                is_last = number == loop.max_iterations
                last = " It is the last one, whatever is decided." if is_last else ""
                lines.append(f"Round {number} of at most {loop.max_iterations} (loop {loop.id}).{last}")
            case never:
                assert_never(never)
    return "\n".join(lines)
