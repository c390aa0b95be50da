"""A session in a few words, and the facts that lists show and filter by. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from handrail.contract.ids import NodeId, RunId
from handrail.engine.children.joins import find_join
from handrail.engine.code_trees import find_changed
from handrail.engine.events import ChangeSum
from handrail.engine.facts import facts_at, notes_at, run_place, session_place, title_of_goal
from handrail.engine.history import History, Node, answer_about, gaps_at, path_to, way_to
from handrail.engine.navigate import step_key
from handrail.engine.owners import has_imported_facts
from handrail.engine.progress import progress_at
from handrail.engine.reasons import AskKind
from handrail.engine.tips import open_gaps
from handrail.projections.evidence import EvidenceSum, sum_evidence
from handrail.projections.run_graph import RunGraph, RunStatus, run_graph, run_graphs, title_at
from handrail.workflows.compiled import WITH_CHILDREN, CompiledWorkflow

# Status, goal, and where each run stands

SessionStatus: TypeAlias = Literal["empty", "notes_only"] | RunStatus
"""Status of a session. Without a run it is one of the first two: `notes_only` if it has notes."""


UNDER_WAY: Final[tuple[RunStatus, ...]] = ("in_progress", "blocked")
FINISHED: Final[tuple[RunStatus, ...]] = ("complete", "complete_with_gaps")


def latest_run(history: History) -> RunId | None:
    """Return the run with the latest activity."""
    last = _last_indexes(history)
    return max(last, key=lambda run_id: (last[run_id], run_id), default=None)


def _last_indexes(history: History) -> dict[RunId, int]:
    """Return the latest activity of every run that was not delegated: a child run does not represent its
    session.
    """
    last = {run_id: run.index for run_id, run in history.runs.items() if run.parent is None}
    for node in history.nodes.values():
        if node.run_id in last:
            last[node.run_id] = max(last[node.run_id], history.last_index[node.node_id])
    return last


Graphs: TypeAlias = Mapping[RunId, RunGraph]
"""Graphs of all runs (`run_graphs`). Callers that have them pass them on, because building them reads every
node.
"""


def choose_run(history: History, graphs: Graphs | None = None) -> RunId | None:
    """Choose the run that a session is about: the latest unfinished one, otherwise the latest of all.

    A finished run that was started inside another one does not hide it.
    """
    known = run_graphs(history) if graphs is None else graphs
    last = _last_indexes(history)
    under_way = [run_id for run_id, graph in known.items() if graph.status in UNDER_WAY and run_id in last]
    return max(under_way or last, key=lambda run_id: (last[run_id], run_id), default=None)


def session_status(history: History, graphs: Graphs | None = None) -> SessionStatus:
    """Return the status of the run that the session is about, or one for a session without a run."""
    known = run_graphs(history) if graphs is None else graphs
    run_id = choose_run(history, known)
    if run_id is None:
        return "notes_only" if history.session_notes else "empty"
    return known[run_id].status


def session_title(history: History) -> str:
    """Return the title that a person gave it, or else its first goal; the goal of a later run does not
    rename it.
    """
    opened = "" if history.opening is None else history.opening.goal
    goals = (run.seen.get("goal", "") for run in history.runs.values())
    return given_title(history) or title_of_goal(opened or next(filter(None, goals), ""))


def given_title(history: History) -> str:
    """Return the title that a person gave it; empty if it only has its goal."""
    return "" if history.title is None else history.title.text


def imported_from(history: History) -> str:
    """Return the session that this one is a copy of; empty if all of it was recorded in this store."""
    if history.imported is not None:
        return history.imported.source_session_id
    return history.session_id if has_imported_facts(history) else ""


def last_notes(history: History, node_id: NodeId) -> str:
    """Return the newest notes on the way to a node."""
    newest_first = (notes_at(history, node.node_id) for node in reversed(way_to(history, node_id)))
    return next((notes.text for notes in newest_first if notes is not None), "")


def pending_step(node: Node) -> str | None:
    """Return the step instance that is pending at a node."""
    return step_key(node.state) or None


# Annotations are not strings here: msgspec would compile each of them again in every process.


NeedKind: TypeAlias = Literal["blocked", "person", "gap", "damaged", "newer"]


class Need(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that a run waits for, or that a person should notice."""

    kind: NeedKind
    run_id: str = ""
    node_id: str = ""
    since: str = ""
    """When the run reached this state."""
    title: str = ""
    """Title of the step."""
    why: str
    fix: str = ""
    gap_ids: tuple[str, ...] = ()
    """The open critical gaps of the run. They are one item, because one note resolves them all."""
    count: int = 1
    """Reasons, or gaps; interfaces show the first one."""
    attempts: int = 0
    """How many reports of the pending step were not accepted."""
    asked: AskKind | Literal[""] = ""
    """What a person is asked for: `confirm`, `choose`, `give` or `allow_write`."""
    is_answered: bool = False
    """Whether a person has answered and the agent has not read the answer yet."""
    is_declined: bool = False
    """Whether the answer was no; the person may answer again."""
    confirmed_by: str = ""
    """Who has to confirm it, as the step says; empty for any person."""


