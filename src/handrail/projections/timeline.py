"""A session in the order in which things happened: one lane per run, and one for the session itself. Pure."""

from __future__ import annotations

import msgspec

from handrail.engine.history import History
from handrail.projections.lineage import done_step

SESSION_LANE = "session"


class TimelineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened. `lane` is a run id, or `session`."""

    index: int
    at: str
    lane: str
    what: str
    """A kind of node, or `closed`; in the lane of the session `notes` or `imported`."""
    node_id: str = ""
    step_id: str = ""
    """The step that was acknowledged; empty at the start of a run."""


def timeline(history: History, most: int) -> tuple[TimelineEntry, ...]:
    """The newest entries, oldest first. Ordered by the log, never by clock."""
    entries = [
        TimelineEntry(
            index=node.index,
            at=node.at,
            lane=node.run_id,
            what=node.kind,
            node_id=node.node_id,
            step_id=done_step(history, node),
        )
        for node in sorted(history.nodes.values(), key=lambda node: node.index)[-most:]
    ]
    entries += [
        TimelineEntry(index=held.index, at=held.at, lane=SESSION_LANE, what="notes")
        for held in tuple(history.session_notes.values())[-most:]
    ]
    entries += [
        TimelineEntry(
            index=held.index, at=held.at, lane=run_id, what="closed", node_id=held.node_id, step_id=""
        )
        for run_id, closings in history.closings.items()
        for held in closings[-most:]
    ]
    if history.imported is not None:
        label = history.imported
        entries.append(TimelineEntry(index=label.index, at=label.at, lane=SESSION_LANE, what="imported"))
    return tuple(sorted(entries, key=lambda entry: entry.index)[-most:])
