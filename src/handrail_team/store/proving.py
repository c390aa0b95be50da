"""Rows of the database, proven: the chain of digests is worked out again from what was read. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.contract.json.canonical import chain_digest, genesis
from handrail.ports.log import Health, HealthReason, Loaded, Record


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What the row of a session says: how many events it has, and the chain digest after them."""

    head: int
    digest: str


def prove(session_id: str, head: Head, rows: Sequence[Record], index: int) -> Loaded:
    """The events from `index` on; `rows` begin with the one before it, which the first is chained to."""
    begin = max(0, index - 1)
    if begin >= head.head and not rows:
        return Loaded(records=(), head=head.head, digest=head.digest)
    digest, proven = genesis(session_id), begin
    for row in rows:
        if row.index != proven:
            return _damaged(rows, index, proven, "non_contiguous")
        is_anchor = row.index == begin and begin > 0
        digest = row.digest if is_anchor else chain_digest(digest, row.dedupe_key, row.body)
        if digest != row.digest:
            return _damaged(rows, index, proven, "digest_mismatch")
        proven += 1
    if proven < head.head:
        return _damaged(rows, index, proven, "history_lost")
    if digest != head.digest:
        return _damaged(rows, index, proven - 1, "digest_mismatch")
    return Loaded(records=_from(rows, index, proven), head=head.head, digest=digest)


def _damaged(rows: Sequence[Record], index: int, proven: int, reason: HealthReason) -> Loaded:
    return Loaded(records=_from(rows, index, proven), head=proven, health=_describe(reason, proven))


def _from(rows: Sequence[Record], index: int, end: int) -> tuple[Record, ...]:
    return tuple(row for row in rows if index <= row.index < end)


def _describe(reason: HealthReason, proven: int) -> Health:
    if proven == 0:
        return Health(state="corrupt_head", reason=reason, detail="No event of the session can be proven.")
    lost = "Work that was acknowledged is not in the database any more. " if reason == "history_lost" else ""
    detail = f"{lost}Events 0 to {proven - 1} are proven; event {proven} is not."
    return Health(state="corrupt_tail", reason=reason, detail=detail)
