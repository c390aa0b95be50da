"""The timeline: every node of every run in the order of the log, and when the session came from elsewhere."""

from __future__ import annotations

from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer, start
from tests.journeys.test_moving_sessions import exported, imported
from tests.journeys.test_session_without_run import begin, note, switched_on

__all__ = ["switched_on"]


def told(runtime: Runtime, session_id: str) -> list[tuple[str, str, str]]:
    outcome = perform(runtime, "session.show", {"sessionId": session_id}, Ask(mvi="full"))
    assert isinstance(outcome, Success)
    assert isinstance(outcome.data, dict)
    return [(row["lane"], row["what"], row["step_id"]) for row in outcome.data["timeline"]]


def test_an_import_stands_in_the_lane_of_the_session(runtime: Runtime) -> None:
    session_id = start(runtime)["session"]["sessionId"]
    made = imported(runtime, exported(runtime, session_id))["session_id"]

    assert [row[:2] for row in told(runtime, made)][-1] == ("session", "imported")


def test_notes_of_the_session_stand_in_its_lane(switched_on: Runtime) -> None:
    session = begin(switched_on)
    session_id = session["session"]["sessionId"]
    first = note(switched_on, session, "Read the parser.")
    run = start(switched_on, session=session["sessionToken"])
    note(switched_on, first, "A run is on its way.")

    assert told(switched_on, session_id) == [
        ("session", "notes", ""),
        (run["session"]["runId"], "step", ""),
        ("session", "notes", ""),
    ]


def test_the_timeline_is_told_only_to_those_who_want_all(runtime: Runtime) -> None:
    session_id = start(runtime)["session"]["sessionId"]

    assert "timeline" not in answer(runtime, "session.show", sessionId=session_id)


def test_a_node_tells_the_preferences_that_begin_at_it(runtime: Runtime) -> None:
    first = start(runtime, preferences={"autonomy": "full_auto_never_stop"})
    advance(runtime, first)

    nodes = answer(runtime, "session.show", sessionId=first["session"]["sessionId"])["runs"][0]["nodes"]

    assert [node["preferences"] for node in nodes] == [
        {"autonomy": "full_auto_never_stop", "risk_policy": "conservative"},
        None,
    ]
