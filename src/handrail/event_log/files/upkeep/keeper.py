"""The operator's side of a store in files: `ports.StoreKeeper`, and copying into another store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.contract.catalogue import (
    E_VALIDATION,
    SESSION_NOT_FOUND,
    SESSION_NOT_HEALTHY,
    STORE_TARGET_NOT_EMPTY,
)
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.contract.tokens.confirm import refusal
from handrail.event_log.files.disk import translate_os_errors
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.upkeep.retention import (
    DAY_NS,
    RemovingDisk,
    clear,
    plan_removal,
    remove,
    remove_session,
    sessions_to_remove,
    wait_for_writers,
)
from handrail.event_log.files.upkeep.usage import attested_in, half_made_in, pinned_in, usage_of
from handrail.event_log.files.upkeep.verify import check_sessions
from handrail.ports.log import Blob, Committed, Draft, EventLog, Loaded
from handrail.ports.store import (
    CopyWay,
    RemovalPlan,
    Removed,
    SessionCheck,
    SessionCopy,
    SessionToRemove,
    StoreCheck,
    StoreUsage,
)


class FileKeeper:
    """Checks, measures, empties and copies the store in one data directory."""

    def __init__(self, data: str, disk: RemovingDisk | None = None) -> None:
        self._disk = disk or RemovingDisk()
        self._data = data
        self._log = FileLog(data, self._disk)

    def check(self, session_ids: Sequence[SessionId] = ()) -> Iterator[SessionCheck | StoreCheck]:
        return check_sessions(self._log, session_ids)

    def usage(self) -> StoreUsage:
        with translate_os_errors():
            pinned = pinned_in(self._log)
            half_made = half_made_in(self._log)
        return usage_of(self._log, None if pinned.blocked_by else pinned.refs, half_made)

    def plan_removal(self, older_than_days: int, keep: Sequence[SessionId] = ()) -> RemovalPlan:
        # Age counts from the newest commit, so a clock that runs ahead makes nothing old, and neither does
        # one commit made by such a clock.
        newest_ns = max((stamp.order for stamp in self._log.list_sessions()), default=0)
        before_ns = min(self._disk.now_ns(), newest_ns + 1) - older_than_days * DAY_NS
        return plan_removal(self._log, before_ns, keep)

    def remove(self, plan: RemovalPlan) -> Removed:
        return remove(self._log, self._disk, plan)

    def sessions_to_remove(self, session_ids: Sequence[SessionId]) -> tuple[SessionToRemove, ...]:
        return sessions_to_remove(self._log, session_ids)

    def remove_session(self, session: SessionToRemove, wait_ms: int) -> int | None:
        return remove_session(self._log, self._disk, session, wait_ms)

    def clear(self, name: str) -> int:
        return clear(self._log, self._disk, name)

    def wait_for_writers(self, session_ids: Sequence[SessionId], wait_ms: int) -> None:
        wait_for_writers(self._log, session_ids, wait_ms)

    def plan_copy(self, way: CopyWay, session_ids: Sequence[SessionId] = ()) -> tuple[SessionCopy, ...]:
        source, target = self._open_both(way)
        return plan_copy(source, target, session_ids)

    def copy_session(self, way: CopyWay, session: SessionCopy) -> None:
        source, target = self._open_both(way)
        copy_session(source, target, session)

    def _open_both(self, way: CopyWay) -> tuple[FileLog, FileLog]:
        """The stores of two homes. Raises: Fault E_VALIDATION."""
        homes = (way.source, way.target)
        source, target = (os.path.realpath(f"{home}/data" if home else self._data) for home in homes)
        if source == target:
            raise _invalid_home(
                "to", "is the place that is copied from", "two different homes: --from, --to or both"
            )
        if way.source and not os.path.isdir(source):
            raise _invalid_home("from", "holds no store", "the home of a store")
        return FileLog(source), FileLog(target)


def _invalid_home(param: str, problem: str, expected: str) -> Fault:
    return Fault(
        E_VALIDATION,
        f"{param} {problem}; expected {expected}.",
        details={"problems": [{"param": param, "problem": problem, "expected": expected}]},
    )


# Copying sessions into another store and comparing the two. Both hold the same chain, so equal digests at the
# end mean equal events from the first one on.

_WAIT_MS: Final = 5_000


def plan_copy(source: FileLog, target: EventLog, wanted: Sequence[SessionId] = ()) -> tuple[SessionCopy, ...]:
    """What the target lacks, session by session; a session that cannot be copied says why."""
    return tuple(_plan_or_explain(source, target, session_id) for session_id in _choose_order(source, wanted))


def copy_session(source: FileLog, target: EventLog, session: SessionCopy) -> None:
    """Add what the target lacks, commit by commit, then compare.

    Raises: Fault SESSION_NOT_FOUND, SESSION_NOT_HEALTHY, E_CONFLICT when one of the two is not as planned, or
    STORE_TARGET_NOT_EMPTY when the target has other events under the same session id.
    """
    session_id = session.session_id
    loaded = _load_healthy(source, session_id)
    if _plan(session_id, loaded, target) != session:
        raise refusal("target_changed")
    with target.hold(session_id, _WAIT_MS) as hold:
        for drafts, blobs, head in _commits(source, session, loaded):
            if not isinstance(hold.append(head, drafts, blobs), Committed):  # grown since: only the first can
                raise refusal("target_changed")
    _compare(session_id, loaded, target)


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
