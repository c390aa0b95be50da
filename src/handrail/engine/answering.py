"""How a report at a position is answered: blocked, or moved on. Shared by runs and by the simulator. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from handrail.contract.effort import Effort
from handrail.contract.vocabulary import Autonomy
from handrail.engine.arriving import arrival
from handrail.engine.assess import Verdict, assess
from handrail.engine.events import GapRecorded
from handrail.engine.judged import Place
from handrail.engine.navigate import Move, deciding_loop, next_move
from handrail.engine.reasons import Block, Proceed, Reason, WorkflowStep, consequence
from handrail.engine.state import Running
from handrail.engine.work import NOTHING_KEPT, Kept
from handrail.workflows.compiled import Action, Choice, CompiledWorkflow, Leaf, Step
from handrail.workflows.conditions import Facts


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
) -> Answer:
    """Judge a report. `facts` hold with the report's own context applied.

    `kept` is what blocked attempts right before brought, `gaps` are the ids of those recorded on the branch.
    """
    place = place_of(workflow, state, leaf, gaps)
    verdict = assess(place, facts, notes or kept.notes, artifacts, kept.artifacts)
    outcome = consequence(verdict.reasons, autonomy)
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
