"""What a report tells of a session: runs, the way each took, what was left beside it. Pure.

The report reads this model and looks up nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from handrail.contract.ids import BlobRef, NodeId, RunId
from handrail.contract.outcome import make_from
from handrail.engine.children.joins import list_parts, name_workers
from handrail.engine.children.shared_files import find_shared_files
from handrail.engine.children.tips import open_gaps
from handrail.engine.events import (
    Artifact,
    CapabilityObserved,
    Claim,
    ConfirmationRecorded,
    DivergenceRecorded,
    GapRecorded,
    NodeKind,
    Preferences,
    ValidationPerformed,
)
from handrail.engine.facts import notes_at, preferences_at
from handrail.engine.history import (
    Closing,
    History,
    Imported,
    Node,
    Notes,
    NotRun,
    Receipt,
    Recorded,
    Run,
    SessionNotes,
    answer_about,
    attached_to,
    claims_at,
    confirmation_of,
    list_receipts,
    not_run_at,
    not_run_by_move,
    path_to,
)
from handrail.engine.messages import Parts, explain_to_person
from handrail.engine.navigate import Running, State, TraceEntry, leaves_of, step_key
from handrail.projections.evidence import describe_sum_at, worst_of_each_place
from handrail.projections.overview import SessionStatus, session_project, session_status, session_title
from handrail.projections.plain_words import STATUS_WORDS
from handrail.projections.run_graph import (
    CurrentArtifact,
    RunGraph,
    RunStatus,
    capabilities_at,
    closing_at,
    current_artifacts,
    run_graphs,
    status_at,
)
from handrail.workflows.compiled import CompiledBase, CompiledWorkflow

MOST_MOMENTS = 1_000
"""Of one line; the newest are told."""

MOST_RECEIPTS_TOLD = 50
"""Of one run; the newest are told."""

MOST_BRANCHES = 400
"""Of one run; how each of them ends is worked out from its whole way."""

WholeNotes = Callable[[BlobRef], str | None]
"""Long notes by their digest; None where they are gone."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One node: the step that was acknowledged on the way to it, and what was recorded there."""

    node_id: NodeId
    kind: NodeKind
    step_id: str
    title: str
    at: str
    notes: str = ""
    is_cut: bool = False
    """The whole of the notes is not in the store any more; an excerpt is shown."""
    option_id: str = ""
    is_fork: bool = False
    artifacts: tuple[Artifact, ...] = ()
    refused: tuple[Parts, ...] = ()
    """Why its report was not accepted, in the words of people."""
    gaps: tuple[GapRecorded, ...] = ()
    divergences: tuple[DivergenceRecorded, ...] = ()
    capabilities: tuple[CapabilityObserved, ...] = ()
    validations: tuple[ValidationPerformed, ...] = ()
    claims: tuple[Claim, ...] = ()
    """What its report was worth, each place once."""
    answer: ConfirmationRecorded | None = None
    """What a person answered about its report."""
    preferences: Preferences | None = None
    """Set where they changed."""
    trace: tuple[TraceEntry, ...] = ()
    trace_omitted: int = 0
    """More, in the middle, which the log only counts."""
    passed_omitted: int = 0
    """Of those, parts that did not run."""
    branches: tuple[Branch, ...] = ()
    """What was tried from here and left."""
    branches_omitted: int = 0


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A way that the preferred one did not take."""

    status: RunStatus
    moments: tuple[Moment, ...]


class RunStory(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    run: Run
    name: str
    base: CompiledBase | None = None
    """Of an overlay: what it extends."""
    status: RunStatus
    pending: str
    """The title of the step that is waiting; empty when the run is done."""
    pending_answer: ConfirmationRecorded | None
    """What a person last answered about the pending step."""
    closing: Closing | None = None
    moments: tuple[Moment, ...]
    omitted: int
    evidence_told: str
    """What its reports could prove, in words; empty: none could."""
    receipts: tuple[Receipt, ...] = ()
    """The newest programs that ran, oldest first."""
    receipts_omitted: int = 0
    not_run: NotRun
    open_gaps: tuple[GapRecorded, ...]
    artifacts: tuple[CurrentArtifact, ...]
    capabilities: tuple[CapabilityObserved, ...]
    preferences: Preferences
    graph: RunGraph
    labels: dict[NodeId, str]
    is_workflow_lost: bool = False
    """The store lost it, so ids replace names."""
    handed: tuple[str, ...] = ()
    """The work that its steps handed out: the name of each, how it stands and what it could prove."""
    shared_files: dict[str, tuple[str, ...]] = {}
    """Files that other work lists, too, which was open at the same time; with the names of that work."""


class SessionNote(msgspec.Struct, frozen=True, kw_only=True):
    """Notes that belong to no run."""

    output_id: str
    at: str
    notes: str
    is_cut: bool


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """The session."""

    session_id: str
    status: SessionStatus
    goal: str
    project: str
    branch: str
    head_sha: str
    event_count: int
    head_digest: str
    health: str
    health_detail: str
    imported: Imported | None
    notes: tuple[SessionNote, ...]
    notes_omitted: int
    runs: tuple[RunStory, ...]


def story_of(
    history: History,
    workflows: Mapping[str, CompiledWorkflow],
    whole_notes: WholeNotes,
    *,
    health: str = "healthy",
    health_detail: str = "",
) -> Story:
    """The story of a folded session; `workflows` holds the pinned ones that the store still has."""
    noted = tuple(history.session_notes.values())
    graphs = run_graphs(history)
    answers = {answer.to_node_id: answer for answer in history.advances.values()}
    return make_from(
        Story,
        history,
        status=session_status(history),
        goal=session_title(history),
        project=session_project(history, graphs),
        branch=history.observations.get("git_branch", ""),
        head_sha=history.observations.get("git_head_sha", ""),
        event_count=history.head,
        health=health,
        health_detail=health_detail,
        notes=tuple(_session_note(held, whole_notes) for held in noted[-MOST_MOMENTS:]),
        notes_omitted=max(0, len(noted) - MOST_MOMENTS),
        runs=tuple(
            _Story(
                history, graph, answers, workflows.get(history.runs[run_id].workflow_hash), whole_notes
            ).run_story(_list_handed(history, graphs, run_id))
            for run_id, graph in graphs.items()
        ),
    )


def _list_handed(history: History, graphs: Mapping[RunId, RunGraph], run_id: RunId) -> tuple[str, ...]:
    """A line for each child of a run; where a result of another branch was taken, that is what it proved."""
    lines = []
    for part in list_parts(history, history.runs[run_id]):
        told = describe_sum_at(history, part.tip.node_id) or "none of its reports could prove anything"
        worker = name_workers(part.run)
        who = f"; done by {worker}, by their own word" if worker else ""
        lines.append(f"{part.name}: {STATUS_WORDS[graphs[part.run.run_id].status]}; {told}{who}.")
    return tuple(lines)


def moment_at(
    history: History,
    graph: RunGraph,
    workflow: CompiledWorkflow | None,
    whole_notes: WholeNotes,
    node: Node,
) -> Moment:
    """One node as the reports tell it, without what was tried from there and left."""
    answers = {answer.to_node_id: answer for answer in history.advances.values()}
    return _Story(history, graph, answers, workflow, whole_notes).moment(node)


def _session_note(held: SessionNotes, whole_notes: WholeNotes) -> SessionNote:
    text, is_cut = _read_notes(held.notes, whole_notes)
    return SessionNote(output_id=held.output_id, at=held.at, notes=text, is_cut=is_cut)


def _explain_refusal(answer: Recorded | None, title: str) -> tuple[Parts, ...]:
    blocked = None if answer is None else answer.blocked
    if blocked is None:
        return ()
    return tuple(explain_to_person(one, blocked.issues, title) for one in blocked.blockers)


def _read_notes(notes: Notes | None, whole_notes: WholeNotes) -> tuple[str, bool]:
    """The whole of the notes, or what the log has of them and that they are cut."""
    if notes is None or notes.ref is None:
        return ("" if notes is None else notes.text), False
    stored = whole_notes(notes.ref)
    return (notes.text, True) if stored is None else (stored, False)


class _Story:
    """One run being told."""

    def __init__(
        self,
        history: History,
        graph: RunGraph,
        answers: Mapping[NodeId, Recorded],
        workflow: CompiledWorkflow | None,
        whole_notes: WholeNotes,
    ) -> None:
        self._history = history
        self._run = history.runs[graph.run_id]
        self._workflow = workflow
        self._leaves = {} if workflow is None else leaves_of(workflow)
        self._whole_notes = whole_notes
        self._graph = graph
        self._answers = answers
        self._branches_left = MOST_BRANCHES

    def run_story(self, handed: tuple[str, ...]) -> RunStory:
        tip = self._history.nodes[self._graph.preferred_tip]
        path = path_to(self._history, tip.node_id)
        kept = path[-MOST_MOMENTS:]
        receipts = list_receipts(self._history, self._run.run_id)
        said = confirmation_of(self._history, tip.node_id) if isinstance(tip.state, Running) else None
        return RunStory(
            run=self._run,
            name=self._name(),
            base=None if self._workflow is None else self._workflow.base,
            status=self._graph.status,
            pending=self._title(tip.state) if isinstance(tip.state, Running) else "",
            pending_answer=None if said is None else said.fact,
            closing=closing_at(self._history, self._graph),
            moments=tuple(self._moment(node) for node in kept),
            omitted=len(path) - len(kept),
            evidence_told=describe_sum_at(self._history, tip.node_id),
            receipts=tuple(receipts[-MOST_RECEIPTS_TOLD:]),
            receipts_omitted=max(0, len(receipts) - MOST_RECEIPTS_TOLD),
            not_run=not_run_at(self._history, tip.node_id),
            open_gaps=open_gaps(self._history, tip.node_id),
            artifacts=current_artifacts(self._history, tip.node_id),
            capabilities=tuple(capabilities_at(self._history, tip.node_id).values()),
            preferences=preferences_at(self._history, tip.node_id),
            graph=self._graph,
            labels={node.node_id: self._label(node) for node in self._graph.nodes},
            is_workflow_lost=self._workflow is None,
            handed=handed,
            shared_files=self._find_shared(),
        )

    def _name(self) -> str:
        """Of the workflow; before it the name that the work was handed out under."""
        name = self._run.workflow_id if self._workflow is None else self._workflow.name
        parent = self._run.parent
        return name if parent is None else f"{parent.child_id}: {name}"

    def _find_shared(self) -> dict[str, tuple[str, ...]]:
        """What the run and others that were handed out with it list, and who those are."""
        runs, parent = self._history.runs, self._run.parent
        if parent is None:
            return {}
        beside = [one for one in runs.values() if one.parent and one.parent.run_id == parent.run_id]
        names = {one.run_id: one.parent.child_id for one in beside if one.parent is not None}
        return {
            path: tuple(names[one] for one in found if one != self._run.run_id)
            for path, found in find_shared_files(self._history, beside).items()
            if self._run.run_id in found
        }

    def moment(self, node: Node) -> Moment:
        return self._moment(node, with_branches=False)

    def _moment(self, node: Node, *, with_branches: bool = True) -> Moment:
        whole, is_cut = _read_notes(notes_at(self._history, node.node_id), self._whole_notes)
        attached = attached_to(self._history, node.node_id)
        answer = self._answers.get(node.node_id)
        said = answer_about(self._history, node)
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
            is_fork=node.node_id in self._graph.forks,
            artifacts=tuple(held.artifact for held in attached.artifacts),
            refused=_explain_refusal(answer, self._done_title(node)),
            claims=tuple(worst_of_each_place(claims_at(self._history, node.node_id))),
            answer=None if said is None else said.fact,
            passed_omitted=not_run_by_move(attached).unnamed,
            branches=branches,
            branches_omitted=omitted,
        )

    def _branches(self, node: Node) -> tuple[tuple[Branch, ...], int]:
        """Each child that the preferred path leaves aside, with all that follows it; and how many more."""
        aside = [
            child for child in self._graph.children[node.node_id] if child not in self._graph.preferred_path
        ]
        told = aside[len(aside) - min(len(aside), self._branches_left) :]
        self._branches_left -= len(told)
        return tuple(self._branch(child) for child in told), len(aside) - len(told)

    def _branch(self, root: NodeId) -> Branch:
        nodes: list[Node] = []
        waiting = [root]
        while waiting and len(nodes) < MOST_MOMENTS:
            current = waiting.pop()
            nodes.append(self._history.nodes[current])
            waiting += reversed(self._graph.children[current])
        return Branch(
            status=status_at(self._history, nodes[-1]),
            moments=tuple(self._moment(node, with_branches=False) for node in nodes),
        )

    def _done(self, node: Node) -> Running | None:
        """The step whose acknowledgement led to a node; None at the first one."""
        state = None if node.parent is None else self._history.nodes[node.parent].state
        return state if isinstance(state, Running) else None

    def _title(self, state: State) -> str:
        if not isinstance(state, Running):
            return "Done"
        return state.step_id if self._workflow is None else self._leaves[state.step_id].title

    def _done_title(self, node: Node) -> str:
        done = self._done(node)
        return "Started" if done is None else self._title(done)

    def _label(self, node: Node) -> str:
        """The step that was done on the way to a node: the name that its moment has."""
        what = {"step": "", "checkpoint": "checkpoint, ", "blocked_attempt": "blocked, "}[node.kind]
        return what + self._done_title(node)
