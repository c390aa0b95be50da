"""What a person can do about a run from its pages: answer an Ask, settle a gap, close or rename. Pure.

Each is an operation that the command line has too. The Console cannot act in the agent's chat, and says so.
"""

from __future__ import annotations

from handrail.engine.facts import LONGEST_GOAL
from handrail.projections.html.elements import Child, Html, element
from handrail_serve.pages.parts import Payload, json_text

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


def kind_of_ask(question: Payload) -> str:
    """Which of the four kinds of Ask it is."""
    kind: str = question["asked"]
    return kind


def answer_form(question: Payload) -> Html:
    """The door of an Ask, with what each answer will do. `question` is of run.confirm with `show`."""
    kind = kind_of_ask(question)
    asked = {
        "session": question["session_id"],
        "run": question["run_id"],
        "given": {"whatDigest": question["what_digest"]},
    }
    return element(
        "form",
        element("p", EFFECTS[kind], class_="small"),
        _field(
            f"{question['question']} Never a secret.", "given.answer", required=True, longest=LONGEST_VALUE
        )
        if _takes_value(question)
        else None,
        _field("A note for the agent, if you like", "note"),
        element("div", *_answers(kind, question), class_="cluster"),
        class_="stack tight",
        data_operation="run.confirm",
        data_input=json_text(asked),
        data_done=RECORDED,
    )


def _takes_value(question: Payload) -> bool:
    return bool(question["takes_value"])


def _answers(kind: str, question: Payload) -> list[Child]:
    if _takes_value(question):
        return [element("button", "Give it", type="submit", class_="button main")]
    match kind:
        case "give":
            return [_answer("yes", "Yes, it is done", "main"), _answer("no", "No", "danger")]
        case "choose":
            taken = [_answer(one["id"], f"Take {one['label']}", "main") for one in question["options"]]
            return [*taken, _answer("no", "None of them", "danger")]
        case "allow_write":
            return [
                _answer("yes", "Yes, write it", "main"),
                _answer("no", "No, write nothing", "danger"),
            ]
        case _:
            return [
                _answer("yes", "Yes, I confirm it", "main"),
                _answer("no", "No, I decline it", "danger"),
            ]


def _answer(value: str, word: str, look: str) -> Html:
    return element("button", word, type="submit", name="given.answer", value=value, class_=f"button {look}")


def _field(
    label: str, name: str, *, required: bool = False, longest: int = LONGEST_NOTE, value: str | None = None
) -> Html:
    return element(
        "label",
        label,
        element(
            "input",
            type="text",
            name=name,
            value=value,
            maxlength=longest,
            autocomplete="off",
            required=required,
        ),
        class_="field",
    )


def settle_form(session_id: str, gap_id: str) -> Html:
    """A person says how a gap is settled; the gap itself stays in the log."""
    return element(
        "form",
        element(
            "p",
            "Settled: it leaves this list, and stays in the log with your name and your note.",
            class_="small",
        ),
        _field("How it is settled", "note", required=True),
        element("div", element("button", "Settle it", type="submit", class_="button main"), class_="cluster"),
        class_="stack tight",
        data_operation="session.settle_gap",
        data_input=json_text({"session": session_id, "gap": gap_id}),
        data_done="Settled.",
    )


def rename_form(session_id: str, title: str) -> Html:
    """A person gives the session another title; the goals stay as they are."""
    return element(
        "details",
        element("summary", "Rename", class_="small"),
        element(
            "form",
            element("p", "The title is for lists, reports and resume. The goal stays in the log."),
            _field("Title", "title", required=True, longest=LONGEST_GOAL, value=title),
            element(
                "div", element("button", "Rename it", type="submit", class_="button main"), class_="cluster"
            ),
            class_="panel stack tight",
            data_operation="session.rename",
            data_input=json_text({"session": session_id}),
            data_done="Renamed.",
        ),
        id="rename",
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
            _field("What a reader should know", "note"),
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
