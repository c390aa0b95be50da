"""Cards for everything that waits for a person: the question, its evidence, and the answers. Pure.

Each form is an operation that the command line has too. The Console cannot act in an agent's chat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from handrail.engine.facts import LONGEST_GOAL
from handrail.engine.reasons import AskKind
from handrail.projections.evidence import SOURCE_WORDS
from handrail.projections.html.elements import Child, Html, element, join_html, notes_html
from handrail.projections.plain_words import NEED_WORDS, spell_kind
from handrail.views.hits import HitRow
from handrail.views.inbox import InboxItem, key_of
from handrail.views.nodes import NodeAnswer, NodeView
from handrail.views.questions import OptionRow, Question
from handrail.views.runs import RunView
from handrail.views.sessions import SessionView
from handrail.views.statements import StatementRow
from handrail.views.summaries import RunRow
from handrail.workflows.prompt_sections import authored_part
from handrail_serve.pages.parts import (
    MOST_STATEMENTS,
    acts,
    ago,
    artifact_body,
    badge,
    button,
    cluster,
    command_line,
    copy_button,
    count,
    cut,
    details,
    diff_lines,
    dots,
    evidence_badges,
    is_seen,
    json_text,
    meta,
    node_path,
    notice,
    panel,
    prose,
    reveal,
    select,
    session_path,
    sides,
    silence_badge,
    soft,
    text_field,
)

_REASONS = (
    ("abandoned", "No longer needed"),
    ("superseded", "Another run took its place"),
    ("done_elsewhere", "The work was done elsewhere"),
)
LONGEST_NOTE = 500
LONGEST_VALUE = 2_000
MOST_KEYS = 9
"""Most options that a digit key selects."""
RECORDED = "Recorded. The agent sees it at its next call."
EFFECTS: dict[AskKind, str] = {
    "confirm": "Yes: the agent goes on once it sends this report again. No: the step stays open, and the "
    "agent reads your note.",
    "choose": "The run goes the way that you take. None of them: the step stays open, and the agent reads "
    "your note.",
    "give": "What you give is recorded as given by you: the agent cannot replace it.",
    "allow_write": "Yes: Handrail writes exactly what is shown, at the agent's next call. No: nothing is "
    "written.",
}


def answer_form(question: Question) -> Html:
    """Return the form of a question, with the effect of each answer. `question` is the result of run.answer
    with `show`.
    """
    asked = {
        "session": question.session_id,
        "run": question.run_id,
        "given": {"whatDigest": question.what_digest, "basedOn": question.answer_id},
    }
    value = None
    if question.takes_value:
        label = f"{question.question} Never a secret."
        value = text_field(label, "given.answer", longest=LONGEST_VALUE)
    return element(
        "form",
        element("p", EFFECTS[question.asked], class_="small"),
        _shown(question),
        value,
        _note("A note for the agent, if you like"),
        cluster(*_answers(question)),
        class_="stack tight",
        **acts("run.answer", asked, done=RECORDED),
    )


def _answers(question: Question) -> list[Child]:
    if question.takes_value:
        return [button("Give it", "main")]
    if question.closed:
        return [_answer("no", "No, I decline it", "danger", "n")]
    waits: dict[str, Any] = {"disabled": True, "data_after_reading": True} if is_long(question) else {}
    match question.asked:
        case "give":
            yes, no = "Yes, it is done", "No"
        case "choose":
            taken = [_take(one, number, waits) for number, one in enumerate(question.options, 1)]
            return [*taken, _answer("no", "None of them", "", "n")]
        case "allow_write":
            yes, no = "Yes, write it", "No, write nothing"
        case _:
            yes, no = "Yes, I confirm it", "No, I decline it"
    return [_answer("yes", yes, "main", "y", **waits), _answer("no", no, "danger", "n")]


def is_long(question: Question) -> bool:
    """Whether a person has to scroll to the end of the text before they can approve it."""
    return len(question.shown) > MOST_REPORT and not question.takes_value and not question.closed


ALL_OF_IT = "All that your answer is about"


def _shown(question: Question) -> Child:
    """Return everything that the answer is about, as it is recorded with the answer. A long text is open,
    and must be read to its end.
    """
    closed = question.closed
    if closed:
        warning = notice("bad", element("p", f"{closed} Decline it; the agent then sends it again."))
        return join_html(warning, details(ALL_OF_IT, prose(question.shown, tabindex=0)))
    if not is_long(question):
        return details(ALL_OF_IT, prose(question.shown, tabindex=0))
    return element(
        "div",
        element("p", f"{ALL_OF_IT}:", class_="small"),
        element(
            "div",
            notes_html(question.shown),
            class_="prose whole",
            dir="auto",
            tabindex=0,
            role="region",
            aria_label=ALL_OF_IT,
            data_whole=question.what_digest,
        ),
        element("p", "Scroll to the end of this text to approve it.", class_="small", data_unread=True),
        class_="stack tight",
    )


def _answer(value: str, word: str, look: str = "", key: str = "", again: str = "", **waits: Any) -> Html:
    """Return a button that answers; `key` is the letter that presses it, `again` is the question that
    confirms it.
    """
    more = {name: text for name, text in (("data_key_press", key), ("data_again", again)) if text}
    shown = element("kbd", key, aria_hidden="true") if key else None
    return element(
        "button",
        word,
        shown,
        type="submit",
        class_=f"button {look}".rstrip(),
        name="given.answer",
        value=value,
        **more,
        **waits,
    )


def _take(option: OptionRow, number: int, waits: dict[str, Any]) -> Html:
    again = f"“{option.label}” cannot be undone." if option.irreversible else ""
    key = str(number) if number <= MOST_KEYS else ""
    look = "main" if option.recommended else "danger" if option.irreversible else ""
    return _answer(option.id, f"Take {option.label}", look, key, again, **waits)


def _note(label: str, *, is_required: bool = False) -> Html:
    return text_field(label, "note", is_required=is_required, longest=LONGEST_NOTE)


def resolve_form(session_id: str, *gap_ids: str) -> Html:
    """Return the form in which a person resolves gaps, with one note for all of them; the gaps stay in the
    log.
    """
    many = len(gap_ids) > 1
    text = f"{'They leave' if many else 'It leaves'} this list. The log keeps your name and your note."
    more = {"each": json_text([{"gap": one} for one in gap_ids[1:]])} if many else {}
    word = f"Resolve all {len(gap_ids)}" if many else "Resolve"
    return element(
        "form",
        element("p", text, class_="small"),
        _note("How it is resolved", is_required=True),
        cluster(button(word, "main")),
        class_="stack tight",
        **acts("session.resolve_gap", {"session": session_id, "gap": gap_ids[0]}, done="Resolved.", **more),
    )


def rename_form(session_id: str, title: str) -> Html:
    """Return the form that renames a session; its goals do not change."""
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
    """Return the form that closes a run. A closed run leaves resume and hooks; continuing it opens it
    again.
    """
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


# The cards: the question, what is known about it, and the answers


MOST_REPORT = 4_000
"""Most characters of the agent's report in a card."""
MOST_DIFF = 8_000
"""Most characters of the lines that a write changes."""
COMMAND_LINE = "command line"
_LOOKS = {
    "person": ("busy", "person"),
    "blocked": ("bad", "blocked"),
    "gap": ("warn", "gap"),
    "damaged": ("bad", "blocked"),
    "newer": ("warn", "blocked"),
}
QUESTIONS: dict[AskKind, str] = {
    "confirm": "Do you confirm “{}”?",
    "choose": "Which way do you take at “{}”?",
    "give": "What does “{}” need from you?",
    "allow_write": "May Handrail write the files of “{}”?",
}


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One item that waits for a person, with what a card shows of it."""

    row: InboxItem
    node: NodeView | None = None
    """The node where the run waits."""
    question: Question | None = None
    """The result of run.answer with `show`; None if a person cannot answer the item."""
    run: RunRow | None = None
    """The evidence of the whole run, if the item asks to confirm a report."""

    @property
    def answer(self) -> NodeAnswer | None:
        """A person's answer that no agent has received yet."""
        is_taken_up = not self.row.is_answered  # or it was about another report
        pending = None if self.node is None or is_taken_up else self.node.pending
        return None if pending is None else pending.person


