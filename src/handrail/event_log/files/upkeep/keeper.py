"""The operator's side of a store in files: `ports.StoreKeeper`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.event_log.copying import CommitFacts, copy_session, plan_copy
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
        copy_session(source, commits_in(source, session.session_id), target, session)

    def _open_both(self, way: CopyWay) -> tuple[FileLog, FileLog]:
        """The stores of two homes. Raises: Fault E_VALIDATION."""
        homes = (way.source, way.target)
        source, target = (os.path.realpath(f"{home}/data" if home else self._data) for home in homes)
        if source == target:
            raise _invalid_home(
                "to", "is the place that is copied from", "two different homes: --from, --to or both"
            )
        return open_source(way.source) if way.source else FileLog(source), FileLog(target)


def open_source(home: str) -> FileLog:
    """The store of a home that sessions are copied from. Raises Fault E_VALIDATION."""
    data = os.path.realpath(f"{home}/data")
    if not os.path.isdir(data):
        raise _invalid_home("from", "holds no store", "the home of a store")
    return FileLog(data)


def commits_in(log: FileLog, session_id: SessionId) -> Sequence[CommitFacts]:
    """The commits of a session as they were made."""
    with translate_os_errors(session_id):
        attestations = attested_in(log, session_id).attestations
    return [CommitFacts(first=one.first, last=one.last, blobs=tuple(one.blobs)) for one in attestations]


def _invalid_home(param: str, problem: str, expected: str) -> Fault:
    return Fault(
        E_VALIDATION,
        f"{param} {problem}; expected {expected}.",
        details={"problems": [{"param": param, "problem": problem, "expected": expected}]},
    )
