"""Building blocks of the pages of the Console: heads, badges, times, lists of facts. Pure.

A page is made of these and of the classes that `static/console.css` lists; it has no style of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Generic, TypeVar

import msgspec

from handrail.contract.outcome import UNTRUSTED, Json
from handrail.engine.events import ChangeSum, is_newer
from handrail.projections.evidence import EVIDENCE_WORDS, PROOF, is_proven
from handrail.projections.html.elements import Address, Child, Html, element, join_html, notes_html
from handrail.projections.overview import Sources
from handrail.projections.plain_words import STATUS_WORDS, artifact_lines
from handrail.views.inbox import InboxItem
from handrail.views.nodes import NodeGap, NodeView
from handrail.views.preferences import CHOICES
from handrail.views.statements import StatementRow
from handrail.views.summaries import GapRow

_T = TypeVar("_T")

# Addresses


def session_path(session_id: str) -> str:
    return f"/sessions/{_segment(session_id)}"


def run_path(session_id: str, run_id: str) -> str:
    return f"{session_path(session_id)}/runs/{_segment(run_id)}"


def node_path(session_id: str, run_id: str, node_id: str) -> str:
    return f"{run_path(session_id, run_id)}/nodes/{_segment(node_id)}"


def compare_path(session_id: str, one: str, other: str) -> str:
    return f"{session_path(session_id)}/compare/{_segment(one)}/{_segment(other)}"


def inbox_path(session_id: str, key: str) -> str:
    return f"/inbox/{_segment(session_id)}/{_segment(key)}"


def timeline_path(session_id: str) -> str:
    return f"{session_path(session_id)}/timeline"


def workflow_path(workflow_id: str, part: str = "", run: str = "") -> str:
    """Return the address of one part of a workflow; on the page of a run, with the version to which that
    run is pinned.
    """
    return add_query(f"/workflows/{_segment(workflow_id)}", part=part, run=run)


def picture_address(svg: str) -> str:
    """Return a drawing as the address of a picture, which runs no script."""
    return f"data:image/svg+xml,{_segment(svg)}"


def add_query(path: str, **values: str) -> str:
    """Return the address with these values as its query; empty values are left out."""
    given = {key: value for key, value in values.items() if value}
    shown = "&".join(f"{key}={_segment(value)}" for key, value in given.items())
    return f"{path}?{shown}" if shown else path


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _segment(text: str) -> str:
    """Return a text as one segment of an address: every character that could end the segment is percent-
    encoded.
    """
    if text.isascii() and text.replace("_", "").isalnum():  # every id of ours
        return text
    return "".join(
        chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8", "replace")
    )


# The frame of a page


def page(*children: Child, live: str = "", new: str = "session", node: str = "") -> Html:
    """Return a whole page. `live` is the session whose changes it shows, or `*`; `new` is the label of a
    new row.

    `node` is the node that the page is about.
    """
    return element(
        "div",
        *children,
        class_="page",
        data_live=live or None,
        data_new=new if live else None,
        data_node=node or None,
    )


def head(title: str, *below: Child, crumbs: Sequence[tuple[str, str]] = (), beside: Child = None) -> Html:
    """Return the head of a page: breadcrumbs, title and status."""
    return element(
        "header",
        breadcrumbs(crumbs) if crumbs else None,
        element("div", element("h1", title, tabindex=-1), beside, class_="title"),
        *below,
        class_="head",
        id="head",
    )


def breadcrumbs(crumbs: Sequence[tuple[str, str]]) -> Html:
    """Return the breadcrumbs of a page: each word with its address."""
    rows = [element("li", element("a", cut(word, LONGEST_CRUMB), href=path)) for word, path in crumbs]
    return element("nav", element("ol", *rows, class_="crumbs"), aria_label="Where you are")


def session_crumbs(session_id: str, goal: str) -> tuple[tuple[str, str], ...]:
    """Return the breadcrumbs of a page of one session."""
    return ("Sessions", "/sessions"), (goal or session_id, session_path(session_id))


def meta(*facts: Child) -> Html:
    """Return the line below a title."""
    return element("p", *(element("span", fact) for fact in facts if fact), class_="meta")


def panel(
    title: Child, *children: Child, beside: Child = None, class_: str = "", id_: str | None = None
) -> Html:
    """Return a part of a page with its own heading, and what is shown beside the heading."""
    heading = element("h2", title)
    top = heading if beside is None else element("header", heading, beside)
    return element("section", top, *children, class_=f"panel {class_}".rstrip(), id=id_)


def section(title: str, *children: Child, id_: str | None = None) -> Html:
    """Return a part of a page with its own heading and no frame."""
    return element("section", element("h2", title), *children, class_="stack tight", id=id_)


def split(middle: Html, *side: Child, label: str) -> Html:
    """Return two columns: the subject of the page, and facts beside it."""
    return element("div", middle, element("aside", *side, class_="side", aria_label=label), class_="split")


def tabs(label: str, links: Iterable[tuple[str, str, bool]]) -> Html:
    """Return the tabs of one subject: each has a word, an address, and whether it is shown."""
    shown = [
        element("a", word, href=path, aria_current="page" if is_on else None) for word, path, is_on in links
    ]
    return element("nav", *shown, class_="tabs", aria_label=label)


def details(title: Child, *children: Child, **attributes: Any) -> Html:
    """Return details that a reader opens."""
    return element("details", element("summary", title), *children, **attributes)


def folded(title: Child, *children: Child, is_open: bool = False, id_: str | None = None) -> Html:
    """Return a part of a page that is closed at first."""
    inside = element("div", *children, class_="inside stack tight")
    return element("details", element("summary", title), inside, class_="panel", open=is_open or None, id=id_)


def notice(look: str, *children: Child) -> Html:
    """Return a message about the whole page; `look` is good, warn or bad."""
    return element("div", *children, class_=f"notice {look}".rstrip(), role="note")


def health_badge(health: str) -> Html:
    """Return the badge of a session that cannot continue here: it is damaged, or a newer version wrote it."""
    if is_newer(health):
        return badge("newer version", "warn", "blocked")
    return badge("damaged", "bad", "blocked")


def damage_notice(banner: str) -> Html | None:
    """Return the notice at the top of the page of a damaged session; empty if the session is sound."""
    return notice("bad", element("p", banner)) if banner else None


def empty(title: str, *children: Child) -> Html:
    """Return the text of an empty list, with what to do about it."""
    return element("div", element("h2", title), *children, class_="empty")


def facts(rows: Iterable[tuple[str, Child]], class_: str = "") -> Html:
    """Return a list of names and values; names without a value are left out."""
    cells = [
        join_html(element("dt", name), element("dd", value))
        for name, value in rows
        if value not in (None, "")
    ]
    return element("dl", *cells, class_=f"kv {class_}".rstrip())


def dots(rows: Iterable[Html]) -> Html:
    """Return a list of items, each of them already an `li`."""
    return element("ul", *rows, class_="facts dots")


def points(rows: Iterable[Child]) -> Html:
    """Return a list of sentences."""
    return dots(element("li", row) for row in rows)


def soft(*children: Child) -> Html:
    """Return a muted line, for facts that a reader does not need first."""
    return element("p", *children, class_="small soft")


def under(*children: Child) -> Html:
    """Return the line below the name of a row."""
    return element("span", *children, class_="under")


def prose(text: str, *, tabindex: int | None = None) -> Html:
    """Return the rendered Markdown of an agent or an author."""
    return element("div", notes_html(text), class_="prose", dir="auto", tabindex=tabindex)


def reveal(word: str, *children: Child, class_: str | None = None, id_: str | None = None) -> Html:
    """Return an action that a reader opens first."""
    return element("details", element("summary", word, class_="small"), *children, class_=class_, id=id_)


LONGEST_CRUMB = 60
LONGEST_TITLE = 140
"""Characters of a title in a list."""


def cut(text: str, most: int = LONGEST_TITLE) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}".replace(",", "\u202f")


def spell_changed(changed: ChangeSum) -> str:
    """Return how many files and lines changed: `3 files changed (+12 −4)`."""
    lines = f" (+{changed.added} −{changed.removed})" if changed.added or changed.removed else ""
    return f"{count(changed.files, 'file')} changed{lines}"


# Badges: a shape and a word, never a colour alone

_STATUS: dict[str, tuple[str, str]] = {
    "in_progress": ("busy", "open"),
    "blocked": ("bad", "blocked"),
    "complete": ("", "done"),
    "complete_with_gaps": ("warn", "gap"),
    "closed": ("", "closed"),
    "empty": ("", "step"),
    "notes_only": ("", "checkpoint"),
    "unreadable": ("bad", "blocked"),
}


def badge(word: str, look: str = "", glyph: str = "") -> Html:
    """Return a word in a frame; `look` is good, warn, bad, busy or empty."""
    shape = element("span", class_=f"glyph {glyph}") if glyph else None
    return element("span", shape, word, class_=f"badge {look}".rstrip())


def status_badge(status: str, evidence: Mapping[str, int] | None = None, caveat: str = "") -> Html:
    """Return the badge of a status. It is green only if a source other than the agent confirms everything,
    on this machine.
    """
    look, glyph = _STATUS.get(status, ("", "step"))
    if status == "complete" and evidence is not None and is_proven(evidence) and not caveat:
        look = "good"
    return badge(STATUS_WORDS.get(status, status), look, glyph)


WAITING, ANSWERED = "needs your answer", "answered"


def asked_badge(word: str) -> Html:
    """Return the badge of a run that waits only for the answer of a person, or has it: that is no fault of
    its report.
    """
    return badge(word, "busy" if word == WAITING else "", "person")


def asked_word(waiting: Sequence[InboxItem]) -> str:
    """Return what a run needs from a person, by its needs; empty if it asks no person."""
    asked = [need for need in waiting if need.kind == "person"]
    return "" if not asked else ANSWERED if all(need.is_answered for need in asked) else WAITING


SILENCES = {"idle": ("idle", "warn", "closed"), "stalled": ("stalled", "bad", "blocked")}


def silence_badge(silence: str) -> Html | None:
    """Return the badge of a run that has recorded nothing for long, or that waits for a person without an
    answer.
    """
    return badge(*SILENCES[silence]) if silence in SILENCES else None


_LOOKS: dict[str, tuple[str, str]] = {
    "executed": ("good", "done"),
    "observed": ("good", "done"),
    "approved": ("good", "person"),
    "found": ("", "step"),
    "stated": ("", "step"),
    "contradicted": ("bad", "blocked"),
    "stale": ("warn", "gap"),
}

_WORDS = {str(word): words for word, words in EVIDENCE_WORDS.items()}


def evidence_badge(level: str, verdict: str, *, is_imported: bool = False) -> Html:
    """Return the badge for the evidence of one statement; a statement that another store recorded is never
    green.
    """
    word = "contradicted" if verdict == "contradicted" else "stale" if verdict == "stale" else level
    words, (look, glyph) = _WORDS[word], _LOOKS[word]
    is_elsewhere = is_imported and word == level and level != "stated"
    return badge(f"{words}, in another store", "", glyph) if is_elsewhere else badge(words, look, glyph)


def evidence_badges(evidence: Mapping[str, int], caveat: str = "") -> Html:
    """Return the sum of the evidence, one badge for each kind that counts anything; `caveat` applies to all
    of them.
    """
    shown = [
        badge(f"{evidence[word]} {words}", "" if caveat and word in PROOF else look, glyph)
        for word, words in EVIDENCE_WORDS.items()
        if evidence.get(word, 0)
        for look, glyph in [_LOOKS[word]]
    ]
    note = element("span", caveat, class_="small soft") if caveat and shown else None
    return element("span", *(shown or [badge("nothing checked yet")]), note, class_="cluster")


MOST_PARTS = 6
"""Of one source that a proof bar draws; the words have the number."""
_SOURCES = (
    ("executed", "executed"),
    ("approved", "approved"),
    ("observed", "observed"),
    ("stated", "stated only"),
)


def proof_bar(sources: Sources) -> Html | None:
    """Return a small bar with a part for each source, and the same in words."""
    held = [(name, words, getattr(sources, name)) for name, words in _SOURCES]
    if not any(number for *_, number in held):
        return None
    words = ", ".join(f"{number} {words}" for _, words, number in held if number)
    parts = [
        element("span", class_=f"part {name}")
        for name, _, number in held
        for _ in range(min(number, MOST_PARTS))
    ]
    bar = element("span", *parts, class_="parts", aria_hidden="true")
    return element("span", bar, element("span", words, class_="sr"), class_="proof-bar", title=words)


def gap_words(gap: GapRow | NodeGap, state: str) -> tuple[Child, ...]:
    """Return the severity of a gap, what is missing, and its status."""
    return (
        badge(gap.severity, "bad" if gap.severity == "critical" else "warn", "gap"),
        " ",
        element("span", gap.summary, dir="auto"),
        " ",
        element("span", state, class_="soft"),
    )


def spell_preferences(held: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return in words how far the agent may go, as people choose it."""
    rows = (("Autonomy", "autonomy", CHOICES.autonomy), ("Risk", "risk_policy", CHOICES.risk_policy))
    return tuple(
        (title, next((one.label for one in choices if one.id == held[name]), held[name]))
        for title, name, choices in rows
    )


