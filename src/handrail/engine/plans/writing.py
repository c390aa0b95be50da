"""The events that several plans share: how nodes, edges and reported work are written down. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from handrail.contract.ids import NodeId
from handrail.contract.vocabulary import ObservationKey
from handrail.engine.events import (
    MOST_TRACE_ENTRIES,
    Artifact,
    ContextSet,
    DecisionTraceAppended,
    EdgeCause,
    EdgeCreated,
    EdgeKind,
    Event,
    NodeOutputAppended,
    NotesKept,
    NotesStored,
    ObservationRecorded,
    PlannedEvent,
    PreferencesChanged,
    Scope,
)
from handrail.engine.history import History, Node, seen_at
from handrail.engine.navigate import EnteredLoop, EvaluatedCondition, TraceEntry
from handrail.engine.preferences import change_since
from handrail.engine.work import WorkDone, excerpt

OBSERVED_ON_THE_WAY: Final[tuple[ObservationKey, ...]] = ("git_branch", "git_head_sha")


def planned(dedupe_key: str, scope: Scope, data: Event) -> PlannedEvent:
    return PlannedEvent(dedupe_key=dedupe_key, scope=scope, data=data)


def edge(node: Node, to_node_id: NodeId, kind: EdgeKind, cause: EdgeCause) -> PlannedEvent:
    created = EdgeCreated(edge_kind=kind, from_node_id=node.node_id, to_node_id=to_node_id, cause=cause)
    return planned(f"edge_created:{node.node_id}->{to_node_id}", Scope(run_id=node.run_id), created)


def work_events(scope: Scope, work: WorkDone, artifacts: Sequence[Artifact]) -> list[PlannedEvent]:
    """Context, notes, then artifacts by digest; they belong to the node they lead to (EXEC lineage)."""
    node_id = scope.node_id
    assert node_id is not None, "work is recorded at a node"
    plan = []
    if work.context:
        delta = ContextSet(context=work.context, source="agent_delta")
        plan.append(planned(f"context_set:{node_id}", scope, delta))
    if work.notes:
        output_id = output_name(node_id, "recap")
        appended = NodeOutputAppended(output_id=output_id, channel="recap", notes=kept_notes(work))
        plan.append(planned(f"node_output_appended:{output_id}", scope, appended))
    for artifact in artifacts:
        output_id = output_name(node_id, artifact.digest.removeprefix("sha256:")[:16])
        kept = NodeOutputAppended(output_id=output_id, channel="artifact", artifact=artifact)
        plan.append(planned(f"node_output_appended:{output_id}", scope, kept))
    return plan


def observed_changes(
    history: History, node: Node, scope: Scope, seen: Mapping[ObservationKey, str]
) -> list[PlannedEvent]:
    """Branch and head at the new node, where they are not what they were at the one before it.

    Only within one repository: a caller that works elsewhere says nothing about this run.
    """
    known = seen_at(history, node.node_id)
    if seen.get("repo_root_hash") != known.get("repo_root_hash"):
        return []
    return [
        planned(
            f"observation_recorded:{scope.node_id}:{key}",
            scope,
            ObservationRecorded(key=key, value=seen[key]),
        )
        for key in OBSERVED_ON_THE_WAY
        if key in seen and seen[key] != known.get(key)
    ]


def output_name(node_id: NodeId, what: str) -> str:
    return f"out_{node_id.removeprefix('nod_')}_{what}"


def trace_event(scope: Scope, entries: Sequence[TraceEntry]) -> list[PlannedEvent]:
    """The decisions that led to a node; of a long trace the middle is left out and counted.

    What was passed by and how loops ended is kept before the conditions that were looked at.
    """
    if not entries:
        return []
    kept = tuple(entries)
    if len(kept) > MOST_TRACE_ENTRIES:
        kept = tuple(entry for entry in kept if not isinstance(entry, EvaluatedCondition | EnteredLoop))
    more = max(0, len(kept) - MOST_TRACE_ENTRIES)
    first = MOST_TRACE_ENTRIES // 2 if more else len(kept)
    kept = (*kept[:first], *kept[first + more :])
    appended = DecisionTraceAppended(entries=kept, omitted=len(entries) - len(kept))
    return [planned(f"decision_trace_appended:{scope.node_id}", scope, appended)]


def preferences_event(scope: Scope, change: PreferencesChanged) -> PlannedEvent:
    return planned(f"preferences_changed:{scope.node_id}", scope, change)


def carried_preferences(history: History, node: Node, scope: Scope) -> list[PlannedEvent]:
    """A baseline that a person set in between applies from the next node on."""
    change = change_since(history, node.node_id, f"prf_{scope.node_id}")
    return [] if change is None else [preferences_event(scope, change)]


def kept_notes(work: WorkDone) -> NotesKept | NotesStored:
    if work.notes_ref is None:
        return NotesKept(text=work.notes)
    encoded = work.notes.encode()
    return NotesStored(excerpt=excerpt(work.notes), ref=work.notes_ref, size_bytes=len(encoded))
