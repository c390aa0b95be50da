"""Copies sessions from one store into another and compares the two.

Every store has the same chain, so equal digests at the end mean equal events from the first one on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from handrail.contract.catalogue import SESSION_NOT_FOUND, SESSION_NOT_HEALTHY, STORE_TARGET_NOT_EMPTY
from handrail.contract.ids import BlobRef, SessionId
from handrail.contract.outcome import Fault
from handrail.contract.tokens.confirm import refusal
from handrail.engine.events import find_unsigned
from handrail.ports.log import Blob, Committed, Draft, EventLog, EventReader, Loaded
from handrail.ports.store import SessionCopy

_WAIT_MS: Final = 5_000


class CommitFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One commit: its events, and the blobs that it introduced."""

    first: int
    last: int
    blobs: tuple[BlobRef, ...]
    line: str = ""
    """Its authentication line, which is copied too: it still proves something in the store that made it."""


def plan_copy(
    source: EventReader, target: EventLog, wanted: Sequence[SessionId] = ()
) -> tuple[SessionCopy, ...]:
    """Return what the target lacks, session by session; a session that cannot be copied has the reason.

    By default the last active session comes last, so that the copy lists them like the source.
    """
    order = wanted or [stamp.session_id for stamp in reversed(source.list_sessions())]
    return tuple(_plan_or_explain(source, target, session_id) for session_id in order)


def copy_session(
    source: EventReader, commits: Sequence[CommitFacts], target: EventLog, session: SessionCopy
) -> None:
    """Add what the target lacks, commit by commit as they were made, then compare.

    Raise Fault SESSION_NOT_FOUND, SESSION_NOT_HEALTHY, E_CONFLICT if one of the two is not as planned, or
    STORE_TARGET_NOT_EMPTY if the target has other events under the same session id.
    """
    session_id = session.session_id
    loaded = _load_healthy(source, session_id)
    if _plan(session_id, loaded, target) != session:
        raise refusal("target_changed")
    with target.hold(session_id, _WAIT_MS) as hold:
        for drafts, blobs, head, line in _missing(source, commits, session, loaded):
            # the first conflict means that the target grew since the plan
            if not isinstance(hold.append(head, drafts, blobs, line), Committed):
                raise refusal("target_changed")
    _compare(session_id, loaded, target)


def has_foreign_facts(log: EventReader, session_id: SessionId, loaded: Loaded) -> bool:
    """Whether another store made the session, or recorded an answer or a check result in it."""
    unsigned = find_unsigned(loaded.records)
    return bool(unsigned) and unsigned[-1] >= log.origin(session_id, loaded.records[-1].digest).listed


def _plan_or_explain(source: EventReader, target: EventLog, session_id: SessionId) -> SessionCopy:
    try:
        return _plan(session_id, _load_healthy(source, session_id), target)
    except Fault as fault:
        if fault.kind not in (SESSION_NOT_FOUND, SESSION_NOT_HEALTHY, STORE_TARGET_NOT_EMPTY):
            raise
        return SessionCopy(session_id=session_id, trouble=fault.kind.code, detail=fault.message)


def _load_healthy(source: EventReader, session_id: SessionId) -> Loaded:
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
    if there is not None and shared and there.records[shared - 1].digest != loaded.records[shared - 1].digest:
        message = f"The target holds another session {session_id}; nothing was copied."
        raise Fault(STORE_TARGET_NOT_EMPTY, message, details={"target": session_id})
    return SessionCopy(
        session_id=session_id,
        events=loaded.head,
        missing=max(0, loaded.head - head),
        head_digest=loaded.records[-1].digest,
    )


def _missing(
    source: EventReader, commits: Sequence[CommitFacts], session: SessionCopy, loaded: Loaded
) -> Iterator[tuple[list[Draft], list[Blob], int, str]]:
    """Yield the commits that the target lacks: events, their blobs, the head before, and the line."""
    begin = session.events - session.missing
    for commit in commits:
        if commit.last < begin or commit.last >= loaded.head:
            continue
        records = loaded.records[max(commit.first, begin) : commit.last + 1]
        drafts = [Draft(dedupe_key=record.dedupe_key, body=record.body) for record in records]
        blobs = [Blob(ref=ref, content=source.get_blob(ref)) for ref in commit.blobs]
        line = commit.line if records[0].index == commit.first else ""  # a part of a commit has no line
        yield drafts, blobs, records[0].index, line


def _compare(session_id: SessionId, loaded: Loaded, target: EventLog) -> None:
    there = target.load(session_id)
    assert there is not None, "what was just committed is there"
    copied = there.records[: loaded.head]
    if [one.digest for one in copied] != [one.digest for one in loaded.records] or (
        there.health.state != "healthy"
    ):
        message = f"The copy of session {session_id} does not have the same events."
        raise Fault(
            SESSION_NOT_HEALTHY, message, details={"session_id": session_id, "reason": "digest_mismatch"}
        )
