"""What an agent reports, and what the blocked attempts right before it already brought. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.ids import BlobRef
from handrail.engine.history import History, Node, attached_to

RECAP_EXCERPT_BYTES = 4_096
"""Notes up to this size stand in the event; longer ones go to a blob, and recaps show this much."""


class WorkDone(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent reports with an ack or a checkpoint."""

    input_digest: str
    notes: str = ""
    notes_ref: BlobRef | None = None
    """Where the whole notes are kept when they are longer than an event holds."""
    context: dict[str, Any] = {}
    artifacts: tuple[dict[str, Any], ...] = ()
    option: int | None = None
    """Of a choice step: the place of the option whose token came."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What the blocked attempts right above a node brought; a retry need not send it again."""

    notes: str = ""
    artifacts: tuple[dict[str, Any], ...] = ()


def long_notes_before(history: History, node: Node) -> BlobRef | None:
    """Where the whole notes are that a retry at this node counts, if an event holds only their beginning."""
    while node.kind == "blocked_attempt" and node.parent is not None:
        written = history.notes.get(node.node_id)
        if written is not None:
            return written.ref
        node = history.nodes[node.parent]
    return None


def kept_before(history: History, node: Node, whole_notes: str = "") -> Kept:
    """The newest notes and artifacts of the unbroken line of blocked attempts that ends at a node.

    `whole_notes` stand for notes that only a blob holds whole (`long_notes_before`).
    """
    notes = whole_notes
    newest: dict[tuple[object, ...], dict[str, Any]] = {}
    while node.kind == "blocked_attempt" and node.parent is not None:
        written = history.notes.get(node.node_id)
        if not notes and written is not None and written.ref is None:
            notes = written.text
        for held in attached_to(history, node.node_id).artifacts:
            newest.setdefault(_subject(held.artifact.body), held.artifact.body)
        node = history.nodes[node.parent]
    return Kept(notes=notes, artifacts=tuple(newest.values()))


def with_kept(work: WorkDone, kept: Kept) -> WorkDone:
    """The report as it is judged: what it brings, and of what was brought before the parts it leaves out."""
    brought = {_subject(body) for body in work.artifacts}
    before = tuple(body for body in kept.artifacts if _subject(body) not in brought)
    return msgspec.structs.replace(work, notes=work.notes or kept.notes, artifacts=(*work.artifacts, *before))


def excerpt(notes: str, limit: int = RECAP_EXCERPT_BYTES) -> str:
    """The leading bytes of a text, cut between characters."""
    return notes.encode()[:limit].decode(errors="ignore")


def _subject(body: dict[str, Any]) -> tuple[object, ...]:
    """What an artifact is about: a later one about the same replaces it."""
    return tuple(str(body.get(name, "")) for name in ("kind", "assessmentId", "loopId", "capability"))