# Times, ids, text to copy


def moment(at: str, *, with_day: bool = True) -> Html | None:
    """Return a time of the log in UTC; the script of the page shows it in the reader's time zone."""
    if not at:
        return None
    shown = f"{at[:10]} {at[11:16]}" if with_day else at[11:19]
    return element("time", f"{shown} UTC", datetime=at)


def duration(seconds: int) -> str:
    """Return how long something took, in the largest unit that fits and the one below it."""
    units = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
    for (size, name), (below, lesser) in pairwise(units):
        if seconds >= size:
            rest = seconds % size // below
            return f"{seconds // size} {name}" + (f" {rest} {lesser}" if rest else "")
    return f"{seconds} s"


def ago(at: str) -> Html | None:
    """Return how long ago something was; without a script, the time itself."""
    return element("time", f"{at[:10]} {at[11:16]} UTC", datetime=at, data_as="ago") if at else None


def mono(text: str) -> Html:
    return element("code", text)


def copy_button(text: str, label: str, key: str = "") -> Html:
    """Return a button that copies a text; `key` is the letter that presses it."""
    return _copy(text, label, element("kbd", key, aria_hidden="true") if key else None, key=key)


def command_line(text: str) -> Html:
    """Return a command to run in a terminal, with a button that copies it."""
    copy = _copy(text, "Copy", element("span", " the command", class_="sr"))
    return element("div", element("code", text), copy, class_="copy")


