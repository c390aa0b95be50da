"""The context ledger of a run: how each accepted change altered objective, constraints and the rest. Pure.

It is built in one pass over the run's events. Later events never change an entry, so its checksum never
changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from handrail.contract.ids import NodeId, RunId, event_id
from handrail.contract.json.canonical import digest
from handrail.contract.ledger import ContextDelta, LedgerEntry, ListChange
from handrail.contract.outcome import Json
from handrail.engine.events import (
    AdvanceRecorded,
    Blocked,
    ConfirmationRecorded,
    ContextSet,
    DecisionTraceAppended,
    DivergenceRecorded,
    EdgeCreated,
    EventBody,
    GapRecorded,
    NodeCreated,
    NodeOutputAppended,
    ObservationRecorded,
    PreferencesChanged,
    RunClosed,
    RunStarted,
    decode_event,
)
from handrail.engine.folding import StoredRecord, grow_context
from handrail.engine.history import History, Node
from handrail.engine.navigate import ExitedLoop, Running, step_key
from handrail.engine.owners import is_imported
from handrail.workflows.limits import Effort

MOST_LEDGER_WORK = 10_000_000
"""Comparisons that one ledger may take: constraints, references and gaps of each entry, and nodes below a
change.
"""

Listed = dict[str, Json]
"""One list of the view: values by id, in the order in which they were added."""


class _LedgerLine(msgspec.Struct, frozen=True, kw_only=True):
    """What applies at a node through its ancestors; a node without a change shares its parent's object."""

    context: Mapping[str, Any] = {}
    preferences: dict[str, str] = {}
    artifacts: Listed = {}
    gaps: tuple[GapRecorded, ...] = ()


