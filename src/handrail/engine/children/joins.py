"""The join: how the children of a step stand, whether enough are done, and what they hand up. Pure.

A child is an ordinary run of the same session. The join is fixed by the commit that takes it: what a child
does later changes nothing in its parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

from handrail.contract.catalogue import STEP_WAITS
from handrail.contract.ids import NodeId
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault
from handrail.contract.wording import format_count, shorten
from handrail.engine.children.tips import find_tips, is_closed, nodes_of, open_gaps
from handrail.engine.events import EvidenceLevel, GapRecorded
from handrail.engine.facts import excerpt, facts_at, told_at
from handrail.engine.history import (
    History,
    Node,
    Run,
    attached_to,
    claims_at,
    context_at,
    instance_of,
    path_to,
)
from handrail.engine.navigate import (
    Complete,
    Running,
    SkippedStep,
    TraceEntry,
    leaf_at,
    leaves_of,
    step_key,
)
from handrail.engine.progress import JOIN_OPTIONS, ChildStatus, JoinOption
from handrail.engine.reasons import shorten_message
from handrail.workflows.compiled import Child, CompiledWorkflow, Delegate
from handrail.workflows.handouts import Handout, fill_text
from handrail.workflows.limits import MAX_CHILD_TRIES

DONE: Final[frozenset[ChildStatus]] = frozenset({"done", "done_with_gaps"})
UNDONE: Final[frozenset[ChildStatus]] = frozenset({"open", "blocked", "needs_person"})

_TRY = re.compile(r"(.+)-([2-9])")
_ITEM = re.compile(r"(.+)_[0-9]+")
_MOST_COLLECTED_BYTES = 131_072
"""Of one join: half of what a context may hold."""
_MOST_NOTES_BYTES = 2_000
_LONGEST_INPUT = 60
_HOW = "Send the workToken as stateToken of continue_workflow, and follow the replies to the end."


class ChildState(msgspec.Struct, frozen=True, kw_only=True):
    """One child as it stands."""

    name: str
    """What the workflow calls it, whichever try this is."""
    child_id: str
    run: Run
    tip: Node
    status: ChildStatus
    tries: int

    @property
    def is_done(self) -> bool:
        return self.status in DONE


class Join(msgspec.Struct, frozen=True, kw_only=True):
    """The children of a step, and whether the step may go on."""

    step: Delegate
    children: tuple[ChildState, ...]
    needed: int
    done: int
    offered: tuple[JoinOption, ...] = ()
    """Where the need cannot be met any more."""

    @property
    def is_met(self) -> bool:
        return self.done >= self.needed


def find_join(history: History, workflow: CompiledWorkflow, node: Node) -> Join | None:
    """How the step that is pending at a node stands with its children; None: it hands out nothing."""
    leaf = leaf_at(workflow, node.state) if isinstance(node.state, Running) else None
    if not isinstance(leaf, Delegate):
        return None
    children = tuple(_state_of(history, name, tries) for name, tries in _list_tries(history, node).items())
    needed = min(leaf.at_least, len(children)) if leaf.at_least else len(children)
    possible = [child for child in children if child.status != "closed"]
    join = Join(step=leaf, children=children, needed=needed, done=sum(one.is_done for one in children))
    if len(possible) >= needed:
        return join
    may_repeat = all(one.tries <= MAX_CHILD_TRIES for one in children if one.status == "closed")
    offered = tuple(one for one in JOIN_OPTIONS if one != "again" or may_repeat)
    return msgspec.structs.replace(join, offered=offered)


def list_children(history: History, node: Node) -> list[Run]:
    """The runs that the step instance of a node waits for: of each child the newest try, in their order."""
    return [tries[-1] for tries in _list_tries(history, node).values()]


def _list_tries(history: History, node: Node) -> dict[str, list[Run]]:
    """Every run of each child, by the child's own name; those of an earlier try are not waited for."""
    places = {held.node_id for held in _list_instances(history, node)}
    found: dict[str, list[Run]] = {}
    for run in history.runs.values():
        if run.parent is None or run.parent.node_id not in places:
            continue
        again = _TRY.fullmatch(run.parent.child_id)
        name = again[1] if again is not None and again[1] in found else run.parent.child_id
        found.setdefault(name, []).append(run)
    return found


