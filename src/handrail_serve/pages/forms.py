"""What a person can do about a run from its pages: answer an Ask, settle a gap, close or rename. Pure.

Each is an operation that the command line has too. The Console cannot act in the agent's chat, and says so.
"""

from __future__ import annotations

from handrail.engine.facts import LONGEST_GOAL
from handrail.projections.html.elements import Child, Html, element
from handrail_serve.pages.parts import Payload, acts, button, cluster, reveal, select, text_field

_REASONS = (
    ("abandoned", "Nobody goes on with it"),
    ("superseded", "Another run took its place"),
    ("done_elsewhere", "The work was done elsewhere"),
)
LONGEST_NOTE = 500
LONGEST_VALUE = 2_000
RECORDED = "Recorded. The agent sees it at its next call."
EFFECTS = {
    "confirm": "Yes: the agent goes on once it sends this report again. No: the step stays open, and the "
    "agent reads your note.",
    "choose": "The run goes the way that you take. None of them: the step stays open, and the agent reads "
    "your note.",
    "give": "What you give is kept as your word: the agent cannot replace it.",
    "allow_write": "Yes: Handrail writes exactly what is shown, at the agent's next call. No: nothing is "
    "written.",
}


def answer_form(question: Payload) -> Html:
    """The door of an Ask, with what each answer will do. `question` is of run.confirm with `show`."""
    asked = {
        "session": question["session_id"],
        "run": question["run_id"],
        "given": {"whatDigest": question["what_digest"]},
    }
    value = None
    if question["takes_value"]:
        label = f"{question['question']} Never a secret."
        value = text_field(label, "given.answer", longest=LONGEST_VALUE)
    return element(
        "form",
        element("p", EFFECTS[question["asked"]], class_="small"),
        value,
        _note("A note for the agent, if you like"),
        cluster(*_answers(question)),
        class_="stack tight",
        **acts("run.confirm", asked, done=RECORDED),
    )


def _answers(question: Payload) -> list[Child]:
    if question["takes_value"]:
        return [button("Give it", "main")]
    match question["asked"]:
        case "give":
            yes, no = "Yes, it is done", "No"
        case "choose":
            taken = [_answer(one["id"], f"Take {one['label']}", "main") for one in question["options"]]
            return [*taken, _answer("no", "None of them", "danger")]
        case "allow_write":
            yes, no = "Yes, write it", "No, write nothing"
        case _:
            yes, no = "Yes, I confirm it", "No, I decline it"
    return [_answer("yes", yes, "main"), _answer("no", no, "danger")]


def _answer(value: str, word: str, look: str) -> Html:
    return button(word, look, name="given.answer", value=value)


def _note(label: str, *, is_required: bool = False) -> Html:
    return text_field(label, "note", is_required=is_required, longest=LONGEST_NOTE)


def settle_form(session_id: str, gap_id: str) -> Html:
    """A person says how a gap is settled; the gap itself stays in the log."""
    text = "Settled: it leaves this list, and stays in the log with your name and your note."
    return element(
        "form",
        element("p", text, class_="small"),
        _note("How it is settled", is_required=True),
        cluster(button("Settle it", "main")),
        class_="stack tight",
        **acts("session.settle_gap", {"session": session_id, "gap": gap_id}, done="Settled."),
    )


def rename_form(session_id: str, title: str) -> Html:
    """A person gives the session another title; the goals stay as they are."""
    form = element(
        "form",
        element("p", "The title is for lists, reports and resume. The goal stays in the log."),
        text_field("Title", "title", longest=LONGEST_GOAL, value=title),
        cluster(button("Rename it", "main")),
        class_="panel stack tight",
        **acts("session.rename", {"session": session_id}, done="Renamed."),
    )
    return reveal("Rename", form, id_="rename")


def close_form(run_id: str) -> Html:
    """A run that nobody continues leaves resume and hooks; continuing it opens it again."""
    form = element(
        "form",
        element("p", "It leaves resume and hooks. Nothing is deleted, and continuing it opens it again."),
        select("reason", "Why", _REASONS),
        _note("What a reader should know"),
        cluster(button("Close the run", "danger")),
        class_="panel stack tight",
        **acts("run.close", {"run": run_id}, done="Closed."),
    )
    return reveal("Close this run", form, id_="close")
