"""One session: its runs at the side, one of them open, and the notes of the session itself. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from handrail.engine.events import is_newer
from handrail.projections.html.elements import Child, Html, element, join_html
from handrail.projections.overview import UNDER_WAY
from handrail.projections.plain_words import CLOSE_WORDS, spell_kind
from handrail.views.diffs import CodeDiff
from handrail.views.runs import RunView
from handrail.views.summaries import GapRow, RunRow, SessionSummary
from handrail_serve.pages.items import Card, close_form, own_card, rename_form, resolve_form, whose_agent
from handrail_serve.pages.outcome import outcome_panel
from handrail_serve.pages.parts import (
    ANSWERED,
    WAITING,
    ago,
    asked_badge,
    asked_word,
    badge,
    cluster,
    command_line,
    copy_button,
    count,
    cut,
    details,
    empty,
    facts,
    gap_words,
    head,
    health_badge,
    meta,
    moment,
    mono,
    notice,
    page,
    panel,
    prose,
    reveal,
    run_path,
    session_path,
    silence_badge,
    soft,
    spell_changed,
    spell_preferences,
    status_badge,
    tabs,
    timeline_path,
    under,
    workflow_path,
)
from handrail_serve.pages.run_rail import MOST_SHOWN, rail_list, rail_map

_SENTENCES = {
    "in_progress": "With the agent",
    "blocked": "Blocked at",
}
_ASKED = {WAITING: "Waits for a person at", ANSWERED: "A person answered, and the agent has not gone on at"}


def session_page(
    shown: SessionSummary,
    graph: RunView | None,
    *,
    before: int | None = None,
    most: int = MOST_SHOWN,
    cards: Sequence[Card] = (),
    files: CodeDiff | None = None,
) -> Html:
    """`shown` is of session.show with the run that is open, `graph` of run.graph; None: there is no run.

    `files` are those that it changed, `cards` what the run waits for. Nothing changes a session that
    is damaged, and no agent goes on in it.
    """
    session_id = shown.session_id
    run = shown.runs[0] if shown.runs else None
    title = shown.goal or (run.workflow_name if run else "") or f"Session {session_id}"
    return page(
        head(
            title,
            _meta(shown, graph),
            beside=_status(shown, run, graph),
            crumbs=(("Sessions", "/sessions"),),
        ),
        _health(shown),
        _tabs(shown, graph),
        _without_run(shown)
        if graph is None or run is None
        else _with_run(shown, graph, run, before, most, cards, files),
        live=session_id,
        new="step",
    )


def _status(shown: SessionSummary, run: RunRow | None, graph: RunView | None) -> Html:
    if shown.health.banner:
        return health_badge(shown.health.state)
    if run is None:
        return status_badge(shown.status)
    asked = asked_word(graph.waiting) if graph is not None else ""
    status = status_badge(run.status, run.evidence, run.evidence_caveat)
    silence = None if graph is None or asked == ANSWERED else silence_badge(graph.silence)
    return element("span", asked_badge(asked) if asked else status, silence, class_="cluster")


def _meta(shown: SessionSummary, graph: RunView | None) -> Html:
    imported = shown.imported
    changed = None if graph is None else graph.outcome.changed
    return meta(
        shown.project,
        shown.branch,
        whose_agent(graph) if graph is not None else None,
        join_html("last change ", ago(shown.last_activity)) if shown.last_activity else None,
        spell_changed(changed) if changed is not None and changed.files else None,
        count(shown.event_count, "event"),
        "imported from another store" if imported else None,
    )


def _health(shown: SessionSummary) -> Child:
    """A damaged session says so before anything else: what is proven, what can be done, what helps."""
    if not shown.health.banner:
        return None
    if is_newer(shown.health.state):
        return notice("warn", element("p", shown.health.banner))
    session_id = shown.session_id
    proven = count(shown.event_count, "event is", "events are")
    return notice(
        "bad",
        element("p", element("strong", "This session is damaged.")),
        element(
            "p",
            f"Its first {proven} proven, and nothing after them. You can read it and export the proven part; "
            "no agent can continue it.",
        ),
        element(
            "p",
            f"Found: {shown.health.state}, {shown.health.reason}. The first command says more, "
            "the second keeps what is left.",
            class_="small",
        ),
        command_line(f"handrail store verify --ids {session_id} --report-only"),
        command_line(f"handrail session export {session_id} --salvage --out FILE"),
    )


def _tabs(shown: SessionSummary, graph: RunView | None) -> Html:
    session_id = shown.session_id
    here = session_path(session_id) if graph is None else run_path(session_id, graph.run_id)
    views = (
        ("Run", here, True),
        ("What happened", timeline_path(session_id), False),
        ("Preferences", f"{session_path(session_id)}/preferences", False),
        ("Export", f"{session_path(session_id)}/export", False),
    )
    links = tabs("Views of this session", views)
    if shown.health.banner:
        return element("div", links, class_="tabline")
    prompt = "" if graph is None else graph.resume_prompt
    resume = copy_button(prompt, "Copy resume prompt", "p") if prompt else None
    close = close_form(graph.run_id) if graph is not None and graph.status in UNDER_WAY else None
    rename = rename_form(session_id, shown.goal)
    return element("div", links, cluster(resume, rename, close), class_="tabline")


# With a run


def _with_run(
    shown: SessionSummary,
    graph: RunView,
    run: RunRow,
    before: int | None,
    most: int,
    cards: Sequence[Card],
    files: CodeDiff | None,
) -> Html:
    asked = {gap_id for card in cards for gap_id in card.row.gap_ids}  # their card has the form
    is_one = len(graph.runs) == 1
    titles = {node.step_id: node.title for node in graph.nodes}
    return element(
        "div",
        None if is_one else _runs(graph),
        element(
            "div",
            _waiting(cards),
            outcome_panel(graph, run, titles, files),
            _rail(graph, run, before, most),
            _session_notes(shown),
            class_="stack",
        ),
        element(
            "aside",
            _gaps(run, "" if shown.health.banner else shown.session_id, asked),
            _outputs(run, titles),
            _in_force(shown.session_id, run),
            class_="side",
            aria_label="This run",
        ),
        class_="split" if is_one else "split three",
    )


def _waiting(cards: Sequence[Card]) -> Child:
    """What the run waits for, where a person can do something about it."""
    shown = [own_card(card) for card in cards]
    return element("div", *shown, class_="stack", id="waiting") if shown else None


def _runs(graph: RunView) -> Html:
    rows = [
        element(
            "li",
            element(
                "span",
                element(
                    "a",
                    f"{run.child_id}: {run.workflow_name}" if run.child_id else run.workflow_name,
                    href=run_path(graph.session_id, run.id),
                    class_="row-link",
                    aria_current="page" if run.id == graph.run_id else None,
                ),
                element("span", cut(run.goal), class_="under", dir="auto") if run.goal else None,
                under(
                    element("span", count(run.branch_count, "branch", "branches")),
                    element("span", moment(run.started_at)),
                ),
                element("span", status_badge(run.status)),
                class_="stack tight",
            ),
            aria_current="true" if run.id == graph.run_id else None,
            data_key=run.id,
        )
        for run in reversed(graph.runs)
    ]
    left = graph.runs_omitted
    return element(
        "nav",
        element("h2", f"{count(len(rows) + left, 'run')} in this session"),
        element("ol", *rows, class_="rows one"),
        soft(f"{left} earlier runs are not listed.") if left else None,
        class_="stack tight side",
        aria_label="Runs of this session",
    )


def _rail(graph: RunView, run: RunRow, before: int | None, most: int) -> Html:
    drawn = rail_map(graph) if graph.branch_count > 1 else None
    return element(
        "section",
        element(
            "header",
            element(
                "div",
                element("h2", run.workflow_name),
                soft(_sentence(run, graph)),
            ),
            element(
                "span",
                element("span", _progress(graph)),
                f"{count(graph.node_count, 'node')}, {count(graph.branch_count, 'branch', 'branches')}",
                class_="soft small",
            ),
        ),
        rail_list(graph, before, most),
        details("Map of the run", drawn) if drawn is not None else None,
        class_="panel stack",
        id="run",
    )


def _progress(graph: RunView) -> str:
    is_open = graph.status in UNDER_WAY
    return f"{graph.done} of about {graph.at_least} steps, " if is_open else ""


def _sentence(run: RunRow, graph: RunView) -> str:
    status = run.status
    if status in _SENTENCES:
        asked = _ASKED.get(asked_word(graph.waiting), _SENTENCES[status])
        return f"{asked}: {graph.pending_title}"
    if status == "closed" and run.closed:
        closed = run.closed
        note = f" {closed.note}" if closed.note else ""
        return f"Closed, {CLOSE_WORDS.get(closed.reason, closed.reason)}.{note}"
    skipped = run.not_run_summary
    passed = f"{skipped[0].upper()}{skipped[1:]}." if skipped else ""
    if status == "complete_with_gaps":
        left = count(graph.open_gap_count, "open gap is", "open gaps are")
        return f"Done, with gaps: {left} left.{passed and f' {passed}'}"
    return passed or "Every step was done."


def _gaps(run: RunRow, session_id: str, asked: Collection[str]) -> Child:
    rows = [_gap(gap, "" if gap.id in asked else session_id) for gap in run.gaps]
    return panel("Gaps", element("ul", *rows, class_="facts")) if rows else None


def _gap(gap: GapRow, session_id: str) -> Html:
    """One gap with its form, if it can be resolved here; or the note of the person who resolved it."""
    if gap.reason == "settled_by_person":
        summary = element("span", gap.summary, dir="auto")
        return element("li", badge("resolved by a person", "", "done"), " ", summary)
    form = resolve_form(session_id, gap.id) if gap.is_open and session_id else None
    state = "open" if gap.is_open else "resolved"
    return element("li", *gap_words(gap, state), reveal("Resolve it", form) if form else None)


def _outputs(run: RunRow, titles: Mapping[str, str]) -> Child:
    rows = [
        element(
            "li",
            element("strong", spell_kind(artifact.kind)),
            f" from {titles.get(artifact.step_id, 'the run')}, ",
            "well-formed" if artifact.is_validated else "no contract asks for it",
        )
        for artifact in run.artifacts
    ]
    return panel("Outputs", element("ul", *rows, class_="facts")) if rows else None


def _in_force(session_id: str, run: RunRow) -> Html:
    rows: list[tuple[str, Child]] = [
        *spell_preferences(run.preferences),
        *((name, status) for name, status in run.capabilities.items()),
        (
            "Workflow",
            element("a", run.workflow_name, href=workflow_path(run.workflow_id, run=run.id)),
        ),
        ("Run", mono(run.id)),
        ("Session", mono(session_id)),
    ]
    return panel("Settings of this run", facts(rows))


# The session itself


def _session_notes(shown: SessionSummary) -> Child:
    rows = [
        element(
            "li",
            soft(moment(note.at)),
            prose(note.text),
            soft("The rest is in the export.") if note.is_cut else None,
            data_key=note.id,
        )
        for note in shown.notes
    ]
    if not rows:
        return None
    left = shown.notes_omitted
    return panel(
        "Notes of the session",
        soft(f"{left} earlier notes are left out.") if left else None,
        element("ol", *rows, class_="plain stack"),
    )


def _without_run(shown: SessionSummary) -> Html:
    notes = _session_notes(shown)
    if shown.health.banner:
        return element("div", notes, class_="stack")
    return element(
        "div",
        notes,
        empty(
            "No run was started in this session",
            element(
                "p", "A run begins when an agent starts a workflow here. The Console cannot act in the chat."
            ),
        ),
        class_="stack",
    )
