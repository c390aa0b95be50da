"""What can be said about a store as a whole: checks, sizes, what would be removed, what was proven. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.ids import BlobRef, SessionId


class StoreProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it must be. `id` is a session id, a blob ref or a path in the store."""

    what: Literal["session", "blob", "file", "keys"]
    id: str
    reason: str
    detail: str


class SessionCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at one session found, before its blobs were read."""

    session_id: SessionId
    events: int
    bytes_read: int
    problems: tuple[StoreProblem, ...]


class StoreCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a look at every byte found; the same store gives the same value."""

    sessions: int
    events: int
    blobs: int
    """Blobs that a commit names."""
    leftover_blobs: int
    """Blobs that no commit names: a writer died, or their session was removed."""
    unattested_sessions: int
    """Directories with events of which no commit tells: a first commit that never finished."""
    bytes_read: int
    problems: tuple[StoreProblem, ...]
    unattested: tuple[SessionId, ...] = ()
    """Those of them that no collection removes, because they may be all that is left of a session."""
    half_removed: int = 0
    """Sessions that were removed, of which files are still there."""


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
    """Those of which only the size could be told, or not even that."""
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


Effort: TypeAlias = Literal["quick", "full"]


class ProofOrder(msgspec.Struct, frozen=True, kw_only=True):
    """How much to prove, where, and the seed of every choice by chance."""

    effort: Effort
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
