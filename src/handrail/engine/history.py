"""What a session's log says, folded from its events in one pass. Pure.

The same records give the same history in any process; folding a prefix and then the rest equals
folding all of it (tests/properties/test_replay_is_a_fold.py).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar, assert_never

import msgspec

from handrail.contract.chain import genesis
from handrail.contract.ids import (
    AttemptId,
    BlobRef,
    NodeId,
    RunId,
    SessionId,
    WorkflowHash,
    WorkflowId,
    node_tag,
)
from handrail.contract.vocabulary import SourceKind
from handrail.engine.events import (
    AdvanceRecorded,
    ContextSet,
    EdgeCause,
    EdgeCreated,
    EventBody,
    NodeCreated,
    NodeKind,
    NodeOutputAppended,
    NotesKept,
    NotesStored,
    ObservationRecorded,
    RunStarted,
    SessionCreated,
    decode_event,
)
from handrail.engine.state import State

_T = TypeVar("_T")


class StoredRecord(Protocol):
    """A record as every store gives it."""

    @property
    def index(self) -> int: ...
    @property
    def body(self) -> bytes: ...
    @property
    def digest(self) -> str: ...


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of one compiled workflow."""

    run_id: RunId
    workflow_id: WorkflowId
    workflow_hash: WorkflowHash
    source_kind: SourceKind
    source_ref: str
    input_digest: str
    started_at: str
    index: int
    first_node: NodeId | None = None


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One durable point of a run."""

    node_id: NodeId
    run_id: RunId
    kind: NodeKind
    parent: NodeId | None
    state: State
    tag: str
    index: int
    at: str


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """What was written down on the way to a node; `text` is whole unless `ref` holds the rest."""

    text: str
    ref: BlobRef | None = None
    size_bytes: int = 0


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt was answered: the one fact from which its reply is rebuilt."""

    to_node_id: NodeId
    input_digest: str
    index: int


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A folded session. A value: nobody changes the dictionaries after the fold."""

    session_id: SessionId
    head: int = 0
    head_digest: str
    """The chain digest after the last event."""
    runs: dict[RunId, Run] = {}
    nodes: dict[NodeId, Node] = {}
    by_tag: dict[str, NodeId] = {}
    children: dict[NodeId, tuple[NodeId, ...]] = {}
    causes: dict[NodeId, EdgeCause] = {}
    advances: dict[tuple[NodeId, AttemptId], Recorded] = {}
    checkpoints: dict[tuple[NodeId, AttemptId], Recorded] = {}
    notes: dict[NodeId, Notes] = {}
    context: dict[NodeId, dict[str, Any]] = {}
    observations: dict[str, str] = {}
    last_index: dict[NodeId, int] = {}
    anchors: dict[RunId, list[int]] = {}
    last_at: str = ""


def fold(session_id: SessionId, records: Iterable[StoredRecord]) -> History:
    """The history that these records tell, from the first one on."""
    return extend(History(session_id=session_id, head_digest=genesis(session_id)), records)


def extend(history: History, records: Iterable[StoredRecord]) -> History:
    """The same history with the records that follow it."""
    folding = _Folding(history)
    for record in records:
        folding.take(record)
    return folding.history()


def node_at(history: History, tag: str) -> Node | None:
    """The node that a token names; None means the commit that created it is gone."""
    node_id = history.by_tag.get(tag)
    return None if node_id is None else history.nodes[node_id]


def path_to(history: History, node_id: NodeId) -> list[Node]:
    """The node and its ancestors, oldest first."""
    path = []
    current: NodeId | None = node_id
    while current is not None:
        node = history.nodes[current]
        path.append(node)
        current = node.parent
    path.reverse()
    return path


def context_at(history: History, node_id: NodeId) -> dict[str, Any]:
    """The context that holds at a node: its ancestors' deltas merged; null deleted a key."""
    merged: dict[str, Any] = {}
    for node in path_to(history, node_id):
        for key, value in history.context.get(node.node_id, {}).items():
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = value
    return merged


def step_children(history: History, node_id: NodeId) -> tuple[NodeId, ...]:
    """The nodes that moved the run on from here, directly or by way of checkpoints.

    A checkpoint keeps the pending step, so it is looked through and alone never makes a fork.
    """
    found: list[NodeId] = []
    waiting = [node_id]
    while waiting:
        for child in history.children.get(waiting.pop(), ()):
            (found if history.nodes[child].kind == "step" else waiting).append(child)
    return tuple(found)


def ledger_version(history: History, run_id: RunId, index: int) -> int:
    """How many accepted mutations of the run there are up to an event index."""
    return bisect_right(history.anchors.get(run_id, []), index)


