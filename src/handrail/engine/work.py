"""What an agent reports, and what it already brought for the step that is pending. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from handrail.contract.ids import BlobRef
from handrail.engine.history import History, Node, attached_to, instance_of, kept_in_instance
from handrail.engine.reasons import Blocker

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
    """What blocked attempts and checkpoints of the pending step brought; a report need not send it again.

    It is judged again with the report: what was wrong is not taken over.
    """

    notes: str = ""
    artifacts: tuple[dict[str, Any], ...] = ()


NOTHING_KEPT = Kept()

Subject: TypeAlias = Callable[[dict[str, Any]], tuple[str, str]]
"""What an artifact is about."""


def long_notes_before(history: History, node: Node) -> BlobRef | None:
    """Where the whole notes are that a retry at this node counts, if an event holds only their beginning."""
    for attempt in reversed(_attempts_before(history, node)):
        written = history.notes.get(attempt.node_id)
        if written is not None:
            return written.ref
    return None


def kept_before(
    history: History,
    node: Node,
    subject_of: Subject,
    whole_notes: str = "",
    asked: frozenset[str] = frozenset(),
) -> Kept:
    """What was brought for the step that is pending at a node, and need not be sent again.

    Notes and artifacts of the blocked attempts that lead there; of every checkpoint of the step, as a recap
    tells them, the artifacts of a kind that the step asks for (`asked`): what else one brings counts at once.
    `whole_notes` stand for notes that only a blob holds whole (`long_notes_before`).
    """
    saved = [one for one in kept_in_instance(history, instance_of(history, node.node_id)) if _is_saved(one)]
    kept = NOTHING_KEPT
    for earlier in sorted([*_attempts_before(history, node), *saved], key=lambda held: held.index):
        written = None if _is_saved(earlier) else history.notes.get(earlier.node_id)
        brought = [
            held.artifact.body
            for held in attached_to(history, earlier.node_id).artifacts
            if not _is_saved(earlier) or held.artifact.kind in asked
        ]
        kept = kept_after(kept, "" if written is None else written.text, brought, subject_of)
    return msgspec.structs.replace(kept, notes=whole_notes or kept.notes)


def blockers_before(history: History, node: Node) -> tuple[Blocker, ...]:
    """Why the attempts at the pending step that lead to a node were blocked."""
    made = {attempt.node_id for attempt in _attempts_before(history, node)}
    if not made:
        return ()
    answers = [answer.blocked for answer in history.advances.values() if answer.to_node_id in made]
    return tuple(blocker for blocked in answers if blocked is not None for blocker in blocked.every_blocker)


def _attempts_before(history: History, node: Node) -> list[Node]:
    """The blocked attempts of the pending step on the way to a node, oldest first."""
    attempts: list[Node] = []
    while node.kind != "step" and node.parent is not None:
        if node.kind == "blocked_attempt":
            attempts.append(node)
        node = history.nodes[node.parent]
    return attempts[::-1]


def _is_saved(node: Node) -> bool:
    return node.kind == "checkpoint"


def kept_after(kept: Kept, notes: str, brought: Sequence[dict[str, Any]], subject_of: Subject) -> Kept:
    """What is left after one more blocked attempt: what it brought replaces what came before of the same."""
    replaced = {subject_of(body) for body in brought}
    before = (body for body in kept.artifacts if subject_of(body) not in replaced)
    return Kept(notes=notes or kept.notes, artifacts=(*before, *brought))


def excerpt(notes: str, limit: int = RECAP_EXCERPT_BYTES) -> str:
    """The leading bytes of a text, cut between characters."""
    return notes.encode()[:limit].decode(errors="ignore")
