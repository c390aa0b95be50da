"""The timeline: every node of every run in the order of the log, and when the session came from elsewhere."""

from __future__ import annotations

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import answer, start
from tests.journeys.test_moving_sessions import exported, imported
from tests.journeys.test_session_without_run import begin, note, switched_on

__all__ = ["switched_on"]


def told(runtime: Runtime, session_id: str) -> list[tuple[str, str, str]]:
    rows = answer(runtime, "session.timeline", sessionId=session_id)["items"]
    return [(row["lane"], row["what"], row["step_id"]) for row in reversed(rows)]


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