def item_badge(item: InboxItem) -> Html:
    """Return the badge for the kind of the item, or the badge that it is answered."""
    word, (look, glyph) = NEED_WORDS[item.kind], _LOOKS[item.kind]
    return badge("Answered", "", "person") if item.is_answered else badge(word, look, glyph)


def item_glyph(item: InboxItem) -> Html:
    """The same as a shape, with the words for screen readers."""
    word, (look, shape) = NEED_WORDS[item.kind], _LOOKS[item.kind]
    name = element("span", "Answered: " if item.is_answered else f"{word}: ", class_="sr")
    return element("span", element("span", class_=f"glyph {shape}"), name, class_=f"mark {look}", title=word)


def _state(card: Card) -> Html:
    """Return the badge of the item with whose turn it is, and whether it waited too long."""
    is_answered = card.answer is not None
    is_of_others = card.question is not None and bool(card.question.others) and not is_answered
    shown = badge("Waits for somebody else", "busy", "person") if is_of_others else item_badge(card.row)
    silence = None if is_answered else silence_badge(card.row.silence)
    return element("span", shown, silence, class_="cluster")


def _name(row: InboxItem) -> str:
    """Return the name of the item's card in the page."""
    return f"need-{row.session_id}-{key_of(row)}"


def read_card(card: Card) -> Html:
    """Return the card of one item: its kind, age, owner, question, evidence and answers."""
    return _draw(card, _whose(card.row))


