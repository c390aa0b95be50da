"""The events of a session as they are stored: all of them, after an index, of some kinds, page by page."""

from __future__ import annotations

import json

from handrail.contract.ids import SessionId, event_id
from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import answer, refusal, start
from tests.journeys.rich_session import rich_session


def test_every_event_is_told_as_it_is_stored(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]
    loaded = runtime.log.load(SessionId(session_id))
    assert loaded is not None

    told = answer(runtime, "session.events", sessionId=session_id, limit=500)

    assert told["event_count"] == told["count"] == len(loaded.records)
    for row, record in zip(told["items"], loaded.records, strict=True):
        stored = json.loads(record.body)
        assert row["eventIndex"] == record.index
        assert row["eventId"] == event_id(record.digest)
        assert row["dedupeKey"] == record.dedupe_key
        assert (row["v"], row["at"], row["scope"]) == (stored["v"], stored["at"], stored["scope"])
        assert {"kind": row["kind"], **row["data"]} == stored["data"]
        assert row["_untrusted"] == ["data"]


def test_pages_follow_each_other_without_a_gap(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]
    first = answer(runtime, "session.events", sessionId=session_id, limit=30, after=3)

    second = answer(
        runtime, "session.events", sessionId=session_id, limit=30, after=3, cursor=first["next_cursor"]
    )

    indexes = [row["eventIndex"] for row in (*first["items"], *second["items"])]
    assert indexes == list(range(4, first["event_count"]))
    assert second["has_more"] is False


def test_only_the_kinds_that_were_asked_for_are_told(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]

    told = answer(runtime, "session.events", sessionId=session_id, kinds=["gap_recorded", "run_started"])

    assert [row["kind"] for row in told["items"]] == ["run_started", "gap_recorded"]


def test_an_unknown_kind_or_session_is_refused(runtime: Runtime) -> None:
    session_id = start(runtime)["session"]["sessionId"]

    kind = refusal(runtime, "session.events", sessionId=session_id, kinds=["gossip"])
    session = refusal(runtime, "session.events", sessionId="ses_000000000000")

    assert (kind.kind.code, session.kind.code) == ("VALIDATION_ERROR", "SESSION_NOT_FOUND")