class _View(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the ledger at one moment."""

    objective: str = ""
    constraints: Listed = {}
    references: Listed = {}
    open_issues: Listed = {}
    state: Listed = {}


def ledger_entries(
    history: History, records: Iterable[StoredRecord], run_id: RunId, workflow_name: str
) -> Iterator[LedgerEntry]:
    """Yield one entry for each accepted change of a run; `records` are those of the history."""
    opening = set(history.anchors[run_id])
    walk = _LedgerWalk(history, workflow_name)
    anchor: tuple[StoredRecord, EventBody] | None = None
    version = 0
    for record in records:
        event = decode_event(record.body)
        if event.scope.run_id != run_id:
            walk.observe(event)
            continue
        if record.index in opening:
            if anchor is not None:
                yield _entry(anchor, version, walk.closed())
            anchor, version = (record, event), version + 1
        walk.take(event, record.index)
    if anchor is not None:
        yield _entry(anchor, version, walk.closed())


def _entry(anchor: tuple[StoredRecord, EventBody], version: int, delta: ContextDelta) -> LedgerEntry:
    record, event = anchor
    return LedgerEntry(
        entry_id=event_id(record.digest),
        version=version,
        timestamp=event.at,
        operation=_operation(event),
        context_delta=delta,
    )


def _operation(event: EventBody) -> str:
    match event.data:
        case RunStarted():
            return "run.start"
        case AdvanceRecorded():
            return "run.continue"
        case NodeCreated():
            return "run.checkpoint"
        case RunClosed():
            return "run.close"
        case ConfirmationRecorded():
            return "run.answer"
        case GapRecorded():
            return "session.resolve_gap"
        case PreferencesChanged(operation=operation):
            return operation
        case _:
            raise AssertionError("an event of this kind opens no entry")


class _LedgerWalk:
    """State of the pass: one line per node, and the view after the last entry."""

    def __init__(self, history: History, workflow_name: str) -> None:
        self._history, self._nodes, self._children = history, history.nodes, history.children
        """Nodes of the whole log; `_lines` has only those that the pass has reached."""
        self._workflow_name = workflow_name
        self._seen: dict[str, str] = {}
        self._objective = ""
        self._sources: Listed = {}
        self._lines: dict[NodeId, _LedgerLine] = {}
        self._instances: dict[NodeId, NodeId] = {}
        """For each node: the step instance that it belongs to (`engine.history.instance_of`)."""
        self._saved: dict[NodeId, _LedgerLine] = {}
        """For each step instance: its line with what checkpoints and blocked attempts added.

        Every branch inherits it.
        """
        self._left: set[NodeId] = set()
        """Step instances that the run has left."""
        self._blocked: dict[NodeId, Blocked] = {}
        self._tip: NodeId | None = None
        self._decisions: list[ListChange] = []
        self._told = _View()
        self._is_closed = False
        self._effort = Effort(
            MOST_LEDGER_WORK,
            f"The ledger of this run compares more than {MOST_LEDGER_WORK} facts.",
            "Read the session with `session events`, page by page.",
        )

    def observe(self, event: EventBody) -> None:
        """Record an observation about the session; those made before the run started count as well."""
        if isinstance(event.data, ObservationRecorded):
            self._seen[event.data.key] = event.data.value

    def take(self, event: EventBody, index: int) -> None:
        node_id = event.scope.node_id
        match event.data:
            case RunStarted() as started:
                self._objective = self._seen.get("goal") or self._workflow_name
                workflow = {"id": started.workflow_id, "hash": started.workflow_hash}
                self._sources = {"workflow": workflow}
                if "git_head_sha" in self._seen:
                    self._sources["git_head_sha"] = self._seen["git_head_sha"]
            case RunClosed(reason=reason, note=note):
                self._is_closed = True
                self._decide(f"closed.{index}", {"reason": reason} | ({"note": note} if note else {}))
            case ConfirmationRecorded(node_id=asked, source=source, who=who, answer=answer, option_id=option):
                more: dict[str, Json] = {"option": option} if option else {}
                more |= {"imported": True} if is_imported(self._history, index) else {}
                self._decide(f"{answer}.{index}", {"node": asked, "source": source, "who": who} | more)
            case GapRecorded(node_id=at) as gap if at is not None:
                self._resolve_gaps(gap)
            case NodeCreated() as created if node_id is not None:
                self._create(node_id, created)
            case AdvanceRecorded() as answered if node_id is not None:
                self._answer(node_id, answered)
            case EdgeCreated(cause="non_tip_advance", from_node_id=parent, to_node_id=child):
                self._decide(f"fork.{child}", {"from": parent, "to": child})
            case _ if node_id in self._lines:
                self._record(node_id, event, index)
            case _:
                pass

    def closed(self) -> ContextDelta:
        """Return what changed since the last entry."""
        before, after = self._told, self._view()
        self._effort.spend(len(after.constraints) + len(after.references) + len(after.open_issues))
        decisions, self._decisions, self._told = tuple(self._decisions), [], after
        return ContextDelta(
            objective=UNSET if after.objective == before.objective else after.objective,
            constraints=_changes(before.constraints, after.constraints),
            references=_changes(before.references, after.references),
            decisions=decisions,
            open_issues=_changes(before.open_issues, after.open_issues),
            state=UNSET if after.state == before.state else after.state,
        )

    def _create(self, node_id: NodeId, created: NodeCreated) -> None:
        parent = created.parent_node_id
        is_step = created.node_kind == "step"
        instance = node_id if parent is None or is_step else self._instances[parent]
        self._lines[node_id] = _LedgerLine() if parent is None else self._line_at(parent)
        self._instances[node_id] = instance
        if parent is not None and is_step:
            self._left.add(self._instances[parent])
        if not is_step:
            self._saved.setdefault(instance, self._lines[instance])
        self._is_closed = self._is_closed and created.node_kind == "checkpoint"
        if not self._is_aside(node_id):
            self._tip = node_id  # the newest node has the highest index: the preferred tip

    def _resolve_gaps(self, gap: GapRecorded) -> None:
        """Resolve a gap on every branch that has it."""
        for lines in (self._lines, self._saved):
            for node_id, line in lines.items():
                if any(held.gap_id == gap.resolves_gap_id for held in line.gaps):
                    lines[node_id] = msgspec.structs.replace(line, gaps=(*line.gaps, gap))

    def _is_aside(self, node_id: NodeId) -> bool:
        """Whether the node is a checkpoint of a step that the run has left, so that the run does not
        continue there.
        """
        return self._nodes[node_id].kind == "checkpoint" and self._instances[node_id] in self._left

    def _line_at(self, node_id: NodeId) -> _LedgerLine:
        """Return what applies at a node, with what any checkpoint has saved at its step so far."""
        line, saved = self._lines[node_id], self._saved.get(self._instances[node_id])
        if saved is None:
            return line
        return msgspec.structs.replace(line, artifacts=saved.artifacts, gaps=saved.gaps)

    def _answer(self, node_id: NodeId, answered: AdvanceRecorded) -> None:
        outcome = answered.outcome
        if isinstance(outcome, Blocked):
            self._blocked[outcome.to_node_id] = outcome
        elif outcome.option_id:
            step = step_key(self._nodes[node_id].state)
            self._decide(f"choice.{outcome.to_node_id}", {"step": step, "option": outcome.option_id})

    def _record(self, node_id: NodeId, event: EventBody, index: int) -> None:
        line = self._lines[node_id]
        match event.data:
            case ContextSet(context=delta):
                line = msgspec.structs.replace(line, context=grow_context(line.context, delta))
            case NodeOutputAppended(artifact=artifact) if artifact is not None:
                if self._nodes[node_id].kind != "blocked_attempt" and not artifact.is_refused:
                    held = {"kind": artifact.kind, "digest": artifact.digest}
                    kept = line.artifacts | {f"artifact.{artifact.kind}": held}
                    line = msgspec.structs.replace(line, artifacts=kept)
            case PreferencesChanged(effective=effective, change_id=change_id, source=source):
                chosen: dict[str, str] = msgspec.to_builtins(effective)
                if line.preferences and chosen != line.preferences:
                    self._decide(f"preferences.{change_id}", {"source": source, **chosen})
                line = msgspec.structs.replace(line, preferences=chosen)
                self._tip = self._newest_leaf(node_id) or self._tip
            case GapRecorded() as gap:
                line = msgspec.structs.replace(line, gaps=(*line.gaps, gap))
            case DivergenceRecorded(reason=reason, summary=summary, related_step_id=step):
                self._decide(f"divergence.{index}", {"reason": reason, "summary": summary, "step": step})
            case DecisionTraceAppended(entries=entries):
                for entry in entries:
                    if isinstance(entry, ExitedLoop):
                        why = {"loop": entry.loop_id, "iterations": entry.iterations, "reason": entry.reason}
                        self._decide(f"loop.{node_id}.{entry.loop_id}", why)
            case _:
                pass
        self._lines[node_id] = line
        is_kept = isinstance(event.data, NodeOutputAppended | GapRecorded)
        if is_kept and self._nodes[node_id].kind != "step":
            self._saved[self._instances[node_id]] = line

    def _newest_leaf(self, node_id: NodeId) -> NodeId | None:
        """Return the newest leaf below a node; a change at a node makes the leaf that was created last
        preferred.
        """
        found, waiting = [], [node_id]
        while waiting:
            current = waiting.pop()
            self._effort.spend()
            waiting += [child for child in self._children.get(current, ()) if child in self._lines]
            found += [] if self._is_aside(current) else [current]
        return max(found, key=lambda node: self._nodes[node].index, default=None)

    def _decide(self, identifier: str, value: Json) -> None:
        self._decisions.append(ListChange(action="append", id=identifier, value=value))

    def _view(self) -> _View:
        assert self._tip is not None, "an accepted change leaves at least one node"
        tip = self._nodes[self._tip]
        line = self._line_at(tip.node_id)
        self._effort.spend(len(line.gaps))
        open_gaps = _open(line.gaps)
        return _View(
            objective=self._objective,
            constraints=_constraints(line),
            references=self._sources | line.artifacts,
            open_issues=open_gaps | self._blockers(tip.node_id),
            state=_state(tip, "closed" if self._is_closed else _status(tip, open_gaps)),
        )

    def _blockers(self, tip: NodeId) -> Listed:
        blocked = self._blocked.get(tip)
        if blocked is None:
            return {}
        return {
            f"blocker.{tip}.{number}": {"code": blocker.code, "message": blocker.message}
            for number, blocker in enumerate(blocked.blockers, 1)
        }


def _constraints(line: _LedgerLine) -> Listed:
    """Return the constraints that the context names, and the preferences in force."""
    given = line.context.get("constraints", [])
    if isinstance(given, dict):
        named = {f"context.{key}": value for key, value in given.items()}
    else:
        values = given if isinstance(given, list) else [given]
        named = {f"context.{digest(value).removeprefix('sha256:')[:16]}": value for value in values}
    return named | {f"preference.{name}": value for name, value in line.preferences.items()}


def _open(gaps: Sequence[GapRecorded]) -> Listed:
    resolved = {gap.resolves_gap_id for gap in gaps}
    return {
        gap.gap_id: {"severity": gap.severity, "reason": gap.reason, "summary": gap.summary}
        for gap in gaps
        if gap.gap_id not in resolved and not gap.resolves_gap_id and gap.severity != "info"
    }


def _state(tip: Node, status: str) -> Listed:
    state = {"status": status, "nodeId": tip.node_id}
    return state | ({"stepId": step_key(tip.state)} if isinstance(tip.state, Running) else {})


def _status(tip: Node, open_gaps: Listed) -> str:
    if not isinstance(tip.state, Running):
        return "complete_with_gaps" if open_gaps else "complete"
    return "blocked" if tip.kind == "blocked_attempt" else "in_progress"


def _changes(before: Listed, after: Listed) -> tuple[ListChange, ...]:
    """Return the changes of a list. An item leaves only by its own `remove`; a known id takes the new
    value.
    """
    gone = [
        ListChange(action="remove", id=name, value=value)
        for name, value in before.items()
        if name not in after
    ]
    come = [
        ListChange(action="append", id=name, value=value)
        for name, value in after.items()
        if name not in before or before[name] != value
    ]
    return (*gone, *come)
