"""The content of a report: runs, the path of each, and the branches that were left. Pure.

The report is written from this model and looks up nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from handrail.contract.ids import BlobRef, NodeId, RunId
from handrail.contract.outcome import make_from
from handrail.engine.children.joins import list_parts, name_workers
from handrail.engine.events import (
    Artifact,
    CapabilityObserved,
    DivergenceRecorded,
    GapRecorded,
    NodeKind,
    Preferences,
    ReportStatement,
    ValidationPerformed,
)
from handrail.engine.facts import notes_at
from handrail.engine.history import (
    History,
    Node,
    Notes,
    Recorded,
    Run,
    answer_about,
    attached_to,
    not_run_by_move,
    path_to,
    statements_at,
)
from handrail.engine.messages import Parts, explain_to_person
from handrail.engine.navigate import Complete, Running, State, TraceEntry, leaves_of, step_key
from handrail.engine.shared_files import find_shared_files
from handrail.projections.evidence import describe_answer, worst_of_each_place
from handrail.projections.plain_words import STATUS_WORDS
from handrail.projections.run_graph import (
    RunGraph,
    RunStatus,
    run_graphs,
    status_at,
)
from handrail.projections.summary import summarize_run
from handrail.workflows.compiled import CompiledWorkflow

MOST_MOMENTS = 1_000
"""Most moments of one path; the newest are shown."""

MOST_RECEIPTS_SHOWN = 50
"""Most branches of one run; the newest are shown."""

MOST_BRANCHES = 400
"""Most children of one run, because the result of each needs its whole path."""

WholeNotes = Callable[[BlobRef], str | None]
"""Full notes by their digest; None if the store lost them."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One node: the step that was acknowledged on the way to it, and what was recorded there."""

    node_id: NodeId
    kind: NodeKind
    step_id: str
    title: str
    at: str
    notes: str = ""
    is_cut: bool = False
    """Whether the full notes are no longer in the store, so that an excerpt is shown."""
    option_id: str = ""
    is_fork: bool = False
    artifacts: tuple[Artifact, ...] = ()
    refused: tuple[Parts, ...] = ()
    """Why its report was not accepted, in words for people."""
    gaps: tuple[GapRecorded, ...] = ()
    divergences: tuple[DivergenceRecorded, ...] = ()
    capabilities: tuple[CapabilityObserved, ...] = ()
    validations: tuple[ValidationPerformed, ...] = ()
    statements: tuple[ReportStatement, ...] = ()
    """How its report was supported, each place once."""
    answer: str = ""
    """What a person answered about its report."""
    preferences: Preferences | None = None
    """The preferences, if they changed here."""
    trace: tuple[TraceEntry, ...] = ()
    trace_omitted: int = 0
    """Further decisions that the log only counts."""
    passed_omitted: int = 0
    """How many of those are parts that did not run."""
    branches: tuple[Branch, ...] = ()
    """Branches that started here and were left."""
    branches_omitted: int = 0


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A branch that the preferred path did not take."""

    status: RunStatus
    moments: tuple[Moment, ...]


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of a report: a folded session, and the pinned workflows that the store still has."""

    history: History
    workflows: Mapping[str, CompiledWorkflow]
    whole_notes: WholeNotes
    health: str = "healthy"
    health_detail: str = ""

    def name_of(self, run: Run) -> str:
        """Return the name of its workflow, after the name of the child if it was delegated."""
        workflow = self.workflows.get(run.workflow_hash)
        name = run.workflow_id if workflow is None else workflow.name
        return name if run.parent is None else f"{run.parent.child_id}: {name}"


def list_runs(story: Story) -> list[RunStory]:
    """Return the runs of a session, in their order."""
    history, graphs = story.history, run_graphs(story.history)
    answers = {answer.to_node_id: answer for answer in history.advances.values()}
    return [
        RunStory(story, graph, answers, _list_handed(story, graphs, run_id))
        for run_id, graph in graphs.items()
    ]


def _summarize(story: Story, run: Run, tip: Node) -> str:
    """Return the summary of a run that ended at a node; empty if it has not ended or its workflow is lost."""
    workflow = story.workflows.get(run.workflow_hash)
    if workflow is None or not isinstance(tip.state, Complete):
        return ""
    return summarize_run(story.history, workflow, tip.node_id).text


def _list_handed(story: Story, graphs: Mapping[RunId, RunGraph], run_id: RunId) -> tuple[str, ...]:
    """Return a line for each child of a run. If a result was taken from another branch, the line is about
    that one.
    """
    lines = []
    for part in list_parts(story.history, story.history.runs[run_id]):
        worker = name_workers(part.run)
        who = f"; done by {worker}, as they state" if worker else ""
        summary = _summarize(story, part.run, part.tip)
        line = f"{part.name}: {STATUS_WORDS[graphs[part.run.run_id].status]}{who}. {summary}"
        lines.append(line.rstrip())
    return tuple(lines)


def moment_at(
    history: History, graph: RunGraph, workflow: CompiledWorkflow, whole_notes: WholeNotes, node: Node
) -> Moment:
    """Return one node as a moment, without the branches that started there."""
    pinned: dict[str, CompiledWorkflow] = {history.runs[graph.run_id].workflow_hash: workflow}
    story = Story(history=history, workflows=pinned, whole_notes=whole_notes)
    answers = {answer.to_node_id: answer for answer in history.advances.values()}
    return RunStory(story, graph, answers).moment(node)


