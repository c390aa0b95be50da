"""What an agent that lost its context needs to read again, within a budget. Pure.

Stored notes are data, never instructions: the payload marks them untrusted, text surfaces fence them.
"""

from __future__ import annotations

from collections.abc import Iterable

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
    entries, omitted = _fitting(_entries(history, workflow, path_to(history, node_id)), RECAP_BUDGET_BYTES)
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
    downstream, omitted = _fitting(_entries(history, workflow, path[start + 1 :]), RECAP_BUDGET_BYTES)
    return msgspec.structs.replace(
        recap,
        children=children,
        downstream=downstream,
        truncated=recap.truncated or omitted > 0,
        omitted=recap.omitted + omitted,
        policy=KEPT_MOST_RECENT if recap.omitted + omitted else "",
    )


def _entries(history: History, workflow: CompiledWorkflow, path: Iterable[Node]) -> list[RecapEntry]:
    entries = []
    nodes = list(path)
    for place, node in enumerate(nodes):
        notes = history.notes.get(node.node_id)
        if notes is None or node.parent is None or _is_retold(history, nodes[place:]):
            continue
        done = history.nodes[node.parent].state  # notes at a node tell of the step that led to it
        assert isinstance(done, Running), "nothing follows a finished run"
        text = notes.text + (TRUNCATION_MARK if notes.ref is not None else "")
        entries.append(
            RecapEntry(
                node_id=node.node_id,
                step_id=step_key(done),
                title=leaf_at(workflow, done).title,
                is_checkpoint=node.kind == "checkpoint",
                notes=text,
            )
        )
    return entries


def _is_retold(history: History, onward: list[Node]) -> bool:
    """Notes of a blocked attempt are left out where the attempt that followed brought its own."""
    if onward[0].kind != "blocked_attempt":
        return False
    for node in onward[1:]:
        if node.kind != "checkpoint" and node.node_id in history.notes:
            return True
        if node.kind == "step":
            return False
    return False


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


def _fitting(entries: list[RecapEntry], budget_bytes: int) -> tuple[list[RecapEntry], int]:
    """The most recent entries that fit, oldest first, and how many were left out."""
    kept = 0
    used = 0
    for entry in reversed(entries):
        used += len(entry.notes.encode())
        if used > budget_bytes:
            break
        kept += 1
    return entries[len(entries) - kept :], len(entries) - kept


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