def own_card(card: Card) -> Html:
    """Return the card for the page of its own session, whose head already names the owner."""
    return _draw(card, None)


def _draw(card: Card, whose: Child) -> Html:
    row = card.row
    answered = card.answer
    return element(
        "div",
        element("p", _state(card), "since ", ago(row.since), class_="cluster"),
        element("h2", element("a", ask_in_words(row), href=where(row)), dir="auto"),
        whose,
        _known(card),
        _answers_to(card, answered),
        class_=f"need {row.kind}{' answered' if answered is not None else ''}",
        id=_name(row),
        data_key=f"item {row.session_id} {key_of(row)}",
    )


def where(row: InboxItem | HitRow) -> str:
    if row.node_id:
        return node_path(row.session_id, row.run_id, row.node_id)
    return session_path(row.session_id)


_SHORT: dict[AskKind, str] = {
    "confirm": "Confirm: {}",
    "choose": "Choose: {}",
    "give": "Give: {}",
    "allow_write": "Allow writing: {}",
}


def ask_in_short(row: InboxItem) -> str:
    """Return the short question, for a row of a list."""
    match row.kind:
        case "person":
            return _SHORT[row.asked or "confirm"].format(row.title)
        case "blocked":
            return f"Not accepted: {row.title}"
        case "gap" | "damaged" | "newer":
            return ask_in_words(row)


def ask_in_words(row: InboxItem) -> str:
    """Return the question in one sentence, or what is wrong if the item asks nothing."""
    match row.kind:
        case "person":
            return QUESTIONS[row.asked or "confirm"].format(row.title)
        case "blocked":
            return f"“{row.title}” was not accepted"
        case "gap":
            return cut(row.why) if row.count == 1 else f"{row.count} critical gaps are open"
        case "damaged" | "newer":
            return cut(row.goal or row.workflow_name or row.why)
        case never:
            assert_never(never)


def _whose(row: InboxItem) -> Html:
    """Return the goal, then project, workflow and agent; the question names the step, or the goal itself."""
    is_asked = row.kind not in ("damaged", "newer")
    facts = meta(
        row.project,
        row.branch,
        row.workflow_name or row.workflow_id,
        whose_agent(row),
    )
    if not row.goal or not is_asked:
        return facts
    return join_html(element("p", cut(row.goal), dir="auto"), facts)


def whose_agent(row: InboxItem | RunView | SessionView) -> str:
    """Return the program that started the run; in a team also the account of its owner, and the machine."""
    if not row.account:
        return str(row.agent or COMMAND_LINE)
    where_from = f" on {row.machine}" if row.machine else ""
    return f"{row.agent or 'agent'} of {row.account}{where_from}"


def _known(card: Card) -> Child:
    """Return what the agent reports, and which of it is proven."""
    row, node = card.row, card.node
    more = f" And {count(row.count - 1, 'more reason')}." if row.count > 1 and row.kind == "blocked" else ""
    is_shown = row.kind in ("blocked", "damaged", "newer") or (row.kind == "gap" and row.count > 1)
    why = element("p", row.why, more, class_="why", dir="auto") if is_shown else None
    if node is None:
        return why
    shown = _with_kept(node)
    question = card.question
    return element(
        "div",
        why,
        # Of a write it is a line for the agent: what is written says more, and stands below.
        None
        if question is not None and question.diff
        else _prompt(node, is_open=question is not None and question.asked in ("choose", "give")),
        None if question is None else _options(question),
        None if question is None else _writes(question),
        report(shown),
        evidence(shown, [] if card.run is None else card.run.statements),
        class_="stack tight",
    )


def _options(question: Question) -> Child:
    """Return the meaning of the options that say more than their buttons."""
    rows = [
        element(
            "li",
            element("strong", one.label),
            f": {one.description}" if one.description else None,
            " (recommended)" if one.recommended else None,
        )
        for one in question.options
        if one.description or one.recommended
    ]
    return dots(rows) if rows else None


def _writes(question: Question) -> Child:
    """Return what an approval lets Handrail write: the files, and the lines that change."""
    text, diff = question.writes, question.diff
    whole = prose(text, tabindex=0)
    rest = "The rest: `handrail run answer --show --human`." if len(diff) > MOST_DIFF else ""
    lines = join_html(diff_lines(diff[:MOST_DIFF]), notes_html(rest)) if diff else None
    return join_html(whole, lines) if text else None


def _with_kept(node: NodeView) -> NodeView:
    """Return the node with the whole report that waits: an attempt may have kept the report of an earlier
    one.
    """
    kept = None if node.pending is None else node.pending.report
    if kept is None:
        return node
    return msgspec.structs.replace(node, notes=kept.notes, artifacts=kept.artifacts)


