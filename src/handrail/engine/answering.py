"""How a report at a position is answered: blocked, or moved on. Shared by runs and by the simulator. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from handrail.contract.vocabulary import Autonomy
from handrail.engine.assess import Verdict, assess, divergences_told, unchecked_artifacts
from handrail.engine.navigate import Move, deciding_loop, next_move
from handrail.engine.reasons import Block, Proceed, Reason, WorkflowStep, consequence
from handrail.engine.state import Running
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
) -> Answer:
    """Judge a report. `facts` hold with the report's own context applied."""
    match leaf:
        case Step():
            verdict = assess(workflow, leaf, state, facts, notes, artifacts)
            return Answer(verdict=verdict, outcome=consequence(verdict.reasons, autonomy), context=context)
        case Choice():
            assert option is not None, "a choice step is answered with the token of an option"
            chosen = leaf.options[option]
            verdict = _unasked(leaf.id, artifacts)
            gaps = _choice_gaps(leaf) if autonomy == "full_auto_never_stop" else ()
            return Answer(
                verdict=verdict,
                outcome=Proceed(gaps=gaps),
                option_id=chosen.id,
                context=context | chosen.sets,
            )
        case Action():
            verdict = _unasked(leaf.id, artifacts)
            return Answer(verdict=verdict, outcome=Proceed(gaps=()), context=context)
        case never:
            assert_never(never)


def move_after(workflow: CompiledWorkflow, state: Running, verdict: Verdict, facts: Facts) -> Move:
    """Where an accepted report leads. `facts` hold with the whole report applied."""
    loop_id = deciding_loop(workflow, state.loops)
    if verdict.is_undecided and loop_id:  # nobody decided and nobody may stop the run: the loop ends
        decided = dict(facts.loop_decisions) | {loop_id: "stop"}
        facts = Facts(values=facts.values, artifacts=facts.artifacts, loop_decisions=decided)
    return next_move(workflow, state, facts)


def _unasked(step_id: str, artifacts: Sequence[dict[str, Any]]) -> Verdict:
    """Where a step asks for no artifact, those that came are kept, and a divergence counts all the same."""
    kept = unchecked_artifacts(artifacts)
    return Verdict(artifacts=kept, divergences=divergences_told(kept, step_id))


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
