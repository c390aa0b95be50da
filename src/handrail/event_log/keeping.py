"""The operator's side of a store in files: `ports.StoreKeeper`."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.contract.ids import SessionId
from handrail.contract.store_facts import (
    RemovalPlan,
    Removed,
    SessionCopy,
    SessionToRemove,
    StoreCheck,
    StoreUsage,
)
from handrail.event_log.copying import copy, plan_copy
from handrail.event_log.files import FileLog
from handrail.event_log.retention import (
    DAY_NS,
    RemovingDisk,
    plan_removal,
    remove,
    remove_session,
    sessions_to_remove,
)
from handrail.event_log.usage import usage_of
from handrail.event_log.verify import check_store


class FileKeeper:
    """Checks, measures, empties and copies the store in one data directory."""

    def __init__(self, data: str, disk: RemovingDisk | None = None) -> None:
        self._disk = disk or RemovingDisk()
        self._log = FileLog(data, self._disk)

    def check(self, session_ids: Sequence[SessionId] = ()) -> StoreCheck:
        return check_store(self._log, session_ids)

    def usage(self) -> StoreUsage:
        return usage_of(self._log)

    def plan_removal(self, older_than_days: int, keep: Sequence[SessionId] = ()) -> RemovalPlan:
        before_ns = self._disk.now_ns() - older_than_days * DAY_NS
        return plan_removal(self._log, before_ns, keep)

    def remove(self, plan: RemovalPlan) -> Removed:
        return remove(self._log, self._disk, plan)

    def sessions_to_remove(self, session_ids: Sequence[SessionId]) -> tuple[SessionToRemove, ...]:
        return sessions_to_remove(self._log, session_ids)

    def remove_session(self, session: SessionToRemove) -> bool:
        return remove_session(self._log, self._disk, session)

    def plan_copy(self, target: str, session_ids: Sequence[SessionId] = ()) -> tuple[SessionCopy, ...]:
        return plan_copy(self._log, FileLog(target), session_ids)

    def copy(self, target: str, session_ids: Sequence[SessionId] = ()) -> tuple[SessionCopy, ...]:
        return copy(self._log, FileLog(target), session_ids)