class _Folding:
    """The fold under way: copies of the dictionaries, so the history it extends stays as it was."""

    def __init__(self, start: History) -> None:
        self._session_id = start.session_id
        self._head = start.head
        self._head_digest = start.head_digest
        self._last_at = start.last_at
        self._runs = dict(start.runs)
        self._nodes = dict(start.nodes)
        self._by_tag = dict(start.by_tag)
        self._children = dict(start.children)
        self._causes = dict(start.causes)
        self._advances = dict(start.advances)
        self._checkpoints = dict(start.checkpoints)
        self._notes = dict(start.notes)
        self._context = dict(start.context)
        self._observations = dict(start.observations)
        self._last_index = dict(start.last_index)
        self._anchors = {run_id: list(indexes) for run_id, indexes in start.anchors.items()}

    def history(self) -> History:
        return History(
            session_id=self._session_id,
            head=self._head,
            head_digest=self._head_digest,
            runs=self._runs,
            nodes=self._nodes,
            by_tag=self._by_tag,
            children=self._children,
            causes=self._causes,
            advances=self._advances,
            checkpoints=self._checkpoints,
            notes=self._notes,
            context=self._context,
            observations=self._observations,
            last_index=self._last_index,
            anchors=self._anchors,
            last_at=self._last_at,
        )

    def take(self, record: StoredRecord) -> None:
        assert record.index == self._head, "records are folded in order and without a gap"
        body = decode_event(record.body)
        self._apply(record, body)
        self._head = record.index + 1
        self._head_digest = record.digest
        self._last_at = body.at
        if body.scope.node_id is not None:
            self._last_index[body.scope.node_id] = record.index

    def _apply(self, record: StoredRecord, body: EventBody) -> None:
        scope = body.scope
        match body.data:
            case SessionCreated():
                pass
            case ObservationRecorded(key=key, value=value):
                self._observations[key] = value
            case RunStarted() as started:
                self._start_run(started, _present(scope.run_id), body.at, record.index)
            case NodeCreated() as created:
                self._create_node(created, body, record)
            case EdgeCreated(from_node_id=parent, to_node_id=child, cause=cause):
                self._children[parent] = (*self._children.get(parent, ()), child)
                self._causes[child] = cause
                self._last_index[child] = record.index
            case ContextSet(context=delta):
                self._context[_present(scope.node_id)] = delta
            case AdvanceRecorded(attempt_id=attempt_id, input_digest=digest, outcome=outcome):
                answered = Recorded(to_node_id=outcome.to_node_id, input_digest=digest, index=record.index)
                self._advances[(_present(scope.node_id), attempt_id)] = answered
                self._anchors[_present(scope.run_id)].append(record.index)
            case NodeOutputAppended(notes=notes):
                self._notes[_present(scope.node_id)] = _notes_of(notes)
            case never:
                assert_never(never)

    def _start_run(self, started: RunStarted, run_id: RunId, at: str, index: int) -> None:
        self._runs[run_id] = Run(
            run_id=run_id,
            workflow_id=started.workflow_id,
            workflow_hash=started.workflow_hash,
            source_kind=started.source_kind,
            source_ref=started.source_ref,
            input_digest=started.input_digest,
            started_at=at,
            index=index,
        )
        self._anchors[run_id] = [index]

    def _create_node(self, created: NodeCreated, body: EventBody, record: StoredRecord) -> None:
        run_id, node_id = _present(body.scope.run_id), _present(body.scope.node_id)
        tag = node_tag(record.digest)
        self._nodes[node_id] = Node(
            node_id=node_id,
            run_id=run_id,
            kind=created.node_kind,
            parent=created.parent_node_id,
            state=created.state,
            tag=tag,
            index=record.index,
            at=body.at,
        )
        self._by_tag[tag] = node_id
        if created.parent_node_id is None:
            self._runs[run_id] = msgspec.structs.replace(self._runs[run_id], first_node=node_id)
        if created.node_kind == "checkpoint":
            key = (_present(created.parent_node_id), _present(created.attempt_id))
            self._checkpoints[key] = Recorded(
                to_node_id=node_id, input_digest=created.input_digest or "", index=record.index
            )
            self._anchors[run_id].append(record.index)


def _notes_of(kept: NotesKept | NotesStored) -> Notes:
    match kept:
        case NotesKept(text=text):
            return Notes(text=text, size_bytes=len(text.encode()))
        case NotesStored(excerpt=excerpt, ref=ref, size_bytes=size_bytes):
            return Notes(text=excerpt, ref=ref, size_bytes=size_bytes)
        case never:
            assert_never(never)


def _present(value: _T | None) -> _T:
    assert value is not None, "the event lacks a scope that its kind requires"
    return value
