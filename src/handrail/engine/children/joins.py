"""The join of a step that delegates work: the state of its children, whether enough of them are done, and
what the step collects from them. Pure.

A child is an ordinary run of the same session. The commit that takes the join fixes its result: what a
child does later changes nothing in its parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import inf
from typing import Any, Final, Literal

import msgspec

from handrail.contract.catalogue import STEP_WAITS
from handrail.contract.ids import NodeId, RunId
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault
from handrail.contract.wording import end_sentence, format_count, shorten
from handrail.engine.events import GapRecorded, ReportStatement
from handrail.engine.facts import blocked_at, excerpt, facts_at, notes_at
from handrail.engine.history import (
    History,
    Node,
    Run,
    attached_to,
    context_at,
    instance_of,
    path_to,
)
from handrail.engine.messages import explain_gap
from handrail.engine.navigate import Complete, Running, SkippedStep, TraceEntry, leaf_at, leaves_of
from handrail.engine.progress import JOIN_OPTIONS, ChildStatus, JoinOption
from handrail.engine.reasons import shorten_message
from handrail.engine.shared_files import find_shared_files
from handrail.engine.tips import (
    find_newest_wait,
    find_tip,
    find_tips,
    is_closed,
    nodes_of,
    open_gaps,
)
from handrail.workflows.compiled import Child, Choice, CompiledWorkflow, Delegate, Option
from handrail.workflows.limits import MAX_BRIEF_TOKENS, MAX_CHILD_TRIES
from handrail.workflows.part_contents import Handout, fill_text

DONE: Final[frozenset[ChildStatus]] = frozenset({"done", "done_with_gaps"})
UNDONE: Final[frozenset[ChildStatus]] = frozenset({"open", "blocked", "needs_person"})

_TRY = re.compile(r"(.+)-([2-9])")
_ITEM = re.compile(r"(.+)_[0-9]+")
_MOST_COLLECTED_BYTES = 131_072
"""Limit for what one join collects: half of what a context may hold."""
_MOST_NOTES_BYTES = 2_000
_LONGEST_INPUT = 60
HOW_TO_BEGIN = (
    "Send the workToken as stateToken of continue_workflow, or run `handrail run continue --state TOKEN`, "
    "and follow each reply."
)
_BRIEF_CHARACTERS: Final = 4 * MAX_BRIEF_TOKENS - len(HOW_TO_BEGIN) - len(" Given: . ")
"""Space for the description of the work and its inputs; the estimate is four characters per token."""
_SHORTEST_GIVEN = 12


class ChildState(msgspec.Struct, frozen=True, kw_only=True):
    """One child and its current state."""

    name: str
    """The child's name in the workflow, the same for every try."""
    child_id: str
    run: Run
    tip: Node
    status: ChildStatus
    tries: int
    branches: int = 1
    """Places where its run could continue; the status is that of the preferred one."""
    closed: str = ""
    """The reason for closing it; empty unless the status is `closed`."""

    @property
    def is_done(self) -> bool:
        return self.status in DONE


class Take(msgspec.Struct, frozen=True, kw_only=True):
    """A run on another branch that had finished a child's work before the run arrived at this step."""

    place: int
    """The position of the child among the children of the step."""
    name: str
    instead_of: Run
    run: Run

    @property
    def option_id(self) -> str:
        return f"take:{self.name}"


class Join(msgspec.Struct, frozen=True, kw_only=True):
    """The children of a step, and whether the step may continue."""

    step: Delegate
    children: tuple[ChildState, ...]
    needed: int
    done: int
    offered: tuple[JoinOption, ...] = ()
    """The options if too many children were closed to reach `needed` and no other child is still at work."""
    takes: tuple[Take, ...] = ()
    """Finished work on other branches, found when the run arrived here; it is taken only if the option is
    chosen.
    """

    @property
    def is_met(self) -> bool:
        return self.done >= self.needed