def _copy(text: str, *inside: Child, key: str = "") -> Html:
    return element(
        "button", *inside, type="button", class_="button", data_copy=text, data_key_press=key or None
    )


def select(
    name: str, label: str, options: Iterable[tuple[str, str]], chosen: str = "", class_: str = "field"
) -> Html:
    """Return a field with a few values."""
    rows = [element("option", word, value=value, selected=value == chosen or None) for value, word in options]
    return element("label", label, element("select", *rows, name=name), class_=class_)


def search_field(name: str, label: str, asked: Mapping[str, str], most: int = 200, **more: str) -> Html:
    """Return a search field with the words of the current search."""
    held = element("input", type="search", name=name, value=asked.get(name, ""), maxlength=most, **more)
    return element("label", label, held, class_="field grow")


def text_field(
    label: str,
    name: str,
    *,
    is_required: bool = True,
    longest: int | None = None,
    value: str | None = None,
    class_: str = "field",
    **more: str,
) -> Html:
    """Return a field for a line of text."""
    held = element(
        "input",
        type="text",
        name=name,
        value=value,
        maxlength=longest,
        autocomplete="off",
        required=is_required,
        **more,
    )
    return element("label", label, held, class_=class_)


def button(word: str, look: str = "", **more: Any) -> Html:
    """Return a button that sends its form; `look` is main, danger, plain or empty."""
    return element("button", word, type="submit", class_=f"button {look}".rstrip(), **more)


