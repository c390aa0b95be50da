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
from handrail.contract.ids import RunId
from handrail.contract.outcome import Fault, make_from
from handrail.contract.parameters import MintedId
from handrail.contract.wording import name_person, quote
from handrail.engine.children.joins import name_workers
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
from handrail.engine.tips import open_gaps
from handrail.operations.finding import find_session
from handrail.projections.evidence import (
    EvidenceSum,
    PlacedStatement,
    caveat_of,
    describe_resolver,
    list_statements,
    spell_answer,
    sum_evidence,
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
from handrail.projections.summary import summarize_run
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session, load_pinned_workflow
from handrail.views.statements import StatementRow, make_statement_row
from handrail.views.summaries import (
    ArtifactRow,
    ClosedRow,
    ConfirmationRow,
    DivergenceRow,
    GapRow,
    HealthRow,
    ImportRow,
    LoopRow,
    NoteRow,
    RunRow,
    SessionSummary,
    SkippedRow,
    StepNoteRow,
)
from handrail.workflows.compiled import Leaf

LIST_BYTES = 5_120
"""Most bytes of each encoded list of a summary: the newest that fit. The others are counted."""
RUNS_BYTES = 49_152
"""Most bytes of all runs together; the latest run is always shown."""
MOST_TIPS = 50
NOTE_CHARACTERS = 500
"""Most characters of one note; a report or a bundle has all of it."""
LABEL_CHARACTERS = 80
"""Most characters of a title in the drawing."""


class ShowSession(Input, frozen=True, kw_only=True):
    """The session to show."""

    session_id: Annotated[MintedId, Meta(description="Session id.", min_length=1, max_length=128)]
    run: Maybe[
        Annotated[MintedId, Meta(description="Only this run of it.", min_length=1, max_length=128)]
    ] = UNSET


def show_session(rt: ReadPorts, request: ShowSession) -> SessionSummary:
    """Return the summary of one session, even if it cannot be continued."""
    session = find_session(rt, request.session_id)
    history = session.history
    is_lost = not session.is_sound and not history.head  # its content is unknown
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
    )


def _runs(rt: ReadPorts, history: History, graphs: Graphs, asked: str | UnsetType) -> list[RunRow]:
    """Return the latest runs that fit, oldest first, always with the latest of all; or the requested run.

    Raise Fault RUN_NOT_FOUND.
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
    is_over = isinstance(history.nodes[tip].state, Complete)
    lists: dict[str, tuple[Sequence[Any], Callable[[Any], Any]]] = {
        "gaps": (gaps_at(history, tip), partial(_gap_row, still_open)),
        "artifacts": (current_artifacts(history, tip), partial(make_from, ArtifactRow)),
        "statements": (list_statements(history, tip), partial(_statement_row, history)),
        "confirmations": (list_confirmations(history, run.run_id), partial(_confirmation_row, history)),
        "divergences": (divergences_at(history, tip), describe_divergence),
        "skipped": ((*not_run.parts, *not_run.not_needed), _skipped_row),
        "loops": (loop_exits_at(history, tip), partial(make_from, LoopRow)),
        "graph": (draw_run(graph, partial(_label, leaves_of(workflow))), str),
    }
    rows = {name: take_newest_rows(*one, LIST_BYTES) for name, one in lists.items()}
    omitted = {"tips": max(0, len(graph.tips) - MOST_TIPS)} | {name: held[1] for name, held in rows.items()}
    omitted["skipped"] += not_run.unnamed
    notes = take_newest_rows(noted, partial(_step_note_row, history), LIST_BYTES)
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
        summary=summarize_run(history, workflow, tip).text if is_over else "",
        evidence=msgspec.structs.asdict(sum_evidence(history, tip) or EvidenceSum()),
        evidence_caveat=caveat_of(history),
        **{name: held[0] for name, held in rows.items()},
        not_run_summary=describe_not_run(not_run),
        notes=notes[0],
        notes_omitted=notes[1],
        omitted={name: count for name, count in omitted.items() if count},
    )


def _statement_row(history: History, placed: PlacedStatement) -> StatementRow:
    artifacts = [held.artifact for held in attached_to(history, placed.node_id).artifacts]
    return make_statement_row(history, placed.node_id, placed.statement, artifacts)


def _confirmation_row(history: History, answer: Confirmation) -> ConfirmationRow:
    fact = answer.fact
    step_id = pending_step(history.nodes[fact.node_id]) or ""
    who = name_person(fact.who)
    words = spell_answer(history, answer)
    return make_from(ConfirmationRow, fact, answer, step_id=step_id, summary=words, who=who)


def describe_divergence(divergence: DivergenceRecorded) -> DivergenceRow:
    return make_from(DivergenceRow, divergence, step_id=divergence.related_step_id)


def _skipped_row(part: PassedBy) -> SkippedRow:
    return make_from(SkippedRow, part, step_id=part.part_id)


def _gap_row(still_open: frozenset[str], gap: GapRecorded) -> GapRow:
    is_open = gap.gap_id in still_open
    who = describe_resolver(gap) if gap.reason == "settled_by_person" else ""
    return make_from(GapRow, gap, id=gap.gap_id, summary=explain_gap(gap), is_open=is_open, who=who)


def _label(leaves: Mapping[str, Leaf], node: Node) -> str:
    """Return the label of a node: the title of the step that is pending there."""
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
        drop_order=("runs", "notes", "branch", "project", "goal"),
        windows=("runs", "notes"),
        untrusted=(
            *("goal", "project", "branch", "notes.text", "runs.workflow_name", "runs.graph"),
            *("runs.notes.text", "runs.closed.note", "runs.gaps.summary", "runs.divergences.summary"),
            *("runs.confirmations.note", "runs.summary"),
        ),
    ),
    errors=("SESSION_NOT_FOUND", "RUN_NOT_FOUND", "STORE_CORRUPT", "STORE_UNSUPPORTED_VERSION"),
)