def find_join(history: History, workflow: CompiledWorkflow, node: Node, *, until: float = inf) -> Join | None:
    """Return the join of the step that is pending at a node, or None if the step delegates nothing.

    A result that was taken at or after the event index `until` does not count, so a recorded reply stays
    the same.
    """
    leaf = leaf_at(workflow, node.state) if isinstance(node.state, Running) else None
    if not isinstance(leaf, Delegate):
        return None
    tries_of = _list_tries(history, node)
    children = tuple(_state_of(history, name, tries, until) for name, tries in tries_of.items())
    needed = min(leaf.at_least, len(children)) if leaf.at_least else len(children)
    possible = [child for child in children if child.status != "closed"]
    join = Join(
        step=leaf,
        children=children,
        needed=needed,
        done=sum(one.is_done for one in children),
        takes=_find_takes(history, node, children),
    )
    # The step waits for children that are still at work: without it, nothing would use their results.
    if len(possible) >= needed or any(one.status in UNDONE for one in children):
        return join
    may_repeat = all(one.tries <= MAX_CHILD_TRIES for one in children if one.status == "closed")
    offered = tuple(one for one in JOIN_OPTIONS if one != "again" or may_repeat)
    return msgspec.structs.replace(join, offered=offered)


def list_children(history: History, node: Node) -> list[Run]:
    """Return the runs that the step instance of a node waits for: the newest try of each child, in order."""
    return [tries[-1] for tries in _list_tries(history, node).values()]


def list_parts(history: History, run: Run) -> list[ChildState]:
    """Return the work that a run delegated on the way to its current node: for each child the newest try,
    or the run that was taken instead of it.
    """
    if not run.pins:  # its workflow delegates nothing
        return []
    opened = {held.parent.node_id for held in history.runs.values() if held.parent is not None}
    found: dict[RunId, ChildState] = {}
    for node in path_to(history, find_tip(history, run.run_id).node_id):
        for name, tries in _list_tries(history, node).items() if node.node_id in opened else ():
            found[tries[0].run_id] = _state_of(history, name, tries)
    return list(found.values())


def _list_tries(history: History, node: Node) -> dict[str, list[Run]]:
    """Return every run of each child, by the child's own name. The step does not wait for earlier tries."""
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
    """Return the step instance of a node, then the instances directly before it that waited at the same
    step.
    """
    found = [instance_of(history, node.node_id)]
    while (parent := found[-1].parent) is not None:
        before = instance_of(history, parent)
        if before.state != node.state:
            break
        found.append(before)
    return found


def _find_takes(history: History, node: Node, children: tuple[ChildState, ...]) -> tuple[Take, ...]:
    """Find for each child the newest run on another branch that finished the same workflow with the same
    inputs.

    Only runs that had ended when the run arrived here count, so a recorded reply offers the same for ever.
    """
    here = instance_of(history, node.node_id)
    on_the_way = {held.node_id for held in path_to(history, here.node_id)}
    left = [
        run
        for run in history.runs.values()
        if run.parent is not None
        and run.parent.run_id == node.run_id
        and run.parent.node_id not in on_the_way
        and was_done(history, run, here)
    ]
    found = []
    for place, child in enumerate(children):
        same = [run for run in left if _work_of(history, run) == _work_of(history, child.run)]
        if same and not was_done(history, child.run, here):
            found.append(Take(place=place, name=child.name, instead_of=child.run, run=same[-1]))
    return tuple(found)


def was_done(history: History, run: Run, here: Node) -> bool:
    """Whether a run had ended before a node was made."""
    nodes = nodes_of(history, run.run_id)
    return any(isinstance(held.state, Complete) and held.index < here.index for held in nodes)


def _work_of(history: History, run: Run) -> tuple[str, bytes]:
    """Return the work that a run was given: its workflow and its inputs."""
    return run.workflow_hash, canonical_bytes(_inputs_of(history, run))


def _inputs_of(history: History, run: Run) -> dict[str, Any]:
    owners = history.owners.get(run.first_node, {})
    held = history.context.get(run.first_node, {})
    return {name: value for name, value in held.items() if owners.get(name) == "parent"}


def drop_done_takes(join: Join) -> Join:
    """Return the join without takes for children that have finished the work themselves since."""
    takes = tuple(one for one in join.takes if not join.children[one.place].is_done)
    return msgspec.structs.replace(join, takes=takes)


