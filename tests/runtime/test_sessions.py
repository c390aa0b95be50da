"""Loading and holding a session: what was seen without the lock counts only if the log still continues it."""

from __future__ import annotations

from handrail.contract.ids import SessionId
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import empty_session, healthy_session, read_session
from tests.conftest import memory_runtime
from tests.journeys.conversation import advance, start


def test_what_was_committed_meanwhile_is_folded_in(runtime: Runtime) -> None:
    first = start(runtime)
    session_id = SessionId(first["session"]["sessionId"])
    seen = read_session(runtime.log, session_id)
    assert seen is not None
    advance(runtime, first)

    with healthy_session(runtime, seen, by_token=False) as (current, _):
        assert current == read_session(runtime.log, session_id)
        assert current.history.head > seen.history.head


def test_a_commit_that_was_taken_back_is_forgotten(runtime: Runtime) -> None:
    other = memory_runtime()
    reply = start(runtime, requestId="same")
    session_id = SessionId(reply["session"]["sessionId"])
    start(other, requestId="same", goal="another history of the same session")
    advance(runtime, reply, "seen, then gone")
    seen = read_session(runtime.log, session_id)
    assert seen is not None

    with healthy_session(other, seen, by_token=False) as (current, _):
        assert current == read_session(other.log, session_id)


def test_a_new_session_is_held_empty(runtime: Runtime) -> None:
    session = empty_session(SessionId("ses_0123456789ab"))

    with healthy_session(runtime, session, by_token=False) as (current, _):
        assert current == session
