"""The first page of the Console: what waits for a person, then every session. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from handrail.projections.html.elements import Child, Html, element
from handrail.projections.html.pages.parts import (
    Payload,
    add_query,
    badge,
    command_line,
    copy_button,
    count,
    cut,
    empty,
    head,
    moment,
    node_path,
    page,
    run_path,
    select,
    session_path,
    status_badge,
)
from handrail.projections.plain_words import STATUS_WORDS

SHOWN_NEEDS = 6
"""Needs that are open; the others are one click away."""
INSTALL_LINE = "handrail setup"
FIRST_PROMPT = (
    "Use Handrail to review my last change: start the workflow wr.code_review and follow it step by step."
)
_NEED_WORDS = {
    "person": ("Needs your answer", "busy", "person"),
    "blocked": ("Blocked", "bad", "blocked"),
    "gap": ("Critical gap", "warn", "gap"),
    "damaged": ("Damaged", "bad", "blocked"),
}


def sessions_page(listed: Payload, needs: Payload, hits: Payload | None, asked: Mapping[str, str]) -> Html:
    """`listed` is of session.list, `needs` of session.needs, `hits` of session.search for words."""
    items: Sequence[Any] = listed["items"]
    is_filtered = any(asked.get(name) for name in ("q", "status", "workflow"))
    if not items and not is_filtered and not needs["session_count"]:
        return page(head("Sessions"), _welcome(), live="*")
    return page(
        head("Sessions", _summary(needs)),
        None if is_filtered else _strip(needs),
        _toolbar(asked),
        None if hits is None else _hits(hits, asked.get("q", "")),
        _list(listed, asked) if items else None if hits and hits["hits"] else _nothing(asked),
        live="*",
    )


def _summary(needs: Payload) -> Html:
    waiting = len(needs["needs"]) + needs["needs_omitted"]
    told = f"{count(waiting, 'thing needs', 'things need')} you" if waiting else "Nothing needs you"
    return element(
        "p",
        element("span", f"{count(needs['session_count'], 'session')}. {told}."),
        class_="meta",
        id="summary",
    )


# What needs a person


def _strip(needs: Payload) -> Child:
    rows = [_need(row) for row in needs["needs"]]
    if not rows:
        return None
    more = rows[SHOWN_NEEDS:]
    left = needs["needs_omitted"]
    return element(
        "section",
        element("h2", "Needs you"),
        element("ul", *rows[:SHOWN_NEEDS], class_="strip"),
        element(
            "details",
            element("summary", f"{count(len(more), 'more thing needs', 'more things need')} you"),
            element("ul", *more, class_="strip"),
            element("p", f"And {count(left, 'more', 'more')}.", class_="soft small") if left else None,
        )
        if more
        else None,
        class_="stack",
        id="needs",
    )


def _need(row: Payload) -> Html:
    word, look, glyph = _NEED_WORDS[row["kind"]]
    title = row["goal"] or row["workflow_id"] or row["session_id"]
    more = f" and {count(row['count'] - 1, 'more reason')}" if row["count"] > 1 else ""
    actions: list[Child] = []
    if row["kind"] == "person":
        actions.append(element("a", "Look and answer", href=_where(row), class_="button main"))
    if row["reply"]:
        actions.append(copy_button(row["reply"], "Copy reply for agent"))
    return element(
        "li",
        element("p", badge(word, look, glyph), element("span", row["title"]), class_="cluster"),
        element("h3", element("a", cut(title), href=_where(row)), dir="auto"),
        element("p", row["why"], more, class_="why", dir="auto"),
        element("p", row["fix"], dir="auto") if row["fix"] else None,
        command_line(row["command"]) if row["command"] and row["kind"] == "damaged" else None,
        element("div", *actions, class_="cluster") if actions else None,
        class_=f"need {row['kind']}",
        data_key=f"{row['kind']} {row['session_id']} {row['node_id']}",
    )


def _where(row: Payload) -> str:
    if row["node_id"]:
        return node_path(row["session_id"], row["run_id"], row["node_id"])
    return session_path(row["session_id"])


# The list


def _toolbar(asked: Mapping[str, str]) -> Html:
    words = element(
        "label",
        "Search notes, artifacts and titles",
        element(
            "input",
            type="search",
            name="q",
            value=asked.get("q", ""),
            maxlength=200,
            autocomplete="off",
            data_key_focus="/",
            placeholder="Words, all of them",
        ),
        class_="field grow",
    )
    workflow = element(
        "label",
        "Workflow",
        element("input", name="workflow", value=asked.get("workflow", ""), maxlength=128, autocomplete="off"),
        class_="field",
    )
    statuses = [("", "any"), *((name, word) for name, word in STATUS_WORDS.items())]
    is_filtered = any(asked.get(name) for name in ("q", "status", "workflow"))
    return element(
        "form",
        words,
        select("status", "Status", statuses, asked.get("status", "")),
        workflow,
        element("button", "Show", type="submit", class_="button"),
        element("a", "Clear", href="/sessions", class_="button plain") if is_filtered else None,
        class_="toolbar",
        role="search",
        data_view="/sessions",
    )


def _list(listed: Payload, asked: Mapping[str, str]) -> Html:
    rows = [_row(item) for item in listed["items"]]
    cursor = listed.get("next_cursor") or ""
    more = add_query(
        "/sessions",
        q=asked.get("q", ""),
        status=asked.get("status", ""),
        workflow=asked.get("workflow", ""),
        cursor=cursor,
    )
    return element(
        "section",
        element("h2", "Sessions with these words" if asked.get("q") else "All sessions, last change first"),
        element("ol", *rows, class_="rows", id="sessions"),
        element("p", element("a", "Older sessions", href=more, class_="button"), class_="more")
        if listed.get("has_more") and cursor
        else None,
        class_="stack tight",
    )


def _row(item: Payload) -> Html:
    title = item["goal"] or item["workflow_id"] or item["id"]
    where = run_path(item["id"], item["run_id"]) if item["run_id"] else session_path(item["id"])
    under = [
        element("span", item["workflow_id"]) if item["workflow_id"] else None,
        element("span", f"at {item['pending_step']}") if item["pending_step"] else None,
        element("span", item["project"]) if item["project"] else None,
        element("span", item["branch"]) if item["branch"] else None,
        element("span", count(item["run_count"], "run")) if item["run_count"] > 1 else None,
        element("span", "imported") if item["imported_from"] else None,
    ]
    return element(
        "li",
        element(
            "span",
            status_badge(item["status"])
            if item["health"] == "healthy"
            else badge("damaged", "bad", "blocked"),
        ),
        element(
            "span",
            element("a", cut(title), href=where, class_="row-link", dir="auto"),
            element("span", *under, class_="under"),
        ),
        moment(item["last_activity"]),
        data_key=item["id"],
    )


def _hits(hits: Payload, words: str) -> Child:
    rows = [_hit(row, words) for row in hits["hits"]]
    if not rows:
        return None
    told = count(len(rows), "place has", "places have")
    return element(
        "section",
        element("h2", f"{told} “{words}”{', and there may be more' if hits['is_cut'] else ''}"),
        element("ol", *rows, class_="rows two", id="hits"),
        class_="stack tight",
    )


def _hit(row: Payload, words: str) -> Html:
    step = row["step_id"].rpartition("::")[2] or row["what"]
    return element(
        "li",
        element(
            "span",
            element(
                "a", cut(row["goal"] or row["session_id"]), href=_where(row), class_="row-link", dir="auto"
            ),
            element(
                "span",
                element("span", f"{step}, {row['what']}"),
                element("span", *_marked(row["snippet"], words), dir="auto"),
                class_="under",
            ),
        ),
        moment(row["at"]),
        data_key=f"{row['node_id']} {row['what']} {row['at']}",
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


def _welcome() -> Html:
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
            command_line(INSTALL_LINE),
            class_="stack tight",
        ),
        element(
            "div",
            element("p", element("strong", "2."), " Say to your agent:"),
            element("div", element("pre", FIRST_PROMPT), copy_button(FIRST_PROMPT, "Copy"), class_="copy"),
            class_="stack tight",
        ),
    )
