"""What a person can do about a run from its pages: answer for the pending step, and close it. Pure.

Each is an operation that the command line has too. The Console cannot act in the agent's chat, and says so.
"""

from __future__ import annotations

from handrail.projections.html.elements import Child, Html, element
from handrail.projections.html.pages.parts import Payload, badge, json_text, notice, panel

_REASONS = (
    ("abandoned", "Nobody goes on with it"),
    ("superseded", "Another run took its place"),
    ("done_elsewhere", "The work was done elsewhere"),
)
LONGEST_NOTE = 500


def confirm_form(question: Payload) -> Html:
    """The question that a person is asked at a terminal, with its answers. `question` is of run.confirm."""
    asked = {
        "session": question["session_id"],
        "run": question["run_id"],
        "given": {"whatDigest": question["what_digest"]},
    }
    options = question["options"]
    answers: list[Child] = (
        [_answer(one["id"], f"Take {one['label']}", "main") for one in options]
        if options
        else [_answer("yes", "Yes, I confirm it", "main")]
    )
    return panel(
        "Your answer" if options else "Do you confirm this step?",
        _said(question),
        element("pre", question["shown"], class_="code tall", tabindex=0, dir="auto"),
        element(
            "form",
            element(
                "label",
                "A note that is kept with the answer, if you like",
                element("input", type="text", name="note", maxlength=LONGEST_NOTE, autocomplete="off"),
                class_="field",
            ),
            element(
                "div",
                *answers,
                _answer("no", "No, none of them" if options else "No, I decline it", "danger"),
                class_="cluster",
            ),
            class_="stack tight",
            data_operation="run.confirm",
            data_input=json_text(asked),
            data_done="Recorded.",
        ),
        element(
            "p",
            "The answer is kept in the log with your account, and counts for exactly what is shown here. "
            "The Console cannot speak in the chat: tell your agent to send its report again.",
            class_="soft small",
        ),
        class_="stack tight",
        id_="confirm",
    )


def _answer(value: str, word: str, look: str) -> Html:
    return element("button", word, type="submit", name="given.answer", value=value, class_=f"button {look}")


def _said(question: Payload) -> Child:
    if question["answer"] is None:
        return None
    word = "confirmed" if question["answer"] == "confirmed" else "declined"
    return notice(
        "good" if word == "confirmed" else "warn",
        element(
            "p", badge(word, "good" if word == "confirmed" else "bad", "person"), " You can answer anew."
        ),
    )


def close_form(run_id: str) -> Html:
    """A run that nobody continues leaves resume and hooks; continuing it opens it again."""
    rows = [element("option", text, value=value) for value, text in _REASONS]
    return element(
        "details",
        element("summary", "Close this run", class_="small"),
        element(
            "form",
            element("p", "It leaves resume and hooks. Nothing is deleted, and continuing it opens it again."),
            element("label", "Why", element("select", *rows, name="reason"), class_="field"),
            element(
                "label",
                "What a reader should know",
                element("input", type="text", name="note", maxlength=LONGEST_NOTE, autocomplete="off"),
                class_="field",
            ),
            element(
                "div",
                element("button", "Close the run", type="submit", class_="button danger"),
                class_="cluster",
            ),
            class_="panel stack tight",
            data_operation="run.close",
            data_input=json_text({"run": run_id}),
            data_done="Closed.",
        ),
        id="close",
    )
