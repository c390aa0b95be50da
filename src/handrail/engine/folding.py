"""The fold: records become a `History`, in one pass. Pure.

The problem: every call needs the state that the log of its session describes, and a log may hold many
thousand events. Folding all of them for each call takes time that grows with the session. Changing a folded
value in place would change it for callers that still read it.

The idea: `extend` folds only the records that follow a history, and returns another one. `_Folding`
collects what is new in one `Growth` per map and reads through to the old map for the rest. The grown map
shares the layers of the old one (`GrowingMap`). No search of a node's ancestors is needed either: a node
begins with its parent's `Inherited` and replaces it only if it adds something.

The invariants:
- Folding a prefix and then the rest equals folding everything (tests/properties/test_replay_is_a_fold.py).
  No event is read by looking ahead, and it does not matter how the records were cut into batches.
- A history that was returned never changes. Its maps keep the order in which their keys came.
- Records come in order and without a gap, and the store has proven their bytes.

What would break it: a clock or the environment in `_apply`, because a replay must be the same in every
process; a fact that reaches nodes which already followed, because recorded replies would change; an event
that folds to something else without a higher FOLD_VERSION (runtime/history_cache.py), because cached
histories would survive the change.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import Any, Protocol, TypeVar, assert_never, overload

import msgspec

from handrail.contract.ids import NodeId, RunId, SessionId, answer_id_for, node_tag
from handrail.contract.json.canonical import genesis
from handrail.contract.outcome import make_from
from handrail.engine.events import (
    AdvanceRecorded,
    Blocked,
    CapabilityObserved,
    ConfirmationRecorded,
    ContextSet,
    DecisionTraceAppended,
    DivergenceRecorded,
    EdgeCreated,
    EventBody,
    EvidenceRecorded,
    GapRecorded,
    NodeCreated,
    NodeOutputAppended,
    NotesKept,
    NotesStored,
    ObservationRecorded,
    Preferences,
    PreferencesChanged,
    ProofRecorded,
    ReceiptRecorded,
    RunClosed,
    RunStarted,
    Scope,
    SessionAdopted,
    SessionCreated,
    SessionImported,
    TreeRecorded,
    ValidationPerformed,
    decode_event,
    must_be_proven,
)
from handrail.engine.facts import settle_account, settle_helper
from handrail.engine.history import (
    MOST_PROOFS,
    NOTHING_ATTACHED,
    NOTHING_INHERITED,
    Baseline,
    Closing,
    Confirmation,
    History,
    Imported,
    KeptArtifact,
    Node,
    Notes,
    Opening,
    Receipt,
    Recorded,
    RecordedProof,
    RecordedTree,
    Run,
    SessionNotes,
    Title,
    UnsignedResolution,
    add_artifact,
    add_receipt,
    add_tree,
    merge_context,
)
from handrail.engine.navigate import frames_of

_T = TypeVar("_T")
_K = TypeVar("_K")
_V = TypeVar("_V")
_D = TypeVar("_D")


class StoredRecord(Protocol):
    """A record as every store gives it."""

    @property
    def index(self) -> int: ...
    @property
    def dedupe_key(self) -> str: ...
    @property
    def body(self) -> bytes: ...
    @property
    def digest(self) -> str: ...
    @property
    def is_ours(self) -> bool: ...


def fold(session_id: SessionId, records: Iterable[StoredRecord]) -> History:
    """Return the history of these records, from the first one on."""
    return extend(History(session_id=session_id, head_digest=genesis(session_id)), records)


def extend(history: History, records: Iterable[StoredRecord]) -> History:
    """Return the history extended by the records that follow it."""
    folding = None
    for record in records:
        folding = folding or _Folding(history)
        folding.take(record)
    return history if folding is None else folding.history()


class _Folding:
    """A fold in progress. It collects what is new, so the history that it extends does not change."""

    def __init__(self, start: History) -> None:
        self._session_id = start.session_id
        self._head = start.head
        self._head_digest = start.head_digest
        self._read_bytes = start.read_bytes
        self._last_at = start.last_at
        self._imported = start.imported
        self._unsigned = start.unsigned
        self._unsigned_resolutions = start.unsigned_resolutions
        self._listed = start.listed
        self._is_adopted = start.is_adopted
        self._runs = Growth(start.runs)
        self._nodes = Growth(start.nodes)
        self._by_tag = Growth(start.by_tag)
        self._children = Growth(start.children)
        self._causes = Growth(start.causes)
        self._advances = Growth(start.advances)
        self._checkpoints = Growth(start.checkpoints)
        self._notes = Growth(start.notes)
        self._attached = Growth(start.attached)
        self._baseline = start.baseline
        self._context = Growth(start.context)
        self._owners = Growth(start.owners)
        self._inherited = Growth(start.inherited)
        self._observations = Growth(start.observations)
        self._title = start.title
        self._opening = start.opening
        self._session_notes = Growth(start.session_notes)
        self._last_index = Growth(start.last_index)
        self._anchors = Growth(start.anchors)
        self._new_anchors: dict[RunId, list[int]] = {}
        self._closings = Growth(start.closings)
        self._receipts = Growth(start.receipts)
        self._proofs = Growth(start.proofs)
        self._trees = Growth(start.trees)
        self._evidence = Growth(start.evidence)
        self._confirmations = Growth(start.confirmations)

    def history(self) -> History:
        for run_id, indexes in self._new_anchors.items():
            self._anchors[run_id] = (*self._anchors.get(run_id, ()), *indexes)
        fields: dict[str, Any] = {name: getattr(self, f"_{name}") for name in History.__struct_fields__}
        fields |= {name: held.done() for name, held in fields.items() if isinstance(held, Growth)}
        return History(**fields)

    def take(self, record: StoredRecord) -> None:
        assert record.index == self._head, "records are folded in order and without a gap"
        body = decode_event(record.body)
        if not record.is_ours and (record.index == 0 or must_be_proven(body.data)):
            self._unsigned = (*self._unsigned, record.index)
        self._apply(record, body)
        self._head = record.index + 1
        self._head_digest = record.digest
        self._read_bytes += len(record.body)
        self._last_at = body.at
        if body.scope.node_id is not None:
            self._last_index[body.scope.node_id] = record.index

    # No case is a default: a new kind of event without a line here is a type error, never a silent gap. A
    # fact is filed under the node that its scope names, not under the newest: branches interleave in one log.
    # The narrow observations come before the general one, because the first matching case applies.
    def _apply(self, record: StoredRecord, body: EventBody) -> None:
        scope = body.scope
        match body.data:
            case SessionCreated() as created:
                tag = node_tag(record.digest)
                self._opening = make_from(Opening, created, tag=tag, index=record.index)
                if created.goal:
                    self._observations["goal"] = created.goal
            case ObservationRecorded(title=title, who=who) if title:
                self._title = Title(text=title, who=who, index=record.index, at=body.at)
            case ObservationRecorded(key="own_project" | "worker") as seen:
                settled = settle_helper(self._runs[_present(scope.run_id)], seen)
                self._runs[settled.run_id] = settled
            case ObservationRecorded(key=key, value=value):
                self._observations[key] = value
                if (node_id := scope.node_id) is not None:
                    self._inherit(node_id, seen={**self._inherited[node_id].seen, key: value})
            case RunStarted() as started:
                self._start_run(started, _present(scope.run_id), body, record.index)
            case NodeCreated() as node_created:
                self._create_node(node_created, body, record)
            case EdgeCreated(from_node_id=parent, to_node_id=child, cause=cause):
                self._children[parent] = (*self._children.get(parent, ()), child)
                self._causes[child] = cause
                self._last_index[child] = record.index
            case ContextSet() as told:
                self._set_context(told, _present(scope.node_id))
            case AdvanceRecorded() as answered:
                self._answer(answered, body, record.index)
            case NodeOutputAppended() as output:
                if scope.node_id is None:
                    self._session_output(output, record, body.at)
                else:
                    self._output(output, scope.node_id, record.index)
            case PreferencesChanged(effective=effective):
                self._prefer(effective, scope.node_id, record.index)
            case ValidationPerformed() as performed:
                self._add(scope.node_id, "validations", performed)
            case CapabilityObserved() as observed:
                self._add(scope.node_id, "capabilities", observed)
            case GapRecorded() as gap:
                self._gap(gap, scope, record)
            case DivergenceRecorded() as divergence:
                self._add(scope.node_id, "divergences", divergence)
            case DecisionTraceAppended() as traced:
                self._trace(traced, _present(scope.node_id))
            case RunClosed() as closed:
                self._close(closed, _present(scope.run_id), body.at, record.index)
            case ConfirmationRecorded() as said:
                self._confirm(said, _present(scope.run_id), body.at, record.index)
            case EvidenceRecorded(node_id=node_id) as judged:
                self._evidence[node_id] = judged
            case ReceiptRecorded() as fact:
                self._keep_receipt(Receipt(fact=fact, index=record.index, at=body.at))
            case ProofRecorded(node_id=node_id) as proven:
                proof = RecordedProof(fact=proven, index=record.index, at=body.at)
                self._proofs[node_id] = (*self._proofs.get(node_id, ()), proof)[-MOST_PROOFS:]
            case TreeRecorded(node_id=node_id) as taken:
                tree = RecordedTree(fact=taken, index=record.index, at=body.at)
                self._trees[node_id] = add_tree(self._trees.get(node_id, ()), tree)
            case SessionAdopted():
                if record.is_ours:
                    self._unsigned = ()
                    self._unsigned_resolutions = ()
            case SessionImported(bundle_id=bundle_id, source_session_id=source):
                self._imported = Imported(
                    bundle_id=bundle_id, source_session_id=source, index=record.index, at=body.at
                )
            case never:
                assert_never(never)

    def _set_context(self, change: ContextSet, node_id: NodeId) -> None:
        self._context[node_id] = change.context
        if change.owners:
            self._owners[node_id] = change.owners
        held = self._inherited[node_id].context
        self._inherit(node_id, context=grow_context(held, change.context))

    def _inherit(self, node_id: NodeId, **fields: Any) -> None:
        self._inherited[node_id] = msgspec.structs.replace(self._inherited[node_id], **fields)

    def _gap(self, gap: GapRecorded, scope: Scope, record: StoredRecord) -> None:
        """Add a gap at its node. A gap that a person resolved belongs to the run, at the node where it was
        recorded.
        """
        node_id = _present(gap.node_id or scope.node_id)
        self._add(node_id, "gaps", gap)
        if gap.source is not None and not record.is_ours:
            one = UnsignedResolution(index=record.index, node_id=node_id, gap_id=gap.gap_id)
            self._unsigned_resolutions = (*self._unsigned_resolutions, one)
        if gap.node_id is not None:
            self._new_anchors.setdefault(_present(scope.run_id), []).append(record.index)

    def _prefer(self, effective: Preferences, node_id: NodeId | None, index: int) -> None:
        if node_id is None:
            self._baseline = Baseline(preferences=effective, index=index)
            return
        self._attach(node_id, preferences=effective)
        self._inherit(node_id, preferences=effective)

    def _confirm(self, fact: ConfirmationRecorded, run_id: RunId, at: str, index: int) -> None:
        held = self._confirmations.get(fact.node_id, ())
        answer_id = answer_id_for(fact.node_id, len(held) + 1)
        answer = Confirmation(answer_id=answer_id, fact=fact, index=index, at=at)
        self._confirmations[fact.node_id] = (*held, answer)
        self._new_anchors.setdefault(run_id, []).append(index)

    def _keep_receipt(self, receipt: Receipt) -> None:
        node_id = receipt.fact.node_id
        self._receipts[node_id] = add_receipt(self._receipts.get(node_id, ()), receipt)

    def _close(self, closed: RunClosed, run_id: RunId, at: str, index: int) -> None:
        closing = make_from(Closing, closed, index=index, at=at)
        self._closings[run_id] = (*self._closings.get(run_id, ()), closing)
        self._new_anchors.setdefault(run_id, []).append(index)

    def _answer(self, answered: AdvanceRecorded, body: EventBody, index: int) -> None:
        outcome, run_id = answered.outcome, _present(body.scope.run_id)
        self._advances[(_present(body.scope.node_id), answered.attempt_id)] = Recorded(
            to_node_id=outcome.to_node_id,
            input_digest=answered.input_digest,
            index=index,
            blocked=outcome if isinstance(outcome, Blocked) else None,
            option_id="" if isinstance(outcome, Blocked) else outcome.option_id,
        )
        self._new_anchors.setdefault(run_id, []).append(index)
        if body.actor is not None:
            self._runs[run_id] = settle_account(self._runs[run_id], body.actor.id)

    def _output(self, output: NodeOutputAppended, node_id: NodeId, index: int) -> None:
        if output.notes is not None and output.channel == "action":
            self._attach(node_id, action_line=_notes_of(output.notes).text)
        elif output.notes is not None:
            self._notes[node_id] = _notes_of(output.notes)
        if output.artifact is not None:
            kept = KeptArtifact(output_id=output.output_id, artifact=output.artifact)
            before = self._attached.get(node_id, NOTHING_ATTACHED).artifacts
            current = tuple(held for held in before if held.output_id != output.supersedes_output_id)
            self._attach(node_id, artifacts=(*current, kept))
            parent = self._nodes[node_id].parent
            frames = () if parent is None else frames_of(self._nodes[parent].state)
            held_before = self._inherited[node_id]
            self._inherited[node_id] = add_artifact(held_before, output.artifact, frames, index)

    def _session_output(self, output: NodeOutputAppended, record: StoredRecord, at: str) -> None:
        assert output.notes is not None, "what belongs to the session itself are notes"
        self._session_notes[output.output_id] = SessionNotes(
            output_id=output.output_id,
            notes=_notes_of(output.notes),
            input_digest=output.input_digest,
            tag=node_tag(record.digest),
            index=record.index,
            at=at,
        )

    def _add(self, node_id: NodeId | None, field: str, fact: msgspec.Struct) -> None:
        held = self._attached.get(_present(node_id), NOTHING_ATTACHED)
        self._attach(_present(node_id), **{field: (*getattr(held, field), fact)})

    def _attach(self, node_id: NodeId, **fields: Any) -> None:
        held = self._attached.get(node_id, NOTHING_ATTACHED)
        self._attached[node_id] = msgspec.structs.replace(held, **fields)

    def _trace(self, traced: DecisionTraceAppended, node_id: NodeId) -> None:
        omitted, passed = traced.omitted, traced.passed_omitted
        self._attach(node_id, trace=traced.entries, trace_omitted=omitted, passed_omitted=passed)

    def _start_run(self, started: RunStarted, run_id: RunId, body: EventBody, index: int) -> None:
        seen, actor = dict(self._observations.done()), body.actor
        self._runs[run_id] = make_from(
            Run, started, run_id=run_id, started_at=body.at, index=index, seen=seen, actor=actor
        )
        self._new_anchors[run_id] = [index]

    def _create_node(self, created: NodeCreated, body: EventBody, record: StoredRecord) -> None:
        run_id, node_id = _present(body.scope.run_id), _present(body.scope.node_id)
        tag, parent = node_tag(record.digest), created.parent_node_id
        before = None if parent is None else self._nodes[parent]
        is_next = created.node_kind == "step" and before is not None and before.state != created.state
        self._nodes[node_id] = Node(
            node_id=node_id,
            run_id=run_id,
            kind=created.node_kind,
            parent=parent,
            state=created.state,
            tag=tag,
            index=record.index,
            at=body.at,
            steps_done=is_next + (0 if before is None else before.steps_done),
        )
        self._by_tag[tag] = node_id
        self._inherited[node_id] = NOTHING_INHERITED if parent is None else self._inherited[parent]
        if parent is None:
            self._runs[run_id] = msgspec.structs.replace(self._runs[run_id], first_node=node_id)
        if created.node_kind == "checkpoint":
            key = (_present(created.parent_node_id), _present(created.attempt_id))
            self._checkpoints[key] = Recorded(
                to_node_id=node_id, input_digest=created.input_digest or "", index=record.index
            )
            self._new_anchors.setdefault(run_id, []).append(record.index)


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


def grow_context(context: Mapping[str, Any], delta: dict[str, Any]) -> Mapping[str, Any]:
    """Return the same as `merge_context`, but share entries that stay instead of copying them, unless the
    change deletes.
    """
    if any(value is None and key in context for key, value in delta.items()):
        return merge_context(dict(context.items()), delta)
    growth = Growth(context)
    growth.update({key: value for key, value in delta.items() if value is not None})
    return growth.done()


# Maps that grow without a copy, and never change once they are returned
#
# A grown map shares the layers of the map from which it grew. Each layer is at least twice as large as the
# next, so a lookup tries few layers, and an entry is copied a logarithmic number of times in the life of a
# session.


class GrowingMap(Mapping[_K, _V]):
    """An immutable dict with the same order. Made by `Growth.done`."""

    __slots__ = ("_layers", "_newest_first", "_size")

    def __init__(self, layers: tuple[dict[_K, _V], ...], size: int) -> None:
        self._layers = layers
        self._newest_first = layers[::-1]
        self._size = size

    def __getitem__(self, key: _K) -> _V:
        for layer in self._newest_first:
            if key in layer:
                return layer[key]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        for layer in self._newest_first:  # noqa: SIM110 - asked many times per call, and any() is slower
            if key in layer:
                return True
        return False

    @overload
    def get(self, key: _K, default: None = None, /) -> _V | None: ...
    @overload
    def get(self, key: _K, default: _V, /) -> _V: ...
    @overload
    def get(self, key: _K, default: _D, /) -> _V | _D: ...
    def get(self, key: _K, default: object = None, /) -> object:
        for layer in self._newest_first:
            if key in layer:
                return layer[key]
        return default

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[_K]:
        return iter(self._merged())

    def items(self) -> ItemsView[_K, _V]:
        return self._merged().items()

    def values(self) -> ValuesView[_V]:
        return self._merged().values()

    def __repr__(self) -> str:
        return f"GrowingMap({self._merged()!r})"

    def grown(self, more: dict[_K, _V]) -> GrowingMap[_K, _V]:
        """Return a map with these entries added. The new map owns `more` from here on."""
        layers = [*self._layers, more]
        size = self._size
        for key in more:
            if key not in self:
                size += 1
        while len(layers) > 1 and len(layers[-2]) < 2 * len(layers[-1]):
            newer = layers.pop()
            layers[-1] = {**layers[-1], **newer}
        return GrowingMap(tuple(layers), size)

    def _merged(self) -> dict[_K, _V]:
        """Return one dict with the first position and the last value of every key. Callers must not change
        it.
        """
        if len(self._layers) == 1:
            return self._layers[0]
        merged: dict[_K, _V] = {}
        for layer in self._layers:
            merged.update(layer)
        return merged


class Growth(dict[_K, _V]):
    """Entries being added to a map. A lookup reads through to the map itself."""

    __slots__ = ("_start",)

    def __init__(self, start: Mapping[_K, _V]) -> None:  # a new dict is empty already
        self._start = start

    def __missing__(self, key: _K) -> _V:
        return self._start[key]

    @overload
    def get(self, key: _K, default: None = None, /) -> _V | None: ...
    @overload
    def get(self, key: _K, default: _V, /) -> _V: ...
    @overload
    def get(self, key: _K, default: _D, /) -> _V | _D: ...
    def get(self, key: _K, default: object = None, /) -> object:
        return self[key] if key in self else self._start.get(key, default)

    def done(self) -> Mapping[_K, _V]:
        """Return the map with what was added. The map that it grew from does not change."""
        if not self:
            return self._start
        start = self._start
        if not isinstance(start, GrowingMap):
            start = GrowingMap((dict(start),), len(start))
        return start.grown(dict(self))