def list_options(join: Join, *, is_waiting: bool) -> list[tuple[int, Option]]:
    """Return the options at a step with children, each with the number that a token has for it."""
    named = list(JOIN_OPTIONS)
    found = [] if is_waiting else [(named.index(one), one) for one in join.offered]
    options = [(number, Option(id=one, label=JOIN_OPTIONS[one])) for number, one in found]
    if is_waiting or join.offered:
        options += [
            (
                len(named) + one.place,
                Option(id=one.option_id, label=f"Take what {one.name} found on another branch"),
            )
            for one in join.takes
        ]
    return options


def as_choice(join: Join) -> Choice:
    """Return the options of a step whose children were closed as a choice, so that a person can be asked
    about it.
    """
    options = tuple(option for _, option in list_options(join, is_waiting=False))
    step = join.step
    return Choice(id=step.id, title=step.title, prompt="", options=options, non_assumable=step.non_assumable)


def _state_of(history: History, name: str, tries: list[Run], until: float = inf) -> ChildState:
    run = tries[-1]
    # A result that was taken stays, even if a late helper finishes the work it replaced.
    for closing in history.closings.get(run.run_id, ()):
        run = history.runs[closing.taken] if closing.taken and closing.index < until else run
    nodes = nodes_of(history, run.run_id)
    found = find_tips(history, nodes)
    tip = history.nodes[found.preferred]
    status: ChildStatus = "open"
    if isinstance(tip.state, Complete):
        status = "done_with_gaps" if open_gaps(history, tip.node_id) else "done"
    elif is_closed(history, run.run_id, nodes):
        status = "closed"
    elif tip.kind == "blocked_attempt":
        status = "needs_person" if _waits_for_person(history, tip) else "blocked"
    assert run.parent is not None, "a child has a parent"
    return ChildState(
        name=name,
        child_id=run.parent.child_id,
        run=run,
        tip=tip,
        status=status,
        tries=len(tries),
        branches=len(found.tips),
        closed=history.closings[run.run_id][-1].reason if status == "closed" else "",
    )


def _waits_for_person(history: History, tip: Node) -> bool:
    """Whether the last attempt of a child was blocked by something that only the user can give."""
    blocked = blocked_at(history, tip)
    return blocked is not None and any(one.code == "USER_ONLY_DEPENDENCY" for one in blocked.every_blocker)


def is_set_aside(history: History, run: Run) -> bool:
    """Whether no step waits for a run any more: its result was replaced, it was delegated again, or a run
    above it was closed or moved to another branch. A step that is done does not count.
    """
    return any(why != "passed" for why in _list_whys(history, run))


def explain_unwaited(history: History, run: Run) -> str:
    """Return a sentence that says why no step waits for delegated work, or an empty text if one does."""
    why = next(iter(_list_whys(history, run)), "")
    return f"Nobody waits for this work: {_UNWAITED[why]}. Ask whoever gave it to you." if why else ""


def was_always_waited_for(history: History, run: Run) -> bool:
    """Whether every run above one still waits for it, has a single branch, and was never closed."""
    above = run
    while above.parent is not None:
        above = history.runs[above.parent.run_id]
        if (
            history.closings.get(above.run_id)
            or len(find_tips(history, nodes_of(history, above.run_id)).tips) > 1
        ):
            return False
    return not any(True for _ in _list_whys(history, run))


_UNWAITED: Final = {
    "again": "it was closed and delegated again, to somebody else",
    "closed": "the run that delegated it was closed",
    "left": "the run that delegated it has left for another branch",
    "passed": "the step that delegated it is done",
    "taken": "what another branch found was taken instead of it",
}


def _list_whys(history: History, run: Run) -> Iterator[str]:
    """Yield why the steps above a run no longer wait for it, the nearest first."""
    if any(closing.taken for closing in history.closings.get(run.run_id, ())):
        yield "taken"
    while run.parent is not None:
        above = history.runs[run.parent.run_id]
        nodes = nodes_of(history, above.run_id)
        tip = find_tips(history, nodes).preferred
        if is_closed(history, above.run_id, nodes):
            yield "closed"
        elif run.parent.node_id not in {node.node_id for node in path_to(history, tip)}:
            yield "left"
        elif history.nodes[tip].state != history.nodes[run.parent.node_id].state:
            yield "passed"
        elif run.run_id not in {held.run_id for held in list_children(history, history.nodes[tip])}:
            yield "again"
        run = above


