"""The table of intents: every situation a reply can be in, and no other combination."""

from __future__ import annotations

from typing import get_args

from handrail.contract.ids import Autonomy, NodeId
from handrail.engine.events import Blocked, Preferences
from handrail.engine.reasons import Blocker, BlockerCode, WorkflowStep
from handrail.engine.standing import INTENTS, Situation, Standing, situation_of
from handrail.workflows.compiled import Choice, ChoiceKind, Leaf, Option
from tests.cases import every_case
from tests.engine.written_log import WrittenLog, step

# Written by hand from mcp-and-http 1.2.
EXPECTED = {
    "finished": ("ok", "complete", "none"),
    "unhealthy": ("ok", "rehydrate_only", "none"),
    "step": ("ok", "perform_pending_then_continue", "ack"),
    "confirmation": ("ok", "await_user_confirmation", "ack"),
    "choice": ("ok", "perform_pending_then_continue", "per_option"),
    "user_choice": ("ok", "await_user_confirmation", "per_option"),
    "blocked_by_agent": ("blocked", "perform_pending_then_continue", "retry"),
    "blocked_by_user": ("blocked", "await_user_confirmation", "retry"),
    "blocked_for_good": ("blocked", "rehydrate_only", "read"),
    "waiting": ("ok", "perform_pending_then_continue", "child"),
    "stopped": ("ok", "rehydrate_only", "none"),
}


def standing(leaf: Leaf | None, autonomy: Autonomy, *, confirm: bool = False) -> Standing:
    log = WrittenLog()
    node = log.start()
    return Standing(
        run=log.history.runs[node.run_id],
        node=node,
        preferences=Preferences(autonomy=autonomy, risk_policy="conservative"),
        leaf=leaf,
        needs_confirmation=confirm,
    )


def choice(kind: ChoiceKind | None) -> Choice:
    options = (Option(id="x", label="X"), Option(id="y", label="Y"))
    return Choice(id="c", title="C", prompt="Which?", options=options, non_assumable=kind)


def blocked(*codes: BlockerCode, retryable: bool = True) -> Blocked:
    blockers = tuple(
        Blocker(code=code, pointer=WorkflowStep(step_id="a"), message="Not yet.") for code in codes
    )
    return Blocked(to_node_id=NodeId("nod_1"), blockers=blockers, retryable=retryable)


def test_every_situation_has_exactly_its_row() -> None:
    assert {name: (row.kind, row.intent, row.call) for name, row in INTENTS.items()} == EXPECTED
    assert set(INTENTS) == set(get_args(Situation))


@every_case(
    ("refusal", "expected"),
    [
        (blocked("MISSING_REQUIRED_OUTPUT"), "blocked_by_agent"),
        (blocked("INVALID_REQUIRED_OUTPUT"), "blocked_by_agent"),
        (blocked("REQUIRED_CAPABILITY_UNKNOWN"), "blocked_by_agent"),
        (blocked("USER_ONLY_DEPENDENCY"), "blocked_by_user"),
        (blocked("MISSING_REQUIRED_OUTPUT", "USER_ONLY_DEPENDENCY"), "blocked_by_user"),
        (blocked("REQUIRED_CAPABILITY_UNAVAILABLE", retryable=False), "blocked_for_good"),
        (blocked("USER_ONLY_DEPENDENCY", retryable=False), "blocked_for_good"),
    ],
)
def test_what_blocks_decides_who_must_act(refusal: Blocked, expected: str) -> None:
    assert situation_of(standing(step("a"), "guided"), refusal, is_healthy=True) == expected