def cluster(*children: Child) -> Html:
    return element("div", *children, class_="cluster")


def acts(
    operation: str, given: Mapping[str, Json], *, title: str = "", word: str = "", **more: Any
) -> dict[str, Any]:
    """Return the attributes by which the script of the page makes a call; with a title the script shows a
    preview first.

    `more` are attributes of `static/actions.js`, without their prefix.
    """
    gate = {"data_gated": True, "data_title": title, "data_word": word} if title else {}
    data = {f"data_{name}": value for name, value in more.items()}
    return {"data_operation": operation, "data_input": json_text(given), **gate, **data}


def filters(path: str, *fields: Html) -> Html:
    """Return the filters of a list; they lead to the same page."""
    return element("form", *fields, button("Show"), class_="toolbar", data_view=path)


class Rows(msgspec.Struct, Generic[_T], frozen=True, kw_only=True):
    """One page of a list, and where the next one begins."""

    items: tuple[_T, ...]
    has_more: bool = False
    next_cursor: str | None = None


def more_rows(
    path: str, listed: Rows[Any], asked: Mapping[str, str], names: Sequence[str], word: str = "Show more"
) -> Html | None:
    """Return the link to the next page of a list, with the current filters."""
    if not listed.has_more or not listed.next_cursor:
        return None
    kept = {name: asked.get(name, "") for name in names}
    return more_link(word, Address(path=add_query(path, **kept), cursor=listed.next_cursor))


def more_link(word: str, path: str | Address) -> Html:
    return element("p", element("a", word, href=path, class_="button"), class_="more")


def table(heads: Sequence[str], rows: Iterable[Html], label: str) -> Html:
    """Return a table that scrolls by itself."""
    cells = [element("th", word, scope="col") for word in heads]
    return element(
        "div",
        element("table", element("thead", element("tr", *cells)), element("tbody", *rows)),
        class_="table",
        tabindex=0,
        role="region",
        aria_label=label,
    )


