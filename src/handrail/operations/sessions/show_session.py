"""`session.show`: one session as a bounded summary, with the graph of each run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import RUN_NOT_FOUND
from handrail.contract.disclosure.fields import Shape
from handrail.contract.disclosure.newest import take_newest, take_newest_rows
from handrail.contract.ids import NodeId, RunId
from handrail.contract.outcome import Answer, Fault, make_from
from handrail.contract.parameters import MintedId
from handrail.contract.wording import name_person, quote
from handrail.engine.children.joins import name_workers
from handrail.engine.children.tips import open_gaps
from handrail.engine.events import DivergenceRecorded, GapRecorded
from handrail.engine.facts import notes_at, preferences_at
from handrail.engine.history import (
    Confirmation,
    History,
    Node,
    Notes,
    SessionNotes,
    attached_to,
    gaps_at,
    list_confirmations,
    not_run_at,
    way_to,
)
from handrail.engine.messages import explain_gap
from handrail.engine.navigate import Complete, PassedBy, Running, leaves_of
from handrail.engine.progress import describe_not_run
from handrail.engine.reasons import shorten_message
from handrail.operations.declared_checks import list_approved_since
from handrail.operations.finding import find_session
from handrail.projections.doubts import (
    AGREEABLE,
    describe_doubt,
    describe_fact,
    gather_end,
    list_doubts,
    list_facts,
    name_doubts,
)
from handrail.projections.evidence import (
    EvidenceSum,
    PlacedClaim,
    caveat_of,
    describe_settler,
    door_of,
    files_of,
    is_from_elsewhere,
    level_of,
    list_claims,
    machine_of,
    spell_answer,
    sum_evidence,
    text_of,
)
from handrail.projections.overview import (
    Graphs,
    pending_step,
    session_project,
    session_status,
    session_title,
)
from handrail.projections.run_graph import (
    RunGraph,
    capabilities_at,
    closing_at,
    completed_step,
    current_artifacts,
    divergences_at,
    draw_run,
    loop_exits_at,
    run_graphs,
)
from handrail.projections.timeline import timeline
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session, load_pinned_workflow
from handrail.workflows.compiled import Leaf

LIST_BYTES = 5_376
"""Of each list of a summary, as it is encoded: the newest that fit. What is left out is counted."""
CLAIM_BYTES = 200
"""Of what a report says at the place of a claim."""
RUNS_BYTES = 49_152
"""Of all runs together; the latest is always shown."""
MOST_TIPS = 50
NOTE_CHARACTERS = 500
"""Of one of the notes; a report or a bundle has the whole."""
MOST_MOMENTS = 200
"""Of the timeline, before its bytes are counted."""
LABEL_CHARACTERS = 80
"""Of a title in the drawing."""


class ShowSession(Input, frozen=True, kw_only=True):
    """Which session."""

    session_id: Annotated[MintedId, Meta(description="Session id.", min_length=1, max_length=128)]
    run: Maybe[
        Annotated[MintedId, Meta(description="Only this run of it.", min_length=1, max_length=128)]
    ] = UNSET


class StepNoteRow(Answer, frozen=True, kw_only=True):
    """What was written down at one node on the way to the preferred tip; `id` is that of the node."""

    id: str
    step_id: str
    at: str
    text: str
    is_cut: bool = False


class NodeRow(Answer, frozen=True, kw_only=True):
    """One node of the graph."""

    id: str
    parent: str | None
    kind: str
    pending_step: str | None
    is_tip: bool = False
    is_preferred: bool = False
    is_fork: bool = False
    preferences: dict[str, str] | None = None
    """Set where they changed; any other node has those of its parent."""


class GapRow(Answer, frozen=True, kw_only=True):
    """Something that was missing when the run went on."""

    id: str
    severity: str
    reason: str
    summary: str
    is_open: bool
    who: str = ""
    """Of what a person wrote who settled the gap before it: who, and where."""


class ArtifactRow(Answer, frozen=True, kw_only=True):
    """The current artifact of a kind, without its body."""

    kind: str
    step_id: str
    digest: str
    is_validated: bool


class ClaimRow(Answer, frozen=True, kw_only=True):
    """A place of a report, who saw that it is so, and what came of looking."""

    text: str  # what the report says there, cut
    level: str
    """How it is known: ran, seen, confirmed, exists, claimed. Only the first three are proof."""
    verdict: str
    fact: str
    door: str
    """Who says so: handrail, companion, hook or agent; for a person account, console, terminal or client."""
    machine: str  # of a companion: where it was seen or ran
    on: str  # the commit, or the tree where the files are not those of one; empty: not known
    step_id: str
    contract_ref: str
    check: str
    is_imported: bool  # another store recorded it: it was not seen here
    refs: list[str]
    pointer: str


class ConfirmationRow(Answer, frozen=True, kw_only=True):
    """What a person answered about a step: the newest answer at each node where one was asked."""

    step_id: str
    answer: str
    option_id: str = ""  # of a choice: the option that they took
    said: str = ""
    door: str
    who: str
    at: str
    note: str = ""


class SkippedRow(Answer, frozen=True, kw_only=True):
    """A step or loop that was passed by."""

    step_id: str
    condition_id: str
    """Of the part itself; empty for a loop that had no round."""
    reason: str
    """The words of `loops`: `condition_false` for a part whose own condition did not hold."""
    not_needed: bool
    """What somebody gave made it superfluous; otherwise a value was missing or only assumed."""


class LoopRow(Answer, frozen=True, kw_only=True):
    """A loop that ended, and why."""

    loop_id: str
    iterations: int
    reason: str


class DivergenceRow(Answer, frozen=True, kw_only=True):
    """Where the agent left the instructions on purpose."""

    reason: str
    step_id: str
    summary: str


class ClosedRow(Answer, frozen=True, kw_only=True):
    """That nobody goes on with a run."""

    reason: str
    note: str
    at: str


class RunRow(Answer, frozen=True, kw_only=True):
    """One run; `graph` is the drawing, `nodes` the same as data. The rest holds at the preferred tip."""

    id: str
    workflow_id: str
    workflow_name: str
    workflow_hash: str
    child_id: str = ""
    parent_run_id: str = ""  # of a run that another one handed out
    worker: str = ""  # what those who work on it call themselves: their own word
    status: str
    pending_step: str | None
    closed: ClosedRow | None
    ledger_version: int
    node_count: int
    fork_count: int
    tips: list[str]
    """The newest; `omitted` counts what is left out of this and the other lists."""
    preferred_tip: str
    preferences: dict[str, str]
    capabilities: dict[str, str]
    gaps: list[GapRow]
    artifacts: list[ArtifactRow]
    evidence: dict[str, int]
    """Its claims by what they are worth: ran, seen, confirmed, exists, claimed, contradicted, stale."""
    evidence_caveat: str
    """What is true of every level and count here: who recorded it, where that was another store."""
    doubts: dict[str, str] = {}
    """Why the run is not clean, by the code of each doubt: what its closing line and its receipt tell."""
    doubts_id: str | UnsetType = UNSET
    """By which a person agrees to them (handrail session settle), where the run is finished."""
    told: dict[str, str] | UnsetType = UNSET
    """What is no doubt, and a reader should know, by the code of each fact: told like the doubts."""
    claims: list[ClaimRow]
    """The newest, oldest first."""
    confirmations: list[ConfirmationRow] = []
    """Of people, about steps of any branch."""
    divergences: list[DivergenceRow]
    skipped: list[SkippedRow]
    """Once for every round that passed the part by; `omitted` also counts those without a name in the log."""
    not_run_told: str = ""
    """How many that are, in words; empty: everything ran."""
    loops: list[LoopRow]
    notes: list[StepNoteRow]
    """The newest, oldest first."""
    notes_omitted: int = 0
    nodes: list[NodeRow]
    nodes_omitted: int = 0
    graph: list[str]
    omitted: dict[str, int] = {}
    """By the name of a list: how many of its items, mostly older ones, are left out."""


class HealthRow(Answer, frozen=True, kw_only=True):
    """What the log can prove."""

    state: str
    reason: str = ""
    banner: str = ""
    """What a reader of a damaged session must know, and what helps; empty when it is sound."""


class ImportRow(Answer, frozen=True, kw_only=True):
    """Where the session came from, when it was not begun here."""

    bundle_id: str
    source_session_id: str


class NoteRow(Answer, frozen=True, kw_only=True):
    """Notes that belong to the session itself; `text` is their beginning where `is_cut` says so."""

    id: str
    at: str
    text: str
    is_cut: bool = False


class TimelineRow(Answer, frozen=True, kw_only=True):
    """One thing that happened, in the lane of its run or of the session."""

    index: int
    at: str
    lane: str
    what: str
    node_id: str
    step_id: str


class SessionSummary(Answer, frozen=True, kw_only=True):
    """One session."""

    session_id: str
    status: str
    health: HealthRow
    goal: str = ""
    project: str = ""
    """The name of the project that its latest unfinished run, else its latest, was begun in."""
    branch: str = ""
    event_count: int
    last_activity: str
    imported: ImportRow | None = None
    notes: list[NoteRow] = []
    """The newest notes of the session itself, oldest first."""
    notes_omitted: int = 0
    runs: list[RunRow]
    runs_omitted: int = 0
    timeline: list[TimelineRow]
    """The newest nodes of all runs and notes of the session in the order of the log; shown at level full."""


def show_session(rt: ReadPorts, request: ShowSession) -> SessionSummary:
    """The summary of one session, readable also when it cannot be continued."""
    session = find_session(rt, request.session_id)
    history = session.history
    is_lost = not session.is_sound and not history.head  # nobody knows what was in it
    notes, notes_omitted = take_newest_rows(tuple(history.session_notes.values()), _note_row, LIST_BYTES)
    graphs = run_graphs(history)
    runs = _runs(rt, history, graphs, request.run)
    return SessionSummary(
        session_id=history.session_id,
        status="unreadable" if is_lost else session_status(history, graphs),
        health=health_row(session),
        goal=session_title(history),
        project=session_project(history, graphs),
        branch=history.observations.get("git_branch", ""),
        event_count=history.head,
        last_activity=history.last_at,
        imported=None if history.imported is None else make_from(ImportRow, history.imported),
        notes=notes,
        notes_omitted=notes_omitted,
        runs=runs,
        runs_omitted=0 if request.run is not UNSET else len(history.runs) - len(runs),
        timeline=take_newest_rows(
            timeline(history, MOST_MOMENTS), partial(make_from, TimelineRow), LIST_BYTES
        )[0],
    )


def _runs(rt: ReadPorts, history: History, graphs: Graphs, asked: str | UnsetType) -> list[RunRow]:
    """The latest runs that fit, oldest first, the latest of all in any case; or the one that is asked for.

    Raises Fault RUN_NOT_FOUND.
    """
    if asked is not UNSET:
        if asked not in graphs:
            message = f"Session {history.session_id} has no run {quote(asked)}."
            raise Fault(RUN_NOT_FOUND, message, details={"run_id": asked})
        return [_run_row(rt, history, graphs[RunId(asked)])]
    newest = sorted(graphs.values(), key=lambda graph: history.runs[graph.run_id].index, reverse=True)
    rows = (_run_row(rt, history, graph) for graph in newest)
    shown, _ = take_newest(rows, RUNS_BYTES)
    return shown or [_run_row(rt, history, graph) for graph in newest[:1]]


def health_row(session: Session) -> HealthRow:
    return HealthRow(state=session.health.state, reason=session.health.reason, banner=session.banner)


def _note_row(held: SessionNotes) -> NoteRow:
    text = held.notes.text[:NOTE_CHARACTERS]
    return NoteRow(id=held.output_id, at=held.at, text=text, is_cut=_is_cut(held.notes))


def _step_note_row(history: History, node: Node) -> StepNoteRow:
    notes = notes_at(history, node.node_id)
    assert notes is not None, "only nodes with notes are listed"
    return StepNoteRow(
        id=node.node_id,
        step_id=completed_step(history, node),
        at=node.at,
        text=notes.text[:NOTE_CHARACTERS],
        is_cut=_is_cut(notes),
    )


def _is_cut(notes: Notes) -> bool:
    return notes.ref is not None or len(notes.text) > NOTE_CHARACTERS


def _run_row(rt: ReadPorts, history: History, graph: RunGraph) -> RunRow:
    run, tip = history.runs[graph.run_id], graph.preferred_tip
    workflow = load_pinned_workflow(rt.log, run.workflow_hash)
    noted = [node for node in way_to(history, tip) if notes_at(history, node.node_id) is not None]
    still_open = frozenset(gap.gap_id for gap in open_gaps(history, tip))
    not_run = not_run_at(history, tip)
    lists: dict[str, tuple[Sequence[Any], Callable[[Any], Any]]] = {
        "gaps": (gaps_at(history, tip), partial(_gap_row, still_open)),
        "artifacts": (current_artifacts(history, tip), partial(make_from, ArtifactRow)),
        "claims": (list_claims(history, tip), partial(_claim_row, history)),
        "confirmations": (list_confirmations(history, run.run_id), partial(_confirmation_row, history)),
        "divergences": (divergences_at(history, tip), describe_divergence),
        "skipped": ((*not_run.parts, *not_run.not_needed), _skipped_row),
        "loops": (loop_exits_at(history, tip), partial(make_from, LoopRow)),
        "graph": (draw_run(graph, partial(_label, leaves_of(workflow))), str),
    }
    rows = {name: take_newest_rows(*one, LIST_BYTES) for name, one in lists.items()}
    omitted = {"tips": max(0, len(graph.tips) - MOST_TIPS)} | {name: held[1] for name, held in rows.items()}
    omitted["skipped"] += not_run.unnamed
    claims = rows.pop("claims")
    notes = take_newest_rows(noted, partial(_step_note_row, history), LIST_BYTES)
    nodes = take_newest_rows(graph.nodes, partial(_node_row, history, graph), LIST_BYTES)
    parent, closing = run.parent, closing_at(history, graph)
    return make_from(
        RunRow,
        graph,
        run,
        id=run.run_id,
        workflow_name=workflow.name,
        child_id="" if parent is None else parent.child_id,
        parent_run_id="" if parent is None else parent.run_id,
        worker=name_workers(run),
        pending_step=pending_step(history.nodes[tip]),
        closed=None if closing is None else make_from(ClosedRow, closing),
        ledger_version=len(history.anchors[run.run_id]),
        node_count=len(graph.nodes),
        fork_count=len(graph.forks),
        tips=list(graph.tips[-MOST_TIPS:]),
        preferences=msgspec.structs.asdict(preferences_at(history, tip)),
        capabilities={name: seen.status for name, seen in capabilities_at(history, tip).items()},
        evidence=msgspec.structs.asdict(sum_evidence(history, tip) or EvidenceSum()),
        evidence_caveat=caveat_of(history),
        **_list_beside(rt, history, tip),
        claims=claims[0],
        **{name: held[0] for name, held in rows.items()},
        not_run_told=describe_not_run(not_run),
        notes=notes[0],
        notes_omitted=notes[1],
        nodes=nodes[0],
        nodes_omitted=nodes[1],
        omitted={name: count for name, count in omitted.items() if count},
    )


def _list_beside(rt: ReadPorts, history: History, tip: NodeId) -> dict[str, Any]:
    """What stands beside the claims of a run; an approval counts as for its receipt, also afterwards."""
    node = history.nodes[tip]
    approved = list_approved_since(rt, history.runs[node.run_id])
    end = gather_end(history, tip, approved)
    doubts, facts = list_doubts(end), list_facts(end)
    is_settled_here = isinstance(node.state, Complete) and any(one.code in AGREEABLE for one in doubts)
    return {
        "doubts_id": name_doubts(history, node.run_id) if is_settled_here else UNSET,
        "doubts": {one.code: describe_doubt(one) for one in doubts if one.code != "imported"},
        "told": {code: describe_fact(code, names) for code, names in facts.items()} or UNSET,
    }


def _claim_row(history: History, placed: PlacedClaim) -> ClaimRow:
    claim = placed.claim
    return make_from(
        ClaimRow,
        claim,
        text=shorten_message(text_of(history, placed), CLAIM_BYTES),
        level=level_of(claim),
        door=door_of(history, placed),
        machine=machine_of(history, placed),
        on=files_of(history, placed),
        step_id=completed_step(history, history.nodes[placed.node_id]),
        is_imported=is_from_elsewhere(history, placed.node_id),
        refs=list(claim.refs),
    )


def _confirmation_row(history: History, answer: Confirmation) -> ConfirmationRow:
    fact = answer.fact
    step_id = pending_step(history.nodes[fact.node_id]) or ""
    who = name_person(fact.who)
    words = spell_answer(history, answer)
    return make_from(ConfirmationRow, fact, answer, step_id=step_id, said=words, who=who)


def describe_divergence(divergence: DivergenceRecorded) -> DivergenceRow:
    return make_from(DivergenceRow, divergence, step_id=divergence.related_step_id)


def _skipped_row(part: PassedBy) -> SkippedRow:
    return make_from(SkippedRow, part, step_id=part.part_id)


def _gap_row(still_open: frozenset[str], gap: GapRecorded) -> GapRow:
    is_open = gap.gap_id in still_open
    who = describe_settler(gap) if gap.reason == "settled_by_person" else ""
    return make_from(GapRow, gap, id=gap.gap_id, summary=explain_gap(gap), is_open=is_open, who=who)


def _node_row(history: History, graph: RunGraph, node: Node) -> NodeRow:
    changed = attached_to(history, node.node_id).preferences
    return make_from(
        NodeRow,
        node,
        id=node.node_id,
        pending_step=pending_step(node),
        is_tip=node.node_id in graph.tips,
        is_preferred=node.node_id == graph.preferred_tip,
        is_fork=node.node_id in graph.forks,
        preferences=None if changed is None else msgspec.structs.asdict(changed),
    )


def _label(leaves: Mapping[str, Leaf], node: Node) -> str:
    """What stands at a node: the title of the step that is pending there."""
    what = {"step": "", "checkpoint": "checkpoint, ", "blocked_attempt": "blocked, "}[node.kind]
    if not isinstance(node.state, Running):
        return f"{what}done"
    title = leaves[node.state.step_id].title
    return what + (title if len(title) <= LABEL_CHARACTERS else title[: LABEL_CHARACTERS - 1] + "…")


OPERATION = Operation(
    name="session.show",
    effect="read",
    summary="Show one session: status, health and the graph of each run.",
    input=ShowSession,
    output=SessionSummary,
    perform=show_session,
    shape=Shape(
        levels={
            "minimal": ("session_id", "status", "health"),
            "standard": (
                *("session_id", "status", "health", "goal", "project", "branch", "event_count"),
                *("last_activity", "imported", "notes", "notes_omitted", "runs", "runs_omitted"),
            ),
        },
        id_field="session_id",
        drop_order=("timeline", "runs", "notes", "branch", "project", "goal"),
        windows=("timeline", "runs", "notes"),
        on_demand=("timeline",),
        untrusted=(
            *("goal", "project", "branch", "notes.text", "runs.workflow_name", "runs.graph"),
            *("runs.notes.text", "runs.closed.note", "runs.gaps.summary", "runs.divergences.summary"),
            *("runs.confirmations.note", "runs.doubts", "runs.told"),
        ),
    ),
    errors=("SESSION_NOT_FOUND", "RUN_NOT_FOUND", "STORE_CORRUPT", "STORE_UNSUPPORTED_VERSION"),
)
