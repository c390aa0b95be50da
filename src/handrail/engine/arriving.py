"""What an accepted report runs into on its way to the next step: what blocks it, what is disclosed. Pure."""

from __future__ import annotations

import msgspec

from handrail.contract.vocabulary import Autonomy
from handrail.engine.events import GapRecorded
from handrail.engine.mode_words import asks_user_first
from handrail.engine.navigate import ExitedLoop, Move, loop_named
from handrail.engine.passing_by import loops_cut_short
from handrail.engine.reasons import ContextKey, Reason, ReasonName, WorkflowStep, fitting
from handrail.workflows.compiled import CompiledWorkflow, ForEach, Leaf, Step
from handrail.workflows.conditions import Facts, holds


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """Reasons stop the run or become gaps, by its mode; gaps are only disclosed, in every mode."""

    reasons: tuple[Reason, ...] = ()
    gaps: tuple[GapRecorded, ...] = ()


def needs_confirmation(workflow: CompiledWorkflow, leaf: Leaf, facts: Facts) -> bool:
    """Whether the author wants the user to confirm this step. `facts` include the loops' values."""
    if not isinstance(leaf, Step):
        return False
    wanted = leaf.require_confirmation
    return wanted if isinstance(wanted, bool) else holds(workflow.conditions[wanted], facts)


def unasked_confirmation(workflow: CompiledWorkflow, leaf: Leaf, before: Facts, after: Facts) -> list[Reason]:
    """That a report itself makes a confirmation necessary, which nobody was told of when the step was shown.

    Both facts include the loops' values; those after it have the whole report applied.
    """
    if needs_confirmation(workflow, leaf, before) or not needs_confirmation(workflow, leaf, after):
        return []
    return [
        Reason(
            name="user_only_dependency:needs_user_approval",
            pointer=WorkflowStep(step_id=leaf.id),
            message=f"What this report brings makes {leaf.id} one that the user confirms; nobody asked yet.",
            fix="Show the user what you did and ask for the confirmation, then make the call in nextCall.",
        )
    ]


def arrival(workflow: CompiledWorkflow, move: Move, facts: Facts) -> Arrival:
    """What a move ran into. `facts` are those that led it."""
    cut_short = [
        GapRecorded(
            gap_id="",
            severity="warning",
            reason="loop_limit_reached",
            summary=fitting(f"The loop {cut.loop_id} ended at its limit of {cut.rounds} rounds: {cut.left}."),
        )
        for cut in loops_cut_short(workflow, move.trace, facts)
    ]
    return Arrival(reasons=missing_lists(workflow, move), gaps=tuple(cut_short))


def missing_lists(workflow: CompiledWorkflow, move: Move) -> tuple[Reason, ...]:
    """Lists that loops were to go through and nobody sent: without them a loop would pass in silence."""
    exits = (entry for entry in move.trace if isinstance(entry, ExitedLoop))
    names: dict[str, str] = {}
    for loop_id in dict.fromkeys(entry.loop_id for entry in exits if entry.reason == "items_missing"):
        repeat = loop_named(workflow, loop_id).repeat
        assert isinstance(repeat, ForEach), "only a loop over items misses them"
        names.setdefault(repeat.input, loop_id)
    return tuple(
        _uncounted(loop_id, workflow.inputs[name].counted_by)
        if name in workflow.inputs and workflow.inputs[name].counted_by
        else Reason(
            name="user_only_dependency:needs_user_artifact",
            pointer=ContextKey(key=name),
            message=fitting(f"The loop {loop_id} goes through {name}, and no list of that name was sent."),
            fix=fitting(
                f"Send context.{name} as a list, [] if there is nothing to go through. Ask the user for it "
                "unless the work so far tells it."
            ),
        )
        for name, loop_id in names.items()
    )


def not_asked(
    workflow: CompiledWorkflow, leaf: Leaf, autonomy: Autonomy, before: Facts, after: Facts
) -> tuple[GapRecorded, ...]:
    """What a mode that asks would have asked the user here, before the step was done or after its report.

    Both facts include the loops' values.
    """
    if autonomy != "full_auto_never_stop" or not isinstance(leaf, Step):
        return ()
    gaps: list[tuple[ReasonName, str]] = []
    if any(needs_confirmation(workflow, leaf, facts) for facts in (before, after)):
        summary = f"The user did not confirm {leaf.id}."
        gaps.append(("user_only_dependency:needs_user_approval", summary))
    if asks_user_first(leaf.prompt):
        summary = f"The user was not asked the questions that come before {leaf.id}."
        gaps.append(("user_only_dependency:needs_user_artifact", summary))
    return tuple(
        GapRecorded(gap_id="", severity="warning", reason=reason, summary=summary) for reason, summary in gaps
    )


def _uncounted(loop_id: str, name: str) -> Reason:
    return Reason(
        name="user_only_dependency:needs_user_artifact",
        pointer=ContextKey(key=name.partition(".")[0]),
        message=fitting(
            f"The loop {loop_id} runs as often as {name} says, and no number of that name was sent."
        ),
        fix=fitting(f"Send context.{name} as a number, 0 if the loop is not needed."),
    )
