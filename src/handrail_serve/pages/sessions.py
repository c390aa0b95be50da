"""The lists of the Console: what waits for a person with every session, and what is missing. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from handrail.projections.html.elements import Child, Html, element
from handrail.projections.overview import UNDER_WAY
from handrail.projections.plain_words import STATUS_WORDS
from handrail_serve.pages.needs import Card, settle_form, strip, where, whose_agent
from handrail_serve.pages.parts import (
    SILENCES,
    Payload,
    add_query,
    ago,
    asked_badge,
    asked_word,
    badge,
    button,
    command_line,
    copy_button,
    count,
    cut,
    empty,
    filters,
    head,
    health_badge,
    meta,
    moment,
    more_link,
    more_rows,
    node_path,
    page,
    reveal,
    run_path,
    search_field,
    section,
    select,
    session_path,
    silence_badge,
    soft,
    status_badge,
    under,
)

INSTALL_LINE = "handrail setup"
FIRST_PROMPT = (
    "Use Handrail to review my last change: start the workflow wr.code_review and follow it step by step."
)
_FILTERS = ("q", "status", "workflow", "project", "branch", "account", "agent")
_GROUPS = (("", "none"), ("project", "project"), ("branch", "branch"), ("state", "state"))
_SORTS = (("", "last change"), ("silent", "longest silent"), ("title", "title"))


def sessions_page(
    listed: Payload,
    needs: Payload,
    hits: Payload | None,
    asked: Mapping[str, str],
    cards: Sequence[Card] | None = None,
    server: str = "",
) -> Html:
    """`listed` is of session.list, `needs` of session.needs, `hits` of session.search for words.

    `cards` are the needs with what other operations say about them; `server` is that of the team.
    """
    items: Sequence[Any] = listed.items
    is_filtered = any(asked.get(name) for name in _FILTERS)
    if not items and not is_filtered and not needs.session_count:
        return page(head("Sessions"), _welcome(server), live="*")
    shown = [Card(row=row) for row in needs.items] if cards is None else cards
    waiting = {row.session_id: asked_word([row]) for row in needs.items if row.kind == "person"}
    return page(
        head("Sessions", _summary(needs)),
        None if is_filtered else strip(shown, needs.total - len(needs.items)),
        _toolbar(asked, items),
        None if hits is None else _hits(hits, asked.get("q", "")),
        _list(listed, asked, waiting) if items else None if hits and hits.items else _nothing(asked),
        live="*",
    )


def _summary(needs: Payload) -> Html:
    waiting = needs.total - needs.answered
    text = f"{count(waiting, 'thing needs', 'things need')} you" if waiting else "Nothing needs you"
    return element(
        "p",
        element("span", f"{count(needs.session_count, 'session')}. {text}."),
        class_="meta",
        id="summary",
    )


# The list


def _toolbar(asked: Mapping[str, str], items: Sequence[Payload]) -> Html:
    words = search_field(
        "q",
        "Search notes, artifacts and titles",
        asked,
        autocomplete="off",
        data_key_focus="/",
        placeholder="Words, all of them",
    )
    statuses = [("", "any"), *STATUS_WORDS.items(), *((silence, silence) for silence in SILENCES)]
    return element(
        "form",
        words,
        select("status", "State", statuses, asked.get("status", "")),
        *(_choose(name, label, items, asked) for name, label in _choices(items, asked)),
        select("group", "Group by", _GROUPS, asked.get("group", "")),
        select("sort", "Sort by", _SORTS, asked.get("sort", "")),
        button("Show"),
        element("a", "Clear", href="/sessions", class_="button plain") if any(asked.values()) else None,
        class_="toolbar",
        role="search",
        data_view="/sessions",
    )


_CHOICES = (("project", "Project"), ("branch", "Branch"), ("workflow", "Workflow"))
_IN_A_TEAM = (("account", "Person"), ("agent", "Agent"))


def _choices(items: Sequence[Payload], asked: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    is_team = any(item.account for item in items) or any(asked.get(name) for name, _ in _IN_A_TEAM)
    return (*_CHOICES, *_IN_A_TEAM) if is_team else _CHOICES


def _choose(name: str, label: str, items: Sequence[Payload], asked: Mapping[str, str]) -> Html:
    """What the sessions of this page have of it, and what is asked for."""
    key = "workflow_id" if name == "workflow" else name
    found = {item[key]: (item.workflow_name if name == "workflow" else "") or item[key] for item in items}
    chosen = asked.get(name, "")
    values = {"": "any", **({chosen: chosen} if chosen else {}), **{k: v for k, v in found.items() if k}}
    return select(name, label, tuple(values.items()), chosen)


def _list(listed: Payload, asked: Mapping[str, str], waiting: Mapping[str, str]) -> Html:
    """The rows; those in `waiting` are blocked by nothing but an answer, or have it."""
    items = _sorted(listed.items, asked.get("sort", ""))
    group = asked.get("group", "")
    known = group if group in dict(_GROUPS) else ""
    groups: dict[str, list[Payload]] = {}
    for item in items:
        groups.setdefault(_group(item, known, waiting), []).append(item)
    cursor = listed.get("next_cursor") or ""
    kept = {name: asked.get(name, "") for name in (*_FILTERS, "group", "sort")}
    more = add_query("/sessions", **kept, cursor=cursor)
    title = "Sessions that match" if any(asked.get(name) for name in _FILTERS) else "All sessions"
    return section(
        title,
        *(_rows(name, rows, known, place, waiting) for place, (name, rows) in enumerate(groups.items())),
        more_link("Older sessions", more) if listed.get("has_more") and cursor else None,
    )


def _sorted(items: Sequence[Any], by: str) -> list[Any]:
    """Among the sessions of this page; they come with the last change first."""
    match by:
        case "silent":
            return sorted(items, key=lambda one: (one.status not in UNDER_WAY, one.last_activity))
        case "title":
            return sorted(items, key=lambda one: _title(one).casefold())
        case _:
            return list(items)


def _group(item: Payload, by: str, waiting: Mapping[str, str]) -> str:
    match by:
        case "state" if item.id in waiting:
            return waiting[item.id]
        case "state":
            return str(item.silence or STATUS_WORDS.get(item.status, item.status))
        case "project" | "branch":
            return str(item[by] or f"no {by}")
        case _:
            return ""


def _rows(name: str, items: Sequence[Payload], by: str, place: int, waiting: Mapping[str, str]) -> Html:
    shown = (_row(item, waiting.get(item.id, "")) for item in items)
    rows = element("ol", *shown, class_="rows", id="sessions" if not place else None)
    if not by:
        return rows
    number = element("span", count(len(items), "session"), class_="aside")
    title = element("h3", name, " · ", number, dir="auto")
    return element("section", title, rows, class_="stack tight", data_key=f"group {name}")


def _title(item: Payload) -> str:
    return str(item.goal or item.workflow_name or item.workflow_id or f"Session {item.id}")


def _row(item: Payload, waiting: str) -> Html:
    where_to = run_path(item.id, item.run_id) if item.run_id else session_path(item.id)
    is_open = item.status in UNDER_WAY
    facts = [
        element("span", item.workflow_name or item.workflow_id) if item.workflow_id else None,
        element("span", f"at {item.pending_title}") if item.pending_title and is_open else None,
        element("span", f"{item.parts_done} of {item.parts} parts done") if is_open and item.parts else None,
        element("span", f"{item.done} of about {item.at_least} steps") if is_open and item.at_least else None,
        *(element("span", item[name]) for name in ("project", "branch") if item[name]),
        element("span", whose_agent(item)) if item.run_id else None,
        element("span", count(item.run_count, "run")) if item.run_count > 1 else None,
        element("span", "imported") if item.imported_from else None,
    ]
    return element(
        "li",
        element(
            "span",
            health_badge(item.health)
            if item.health != "healthy"
            else asked_badge(waiting)
            if waiting
            else status_badge(item.status),
            silence_badge(item.silence),
            class_="cluster",
        ),
        element(
            "span",
            element("a", cut(_title(item)), href=where_to, class_="row-link", dir="auto"),
            under(*facts),
        ),
        ago(item.last_activity),
        data_key=item.id,
    )


def _hits(hits: Payload, words: str) -> Child:
    rows = [_hit(row, words) for row in hits.items]
    if not rows:
        return None
    places = count(len(rows), "place has", "places have")
    return section(
        f"{places} “{words}”{', and there may be more' if hits.has_more else ''}",
        element("ol", *rows, class_="rows two", id="hits"),
    )


def _hit(row: Payload, words: str) -> Html:
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


def _welcome(server: str) -> Html:
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
