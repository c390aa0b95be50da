"""A store as its operator handles it: check, measure, copy, remove, prove and index its content."""

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
    """One problem of the store. `id` is a session id, a blob ref or a path in the store."""

    what: Literal["session", "blob", "file", "keys"]
    id: str
    reason: str
    detail: str


class SessionCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of checking one session, before its blobs were read."""

    session_id: SessionId
    events: int
    bytes_read: int
    problems: tuple[StoreProblem, ...]
    is_newer: bool = False
    """Whether a newer version wrote it: its bytes are sound, but this version cannot judge all of them."""
    is_elsewhere: bool = False
    """Whether another store made it, or recorded an answer or a check result in it."""


class StoreCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of checking every byte; the same store gives the same value."""

    sessions: int
    events: int
    blobs: int
    """Number of blobs that a commit names."""
    leftover_blobs: int
    """Number of blobs that no commit names: a writer died, or their session was removed."""
    unattested_sessions: int
    """Number of directories with events but no commit: a first commit that never finished."""
    bytes_read: int
    problems: tuple[StoreProblem, ...]
    unattested: tuple[SessionId, ...] = ()
    """Those of them that no collection removes, because they may be all that is left of a session."""
    half_removed: int = 0
    """Number of removed sessions of which files still exist."""
    newer: tuple[SessionId, ...] = ()
    """Sessions that a newer version wrote."""
    workspaces: int = 0
    """Number of workspaces of a team that were checked."""
    elsewhere: tuple[SessionId, ...] = ()
    """Sessions that another store made, or in which another one recorded an answer or a check result."""


class SessionUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The space that one session takes."""

    session_id: SessionId
    events: int
    bytes: int


class StoreUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The space that the store takes, in bytes of file content."""

    sessions: tuple[SessionUsage, ...]
    """Largest first, then by id."""
    unreadable: tuple[SessionId, ...]
    """Sessions of which at most the size is known."""
    blobs: int
    blob_bytes: int
    leftover_blobs: int
    """Number of blobs that no commit names; 0 while an unreadable session could name any of them."""
    leftover_sessions: int
    """Number of sessions in which nothing was ever acknowledged, because a start was killed."""
    leftover_bytes: int
    """Bytes that the next collection may free: those of leftovers and of half-removed sessions."""
    cache_bytes: int
    """Bytes that can be deleted at any time and are made again when needed."""


class SessionToRemove(msgspec.Struct, frozen=True, kw_only=True):
    """One session to remove, bound to its present content: if it grew since, it stays."""

    session_id: SessionId
    head_digest: str
    bytes: int

    @property
    def version(self) -> str:
        """Return a value that differs after every change, even if the session's events cannot be read."""
        return f"{self.head_digest} {self.bytes}"


class RemovalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a collection would remove; nothing has been removed yet."""

    sessions: tuple[SessionToRemove, ...]
    blobs: tuple[BlobRef, ...]
    blob_bytes: int
    blocked_by: tuple[str, ...]
    """Sessions that could name any blob, because they cannot be read whole; then no blob is removed."""
    half_made: tuple[SessionToRemove, ...] = ()
    """Sessions in which nothing was ever acknowledged, because a start was killed; they are removed too."""
    half_removed: dict[str, int] = {}
    """Bytes left of sessions that were removed earlier, by directory."""


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a collection."""

    sessions: tuple[SessionId, ...]
    kept: tuple[SessionId, ...]
    """Sessions of the plan that stay because they grew after it was made."""
    blobs: int
    bytes_freed: int
    blocked_by: tuple[str, ...]
    busy: tuple[SessionId, ...] = ()
    """Sessions that a writer kept busy: then no blob was removed, because any could belong to them."""


class DatabaseFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The present state of a store in a database."""

    place: str
    """Host and name; never a user or a password."""
    is_answering: bool
    version: int = 0
    """Version of its tables; 0 before the first write."""
    trouble: str = ""


class StoreOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """What a store can prove about the origin of its sessions."""

    listed: int = 0
    """Number of sessions from before the key; their content is unproven, unless a person adopted it."""
    is_adopted: bool = False


class MovedSessions(msgspec.Struct, frozen=True, kw_only=True):
    """The result of moving a store."""

    sessions: int
    events: int
    left: tuple[SessionCopy, ...] = ()
    """Sessions that could not be moved, each with the reason."""


class CopyWay(msgspec.Struct, frozen=True, kw_only=True):
    """Source and target home of a copy; empty for the home in use."""

    source: str = ""
    target: str = ""


class SessionCopy(msgspec.Struct, frozen=True, kw_only=True):
    """One session of a copy: `missing` events are not yet in the target."""

    session_id: SessionId
    events: int = 0
    missing: int = 0
    head_digest: str = ""
    """The chain digest after the last event, equal in source and copy."""
    trouble: str = ""
    """Catalogue code of the reason why it cannot be copied; empty if it can."""
    detail: str = ""


class ProofOrder(msgspec.Struct, frozen=True, kw_only=True):
    """How much to prove, where, and the seed of every random choice."""

    kills: int
    seed: int
    directory: str
    """Where the scratch directory is made; empty for a place next to the store."""


class ProofPart(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one kind of failure that the store was put through."""

    name: str
    cases: int
    """How often the failure was tried."""
    facts: dict[str, int]
    problems: tuple[str, ...]
    """Empty if the store kept every promise."""


# The session index


class IndexTrouble(Exception):
    """The index cannot be used; the caller reads the log instead."""

    def __init__(self, message: str, *, is_broken: bool = False) -> None:
        super().__init__(message)
        self.is_broken = is_broken