# What the children deliver


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """What the commit of a join takes from the children. With any option but `without`, the step stays
    pending.
    """

    option: str = ""
    taken: Take | None = None
    collected: dict[str, Any] = {}
    gaps: tuple[GapRecorded, ...] = ()
    again: tuple[Handout, ...] = ()
    statements: tuple[ReportStatement, ...] = ()
    """How the choice of the option is supported: a person made it, or the agent stated it."""

    @property
    def stays(self) -> bool:
        return self.option not in ("", "without")


def list_passed(workflow: CompiledWorkflow, trace: Iterable[TraceEntry]) -> list[Delegate]:
    """Return the steps that a move passed because they had nothing to delegate."""
    passed = {entry.step_id for entry in trace if isinstance(entry, SkippedStep) and not entry.condition_id}
    return [one for one in leaves_of(workflow).values() if isinstance(one, Delegate) and one.id in passed]


def collect_nothing(workflow: CompiledWorkflow, trace: Iterable[TraceEntry]) -> dict[str, Any]:
    """Return the results of these steps: an empty list under the name that each one collects into."""
    return {leaf.collect: [] for leaf in list_passed(workflow, trace) if leaf.collect}


def take_join(history: History, workflow: CompiledWorkflow, node: Node, option: int | None) -> Joined:
    """Return what an advance at a waiting step takes from the children.

    Raise Fault STEP_WAITS while too few children are done: no attempt is used up, and nothing is stored.
    """
    newest = find_newest_wait(history, node)
    join = find_join(history, workflow, newest)
    assert join is not None, "only a step with children is joined"
    if newest is not node:  # the option was already taken, so the caller has to read the step again
        raise refuse_waiting(join)
    place = -1 if option is None else option - len(JOIN_OPTIONS)
    for take in join.takes:
        if take.place == place and not join.children[place].is_done:
            return Joined(option=take.option_id, taken=take)
    chosen = None if option is None or place >= 0 or not join.offered else list(JOIN_OPTIONS)[option]
    if chosen == "again" and chosen in join.offered:
        return Joined(option=chosen, again=tuple(_repeat(history, one) for one in _closed(join)))
    if chosen == "stop":
        return Joined(option=chosen)
    if not join.is_met and chosen != "without":
        raise refuse_waiting(join)
    collected = {join.step.collect: _collect(history, join)} if join.step.collect else {}
    return Joined(option=chosen or "", collected=collected, gaps=tuple(_hand_up(history, join)))


def refuse_waiting(join: Join) -> Fault:
    """Return the error for an ack that arrives before enough children are done."""
    message = (
        f"Nothing was stored, and no token was used up: “{join.step.title}” waits for its children; "
        f"{join.done} of the {format_count(join.needed, 'piece')} of work that it needs are done."
    )
    return Fault(STEP_WAITS, message, details={"step_id": join.step.id})


def name_closed(join: Join) -> str:
    """Return the names of the closed children, each with the reason; empty if none is closed or enough are
    done.
    """
    closed = () if join.is_met else _closed(join)
    return ", ".join(f"{one.child_id}, which was closed ({one.closed.replace('_', ' ')})" for one in closed)


def _closed(join: Join) -> list[ChildState]:
    return [child for child in join.children if child.status == "closed"]


def _repeat(history: History, child: ChildState) -> Handout:
    """Return the work of a child to be delegated again, with the same inputs."""
    return Handout(
        child_id=f"{child.name}-{child.tries + 1}",
        child=Child(id=child.name, workflow_id=child.run.workflow_id, workflow_hash=child.run.workflow_hash),
        inputs=_inputs_of(history, child.run),
    )


