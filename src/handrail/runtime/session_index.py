"""The port of the session index: a rebuildable cache beside the log, never truth."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from handrail.contract.ids import SessionId
from handrail.ports import EventReader, SessionStamp


class IndexTrouble(Exception):
    """The index cannot be used; whoever meets this reads the log."""

    def __init__(self, said: str, *, is_broken: bool = False) -> None:
        super().__init__(said)
        self.is_broken = is_broken


class Indexed(msgspec.Struct, frozen=True, kw_only=True):
    """A stored session, the look of its files, and its facts where the index has them for just that look."""

    stamp: SessionStamp
    version: str
    facts: bytes | None


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What the index keeps of a session."""

    session_id: SessionId
    version: str
    facts: bytes
    subjects: bytes
    words: str
    """Every word that it can be found by, between spaces."""


class IndexView(Protocol):
    """One look into the index. Every method raises IndexTrouble when the file refuses."""

    reader: EventReader
    """What is kept must come from here: it believes nothing that this process read before."""

    def look(self) -> Sequence[Indexed]:
        """Just the sessions of `EventReader.list_sessions`, in its order."""

    def with_words(self, words: Sequence[str]) -> frozenset[SessionId]:
        """The indexed sessions that have all these words."""

    def subjects(self, session_id: SessionId) -> bytes | None:
        """What `keep` was given."""

    def keep(self, entries: Sequence[Entry]) -> None:
        """Add or replace these, and drop what is no longer in the store; nothing is read after it."""


class SessionIndex(Protocol):
    """A rebuildable cache beside the log."""

    def opened(self, form: str) -> AbstractContextManager[IndexView]:
        """A look; entries of another form are dropped first. Raises IndexTrouble."""
