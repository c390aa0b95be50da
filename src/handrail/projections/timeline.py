"""The events of a session in order: as rows of the log, and as a timeline with one lane per run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from handrail.contract.ids import SessionId, event_id
from handrail.contract.outcome import Payload, make_from
from handrail.contract.wording import name_person
from handrail.engine.folding import StoredRecord
from handrail.engine.history import History
from handrail.engine.navigate import step_key
from handrail.engine.receipts import describe_outcome, write_line
from handrail.projections.evidence import spell_answer
from handrail.projections.run_graph import completed_step

# Events as they are stored, one row each


class EventRow(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """One event. `data` is what was recorded, text of agents and people included."""

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
    """The events after an index, of these kinds or of all; made one at a time, for lists and for streams.

    A kind that this version does not know is shown like any other: nothing is interpreted.
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


# The timeline

SESSION_LANE = "session"


class TimelineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened. `lane` is a run id, or `session`."""

    index: int
    at: str
    lane: str
    what: str
    """A kind of node, `receipt` of a check, what a person answered (`confirmed`, `declined`), or `closed`; in
    the lane of the session `notes`, `renamed` (the last time) or `imported`."""
    words: str = ""
    """What a person did who did not decline; of a check its command and how it ended."""
    who: str = ""
    """Who answered, and what they wrote."""
    note: str = ""
    node_id: str = ""
    step_id: str = ""
    """The step that was acknowledged, or that a check or a person was asked about; empty at the start."""


def timeline(history: History, most: int) -> tuple[TimelineEntry, ...]:
    """The newest entries, oldest first. Ordered by the log, never by clock."""
    nodes = history.nodes
    entries = [
        make_from(
            TimelineEntry, node, lane=node.run_id, what=node.kind, step_id=completed_step(history, node)
        )
        for node in sorted(nodes.values(), key=lambda node: node.index)[-most:]
    ]
    entries += [
        make_from(TimelineEntry, held, lane=run_id, what="closed")
        for run_id, closings in history.closings.items()
        for held in closings[-most:]
    ]
    entries += [
        make_from(
            TimelineEntry,
            held,
            lane=nodes[node_id].run_id,
            what=held.fact.answer,
            words=spell_answer(history, held),
            who=name_person(held.fact.who),
            note=held.fact.note,
            node_id=node_id,
            step_id=step_key(nodes[node_id].state),
        )
        for node_id, answers in tuple(history.confirmations.items())[-most:]
        for held in answers[-most:]
    ]
    entries += _receipts(history)[-most:]
    of_session = {
        "notes": tuple(history.session_notes.values())[-most:],
        "renamed": (history.title,),
        "imported": (history.imported,),
    }
    entries += [
        make_from(TimelineEntry, held, lane=SESSION_LANE, what=what)
        for what, every in of_session.items()
        for held in every
        if held is not None
    ]
    return tuple(sorted(entries, key=lambda entry: entry.index)[-most:])


def _receipts(history: History) -> list[TimelineEntry]:
    """The checks that Handrail itself ran; what hooks tell of is in the log, and too much for here."""
    found = [
        make_from(
            TimelineEntry,
            receipt,
            lane=history.nodes[node_id].run_id,
            what="receipt",
            words=f"{fact.check or write_line(fact.argv, fact.by)}: {describe_outcome(fact.outcome)}",
            node_id=node_id,
            step_id=step_key(history.nodes[node_id].state),
        )
        for node_id, held in history.receipts.items()
        for receipt, fact in ((one, one.fact) for one in held)
        if fact.by != "client_hook"
    ]
    return sorted(found, key=lambda entry: entry.index)
