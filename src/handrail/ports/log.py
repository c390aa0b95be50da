"""The log of a session, as the runtime needs it. The docstrings are the promises.

`tests/event_log/log_promises.py` repeats them in code; every adapter passes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeAlias

import msgspec

from handrail.contract.ids import BlobRef, SessionId

Vouched: TypeAlias = Literal["", "wanted", "needed"]
"""`needed`: without the store key nothing is committed; `wanted`: it is committed without a line."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """One event as planned. `body` is one JSON object without a newline; the log never reads it."""

    dedupe_key: str
    body: bytes
    vouched: Vouched = ""
    """Whether its commit gets an authentication line of this store."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One event as committed. `digest` is the chain digest that includes it."""

    index: int
    dedupe_key: str
    body: bytes
    digest: str
    is_ours: bool = True
    """Whether an authentication line shows that this store made the commit of this event.

    A store without a key of its own vouches for everything that it holds.
    """


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a session was in the store before it had a key: nobody can prove who wrote that."""

    listed: int = 0
    """Its first events, as many as the authenticated list says; 0: the session is younger than the key."""
    is_adopted: bool = False
    """Whether a person said that everything on the list is theirs."""


class Blob(msgspec.Struct, frozen=True, kw_only=True):
    """Content that a plan introduces, stored by the digest of its bytes."""

    ref: BlobRef
    content: bytes


HealthState: TypeAlias = Literal["healthy", "corrupt_tail", "corrupt_head", "unknown_version"]
HealthReason: TypeAlias = Literal[
    "",
    "digest_mismatch",
    "non_contiguous",
    "missing_segment",
    "missing_blob",
    "undecodable",
    "unsupported_version",
    "history_lost",
]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What the log can prove about a session; `reason` is empty when healthy."""

    state: HealthState = "healthy"
    reason: HealthReason = ""
    detail: str = ""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The attested events of a session, in order, from `first_index` on, and how sound they are.

    When the state is not healthy, `records` is the prefix that is still proven.
    """

    records: tuple[Record, ...]
    head: int
    """How many events the session has: the index the next one gets."""
    digest: str = ""
    """The chain digest after the last event: the same head with another digest is another log.

    Empty when the state is not healthy.
    """
    health: Health = Health()


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """The whole plan is durable."""

    records: tuple[Record, ...]


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The first dedupe key of the plan is known; nothing was written."""

    record: Record


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """The log is not where the caller thought; nothing was written. Load, decide again."""

    head: int


Appended: TypeAlias = Committed | Replayed | Conflict


class SessionStamp(msgspec.Struct, frozen=True, kw_only=True):
    """One stored session in a listing. `order` sorts by last activity and is never shown as a time."""

    session_id: SessionId
    order: int


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller worked out from the first `head` events, whose chain digest is `digest`."""

    head: int
    digest: str
    content: bytes


class EventReader(Protocol):
    """What rehydrate and every read get; it cannot append, because it has no such method.

    Raises Fault STORE_IO_ERROR, STORE_PERMISSION_DENIED, STORE_UNAVAILABLE or STORE_UNSUPPORTED_VERSION.
    """

    def load(self, session_id: SessionId) -> Loaded | None:
        """Return all attested events; None when the session was never created here.

        Never waits for a writer: it sees a committed prefix. Never changes a byte of the store.
        Bytes that nothing attests are ignored, not salvaged.
        """

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        """Return the same from event `index` on."""

    def recall(self, session_id: SessionId) -> Remembered | None:
        """Return what `SessionHold.remember` was given last, if the log still begins with just those events.

        A cache: None at any time, and then `load` gives the same for more time.
        """

    def origin(self, session_id: SessionId, digest: str) -> Origin:
        """What the list of the store key says of a session whose newest event has this chain digest."""

    def list_sessions(self, most: int = 0) -> Sequence[SessionStamp]:
        """Every session with at least one commit, or so `most` of them: last activity first, then by id."""

    def get_blob(self, ref: BlobRef) -> bytes:
        """The content, checked against its ref. Raises Fault STORE_CORRUPT when it is missing or differs."""


class SessionHold(Protocol):
    """The only way to append: `EventLog.hold` gives it, dead after its scope ends."""

    def load(self) -> Loaded | None:
        """As `EventReader.load`, under the hold: nothing can be added before the scope ends."""

    def load_since(self, index: int) -> Loaded | None:
        """Return the same from event `index` on."""

    def append(
        self, expected_head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = (), line: str = ""
    ) -> Appended:
        """Commit the whole plan or nothing, durably, before returning.

        Order of answers: a first dedupe key that is already in the log is `Replayed`; a head other than
        `expected_head` is `Conflict`; else the blobs are durable before the events that name them, and the
        events with the record that attests them before `Committed`. A record that survives a crash without
        its events attests nothing: it was never acknowledged.
        `line` is the authentication line of a commit that is copied: it stays as it is, and proves something
        only in the store that made it. An empty plan is a broken assumption. After the hold's scope:
        AssertionError before any I/O.

        Raises Fault SESSION_NOT_HEALTHY when the session is not healthy, STORE_IO_ERROR when the
        disk refuses, KEYRING_INVALID when a line is needed and the store key cannot be used; then nothing of
        the plan counts.
        """

    remembers_from: int
    """From this many events on it is quicker to recall what was worked out than to work it out again."""

    def remember(self, content: bytes) -> None:
        """Keep what was worked out from all events up to now, for `recall`. Never raises for the disk."""


class EventLog(EventReader, Protocol):
    """The store: one append-only log per session plus content-addressed blobs."""

    def hold(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[SessionHold]:
        """Be the single writer of a session, existing or new, for the scope of the `with`.

        `known` is how many events the caller has: a store that is far away reads those after them together
        with the lock.

        Raises Fault SESSION_LOCKED when another writer keeps it longer than `wait_ms`. The hold ends with
        the process, however it dies. Alone it creates nothing that `load` or `list_sessions` would show.
        """

    def hold_existing(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[SessionHold]:
        """The same for a session that its caller saw. Raises Fault SESSION_NOT_FOUND, and makes nothing."""
