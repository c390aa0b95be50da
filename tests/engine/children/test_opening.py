"""How much a run may hand out in all its rounds."""

from __future__ import annotations

from typing import Any

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer, rehydrate
from tests.journeys.given_workflows import begin, rounds, step

PARTS: dict[str, Any] = {"inputs": {"parts": {"type": "array"}}}


def handing_out(step_id: str, for_each: str) -> dict[str, Any]:
    one = {"id": "part", "steps": [step("look")]}
    each = {"forEach": for_each, "as": "item", "child": one, "needs": {"atLeast": 1}}
    return {"id": step_id, "title": step_id.title(), "delegate": each}


def after_rounds(runtime: Runtime, *after: dict[str, Any]) -> dict[str, Any]:
    """The reply when a loop has handed out sixteen pieces of work in each of four rounds."""
    again = rounds("again", {"count": 4}, handing_out("slices", "{{parts}}"), most=4)
    first = begin(runtime, step("plan"), again, *after, fields=PARTS, preferences={"autonomy": "guided"})
    reply = advance(runtime, first, context={"parts": [str(number) for number in range(16)]})
    for _ in range(4):
        assert len(reply["children"]) == 16
        handed = reply["children"][0]
        advance(runtime, answer(runtime, "run.continue", stateToken=handed["workToken"]))
        reply = advance(runtime, rehydrate(runtime, reply))
    return reply


def test_a_run_hands_out_sixty_four_pieces_of_work(runtime: Runtime) -> None:
    reply = after_rounds(runtime, step("conclude"))

    assert (reply["kind"], reply["pending"]["stepId"]) == ("ok", "conclude")


def test_a_run_hands_out_no_sixty_fifth_piece_of_work(runtime: Runtime) -> None:
    one = {"id": "part", "steps": [step("look")]}
    more = {"id": "more", "title": "More", "delegate": {"children": [one]}}

    reply = after_rounds(runtime, more)

    assert reply["kind"] == "blocked"
    assert "64 pieces of work; 1 more would be over 64" in str(reply["blockers"])
