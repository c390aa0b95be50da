"""A store as its owner handles it: check, measure, copy, remove, prove, index. Facts, then promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from handrail.contract.ids import BlobRef, SessionId
from handrail.contract.search_terms import Choice
from handrail.ports.log import EventLog, EventReader, SessionStamp
from handrail.ports.process import Audit, ConfirmedTokens, Keys

# Facts: checks, sizes, plans for removal, proofs


class StoreProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it must be. `id` is a session id, a blob ref or a path in the store."""

    what: Literal["session", "blob", "file", "keys"]
    id: str
    reason: str
    detail: str


class SessionCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What the check of one session found, before its blobs were read."""

    session_id: SessionId
    events: int
    bytes_read: int
    problems: tuple[StoreProblem, ...]
    is_newer: bool = False
    """A newer version wrote it: what is stored is sound, and this one cannot judge all of it."""
    is_elsewhere: bool = False
    """Another store made it, or recorded an answer or a check result in it."""


class StoreCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a check of every byte found; the same store gives the same value."""

    sessions: int
    events: int
    blobs: int
    """Blobs that a commit names."""
    leftover_blobs: int
    """Blobs that no commit names: a writer died, or their session was removed."""
    unattested_sessions: int
    """Directories with events but no commit: a first commit that never finished."""
    bytes_read: int
    problems: tuple[StoreProblem, ...]
    unattested: tuple[SessionId, ...] = ()
    """Those of them that no collection removes, because they may be all that is left of a session."""
    half_removed: int = 0
    """Sessions that were removed, of which files are still there."""
    newer: tuple[SessionId, ...] = ()
    """Sessions that a newer version wrote."""
    workspaces: int = 0
    """Of a team, that were looked at."""
    elsewhere: tuple[SessionId, ...] = ()
    """Sessions that another store made, or in which another one recorded an answer or a check result."""


class SessionUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What one session takes."""

    session_id: SessionId
    events: int
    bytes: int


class StoreUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What the store takes, in bytes of file content."""

    sessions: tuple[SessionUsage, ...]
    """Largest first, then by id."""
    unreadable: tuple[SessionId, ...]
    """Sessions whose size alone is known, or not even that."""
    blobs: int
    blob_bytes: int
    leftover_blobs: int
    """Blobs that no commit names; none while a session could name any of them."""
    leftover_sessions: int
    """Sessions in which nothing was ever acknowledged: a start was killed."""
    leftover_bytes: int
    """What the next collection may free: these, and half-removed sessions."""
    cache_bytes: int
    """What can be deleted at any time and is made again when needed."""


class SessionToRemove(msgspec.Struct, frozen=True, kw_only=True):
    """One session that is to go, bound to what it holds: if it grew since, it stays."""

    session_id: SessionId
    head_digest: str
    bytes: int

    @property
    def version(self) -> str:
        """Another one after every change, also of a session whose events cannot be read."""
        return f"{self.head_digest} {self.bytes}"


class RemovalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a collection would remove; nothing has happened yet."""

    sessions: tuple[SessionToRemove, ...]
    blobs: tuple[BlobRef, ...]
    blob_bytes: int
    blocked_by: tuple[str, ...]
    """Sessions that could name any blob, because they cannot be read whole: then no blob is removed."""
    half_made: tuple[SessionToRemove, ...] = ()
    """Sessions in which nothing was ever acknowledged, because a start was killed; they go as well."""
    half_removed: dict[str, int] = {}
    """Bytes by directory of what is left of sessions that were removed before."""


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """What a collection removed."""

    sessions: tuple[SessionId, ...]
    kept: tuple[SessionId, ...]
    """Sessions of the plan that grew after it was made."""
    blobs: int
    bytes_freed: int
    blocked_by: tuple[str, ...]
    busy: tuple[SessionId, ...] = ()
    """Sessions that somebody kept writing to: then no blob was removed, because any could be theirs."""


class DatabaseFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A store in a database, as it answers now."""

    place: str
    """Host and name; never a user or a password."""
    is_answering: bool
    version: int = 0
    """Of its tables; 0 before the first write."""
    trouble: str = ""


class StoreOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """What a store can prove of its history."""

    listed: int = 0
    """Sessions that were there before the key; what they hold is unproven, unless it was adopted."""
    is_adopted: bool = False


class MovedSessions(msgspec.Struct, frozen=True, kw_only=True):
    """What a move took along."""

    sessions: int
    events: int
    left: tuple[SessionCopy, ...] = ()
    """Sessions that could not be taken along, each with the reason."""


class CopyWay(msgspec.Struct, frozen=True, kw_only=True):
    """From which home to which; empty: the one that is in use."""

    source: str = ""
    target: str = ""


class SessionCopy(msgspec.Struct, frozen=True, kw_only=True):
    """One session of a copy: `missing` events are not in the target yet."""

    session_id: SessionId
    events: int = 0
    missing: int = 0
    head_digest: str = ""
    """The chain digest after the last event, the same in source and copy."""
    trouble: str = ""
    """The catalogue code of what keeps it from being copied; empty: nothing does."""
    detail: str = ""


class ProofOrder(msgspec.Struct, frozen=True, kw_only=True):
    """How much to prove, where, and the seed of every choice by chance."""

    kills: int
    seed: int
    directory: str
    """Where the scratch directory is made; empty: beside the store."""