def _explain_refusal(answer: Recorded | None, title: str) -> tuple[Parts, ...]:
    blocked = None if answer is None else answer.blocked
    if blocked is None:
        return ()
    return tuple(explain_to_person(one, blocked.issues, title) for one in blocked.blockers)


def read_notes(notes: Notes | None, whole_notes: WholeNotes) -> tuple[str, bool]:
    """Return the full notes, or what the log has of them, and whether they are cut."""
    if notes is None or notes.ref is None:
        return ("" if notes is None else notes.text), False
    stored = whole_notes(notes.ref)
    return (notes.text, True) if stored is None else (stored, False)


class RunStory:
    """One run that the report describes."""

    def __init__(
        self,
        story: Story,
        graph: RunGraph,
        answers: Mapping[NodeId, Recorded],
        handed: Sequence[str] = (),
    ) -> None:
        self.history = story.history
        self._story = story
        self.graph = graph
        self.run = self.history.runs[graph.run_id]
        self.name = story.name_of(self.run)
        self.tip = self.history.nodes[graph.preferred_tip]
        self.workflow = story.workflows.get(self.run.workflow_hash)
        """The pinned workflow; None if the store lost it, so that ids replace names."""
        self.handed = handed
        """The work that its steps delegated: name, status and result of each."""
        self._leaves = {} if self.workflow is None else leaves_of(self.workflow)
        self._whole_notes = story.whole_notes
        self._answers = answers
        self._branches_left = MOST_BRANCHES

    def summarize(self) -> str:
        """Return the summary of a finished run, as its last reply has it; empty before the end."""
        return _summarize(self._story, self.run, self.tip)

    def list_moments(self) -> tuple[list[Moment], int]:
        """Return the newest moments of the preferred path, and how many more there are."""
        path = path_to(self.history, self.tip.node_id)
        kept = path[-MOST_MOMENTS:]
        return [self.moment(node, with_branches=True) for node in kept], len(path) - len(kept)

    def find_shared(self) -> dict[str, tuple[str, ...]]:
        """Return the files that concurrent child runs of the same parent also list, with the names of those
        children.
        """
        runs, parent = self.history.runs, self.run.parent
        if parent is None:
            return {}
        beside = [one for one in runs.values() if one.parent and one.parent.run_id == parent.run_id]
        names = {one.run_id: one.parent.child_id for one in beside if one.parent is not None}
        return {
            path: tuple(names[one] for one in found if one != self.run.run_id)
            for path, found in find_shared_files(self.history, beside).items()
            if self.run.run_id in found
        }

    def moment(self, node: Node, *, with_branches: bool = False) -> Moment:
        whole, is_cut = read_notes(notes_at(self.history, node.node_id), self._whole_notes)
        attached = attached_to(self.history, node.node_id)
        answer = self._answers.get(node.node_id)
        confirmation = answer_about(self.history, node)
        done = self._done(node)
        branches, omitted = self._branches(node) if with_branches else ((), 0)
        return make_from(
            Moment,
            node,
            attached,
            step_id="" if done is None else step_key(done),
            title=self._done_title(node),
            notes=whole,
            is_cut=is_cut,
            option_id="" if answer is None else answer.option_id,
            is_fork=node.node_id in self.graph.forks,
            artifacts=tuple(held.artifact for held in attached.artifacts),
            refused=_explain_refusal(answer, self._done_title(node)),
            statements=tuple(worst_of_each_place(statements_at(self.history, node.node_id))),
            answer="" if confirmation is None else describe_answer(self.history, confirmation),
            passed_omitted=not_run_by_move(attached).unnamed,
            branches=branches,
            branches_omitted=omitted,
        )

    def _branches(self, node: Node) -> tuple[tuple[Branch, ...], int]:
        """Return the branches at a node that the preferred path leaves aside, and how many more there are."""
        aside = [
            child for child in self.graph.children[node.node_id] if child not in self.graph.preferred_path
        ]
        shown = aside[len(aside) - min(len(aside), self._branches_left) :]
        self._branches_left -= len(shown)
        return tuple(self._branch(child) for child in shown), len(aside) - len(shown)

    def _branch(self, root: NodeId) -> Branch:
        nodes: list[Node] = []
        waiting = [root]
        while waiting and len(nodes) < MOST_MOMENTS:
            current = waiting.pop()
            nodes.append(self.history.nodes[current])
            waiting += reversed(self.graph.children[current])
        return Branch(
            status=status_at(self.history, nodes[-1]),
            moments=tuple(self.moment(node) for node in nodes),
        )

    def _done(self, node: Node) -> Running | None:
        """Return the step whose acknowledgement created a node; None for the first node."""
        state = None if node.parent is None else self.history.nodes[node.parent].state
        return state if isinstance(state, Running) else None

    def title(self, state: State) -> str:
        if not isinstance(state, Running):
            return "Done"
        return state.step_id if self.workflow is None else self._leaves[state.step_id].title

    def _done_title(self, node: Node) -> str:
        done = self._done(node)
        return "Started" if done is None else self.title(done)

    def label(self, node: Node) -> str:
        """Return the title of the step that was done on the way to a node, as its moment has it."""
        what = {"step": "", "checkpoint": "checkpoint, ", "blocked_attempt": "blocked, "}[node.kind]
        return what + self._done_title(node)
