"""How a report at a position is answered: blocked, or moved on. Shared by runs and by the simulator. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from handrail.contract.effort import Effort
from handrail.contract.vocabulary import Autonomy
from handrail.engine.arriving import arrival, unasked_confirmation
from handrail.engine.assess import Verdict, assess
from handrail.engine.events import GapRecorded
from handrail.engine.facts import inside_loops, with_report
from handrail.engine.judged import Place
from handrail.engine.navigate import Move, deciding_loop, next_move
from handrail.engine.reasons import Block, Blocker, Proceed, Reason, WorkflowStep, blocker_of, consequence
from handrail.engine.state import Running
from handrail.engine.work import NOTHING_KEPT, Kept
from handrail.workflows.compiled import Action, Choice, CompiledWorkflow, Leaf, Step
from handrail.workflows.conditions import Facts


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent knew when it did a step: what held then, and why attempts right before were blocked."""

    facts: Facts
    blockers: tuple[Blocker, ...] = ()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a report, before anything is written down."""

    verdict: Verdict
    outcome: Proceed | Block
    option_id: str = ""
    context: dict[str, Any] = {}
    """The change of context, with what a chosen option sets."""


def answer_to(
    workflow: CompiledWorkflow,
    state: Running,
    leaf: Leaf,
    autonomy: Autonomy,
    facts: Facts,
    *,
    notes: str,
    artifacts: Sequence[dict[str, Any]],
    context: dict[str, Any],
    option: int | None,
    kept: Kept = NOTHING_KEPT,
    gaps: tuple[str, ...] | None = None,
    shown: Shown | None = None,
) -> Answer:
    """Judge a report. `facts` hold with the report's own context applied.

    `kept` is what was brought for the step before, `gaps` are the ids of those recorded on the branch,
    `shown` is what the agent was told; without it every confirmation counts as given (a simulation).
    """
    place = place_of(workflow, state, leaf, gaps)
    verdict = assess(place, facts, notes or kept.notes, artifacts, kept.artifacts)
    reasons = verdict.reasons
    if shown is not None and autonomy == "guided":
        after = with_report(workflow, facts, state, {}, verdict.artifacts)
        reasons = (*reasons, *_unasked(workflow, state, leaf, shown, after))
    outcome = consequence(reasons, autonomy)
    match leaf:
        case Step() | Action():
            return Answer(verdict=verdict, outcome=outcome, context=context)
        case Choice():
            assert option is not None, "a choice step is answered with the token of an option"
            if isinstance(outcome, Block):
                return Answer(verdict=verdict, outcome=outcome, context=context)
            chosen = leaf.options[option]
            unasked = _choice_gaps(leaf) if autonomy == "full_auto_never_stop" else ()
            return Answer(
                verdict=verdict,
                outcome=Proceed(gaps=(*outcome.gaps, *unasked)),
                option_id=chosen.id,
                context=context | chosen.sets,
            )
        case never:
            assert_never(never)


def _unasked(
    workflow: CompiledWorkflow, state: Running, leaf: Leaf, shown: Shown, after: Facts
) -> list[Reason]:
    """Confirmations that only the report makes necessary, unless an attempt before was blocked for them."""
    before, after = (inside_loops(workflow, state, facts) for facts in (shown.facts, after))
    found = unasked_confirmation(workflow, leaf, before, after)
    return [reason for reason in found if blocker_of(reason) not in shown.blockers]


def place_of(
    workflow: CompiledWorkflow, state: Running, leaf: Leaf, gaps: tuple[str, ...] | None = None
) -> Place:
    """Where a report about this leaf is judged; only a step asks for something."""
    step = leaf if isinstance(leaf, Step) else None
    return Place(workflow=workflow, leaf_id=leaf.id, step=step, frames=state.loops, gaps=gaps)


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """Where an accepted report leads, and what it runs into there."""

    move: Move
    outcome: Proceed | Block
    gaps: tuple[GapRecorded, ...] = ()
    """What the way itself discloses, in every mode."""


def way_after(
    workflow: CompiledWorkflow,
    state: Running,
    verdict: Verdict,
    autonomy: Autonomy,
    facts: Facts,
    effort: Effort | None = None,
) -> Way:
    """Where an accepted report leads. `facts` hold with the whole report applied.

    Raises Fault WORK_LIMIT_EXCEEDED when the next step is too far away.
    """
    loop_id = deciding_loop(workflow, state.loops)
    undecided = loop_id if verdict.is_undecided else ""
    move = next_move(workflow, state, facts, undecided, effort)
    met = arrival(workflow, move, facts)
    return Way(move=move, outcome=consequence(met.reasons, autonomy), gaps=met.gaps)


def _choice_gaps(choice: Choice) -> tuple[Reason, ...]:
    """In never-stop mode the agent chooses what is the user's to choose: that is disclosed.

    In the other modes the token of an option is the user's answer.
    """
    if choice.non_assumable is None:
        return ()
    reason = Reason(
        name="user_only_dependency:needs_user_choice",
        pointer=WorkflowStep(step_id=choice.id),
        message=f"The choice {choice.id} ({choice.non_assumable}) was made without the user.",
    )
    return (reason,)