def drawing(svg: str, outline: str, summary: Html) -> list[Html]:
    """Return a graph as a picture, and below `summary` the same as text."""
    picture = element("img", src=picture_address(svg), alt="The steps from top to bottom; below, as text.")
    return [
        element("div", picture, class_="map", tabindex=0, role="region", aria_label="Drawing"),
        element(
            "details",
            summary,
            element("pre", outline, class_="code wide", tabindex=0, aria_label="Steps"),
        ),
    ]


def cells(*held: Child) -> Html:
    """Return a row of a table."""
    return element("tr", *(element("td", one) for one in held))


def spell_pointer(pointer: str) -> str:
    """`/steps/0/prompt` → `steps › 1 › prompt`."""
    parts = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return " › ".join(str(int(part) + 1) if part.isdecimal() else part for part in parts) or "the whole"


def json_text(value: Any) -> str:
    """Return JSON for an attribute that the script reads."""
    return msgspec.json.encode(value).decode()


def format_json(value: Any) -> str:
    """Return a value as an author writes it."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


# Artifacts, as people read them

LONGEST_NAME = 40
"""Most characters in the name of a member."""


def artifact_body(body: dict[str, Any]) -> Html:
    """Return an artifact as people read it: points, and points below points."""
    lines = artifact_lines({key: value for key, value in body.items() if key != UNTRUSTED})
    shown, _ = _take_points(lines, 0, 0)
    return shown


def _take_points(lines: Sequence[tuple[int, str]], start: int, depth: int) -> tuple[Html, int]:
    """Return the points of one depth from an index on, and the index after them."""
    points_shown: list[Html] = []
    place = start
    while place < len(lines) and lines[place][0] >= depth:
        words = lines[place][1]
        place += 1
        below: Html | None = None
        if place < len(lines) and lines[place][0] > depth:
            below, place = _take_points(lines, place, lines[place][0])
        points_shown.append(element("li", *_point(words), below))
    return element("ul", *points_shown, class_="facts dots"), place


def _point(words: str) -> tuple[Child, ...]:
    """Return one point: `Name: value` with a muted name, anything else unchanged."""
    name, colon, value = words.partition(":")
    if not colon or len(name) > LONGEST_NAME or (value and not value.startswith(" ")):
        return (element("span", words, dir="auto"),)
    label = element("span", name + colon, class_="soft")
    return (label, " ", element("span", value[1:], dir="auto")) if value else (label,)


def diff_lines(text: str) -> Html:
    """Return a unified diff; the marks at the start of the lines stay, so colour is not needed."""
    rows = []
    for line in text.splitlines():
        look = {"+": "add", "-": "del", "@": "at"}.get(line[:1])
        rows.append(element("span", line or " ", class_=look))
    return element(
        "pre", *rows, class_="diff wide tall", tabindex=0, role="region", aria_label="Changed lines"
    )


# What a report states, in its own words, and how each statement is known


MOST_STATEMENTS = 8
"""Of each kind that a card names."""


def is_seen(statement: StatementRow) -> bool:
    """Whether a source other than the agent confirms the statement; that a place exists is no proof."""
    return bool(statement.verdict == "holds" and statement.level in PROOF)


def statement_row(statement: StatementRow, *, is_imported: bool) -> Html:
    """Return a row with the statement and its evidence; below it, the limits of that evidence."""
    more = statement.level_text.removeprefix(_WORDS.get(statement.level, "")).lstrip(":, ")
    return element(
        "li",
        element("span", statement.text, dir="auto"),
        " ",
        evidence_badge(statement.level, statement.verdict, is_imported=is_imported),
        element("span", more, class_="under soft small", dir="auto") if more else None,
    )


def sides(node: NodeView) -> Child:
    """Return what is proven of a report and what only the agent states, as two lists of texts."""
    statements = [
        one for one in node.statements if one.check != "person" or is_seen(one)
    ]  # else: the question
    seen = [one for one in statements if is_seen(one)]
    word = [one for one in statements if not is_seen(one)]
    if not statements:
        text = "Handrail checked nothing in this report. All of it is stated by the agent."
        return soft(text) if node.notes or node.artifacts else None
    return element(
        "div",
        _side("Executed, observed or approved", seen, node) if seen else None,
        _side("Stated by the agent", word, node) if word else None,
        class_="stack tight",
    )


def _side(title: str, statements: Sequence[StatementRow], node: NodeView) -> Html:
    rows = [statement_row(one, is_imported=node.is_imported) for one in statements[:MOST_STATEMENTS]]
    more = len(statements) - len(rows)
    return element(
        "div",
        element("p", element("strong", title)),
        dots(rows),
        soft(f"And {more} more, on the page of the step.") if more else None,
    )