class Sources(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts of what is known about a run, by who recorded it."""

    executed: int = 0
    """Executed by Handrail: checks and proofs."""
    observed: int = 0
    """Computed by Handrail from the files."""
    approved: int = 0
    """Answered by a person."""
    stated: int = 0
    """Stated by the agent alone."""

    @property
    def is_only_stated(self) -> bool:
        return not (self.executed or self.observed or self.approved)


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts of a session. `status` and most fields are about the run that represents it, if it has one."""

    status: str
    health: str
    goal: str = ""
    project: str = ""
    workflow_id: str = ""
    tags: tuple[str, ...] = ()
    run_id: str = ""
    run_count: int = 0
    pending_step: str | None = None
    pending_title: str = ""
    """From here to `parts_done`, known only if the workflow can be read."""
    workflow_name: str = ""
    done: int = 0
    at_least: int = 0
    parts: int = 0
    """How many child runs the pending step delegated, and how many of them are done."""
    parts_done: int = 0
    started_at: str = ""
    since: str = ""
    """When it reached its present state."""
    sources: Sources = Sources()
    changed: ChangeSum | None = None
    """How much changed since it began; None if Handrail did not count."""
    agent: str = ""
    account: str = ""
    """If there are accounts: the account whose agent began it, and the machine."""
    machine: str = ""
    last_activity: str = ""
    imported_from: str = ""
    event_count: int = 0
    run_ids: tuple[str, ...] = ()
    closed_run_ids: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    """Branches of all runs, observed on the way to each preferred tip; the same goes for `heads`."""
    heads: tuple[str, ...] = ()
    workflow_hash: str = ""
    gap_count: int = 0
    """Gaps of all runs on the way to the preferred tips; the same goes for the two counts after it."""
    open_gap_count: int = 0
    critical_gap_count: int = 0
    """Critical gaps that are open."""
    needs: tuple[Need, ...] = ()


def session_facts(history: History, health: str) -> SessionFacts:
    """Return the facts of a session with this health."""
    graphs = run_graphs(history)
    run_id = choose_run(history, graphs)
    seen = history.observations
    facts = SessionFacts(
        status=session_status(history, graphs) if health == "healthy" or run_id is not None else "unreadable",
        health=health,
        goal=session_title(history),
        project=session_project(history, graphs),
        last_activity=history.last_at,
        event_count=history.head,
        branches=tuple(value for key, value in seen.items() if key == "git_branch"),
        heads=tuple(value for key, value in seen.items() if key == "git_head_sha"),
    )
    if run_id is None:
        return facts
    run, tip = history.runs[run_id], history.nodes[graphs[run_id].preferred_tip]
    ways = [list_seen(history, held, graph.preferred_tip) for held, graph in graphs.items()]
    still_open = [gap for graph in graphs.values() for gap in open_gaps(history, graph.preferred_tip)]
    return msgspec.structs.replace(
        facts,
        workflow_id=run.workflow_id,
        tags=run.tags,
        run_id=run_id,
        run_count=len(history.runs),
        pending_step=pending_step(tip),
        imported_from=imported_from(history),
        run_ids=tuple(history.runs),
        closed_run_ids=tuple(held for held, graph in graphs.items() if graph.status == "closed"),
        branches=_once(branch for way in ways for branch in way.get("git_branch", ())),
        heads=_once(head for way in ways for head in way.get("git_head_sha", ())),
        workflow_hash=run.workflow_hash,
        gap_count=sum(len(gaps_at(history, graph.preferred_tip)) for graph in graphs.values()),
        open_gap_count=len(still_open),
        critical_gap_count=sum(gap.severity == "critical" for gap in still_open),
    )


def add_standing(
    facts: SessionFacts, history: History, workflow: CompiledWorkflow, needs: Iterable[Need]
) -> SessionFacts:
    """Return the facts with the position of its run in the workflow, and what it waits for."""
    run = history.runs[RunId(facts.run_id)]
    tip = history.nodes[run_graph(history, run.run_id).preferred_tip]
    progress = progress_at(workflow, tip, facts_at(history, workflow, tip.node_id))
    join = find_join(history, workflow, tip) if workflow.v >= WITH_CHILDREN else None
    return msgspec.structs.replace(
        facts,
        pending_title=title_at(workflow, tip),
        workflow_name=workflow.name,
        done=progress.done,
        at_least=progress.at_least,
        parts=0 if join is None else len(join.children),
        parts_done=0 if join is None else join.done,
        started_at=run.started_at,
        since=tip.at,
        sources=count_sources(history, tip.node_id),
        changed=find_changed(history, tip.node_id),
        agent=run.agent,
        account="" if run.actor is None else run.actor.id,
        machine="" if run.actor is None else run.actor.machine,
        needs=tuple(
            msgspec.structs.replace(need, since=history.nodes[NodeId(need.node_id)].at) for need in needs
        ),
    )


def count_sources(history: History, node_id: NodeId) -> Sources:
    """Count what is known at a node by who recorded it; each thing once, however many reports name it."""
    known = sum_evidence(history, node_id) or EvidenceSum()
    way = way_to(history, node_id)
    proofs = {one.fact.proof.check for node in way for one in history.proofs.get(node.node_id, ())}
    answers = [one for node in way if (one := answer_about(history, node)) and one.fact.answer == "confirmed"]
    reports = sum(node.kind == "step" and node.parent is not None for node in way)
    stated = known.stated + known.contradicted + known.stale
    sources = Sources(
        executed=known.executed + len(proofs),
        observed=known.observed + known.found,
        approved=max(known.approved, len(answers)),
        stated=stated,
    )
    if stated or not sources.is_only_stated:
        return sources
    return msgspec.structs.replace(sources, stated=reports)


def session_project(history: History, graphs: Graphs | None = None) -> str:
    """Return the name of the project of its run; for a session without a run, of the one that it was begun
    in.
    """
    run_id = choose_run(history, graphs)
    return session_place(history).name if run_id is None else run_place(history.runs[run_id]).name


def list_seen(history: History, run_id: RunId, tip: NodeId) -> dict[str, tuple[str, ...]]:
    """Return the values observed at the start of a run and on the way to a node, by key."""
    found: dict[str, dict[str, None]] = {}
    for seen in (
        history.runs[run_id].seen,
        *(history.inherited[node.node_id].seen for node in path_to(history, tip)),
    ):
        for key, value in seen.items():
            found.setdefault(key, {})[value] = None
    return {key: tuple(values) for key, values in found.items()}


def _once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