def _prompt(node: NodeView, *, is_open: bool) -> Child:
    """Return the prompt of the step; it is open if it is what a person is asked about."""
    asked = "" if node.pending is None else authored_part(node.pending.prompt)
    if not asked:
        return None
    return details("What the step asks for", prose(cut(asked, MOST_REPORT), tabindex=0), open=is_open or None)


def evidence(node: NodeView, statements: Sequence[StatementRow] = ()) -> Html:
    """Return the evidence of the report, and that of the whole run: its sum, and the proofs by name."""
    is_counted = any(node.evidence.values())
    proofs = dict.fromkeys((one.text, one.fact) for one in statements if is_seen(one))
    rows = [
        element("li", element("span", text, dir="auto"), element("span", fact, class_="under soft small"))
        for text, fact in list(proofs)[-MOST_STATEMENTS:]
    ]
    whole = element(
        "p",
        element("span", "The whole run so far:", class_="small soft"),
        evidence_badges(node.evidence, node.evidence_caveat),
        class_="cluster",
    )
    listed = dots(rows) if rows and is_counted else None
    return element("div", sides(node), whole if is_counted else None, listed, class_="stack tight")


def report(node: NodeView) -> Child:
    """Return the agent's report, rendered."""
    if not node.notes and not node.artifacts:
        return soft("The agent has reported nothing for it yet.")
    title = (
        f"What the agent reported for the step before, “{node.title}”"
        if node.kind == "step"
        else "What the agent reports"
    )
    text = node.notes
    parts = [
        join_html(element("p", element("strong", spell_kind(one.kind))), artifact_body(one.body))
        for one in node.artifacts
    ]
    return details(
        title,
        prose(cut(text, MOST_REPORT), tabindex=0) if text else None,
        soft("The rest is on the page of the step.") if len(text) > MOST_REPORT else None,
        *parts,
        class_="stack tight",
        open=True,
    )


def answer_panel(card: Card) -> Html:
    """Return the question and its answers, for a page that shows the rest itself."""
    return panel(ask_in_words(card.row), _answers_to(card, card.answer), class_="stack tight", id_="confirm")


def _answers_to(card: Card, answered: NodeAnswer | None) -> Child:
    row = card.row
    if row.kind in ("damaged", "newer"):
        return command_line(row.command) if row.command else None
    copy = copy_button(row.reply, "Copy a message for the agent") if row.reply else None
    if answered is not None:
        return _recorded(card, answered, copy)
    form: Child = None
    others = "" if card.question is None else card.question.others
    if others:
        return element("p", f"This waits for {others}; you cannot answer it.", class_="answers small")
    if card.question is not None:
        is_early = card.node is not None and card.node.kind == "step"
        form = join_html(
            element("p", EARLY, class_="small") if is_early else None, answer_form(card.question)
        )
    elif row.kind == "gap":
        form = resolve_form(row.session_id, *row.gap_ids)
    elif row.kind == "person" and card.node is None:
        form = element("p", element("a", "Open it to answer", href=where(row), class_="button main"))
    note = None if form is not None else element("p", WITHOUT_FORM[row.kind], class_="small")
    return element("div", form, note, cluster(copy), class_="answers stack tight")


EARLY = "The agent has not reported this step yet: an answer now is not about a report."
WITHOUT_FORM = {
    "person": "Answer it at a terminal, or tell the agent in its chat.",
    "blocked": "The agent can correct this itself. If it has stopped, tell it to go on.",
    "gap": "The agent resolves it with its next report. If it has stopped, tell it to go on.",
}


def _since(card: Card) -> Child:
    """Return what the agent sent after the answer, if that was rejected: it may contradict the answer."""
    node = card.node
    if node is None or node.kind != "blocked_attempt" or node.person is not None:
        return None  # the answer is about this attempt itself
    why = node.blockers[0].message if node.blockers else ""
    head = element("strong", "Since then the agent reported, and it was refused. ")
    return element("p", head, why, dir="auto")


def _recorded(card: Card, answer: NodeAnswer, copy: Child) -> Html:
    words = f"{answer.who} {answer.summary} {SOURCE_WORDS[answer.source]}"
    since = _since(card)
    again = (
        details("Change the answer", answer_form(card.question))
        if card.question is not None and not card.question.others
        else None
    )
    return element(
        "div",
        notice(
            "good" if answer.answer == "confirmed" and since is None else "warn",
            element("p", element("strong", "Recorded: "), words, dir="auto"),
            element("p", answer.note, dir="auto") if answer.note else None,
            since
            or element(
                "p", "The agent sees it at its next call; copy this if it has stopped.", class_="small"
            ),
        ),
        cluster(copy),
        again,
        class_="answers stack tight",
    )
