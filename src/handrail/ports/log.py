"""The log of a session, as the runtime needs it. The docstrings are the guarantees.

`tests/event_log/log_promises.py` checks them for every adapter.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeAlias

import msgspec

from handrail.contract.ids import BlobRef, SessionId

Vouched: TypeAlias = Literal["", "wanted", "needed"]
"""Whether a commit needs an authentication line.

`needed`: without the store key the commit is refused; `wanted`: it is made without a line.
"""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """One event as planned. `body` is one JSON object without a newline; the log never reads it."""

    dedupe_key: str
    body: bytes
    vouched: Vouched = ""
    """Whether the commit of this event gets an authentication line of this store."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One event as committed. `digest` is the chain digest that includes it."""

    index: int
    dedupe_key: str
    body: bytes
    digest: str
    is_ours: bool = True
    """Whether an authentication line shows that this store made the commit of this event.

    A store without a key counts every event as its own.
    """


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a session was in the store before it had a key.

    The source of those events cannot be proven.
    """

    listed: int = 0
    """Number of first events that the authenticated list covers; 0 if the session is younger than the key."""
    is_adopted: bool = False
    """Whether a person adopted everything on the list as their own."""


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
    """The attested events of a session, in order, from `first_index` on, and their health.

    If the state is not healthy, `records` is the prefix that is still proven.
    """

    records: tuple[Record, ...]
    head: int
    """Number of events in the session, which is the index of the next one."""
    digest: str = ""
    """The chain digest after the last event: the same head with another digest is another log; empty if the
    state is not healthy.
    """
    health: Health = Health()


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """The whole plan is durable."""

    records: tuple[Record, ...]


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The first dedupe key of the plan is known; nothing was written."""

    record: Record


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """The log is at another head than the caller expected; nothing was written. Load and decide again."""

    head: int


Appended: TypeAlias = Committed | Replayed | Conflict


class SessionStamp(msgspec.Struct, frozen=True, kw_only=True):
    """One stored session in a listing. `order` sorts by last activity and is never shown as a time."""

    session_id: SessionId
    order: int


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller computed from the first `head` events, whose chain digest is `digest`."""

    head: int
    digest: str
    content: bytes


class EventReader(Protocol):
    """The read side of the log, for rehydrate and every read; it has no method that appends.

    Every method may raise Fault STORE_IO_ERROR, STORE_PERMISSION_DENIED, STORE_UNAVAILABLE or
    STORE_UNSUPPORTED_VERSION.
    """

    def load(self, session_id: SessionId) -> Loaded | None:
        """Return all attested events; None if the session was never created here.

        Never waits for a writer: it returns a committed prefix. Never changes a byte of the store. Bytes
        that no commit attests are ignored, not salvaged.
        """

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        """Return the same from event `index` on."""

    def recall(self, session_id: SessionId) -> Remembered | None:
        """Return what `SessionHold.remember` received last, if the log still begins with these events.

        A cache: it may return None at any time, and then `load` gives the same result in more time.
        """

    def origin(self, session_id: SessionId, digest: str) -> Origin:
        """Return what the store key's list says about a session whose newest event has this chain digest."""

    def list_sessions(self, most: int = 0) -> Sequence[SessionStamp]:
        """Return every session with a commit, or about `most` of them: last activity first, then by id."""

    def get_blob(self, ref: BlobRef) -> bytes:
        """Return the content, checked against its ref.

        Raise Fault STORE_CORRUPT if it is missing or differs.
        """


class SessionHold(Protocol):
    """The only way to append. `EventLog.hold` returns it, and it is unusable after the scope ends."""

    def load(self) -> Loaded | None:
        """As `EventReader.load`, under the lock: nothing can be added before the scope ends."""

    def load_since(self, index: int) -> Loaded | None:
        """Return the same from event `index` on."""

    def append(
        self, expected_head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = (), line: str = ""
    ) -> Appended:
        """Commit the whole plan or nothing, durably, before returning.

        Order of answers: if the first dedupe key is already in the log, `Replayed`; if the head is not
        `expected_head`, `Conflict`; otherwise `Committed`. Before `Committed`, the blobs are durable before
        the events that name them, and the events together with the record that attests them. A record that
        survives a crash without its events attests nothing: it was never acknowledged. `line` is the
        authentication line of a copied commit: it stays as it is, and proves something only in the store
        that made it. An empty plan is a broken assumption. After the scope of the hold: AssertionError
        before any I/O.

        Raise Fault SESSION_NOT_HEALTHY if the session is not healthy, STORE_IO_ERROR if the disk refuses,
        and KEYRING_INVALID if a line is needed and the store key cannot be used; then nothing of the plan
        counts.
        """

    remembers_from: int
    """From this many events on, recalling a computed result is quicker than computing it again."""

    def remember(self, content: bytes) -> None:
        """Keep what was computed from all events so far, for `recall`. Never raises for the disk."""


class EventLog(EventReader, Protocol):
    """The store: one append-only log per session plus content-addressed blobs."""

    def hold(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[SessionHold]:
        """Be the only writer of a session, existing or new, for the scope of the `with`.

        `known` is the number of events that the caller has: a remote store then reads the later ones
        together with the lock.

        Raise Fault SESSION_LOCKED if another writer keeps the lock longer than `wait_ms`. The hold ends with
        the process, however it dies. Alone it creates nothing that `load` or `list_sessions` would return.
        """

    def hold_existing(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[SessionHold]:
        """The same for a session that the caller has read.

        Raise Fault SESSION_NOT_FOUND, and create nothing.
        """
