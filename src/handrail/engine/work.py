"""What an agent reports, and what the blocked attempts right before it already brought. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

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
    """What the blocked attempts right above a node brought; a retry need not send it again.

    It is judged again with the retry: what was wrong is not taken over.
    """

    notes: str = ""
    artifacts: tuple[dict[str, Any], ...] = ()


NOTHING_KEPT = Kept()

Subject: TypeAlias = Callable[[dict[str, Any]], tuple[str, str]]
"""What an artifact is about."""


def long_notes_before(history: History, node: Node) -> BlobRef | None:
    """Where the whole notes are that a retry at this node counts, if an event holds only their beginning."""
    while node.kind == "blocked_attempt" and node.parent is not None:
        written = history.notes.get(node.node_id)
        if written is not None:
            return written.ref
        node = history.nodes[node.parent]
    return None


def kept_before(history: History, node: Node, subject_of: Subject, whole_notes: str = "") -> Kept:
    """The notes and artifacts that the unbroken line of blocked attempts that ends at a node leaves.

    `whole_notes` stand for notes that only a blob holds whole (`long_notes_before`).
    """
    attempts: list[Node] = []
    while node.kind == "blocked_attempt" and node.parent is not None:
        attempts.append(node)
        node = history.nodes[node.parent]
    kept = NOTHING_KEPT
    for attempt in reversed(attempts):
        written = history.notes.get(attempt.node_id)
        notes = "" if written is None else written.text
        brought = [held.artifact.body for held in attached_to(history, attempt.node_id).artifacts]
        kept = kept_after(kept, notes, brought, subject_of)
    return msgspec.structs.replace(kept, notes=whole_notes or kept.notes)


def kept_after(kept: Kept, notes: str, brought: Sequence[dict[str, Any]], subject_of: Subject) -> Kept:
    """What is left after one more blocked attempt: what it brought replaces what came before of the same."""
    replaced = {subject_of(body) for body in brought}
    before = (body for body in kept.artifacts if subject_of(body) not in replaced)
    return Kept(notes=notes or kept.notes, artifacts=(*before, *brought))


def excerpt(notes: str, limit: int = RECAP_EXCERPT_BYTES) -> str:
    """The leading bytes of a text, cut between characters."""
    return notes.encode()[:limit].decode(errors="ignore")
