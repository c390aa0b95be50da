"""What the file log remembers of sessions between calls, so that a call costs what is new, not what is old.

Nothing here is truth: it counts only while the files look as a writer left them, each use compares it with
the manifest on disk first, and forgetting it costs one full reading. All stores are bounded; the session that
was used longest ago goes first.
"""

from __future__ import annotations

from _thread import allocate_lock
from typing import Final, Generic, TypeVar

import msgspec

from handrail.contract.ids import BlobRef, SessionId
from handrail.event_log.looks import Look, look_up_to
from handrail.event_log.manifest import Tip

_T = TypeVar("_T")

TIPS_PER_SESSION: Final = 8
"""Callers are a few commits apart when several work on one session."""
MOST_SESSIONS: Final = 4_096
MOST_KEYS: Final = 500_000
"""About 60 MB of dedupe keys over all sessions."""


class WriterMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What a holder needs to know of the whole log to append to it.

    The collections grow in place: they belong to whoever holds the session, and to nobody else.
    """

    tip: Tip
    keys: dict[str, int]
    """Dedupe key -> event index."""
    pinned: set[BlobRef]


class Recent(Generic[_T]):
    """The values used last, up to a number of them and up to a total weight. Safe between threads."""

    def __init__(self, most: int, most_weight: int = 0) -> None:
        self._most = most
        self._most_weight = most_weight
        self._guard = allocate_lock()
        self._kept: dict[SessionId, tuple[_T, int]] = {}
        self._weight = 0

    def get(self, session_id: SessionId) -> _T | None:
        with self._guard:
            found = self._kept.pop(session_id, None)
            if found is not None:
                self._kept[session_id] = found
        return None if found is None else found[0]

    def take(self, session_id: SessionId) -> _T | None:
        """The value, which is no longer kept."""
        with self._guard:
            value, weight = self._kept.pop(session_id, (None, 0))
            self._weight -= weight
        return value

    def put(self, session_id: SessionId, value: _T, weight: int = 0) -> None:
        with self._guard:
            _, before = self._kept.pop(session_id, (None, 0))
            self._kept[session_id] = (value, weight)
            self._weight += weight - before
            while len(self._kept) > self._most or (len(self._kept) > 1 and self._weight > self._most_weight):
                _, dropped = self._kept.pop(next(iter(self._kept)))
                self._weight -= dropped

    def __len__(self) -> int:
        return len(self._kept)


class Warm:
    """Tips for whoever reads, what holders know, and how the files looked when all that was proven."""

    def __init__(self) -> None:
        self._seen: Recent[tuple[tuple[Tip, ...], Look | None]] = Recent(MOST_SESSIONS)
        self.writers: Recent[WriterMemory] = Recent(MOST_SESSIONS, MOST_KEYS)

    def tip_before(self, session_id: SessionId, index: int) -> Tip | None:
        """The latest tip known from which a reading shows event `index` and all after it."""
        return next((tip for tip in reversed(self._tips(session_id)) if tip.head <= index), None)

    def latest_tip(self, session_id: SessionId) -> Tip | None:
        tips = self._tips(session_id)
        return tips[-1] if tips else None

    def look(self, session_id: SessionId) -> Look | None:
        """How the files looked when everything known was proven; None when they must be proven again."""
        seen = self._seen.get(session_id)
        return None if seen is None else seen[1]

    def saw(self, session_id: SessionId, tip: Tip, look: Look | None) -> None:
        """A reading ended here, of files that looked so before."""
        earlier = tuple(known for known in self._tips(session_id) if known.end < tip.end)
        shown = None if look is None else look_up_to(look, tip)
        self._seen.put(session_id, ((*earlier, tip)[-TIPS_PER_SESSION:], shown))

    def forget(self, session_id: SessionId) -> None:
        self._seen.take(session_id)
        self.writers.take(session_id)

    def _tips(self, session_id: SessionId) -> tuple[Tip, ...]:
        seen = self._seen.get(session_id)
        return () if seen is None else seen[0]