class ProofPart(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of trouble that the store was put through."""

    name: str
    cases: int
    """How often it was put through it."""
    facts: dict[str, int]
    problems: tuple[str, ...]
    """Empty when the store kept every promise."""


# The session index


class IndexTrouble(Exception):
    """The index cannot be used; whoever catches this reads the log instead."""

    def __init__(self, message: str, *, is_broken: bool = False) -> None:
        super().__init__(message)
        self.is_broken = is_broken


class Indexed(msgspec.Struct, frozen=True, kw_only=True):
    """A stored session, the version of its files, and its facts if the index has them for that version."""

    stamp: SessionStamp
    version: str
    facts: bytes | None
    lacks_words: bool = False
    """Whether it surely lacks one of the words that were asked for."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What the index keeps of a session."""

    session_id: SessionId
    version: str
    facts: bytes
    subjects: bytes
    words: str
    """Every word that it can be found by, between spaces."""
    about: str = ""
    """The text of which a list finds any part, in the case that is compared."""


class IndexView(Protocol):
    """One view of the index. Every method raises IndexTrouble when the file refuses."""

    reader: EventReader
    """What is kept must be read with this: it trusts nothing that this process read before."""

    def count(self) -> int:
        """How many `look` gives without a question."""

    def look(self, most: int = 0, after: SessionStamp | None = None) -> Sequence[Indexed]:
        """Just the sessions of `EventReader.list_sessions`, in its order: all, or at least as many of the
        first ones, or of those after this one."""

    def find(
        self,
        needed: Sequence[Choice],
        parts: Sequence[str] = (),
        most: int = 0,
        after: SessionStamp | None = None,
    ) -> Sequence[Indexed]:
        """The same without some that surely have neither a word of each choice nor, where parts are given,
        all these in their `about`."""

    def with_word(self, word: str) -> frozenset[SessionId]:
        """The indexed sessions that have this word."""

    def subjects(self, session_ids: Sequence[SessionId]) -> Mapping[SessionId, bytes]:
        """What `keep` was given, of those that it was given any of."""

    def keep(self, entries: Sequence[Entry]) -> None:
        """Add or replace these, and drop what is no longer in the store; nothing is read after it."""


class SessionIndex(Protocol):
    """A rebuildable cache beside the log."""

    def open_view(self, form: str) -> AbstractContextManager[IndexView]:
        """Open a view; entries of another form are dropped first. Raises IndexTrouble."""


# Keeping and proving a store


class StoreKeeper(Protocol):
    """The store as a whole, for who operates it. Raises Fault STORE_IO_ERROR,
    STORE_PERMISSION_DENIED or STORE_UNAVAILABLE."""

    def check(self, session_ids: Sequence[SessionId] = ()) -> Iterator[SessionCheck | StoreCheck]:
        """Every byte of these sessions and their blobs, or of the store: each session, last the whole."""

    def usage(self) -> StoreUsage:
        """What takes how much."""

    def plan_removal(self, older_than_days: int, keep: Sequence[SessionId] = ()) -> RemovalPlan:
        """Sessions without activity for so long before the newest, and the blobs that only they name."""

    def remove(self, plan: RemovalPlan) -> Removed:
        """Sessions first, then blobs. A session that grew since the plan stays; so do blobs in use."""

    def sessions_to_remove(self, session_ids: Sequence[SessionId]) -> tuple[SessionToRemove, ...]:
        """Those of these sessions that exist, bound to what they hold now."""

    def remove_session(self, session: SessionToRemove, wait_ms: int) -> int | None:
        """Bytes freed; None: it is gone, or grew since, and stays whole. Raises also Fault SESSION_LOCKED."""

    def clear(self, name: str) -> int:
        """Delete what a removal before left under this name; the bytes that this call freed."""

    def wait_for_writers(self, session_ids: Sequence[SessionId], wait_ms: int) -> None:
        """Wait until no process writes to any of these sessions. Raises also Fault SESSION_LOCKED."""

    def origin(self) -> StoreOrigin:
        """What this store can prove. Raises also Fault KEYRING_INVALID."""

    def adopt(self) -> None:
        """Everything that is listed counts as recorded here. Raises also Fault KEYRING_INVALID."""

    def move(self, way: CopyWay) -> MovedSessions:
        """Take every session, the keys of tokens and the store key to `way.target`, or in from `way.source`.

        A repeat continues. Raises also Fault KEYRING_INVALID, E_VALIDATION for a place that is not fit, and
        STORE_TARGET_NOT_EMPTY when the store that is moved into has sessions and another key."""

    def plan_copy(self, way: CopyWay, session_ids: Sequence[SessionId] = ()) -> tuple[SessionCopy, ...]:
        """What the target lacks of these sessions, or of all; what cannot be copied says why."""

    def copy_session(self, way: CopyWay, session: SessionCopy) -> None:
        """Bring the target up to date as planned and compare it event by event.
        Raises Fault SESSION_NOT_FOUND, SESSION_NOT_HEALTHY, SESSION_LOCKED, E_CONFLICT when the source or the
        target is not as planned, or STORE_TARGET_NOT_EMPTY when the target holds other events under the same
        session id."""


class StoreProof(Protocol):
    """Puts a scratch store on the user's own disk through killed and crowding writers."""

    def run(self, order: ProofOrder) -> Iterator[ProofPart]:
        """One part per kind of trouble, each when it is done; the scratch directory is gone afterwards.
        Raises Fault E_VALIDATION when the directory does not exist, E_IO when it cannot be written."""


class SharedStore(Protocol):
    """A store that a team shares, opened."""

    log: EventLog
    keys: Keys
    confirmed: ConfirmedTokens
    keeper: StoreKeeper
    index: SessionIndex
    audit: Audit

    def facts(self) -> DatabaseFacts:
        """Where it is and whether it answers. Changes nothing, never raises."""

    def marks(self) -> Mapping[str, str]:
        """What changes with every commit, for each session; nothing while the database is away."""