class Indexed(msgspec.Struct, frozen=True, kw_only=True):
    """A stored session, the version of its files, and its facts if the index has them for that version."""

    stamp: SessionStamp
    version: str
    facts: bytes | None
    lacks_words: bool = False
    """Whether it certainly lacks one of the words that were searched for."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What the index keeps about a session."""

    session_id: SessionId
    version: str
    facts: bytes
    subjects: bytes
    words: str
    """Every word that the session can be found by, separated by spaces."""
    about: str = ""
    """Text that list filters match against, in the case that is compared."""


class IndexView(Protocol):
    """One view of the index. Every method raises IndexTrouble if the file cannot be used."""

    reader: EventReader
    """Reader for the content that is to be kept: it ignores everything that this process has in memory."""

    def count(self) -> int:
        """Return the number of sessions that an unlimited `look` returns."""

    def look(self, most: int = 0, after: SessionStamp | None = None) -> Sequence[Indexed]:
        """Return the sessions of `EventReader.list_sessions`, in its order.

        All of them, or at least the first `most`, beginning after the session `after`.
        """

    def find(
        self,
        needed: Sequence[Choice],
        parts: Sequence[str] = (),
        most: int = 0,
        after: SessionStamp | None = None,
    ) -> Sequence[Indexed]:
        """Return the same without some sessions that certainly do not match.

        A session matches if it has a word of each choice and all `parts` in its `about`.
        """

    def with_word(self, word: str) -> frozenset[SessionId]:
        """Return the indexed sessions that have this word."""

    def subjects(self, session_ids: Sequence[SessionId]) -> Mapping[SessionId, bytes]:
        """Return the subjects that `keep` stored, of the sessions that have any."""

    def keep(self, entries: Sequence[Entry]) -> None:
        """Add or replace these entries, and drop those of removed sessions; nothing is read after it."""


class SessionIndex(Protocol):
    """A cache of facts about sessions that can be rebuilt from the log."""

    def open_view(self, form: str) -> AbstractContextManager[IndexView]:
        """Open a view; entries of another form are dropped first. Raise IndexTrouble."""


# Keeping and proving a store


class StoreKeeper(Protocol):
    """The store as a whole, for its operator.

    Every method may raise Fault STORE_IO_ERROR, STORE_PERMISSION_DENIED or STORE_UNAVAILABLE.
    """

    def check(self, session_ids: Sequence[SessionId] = ()) -> Iterator[SessionCheck | StoreCheck]:
        """Check every byte of these sessions and their blobs, or of the store.

        Yield each session, then the whole.
        """

    def usage(self) -> StoreUsage:
        """Return the space that each part of the store takes."""

    def plan_removal(self, older_than_days: int, keep: Sequence[SessionId] = ()) -> RemovalPlan:
        """Plan to remove sessions whose last activity is so many days before the newest, and blobs only they
        name.
        """

    def remove(self, plan: RemovalPlan) -> Removed:
        """Remove sessions, then blobs. A session that grew since the plan stays; so do blobs in use."""

    def sessions_to_remove(self, session_ids: Sequence[SessionId]) -> tuple[SessionToRemove, ...]:
        """Return the existing sessions among these, bound to their present content."""

    def remove_session(self, session: SessionToRemove, wait_ms: int) -> int | None:
        """Remove a session and return the bytes freed; None if it is gone, or stays because it grew.

        Raise Fault SESSION_LOCKED too.
        """

    def clear(self, name: str) -> int:
        """Delete what an earlier removal left under this name; return the bytes that this call freed."""

    def wait_for_writers(self, session_ids: Sequence[SessionId], wait_ms: int) -> None:
        """Wait until no process writes to any of these sessions. Raise Fault SESSION_LOCKED too."""

    def origin(self) -> StoreOrigin:
        """Return what this store can prove about its sessions. Raise Fault KEYRING_INVALID too."""

    def adopt(self) -> None:
        """Count everything on the list as recorded here. Raise Fault KEYRING_INVALID too."""

    def move(self, way: CopyWay) -> MovedSessions:
        """Move every session, the keys of tokens and the store key to `way.target`, or in from `way.source`.

        A repeat continues. Raise also Fault KEYRING_INVALID, E_VALIDATION for an unsuitable place, and
        STORE_TARGET_NOT_EMPTY if the target store has sessions and another key.
        """

    def plan_copy(self, way: CopyWay, session_ids: Sequence[SessionId] = ()) -> tuple[SessionCopy, ...]:
        """Return what the target lacks of these sessions, or of all.

        For a session that cannot be copied, it has the reason.
        """

    def copy_session(self, way: CopyWay, session: SessionCopy) -> None:
        """Add what the plan lists to the target and compare it event by event.

        Raise Fault SESSION_NOT_FOUND, SESSION_NOT_HEALTHY, SESSION_LOCKED, E_CONFLICT if the source or the
        target is not as planned, or STORE_TARGET_NOT_EMPTY if the target has other events under the same
        session id.
        """


class StoreProof(Protocol):
    """Tests a scratch store on the user's own disk with killed and competing writers."""

    def run(self, order: ProofOrder) -> Iterator[ProofPart]:
        """Yield the result for each kind of failure as soon as it is known, then remove the scratch
        directory.

        Raise Fault E_VALIDATION if the directory does not exist, E_IO if it cannot be written.
        """


class SharedStore(Protocol):
    """An opened store that a team shares."""

    log: EventLog
    keys: Keys
    confirmed: ConfirmedTokens
    keeper: StoreKeeper
    index: SessionIndex
    audit: Audit

    def facts(self) -> DatabaseFacts:
        """Return where the database is and whether it answers. Changes nothing, never raises."""

    def marks(self) -> Mapping[str, str]:
        """Return a mark for each session that changes with every commit; empty if the database cannot be
        reached.
        """
