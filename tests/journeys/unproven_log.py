"""A log whose newest events cannot be proven, without a disk to damage."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.ports.log import EventLog, Health, Loaded

UNPROVEN = Health(state="corrupt_tail", reason="digest_mismatch")


class UnprovenLog:
    """Everything as the log has it, but for its word that it is whole."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def load(self, session_id: Any) -> Loaded | None:
        return _doubted(self._log.load(session_id))

    def load_since(self, session_id: Any, index: int) -> Loaded | None:
        return _doubted(self._log.load_since(session_id, index))


def _doubted(loaded: Loaded | None) -> Loaded | None:
    return None if loaded is None else msgspec.structs.replace(loaded, health=UNPROVEN)