def _list_instances(history: History, node: Node) -> list[Node]:
    """The step instance of a node, and those before it that waited at the same step."""
    found = [instance_of(history, node.node_id)]
    while (parent := found[-1].parent) is not None:
        before = instance_of(history, parent)
        if before.state != node.state:
            break
        found.append(before)
    return found


def _state_of(history: History, name: str, tries: list[Run]) -> ChildState:
    run = tries[-1]
    nodes = nodes_of(history, run.run_id)
    tip = history.nodes[find_tips(history, nodes).preferred]
    status: ChildStatus = "open"
    if isinstance(tip.state, Complete):
        status = "done_with_gaps" if open_gaps(history, tip.node_id) else "done"
    elif is_closed(history, run.run_id, nodes):
        status = "closed"
    elif tip.kind == "blocked_attempt":
        status = "needs_person" if _waits_for_person(history, tip) else "blocked"
    assert run.parent is not None, "a child has a parent"
    return ChildState(
        name=name, child_id=run.parent.child_id, run=run, tip=tip, status=status, tries=len(tries)
    )


def _waits_for_person(history: History, tip: Node) -> bool:
    """Whether the last attempt of a child was blocked by what only the user can give."""
    answers = (held.blocked for held in history.advances.values() if held.to_node_id == tip.node_id)
    blockers = [one for blocked in answers if blocked is not None for one in blocked.every_blocker]
    return any(blocker.code == "USER_ONLY_DEPENDENCY" for blocker in blockers)


def is_set_aside(history: History, run: Run) -> bool:
    """Whether a run was handed out at a node that its parent's run has left for another branch."""
    while run.parent is not None:
        held = history.runs[run.parent.run_id]
        tip = find_tips(history, nodes_of(history, held.run_id)).preferred
        if run.parent.node_id not in {node.node_id for node in path_to(history, tip)}:
            return True
        run = held
    return False


# What the children hand up


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """What the commit of a join takes from the children; with `again` and `stop` the step stays."""

    option: JoinOption | Literal[""] = ""
    collected: dict[str, Any] = {}
    gaps: tuple[GapRecorded, ...] = ()
    again: tuple[Handout, ...] = ()

    @property
    def stays(self) -> bool:
        return self.option in ("again", "stop")


def collect_nothing(workflow: CompiledWorkflow, trace: Iterable[TraceEntry]) -> dict[str, Any]:
    """What steps collected that a move passed because they had nothing to hand out."""
    passed = [entry.step_id for entry in trace if isinstance(entry, SkippedStep) and not entry.condition_id]
    steps = [leaf for name, leaf in leaves_of(workflow).items() if name in passed] if passed else []
    return {leaf.collect: [] for leaf in steps if isinstance(leaf, Delegate) and leaf.collect}


def take_join(history: History, workflow: CompiledWorkflow, node: Node, option: int | None) -> Joined:
    """What an advance at a waiting step takes.

    Raises Fault STEP_WAITS while the need is not met: no attempt is used up, and nothing is stored.
    """
    join = find_join(history, workflow, node)
    assert join is not None, "only a step with children is joined"
    chosen = None if option is None or not join.offered else list(JOIN_OPTIONS)[option]
    if chosen == "again" and chosen in join.offered:
        return Joined(option=chosen, again=tuple(_repeat(history, one) for one in _closed(join)))
    if chosen == "stop":
        return Joined(option=chosen)
    if not join.is_met and chosen != "without":
        raise refuse_waiting(join)
    collected = {join.step.collect: _collect(history, join)} if join.step.collect else {}
    return Joined(option=chosen or "", collected=collected, gaps=tuple(_hand_up(history, join)))


def refuse_waiting(join: Join) -> Fault:
    """The refusal of an ack that comes before its children are done."""
    message = (
        f"Nothing was stored, and no token was used up: {join.step.id} waits for its children; "
        f"{join.done} of the {format_count(join.needed, 'piece')} of work that it needs are done."
    )
    return Fault(STEP_WAITS, message, details={"step_id": join.step.id})


def _closed(join: Join) -> list[ChildState]:
    return [child for child in join.children if child.status == "closed"]


def _repeat(history: History, child: ChildState) -> Handout:
    """The same work once more, with the inputs that it had."""
    assert child.run.first_node is not None, "a child has a first node"
    owners = history.owners.get(child.run.first_node, {})
    held = history.context.get(child.run.first_node, {})
    return Handout(
        child_id=f"{child.name}-{child.tries + 1}",
        child=Child(id=child.name, workflow_id=child.run.workflow_id, workflow_hash=child.run.workflow_hash),
        inputs={name: value for name, value in held.items() if owners.get(name) == "parent"},
    )


