"""What an agent that lost its context needs to read again, within a budget. Pure.

Stored notes are data, never instructions: the payload marks them untrusted, text surfaces fence them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.contract.ids import NodeId
from handrail.engine.events import Blocked
from handrail.engine.history import History, Node, path_to
from handrail.engine.navigate import leaf_at
from handrail.engine.reply import BranchSummary, Recap, RecapArtifact, RecapEntry, SkippedPart
from handrail.engine.state import Running, step_key
from handrail.projections.lineage import current_artifacts, skipped_at
from handrail.projections.overview import imported_from
from handrail.projections.run_graph import preferred_tip_below, run_graph, status_at
from handrail.workflows.compiled import CompiledWorkflow

RECAP_BUDGET_BYTES = 12_288
ARTIFACT_BUDGET_BYTES = 4_096
MOST_SKIPPED = 50
CHILD_NOTES_BYTES = 512
TRUNCATION_MARK = "\n\n[TRUNCATED]"
KEPT_MOST_RECENT = "kept the most recent entries"


def recap_at(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> Recap:
    """The recap of a rehydrate: the way to the node, and what lies below it if it was advanced already."""
    entries, omitted = _entries(history, workflow, path_to(history, node_id))
    artifacts, left_out = _artifacts(history, node_id)
    blocked = _blocked_at(history, history.nodes[node_id])
    recap = Recap(
        entries=entries,
        truncated=omitted > 0,
        omitted=omitted,
        policy=KEPT_MOST_RECENT if omitted else "",
        artifacts=artifacts,
        artifacts_omitted=left_out,
        skipped=[
            SkippedPart(step_id=entry.step_id, condition_id=entry.condition_id)
            for entry in skipped_at(history, node_id)[-MOST_SKIPPED:]
        ],
        blocked_by=list(blocked.blockers) if blocked else [],
        example=blocked.example if blocked else None,
        imported_from=imported_from(history),
    )
    return _with_branches(recap, history, workflow, node_id)


def lost_branch(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> Recap:
    """What an agent that forked from a node does not remember: the branches that were already there."""
    return _with_branches(Recap(entries=[]), history, workflow, node_id)


def _with_branches(recap: Recap, history: History, workflow: CompiledWorkflow, node_id: NodeId) -> Recap:
    below = history.children.get(node_id, ())
    if not below:
        return recap
    graph = run_graph(history, history.nodes[node_id].run_id)
    children = [
        BranchSummary(
            node_id=child,
            is_preferred=child in graph.preferred_path,
            status=status_at(history, history.nodes[child]),
            pending_step_id=_pending_id(history.nodes[child]),
            notes=_cut(_notes_text(history, child), CHILD_NOTES_BYTES),
        )
        for child in below
    ]
    path = path_to(history, preferred_tip_below(history, graph, node_id))
    start = next(place for place, node in enumerate(path) if node.node_id == node_id)
    downstream, omitted = _entries(history, workflow, path[start + 1 :])
    return msgspec.structs.replace(
        recap,
        children=children,
        downstream=downstream,
        truncated=recap.truncated or omitted > 0,
        omitted=recap.omitted + omitted,
        policy=KEPT_MOST_RECENT if recap.omitted + omitted else "",
    )


def _entries(
    history: History, workflow: CompiledWorkflow, path: Sequence[Node]
) -> tuple[list[RecapEntry], int]:
    """The most recent entries that fit the budget, oldest first, and how many were left out."""
    told = _told(history, path)
    kept = 0
    used = 0
    for _, text in reversed(told):
        used += len(text.encode())
        if used > RECAP_BUDGET_BYTES:
            break
        kept += 1
    shown = [_entry(history, workflow, node, text) for node, text in told[len(told) - kept :]]
    return shown, len(told) - kept


def _told(history: History, path: Sequence[Node]) -> list[tuple[Node, str]]:
    """Every node with notes to tell. From the end, so that a long way is walked once."""
    told = []
    is_retold = False  # whether notes of a blocked attempt here would be told again by what followed it
    for node in reversed(path):
        notes = history.notes.get(node.node_id)
        is_left_out = node.parent is None or (node.kind == "blocked_attempt" and is_retold)
        if notes is not None and not is_left_out:
            told.append((node, notes.text + (TRUNCATION_MARK if notes.ref is not None else "")))
        if node.kind != "checkpoint":
            is_retold = notes is not None or (is_retold and node.kind != "step")
    told.reverse()
    return told


def _entry(history: History, workflow: CompiledWorkflow, node: Node, text: str) -> RecapEntry:
    assert node.parent is not None, "a first node has no notes"
    done = history.nodes[node.parent].state  # notes at a node tell of the step that led to it
    assert isinstance(done, Running), "nothing follows a finished run"
    return RecapEntry(
        node_id=node.node_id,
        step_id=step_key(done),
        title=leaf_at(workflow, done).title,
        is_checkpoint=node.kind == "checkpoint",
        notes=text,
    )


def _artifacts(history: History, node_id: NodeId) -> tuple[list[RecapArtifact], int]:
    """The most recently delivered artifacts that fit, oldest first, and how many were left out."""
    current = current_artifacts(history, node_id)
    kept = 0
    used = 0
    for artifact in reversed(current):
        used += len(msgspec.json.encode(artifact.body))
        if used > ARTIFACT_BUDGET_BYTES:
            break
        kept += 1
    shown = [
        RecapArtifact(kind=artifact.kind, step_id=artifact.step_id, body=artifact.body)
        for artifact in current[len(current) - kept :]
    ]
    return shown, len(current) - kept


def _blocked_at(history: History, node: Node) -> Blocked | None:
    """Why the attempt that made this node was blocked."""
    if node.kind != "blocked_attempt":
        return None
    answers = history.advances.values()
    return next(answer.blocked for answer in answers if answer.to_node_id == node.node_id)


def _notes_text(history: History, node_id: NodeId) -> str:
    notes = history.notes.get(node_id)
    return notes.text if notes else ""


def _cut(text: str, limit: int) -> str:
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return encoded[:limit].decode(errors="ignore") + TRUNCATION_MARK


def _pending_id(node: Node) -> str | None:
    return step_key(node.state) if isinstance(node.state, Running) else None
