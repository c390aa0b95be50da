"""Copying sessions from a store in files into another store, and comparing the two event by event.

Both hold the same chain, so equal digests at the end mean equal events from the first one on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from handrail.contract.catalogue import SESSION_NOT_FOUND, SESSION_NOT_HEALTHY, STORE_TARGET_NOT_EMPTY
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.event_log.files.disk import translate_os_errors
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.upkeep.usage import attested_in
from handrail.ports.log import Blob, Committed, Draft, EventLog, Loaded
from handrail.ports.store import SessionCopy

_WAIT_MS: Final = 5_000


def plan_copy(source: FileLog, target: EventLog, wanted: Sequence[SessionId] = ()) -> tuple[SessionCopy, ...]:
    """What the target lacks, session by session; a session that cannot be copied says why."""
    return tuple(_plan_or_explain(source, target, session_id) for session_id in _choose_order(source, wanted))


def copy_session(source: FileLog, target: EventLog, session_id: SessionId) -> SessionCopy:
    """Add what the target lacks, commit by commit, then compare.

    Raises: Fault SESSION_NOT_FOUND, SESSION_NOT_HEALTHY, or STORE_TARGET_NOT_EMPTY when the target
    has other events under the same session id.
    """
    loaded = _load_healthy(source, session_id)
    session = _plan(session_id, loaded, target)
    with target.hold(session_id, _WAIT_MS) as hold:
        for drafts, blobs, head in _commits(source, session, loaded):
            answer = hold.append(head, drafts, blobs)
            assert isinstance(answer, Committed), "the target's session is held and at the planned head"
    _compare(session_id, loaded, target)
    return session


def _choose_order(source: FileLog, wanted: Sequence[SessionId]) -> list[SessionId]:
    """As wanted; by default the last active last, so that the copy lists them like the source."""
    return list(wanted) or [stamp.session_id for stamp in reversed(source.list_sessions())]


def _plan_or_explain(source: FileLog, target: EventLog, session_id: SessionId) -> SessionCopy:
    try:
        return _plan(session_id, _load_healthy(source, session_id), target)
    except Fault as fault:
        if fault.kind not in (SESSION_NOT_FOUND, SESSION_NOT_HEALTHY, STORE_TARGET_NOT_EMPTY):
            raise
        return SessionCopy(session_id=session_id, trouble=fault.kind.code, detail=fault.message)


def _load_healthy(source: FileLog, session_id: SessionId) -> Loaded:
    loaded = source.load(session_id)
    if loaded is None:
        message = f"There is no session {session_id} to copy."
        raise Fault(SESSION_NOT_FOUND, message, details={"session_id": session_id})
    if loaded.health.state != "healthy":
        message = f"Session {session_id} is not sound, so it is not copied. {loaded.health.detail}"
        details = {"session_id": session_id, "health": loaded.health.state, "reason": loaded.health.reason}
        raise Fault(SESSION_NOT_HEALTHY, message, details=details)
    return loaded


def _plan(session_id: SessionId, loaded: Loaded, target: EventLog) -> SessionCopy:
    there = target.load(session_id)
    head = 0 if there is None else there.head
    shared = min(head, loaded.head)  # the target may be ahead
    if there is not None and there.records[:shared] != loaded.records[:shared]:
        message = f"The target holds another session {session_id}; nothing was copied."
        raise Fault(STORE_TARGET_NOT_EMPTY, message, details={"target": session_id})
    return SessionCopy(
        session_id=session_id,
        events=loaded.head,
        missing=max(0, loaded.head - head),
        head_digest=loaded.records[-1].digest,
    )


def _commits(
    source: FileLog, session: SessionCopy, loaded: Loaded
) -> Iterator[tuple[list[Draft], list[Blob], int]]:
    """The missing commits as they were made: events, their blobs, and the head before."""
    with translate_os_errors(session.session_id):
        attestations = attested_in(source, session.session_id).attestations
    begin = session.events - session.missing
    for attestation in attestations:
        if attestation.last < begin or attestation.last >= loaded.head:
            continue
        records = loaded.records[max(attestation.first, begin) : attestation.last + 1]
        drafts = [Draft(dedupe_key=record.dedupe_key, body=record.body) for record in records]
        blobs = [Blob(ref=ref, content=source.get_blob(ref)) for ref in attestation.blobs]
        yield drafts, blobs, records[0].index


def _compare(session_id: SessionId, loaded: Loaded, target: EventLog) -> None:
    there = target.load(session_id)
    assert there is not None, "what was just committed is there"
    if there.records[: loaded.head] != loaded.records or there.health.state != "healthy":
        message = f"The copy of session {session_id} does not have the same events."
        raise Fault(
            SESSION_NOT_HEALTHY, message, details={"session_id": session_id, "reason": "digest_mismatch"}
        )
