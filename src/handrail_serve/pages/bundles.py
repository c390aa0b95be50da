"""Import and export: a bundle is shown before it is taken in, and a session leaves in three forms. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Json
from handrail.projections.html.elements import Html, element
from handrail.views.summaries import SessionSummary
from handrail_serve.pages.parts import (
    acts,
    button,
    cluster,
    command_line,
    head,
    meta,
    notice,
    page,
    panel,
    session_crumbs,
    soft,
    status_badge,
)

_FORMS = (
    (
        "bundle",
        "Bundle",
        "The whole session with its proof. It can be imported in another store, and goes on there.",
        "handrail.json",
    ),
    ("markdown", "Markdown", "A report to read or to paste: steps, notes, artifacts, gaps, evidence.", "md"),
    ("html", "Report", "One page that opens from disk without a network and without a script.", "html"),
)


def import_page(most_bytes: int) -> Html:
    """Where a bundle is dropped. Nothing is written before the second yes.

    A file of more than `most_bytes` is refused before the browser reads it.
    """
    return page(
        head("Import"),
        element(
            "p",
            "A bundle is a session of another store. It is checked and shown first: what it holds, its "
            "digests, and where its id is taken. Nothing is written before you confirm.",
        ),
        element(
            "form",
            element(
                "div",
                element("label", "Drop a bundle here, or choose a file", for_="bundle"),
                element(
                    "input",
                    type="file",
                    id="bundle",
                    name="bundle",
                    accept=".json,application/json",
                    data_most=most_bytes,
                    required=True,
                ),
                class_="drop stack tight",
            ),
            element(
                "label",
                element("input", type="checkbox", name="asNew"),
                "Import as a new session, even where its own id is free",
                class_="field row",
            ),
            cluster(button("Look into it", "main")),
            class_="stack",
            data_operation="session.import",
            data_gated=True,
            data_title="Import this session?",
            data_refused="Refused; nothing was written",
            data_word="Import it",
            data_then="/sessions/{session_id}",
        ),
        panel(
            "On the command line",
            command_line("handrail session import work.handrail.json --dry-run --human"),
            soft(
                "With ",
                element("code", "--part steps"),
                " the preview shows what the pinned workflows ask of an agent.",
            ),
            class_="stack tight",
        ),
    )


def export_page(session: SessionSummary) -> Html:
    """The three forms of one session. `session` is of session.show."""
    session_id = session.session_id
    is_sound = session.health.state == "healthy"
    return page(
        head(
            "Export",
            meta(f"{session.event_count} events", session.project),
            crumbs=session_crumbs(session_id, session.goal),
            beside=status_badge(session.status),
        ),
        None
        if is_sound
        else notice(
            "bad",
            element("p", session.health.banner),
            element("p", "The bundle holds the part that is proven, marked as such."),
        ),
        element("div", *(_form(session_id, is_sound, *one) for one in _FORMS), class_="strip"),
        _receipt(session) if session.runs and is_sound else None,
    )


def _receipt(session: SessionSummary) -> Html:
    """How to get it: no server uses the keys that sign."""
    line, place = f"handrail receipt export --session {session.session_id}", session.project
    return panel(
        "Receipt",
        element(
            "p",
            "What the run proved about the files of a commit: Markdown for a pull request, or signed so that "
            f"others can verify it. It uses your own key, so run the command in {place or 'the project'}.",
        ),
        command_line(f"{line} --as markdown --human"),
        command_line(f"{line} --out receipt.json"),
        class_="stack tight",
    )


def _form(session_id: str, is_sound: bool, as_: str, word: str, text: str, ending: str) -> Html:
    salvage: dict[str, Json] = {"salvage": True} if as_ == "bundle" and not is_sound else {}
    call = acts(
        "session.export",
        {"sessionId": session_id, "as": as_, **salvage},
        download=f"{session_id}.{ending}",
        answer_field="content",
    )
    save = element("button", f"Save the {word.lower()}", type="button", class_="button", **call)
    return element("div", element("h2", word), element("p", text), cluster(save), class_="panel stack tight")