def _hand_up(history: History, join: Join) -> list[GapRecorded]:
    """Return the gaps that the join adds to the parent: open gaps of finished children, files that several
    children list, extra branches, and each child that the step continues without.
    """
    gaps = [
        msgspec.structs.replace(
            gap,
            gap_id="",
            summary=shorten_message(f"{child.name}: {explain_gap(gap)}"),
            waits_for=None,
            node_id=None,
        )
        for child in join.children
        if child.is_done
        for gap in open_gaps(history, child.tip.node_id)
    ]
    gaps += [
        GapRecorded(gap_id="", severity="info", reason="reported", summary=summary)
        for summary in list_shared(history, join)
    ]
    for child in join.children:
        if child.is_done and child.branches > 1:
            summary = f"{child.name} has {child.branches} branches; what it delivered is of the newest."
            gaps.append(GapRecorded(gap_id="", severity="info", reason="reported", summary=summary))
        if not child.is_done:
            why = "it was closed" if child.status == "closed" else "it was not needed"
            severity: Literal["critical", "info"] = "critical" if child.status == "closed" else "info"
            summary = f"“{join.step.title}” went on without {child.name}: {why}."
            gaps.append(GapRecorded(gap_id="", severity=severity, reason="reported", summary=summary))
    return gaps


def list_shared(history: History, join: Join) -> list[str]:
    """Return one sentence for each file that several children list, with the names of those children."""
    names = {child.run.run_id: child.name for child in join.children}
    found = find_shared_files(history, [one.run for one in join.children])
    return [
        shorten_message(
            f"{path} is listed by {', '.join(names[one] for one in runs)}, which were open at the same time."
        )
        for path, runs in found.items()
    ]


def _collect(history: History, join: Join) -> list[dict[str, Any]]:
    """Return one row for each finished child with its notes and artifacts, up to the size limit of a join."""
    rows: list[dict[str, Any]] = []
    room = _MOST_COLLECTED_BYTES
    for child in join.children:
        if not child.is_done:
            continue
        row: dict[str, Any] = {"child": child.name, "status": child.status, "artifacts": []}
        if child.branches > 1:
            row["branches"] = child.branches
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
    """Return the newest valid artifact of each kind on the way to a node."""
    newest: dict[str, dict[str, Any]] = {}
    for node in path_to(history, tip):
        kept = (held.artifact for held in attached_to(history, node.node_id).artifacts)
        newest |= {artifact.kind: artifact.body for artifact in kept if artifact.contract_ref}
    return list(newest.values())


def _last_notes(history: History, tip: NodeId) -> str:
    newest_first = (notes_at(history, node.node_id) for node in reversed(path_to(history, tip)))
    text = next((notes.text for notes in newest_first if notes is not None), "")
    return excerpt(text, _MOST_NOTES_BYTES)


# What a helper reads


def write_brief(history: History, workflow: CompiledWorkflow, step: Delegate, child: ChildState) -> str:
    """Return the text that a helper gets with the work token: the work, its inputs, and how to begin."""
    named = {one.id: one for one in step.children}
    item = _ITEM.fullmatch(child.name)
    made = named.get(child.name) or named.get(item[1] if item else "")
    given = context_at(history, child.run.first_node)
    assert child.run.parent is not None, "a child has a parent"
    around = facts_at(history, workflow, child.run.parent.node_id).values
    what = fill_text(made.brief, {**around, **given}) if made is not None else ""
    untold = {name: value for name, value in given.items() if not (isinstance(value, str) and value in what)}
    inputs = ", ".join(f"{name} = {_show(value)}" for name, value in sorted(untold.items()))
    text = end_sentence(shorten(what, _BRIEF_CHARACTERS))
    room = _BRIEF_CHARACTERS - len(text)
    shown = f" Given: {end_sentence(shorten(inputs, room))}" if inputs and room >= _SHORTEST_GIVEN else ""
    return f"{text}{shown} {HOW_TO_BEGIN}"


def _show(value: Any) -> str:
    return shorten(value if isinstance(value, str) else msgspec.json.encode(value).decode(), _LONGEST_INPUT)


def name_workers(run: Run) -> str:
    """Return the names that the helpers of a run gave themselves, the first one first. Nothing verifies
    them.
    """
    return ", ".join(run.workers)
