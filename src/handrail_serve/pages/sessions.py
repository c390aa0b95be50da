"""The list of sessions, with filters and order that hold for the whole store. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import UnsetType

from handrail.projections.html.elements import Child, Html, element
from handrail.projections.overview import UNDER_WAY
from handrail.projections.plain_words import STATUS_WORDS
from handrail.views.hits import HitRow
from handrail.views.sessions import SessionList, SessionView, StoredValues
from handrail_serve.pages.items import where, whose_agent
from handrail_serve.pages.parts import (
    ANSWERED,
    SILENCES,
    WAITING,
    Rows,
    ago,
    asked_badge,
    badge,
    button,
    command_line,
    copy_button,
    count,
    cut,
    duration,
    empty,
    head,
    health_badge,
    meta,
    moment,
    more_rows,
    page,
    proof_bar,
    run_path,
    search_field,
    section,
    select,
    session_path,
    silence_badge,
    spell_changed,
    status_badge,
    under,
)

INSTALL_LINE = "handrail setup"
FIRST_PROMPT = (
    "Use Handrail to review my last change: start the workflow wr.code_review and follow it step by step."
)
FILTERS = ("q", "status", "workflow", "project", "branch", "account", "agent", "since", "until")
"""What an address may hold beside the order of the rows."""
_GROUPS = (("", "none"), ("project", "project"), ("branch", "branch"), ("state", "state"))
_SORTS = (("", "last change"), ("silent", "longest silent"), ("title", "title"))
_MORE_STATES = (
    ("needs", "waits for you"),
    ("stated", "finished, but only stated"),
    ("damaged", "damaged"),
    *((silence, silence) for silence in SILENCES),
)
_ASKED = {"waiting": WAITING, "answered": ANSWERED}


def sessions_page(
    listed: Rows[SessionView],
    about: SessionList,
    hits: Rows[HitRow] | None,
    asked: Mapping[str, str],
    server: str = "",
) -> Html:
    """One page of the sessions that fit; `hits` are places with the words, `server` is that of the team."""
    is_filtered = any(asked.get(name) for name in FILTERS)
    if not listed.items and not is_filtered and not about.session_count:
        return page(head("Sessions"), welcome(server), live="*")
    return page(
        head("Sessions", element("div", meta(count(about.session_count, "session")), id="summary")),
        _toolbar(asked, about),
        None if hits is None else _hits(hits, asked.get("q", "")),
        _list(listed, asked) if listed.items else None if hits and hits.items else _nothing(asked),
        live="*",
    )


# The list


def _toolbar(asked: Mapping[str, str], about: SessionList) -> Html:
    words = search_field(
        "q",
        "Search notes, artifacts and titles",
        asked,
        autocomplete="off",
        data_key_focus="/",
        placeholder="Words, all of them",
    )
    states = [("", "any"), *STATUS_WORDS.items(), *_MORE_STATES]
    return element(
        "form",
        words,
        select("status", "State", states, asked.get("status", "")),
        *([] if isinstance(about.values, UnsetType) else _choices(about.values, asked)),
        _day("since", "From", asked),
        _day("until", "To", asked),
        select("group", "Group by", _GROUPS, asked.get("group", "")),
        select("sort", "Sort by", _SORTS, asked.get("sort", "")),
        button("Show"),
        element("a", "Clear", href="/sessions", class_="button plain") if any(asked.values()) else None,
        class_="toolbar",
        role="search",
        data_view="/sessions",
    )


def _day(name: str, label: str, asked: Mapping[str, str]) -> Html:
    held = element("input", type="date", name=name, value=asked.get(name, ""))
    return element("label", label, held, class_="field")


def _choices(values: StoredValues, asked: Mapping[str, str]) -> list[Html]:
    """What the sessions of the store have; an account or agent is offered only in a team."""
    is_team = bool(values.accounts) or any(asked.get(name) for name in ("account", "agent"))
    return [
        _choose("project", "Project", values.projects, asked),
        _choose("branch", "Branch", values.branches, asked),
        _choose("workflow", "Workflow", values.workflows, asked),
        *([_choose("account", "Person", values.accounts, asked)] if is_team else []),
        *([_choose("agent", "Agent", values.agents, asked)] if is_team else []),
    ]


def _choose(
    name: str, label: str, values: Sequence[str] | Mapping[str, str], asked: Mapping[str, str]
) -> Html:
    named = values if isinstance(values, Mapping) else {value: value for value in values}
    chosen = asked.get(name, "")
    offered = {"": "any", **({chosen: chosen} if chosen else {}), **named}
    return select(name, label, tuple(offered.items()), chosen)


def _list(listed: Rows[SessionView], asked: Mapping[str, str]) -> Html:
    group = asked.get("group", "")
    known = group if group in dict(_GROUPS) else ""
    groups: dict[str, list[SessionView]] = {}
    for item in listed.items:
        groups.setdefault(_group(item, known), []).append(item)
    title = "Sessions that match" if any(asked.get(name) for name in FILTERS) else "All sessions"
    return section(
        title,
        *(_rows(name, rows, known, place) for place, (name, rows) in enumerate(groups.items())),
        more_rows("/sessions", listed, asked, (*FILTERS, "group", "sort"), "Older sessions"),
    )


def _group(item: SessionView, by: str) -> str:
    match by:
        case "state":
            return _name_state(item)
        case "project":
            return item.project or "no project"
        case "branch":
            return item.branch or "no branch"
        case _:
            return ""


def _name_state(item: SessionView) -> str:
    if item.health != "healthy":
        return "damaged"
    waits = _ASKED.get(item.asked, "")
    return (waits if waits == WAITING else "") or item.silence or waits or STATUS_WORDS.get(item.status, "")


def _rows(name: str, items: Sequence[SessionView], by: str, place: int) -> Html:
    rows = element("ol", *map(_row, items), class_="rows", id="sessions" if not place else None)
    if not by:
        return rows
    title = element("h3", name, dir="auto")
    return element("section", title, rows, class_="stack tight", data_key=f"group {name}")


def _title(item: SessionView) -> str:
    return item.goal or item.workflow_name or item.workflow_id or f"Session {item.id}"


def _row(item: SessionView) -> Html:
    where_to = run_path(item.id, item.run_id) if item.run_id else session_path(item.id)
    is_open = item.status in UNDER_WAY
    facts = [
        element("span", item.workflow_name or item.workflow_id) if item.workflow_id else None,
        element("span", f"at {item.pending_title}") if item.pending_title and is_open else None,
        element("span", f"{item.parts_done} of {item.parts} parts done") if is_open and item.parts else None,
        element("span", f"{item.done} of about {item.at_least} steps") if is_open and item.at_least else None,
        *(element("span", word) for word in (item.project, item.branch) if word),
        element("span", whose_agent(item)) if item.run_id else None,
        element("span", count(item.run_count, "run")) if item.run_count > 1 else None,
        element("span", spell_changed(item.changed)) if item.changed and item.changed.files else None,
        element("span", f"took {duration(item.seconds)}") if item.seconds and not is_open else None,
        element("span", "imported") if item.imported_from else None,
    ]
    return element(
        "li",
        element("span", _state(item), silence_badge(item.silence), class_="cluster"),
        element(
            "span",
            element("a", cut(_title(item)), href=where_to, class_="row-link", dir="auto"),
            under(*facts),
        ),
        element("span", ago(item.last_activity), proof_bar(item.sources), class_="stack tight right"),
        data_key=item.id,
    )


def _state(item: SessionView) -> Html:
    if item.health != "healthy":
        return health_badge(item.health)
    if item.asked:
        return asked_badge(_ASKED[item.asked])
    is_stated = item.status == "complete" and item.sources.is_only_stated
    return badge("finished, only stated", "", "step") if is_stated else status_badge(item.status)


def _hits(hits: Rows[HitRow], words: str) -> Child:
    rows = [_hit(row, words) for row in hits.items]
    if not rows:
        return None
    places = count(len(rows), "place has", "places have")
    return section(
        f"{places} “{words}”{', and there may be more' if hits.has_more else ''}",
        element("ol", *rows, class_="rows two", id="hits"),
    )


def _hit(row: HitRow, words: str) -> Html:
    step = row.step_id.rpartition("::")[2] or row.what
    return element(
        "li",
        element(
            "span",
            element("a", cut(row.goal or row.session_id), href=where(row), class_="row-link", dir="auto"),
            under(
                element("span", f"{step}, {row.what}"),
                element("span", *_marked(row.snippet, words), dir="auto"),
            ),
        ),
        moment(row.at),
        data_key=f"{row.node_id} {row.what} {row.at}",
    )


def _marked(snippet: str, words: str) -> list[Child]:
    """The snippet with the words that were asked for marked in it."""
    asked = sorted({re.escape(word) for word in words.split()}, key=len, reverse=True)
    if not asked:
        return [snippet]
    parts = re.split(f"({'|'.join(asked)})", snippet, flags=re.IGNORECASE)
    return [element("mark", part) if place % 2 else part for place, part in enumerate(parts) if part]


# Nothing to show


def _nothing(asked: Mapping[str, str]) -> Html:
    words = asked.get("q", "")
    return empty(
        f"Nothing has “{words}”" if words else "No session fits",
        element("p", "Every word must be found. Sessions are found by title, project, workflow and id too."),
        element("a", "Show all sessions", href="/sessions", class_="button"),
    )


def welcome(server: str) -> Html:
    lines = (f"handrail login {server}", "handrail team link") if server else (INSTALL_LINE,)
    return empty(
        "No sessions yet",
        element(
            "p",
            "A session appears here as soon as an agent starts a workflow. Connect your agent once, "
            "then give it something to do.",
        ),
        element(
            "div",
            element("p", element("strong", "1."), " Connect your agent, in a terminal:"),
            *map(command_line, lines),
            class_="stack tight",
        ),
        element(
            "div",
            element("p", element("strong", "2."), " Say to your agent:"),
            element("div", element("pre", FIRST_PROMPT), copy_button(FIRST_PROMPT, "Copy"), class_="copy"),
            class_="stack tight",
        ),
    )
