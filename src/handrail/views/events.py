"""The events of a session as rows of the log. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from handrail.contract.ids import SessionId, event_id
from handrail.contract.outcome import Payload
from handrail.engine.folding import StoredRecord


class EventRow(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """One event. `data` is what was recorded, including text from agents and people."""

    event_id: str
    event_index: int
    session_id: str
    v: int
    kind: str
    scope: dict[str, str]
    dedupe_key: str
    at: str
    data: dict[str, Any]


def event_rows(
    session_id: SessionId, records: Iterable[StoredRecord], *, after: int = -1, kinds: Sequence[str] = ()
) -> Iterator[EventRow]:
    """Yield the events after an index, of these kinds or of all; one at a time, so that a stream need not
    wait.

    A kind that this version does not know is shown like any other, because nothing is interpreted.
    """
    for record in records:
        if record.index <= after:
            continue
        row = _row(session_id, record)
        if not kinds or row.kind in kinds:
            yield row


def _row(session_id: SessionId, record: StoredRecord) -> EventRow:
    stored: dict[str, Any] = msgspec.json.decode(record.body)
    data = dict(stored.get("data", {}))
    return EventRow(
        event_id=event_id(record.digest),
        event_index=record.index,
        session_id=session_id,
        v=stored.get("v", 0),
        kind=str(data.pop("kind", "")),
        scope=stored.get("scope", {}),
        dedupe_key=record.dedupe_key,
        at=str(stored.get("at", "")),
        data=data,
    )