def _hand_up(history: History, join: Join) -> list[GapRecorded]:
    """The open gaps of children that are done, with their names, and what the step goes on without."""
    gaps = [
        msgspec.structs.replace(
            gap,
            gap_id="",
            summary=shorten_message(f"{child.name}: {gap.summary}"),
            waits_for=None,
            node_id=None,
        )
        for child in join.children
        if child.is_done
        for gap in open_gaps(history, child.tip.node_id)
    ]
    for child in join.children:
        if not child.is_done:
            why = "it was closed" if child.status == "closed" else "it was not needed"
            severity: Literal["critical", "info"] = "critical" if child.status == "closed" else "info"
            summary = f"{join.step.id} went on without {child.name}: {why}."
            gaps.append(GapRecorded(gap_id="", severity=severity, reason="reported", summary=summary))
    return gaps


_LEVELS: Final[dict[EvidenceLevel, int]] = {"claimed": 0, "observed": 1, "ran": 2, "confirmed": 3}


def _collect(history: History, join: Join) -> list[dict[str, Any]]:
    """What the children delivered, each with the child and how it is known; as much as a context holds."""
    rows: list[dict[str, Any]] = []
    room = _MOST_COLLECTED_BYTES
    for child in join.children:
        if not child.is_done:
            continue
        row: dict[str, Any] = {"child": child.name, "status": child.status, "artifacts": []}
        notes = _last_notes(history, child.tip.node_id)
        if notes:
            row["notes"] = notes
            room -= len(notes.encode())
        for artifact in _list_artifacts(history, child.tip.node_id):
            size = len(canonical_bytes(artifact))
            if size > room:
                row["omitted"] = row.get("omitted", 0) + 1
                continue
            room -= size
            row["artifacts"].append(artifact)
        rows.append(row)
    return rows


def _list_artifacts(history: History, tip: NodeId) -> list[dict[str, Any]]:
    """The newest valid artifact of each kind on the way to a node, with the weakest level of its claims."""
    newest: dict[str, dict[str, Any]] = {}
    for node in path_to(history, tip):
        for held in attached_to(history, node.node_id).artifacts:
            artifact = held.artifact
            if not artifact.contract_ref:
                continue
            levels = [
                claim.level
                for claim in claims_at(history, node.node_id)
                if claim.contract_ref == artifact.contract_ref and claim.verdict == "holds"
            ]
            known = min(levels, key=_LEVELS.__getitem__, default="claimed")
            newest[artifact.kind] = {**artifact.body, "knownBy": known}
    return list(newest.values())


def _last_notes(history: History, tip: NodeId) -> str:
    told = (told_at(history, node.node_id) for node in reversed(path_to(history, tip)))
    text = next((notes.text for notes in told if notes is not None), "")
    return excerpt(text, _MOST_NOTES_BYTES)


# What a helper is told


def write_brief(history: History, workflow: CompiledWorkflow, step: Delegate, child: ChildState) -> str:
    """What to hand to a helper with the work token: what the work is, its inputs, and how to begin."""
    named = {one.id: one for one in step.children}
    item = _ITEM.fullmatch(child.name)
    made = named.get(child.name) or named.get(item[1] if item else "")
    assert child.run.first_node is not None, "a child has a first node"
    given = context_at(history, child.run.first_node)
    inputs = ", ".join(f"{name} = {_show(value)}" for name, value in sorted(given.items()))
    assert child.run.parent is not None, "a child has a parent"
    around = facts_at(history, workflow, child.run.parent.node_id).values
    what = fill_text(made.brief, {**around, **given}) if made is not None else ""
    told = [what if what.endswith((".", "?", "!")) else f"{what}.", f"Given: {shorten(inputs, 120)}."]
    return " ".join((*told[: 1 if not inputs else 2], _HOW))


def _show(value: Any) -> str:
    return shorten(value if isinstance(value, str) else msgspec.json.encode(value).decode(), _LONGEST_INPUT)


def pending_of(child: ChildState) -> str:
    """The step that a child stands at; empty when it is done."""
    return step_key(child.tip.state) if isinstance(child.tip.state, Running) else ""
