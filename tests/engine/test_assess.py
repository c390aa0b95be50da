"""Is a report enough: contracts, rules, capabilities, the user's part, and what else was told."""

from __future__ import annotations

from typing import Any

from handrail.engine.events import Capability
from handrail.engine.judge.artifacts import KnownGaps, guess_kind
from handrail.engine.judge.assess import Verdict, assess, place_of
from handrail.engine.navigate import Running
from handrail.workflows.compiled import CompiledWorkflow, Loop, Step, While
from handrail.workflows.conditions import Facts, LoopControl
from tests.cases import every_case
from tests.engine.contracts import CONTRACTS, FINDING, finding
from tests.engine.written_log import step, workflow_of

AT_A = Running(step_id="a")


def flow(held: Step, **fields: Any) -> CompiledWorkflow:
    loop = Loop(id="fix", repeat=While(condition="keep"), max_iterations=3, body=(held,))
    return workflow_of(loop, contracts=CONTRACTS, conditions={"keep": LoopControl()}, **fields)


def judged(
    held: Step,
    *artifacts: dict[str, Any],
    notes: str = "",
    state: Running = AT_A,
    facts: Facts | None = None,
    **fields: Any,
) -> Verdict:
    return assess(place_of(flow(held, **fields), state, held), facts or Facts(), notes, artifacts)


def test_messages_stay_within_their_budget_however_much_is_wrong() -> None:
    artifact = finding(severity="x" * 2_000, **{f"extra{number}" * 20: 1 for number in range(30)})

    (reason,) = judged(step("a", contract=FINDING), artifact).reasons

    assert len(reason.message.encode()) <= 512
    assert len(reason.fix.encode()) <= 1_024


def test_artifacts_are_ordered_by_digest_and_each_is_kept_once() -> None:
    some = [{"kind": "k", "n": number} for number in range(5)]

    forward, backward = judged(step("a"), *some, some[0]), judged(step("a"), *reversed(some))

    digests = [held.digest for held in forward.artifacts]
    assert digests == sorted(digests)
    assert len(digests) == 5
    assert forward.artifacts == backward.artifacts


@every_case(
    ("capability", "provenance", "is_enough"),
    [
        ("web_browsing", "attempted_use", True),
        ("web_browsing", "manual_claim", False),
        (None, "manual_claim", True),
    ],
)
def test_a_probe_needs_more_than_a_statement(
    capability: Capability | None, provenance: str, is_enough: bool
) -> None:
    seen = {"kind": "wr.capability_observation", "capability": "web_browsing", "status": "available"}

    verdict = judged(
        step("a", capability=capability),
        {**seen, "provenance": provenance},
        capabilities={"web_browsing": "required"},
    )

    assert [one.name for one in verdict.reasons] == (
        [] if is_enough else ["capability_missing:required_capability_unknown"]
    )


@every_case(
    ("word", "meant"), [("control", "wr.loop_control"), ("object", ""), ("objects", "wr.big_objects")]
)
def test_a_bare_word_of_seven_letters_names_one_kind(word: str, meant: str) -> None:
    assert guess_kind(word, ["wr.loop_control", "wr.big_objects"]) == meant


def test_an_unknown_gap_is_answered_with_the_latest_five() -> None:
    held = step("a")
    gaps = KnownGaps(ids=tuple(f"gap_{number}" for number in range(1, 8)))
    sent = {"kind": "wr.gap", "summary": "It works.", "severity": "info", "resolvesGapId": "gap_9"}

    (issue,) = assess(place_of(flow(held), AT_A, held, gaps), Facts(), "", [sent]).issues

    assert issue.pointer == "/resolvesGapId"
    assert issue.message.endswith("recorded here: gap_3, gap_4, gap_5, gap_6, gap_7")
