"""The inbox: everything that waits for a person as a list, and beside it the item that is read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.projections.html.elements import Child, Html, element
from handrail.projections.overview import NeedKind
from handrail.views.inbox import Inbox, InboxItem, key_of
from handrail_serve.pages.items import Card, ask_in_short, item_glyph, read_card
from handrail_serve.pages.parts import (
    Rows,
    add_query,
    ago,
    count,
    cut,
    empty,
    head,
    inbox_path,
    meta,
    more_rows,
    page,
    proof_bar,
    silence_badge,
    soft,
    under,
)


def inbox_page(
    listed: Rows[InboxItem], inbox: Inbox, chosen: Card | None, *, is_open: bool, is_gone: bool = False
) -> Html:
    """The list, and the item that is read: the one of the address, else the first.

    `is_open`: the address names an item, which a narrow screen shows alone. `is_gone`: it no longer waits.
    """
    waiting = inbox.total - inbox.answered
    words = f"{count(waiting, 'item waits', 'items wait')} for you" if waiting else "Nothing waits for you"
    answered = f"{inbox.answered} answered, not yet read by the agent" if inbox.answered else None
    return page(
        head("Inbox", element("div", meta(words, answered, *_jumps(listed)), id="summary")),
        element(
            "div",
            _list(listed, "" if chosen is None else _path(chosen.row)),
            element("section", *_pane(chosen, is_gone=is_gone), class_="pane", id="pane", aria_label="Item"),
            class_="inbox open" if is_open else "inbox",
        )
        if listed.items or is_open
        else _nothing(),
        live="*",
    )


_JUMPS: dict[NeedKind, str] = {"blocked": "Blocked", "gap": "Critical gaps", "damaged": "Damaged"}


def _jumps(listed: Rows[InboxItem]) -> Iterator[Html]:
    """Links to the first item of each kind that stands behind the questions."""
    for kind, word in _JUMPS.items():
        first = next(
            (item for item in listed.items if item.kind == kind and item is not listed.items[0]), None
        )
        if first is not None:
            yield element("a", word, href=_path(first))


def _path(item: InboxItem) -> str:
    return inbox_path(item.session_id, key_of(item))


def _list(listed: Rows[InboxItem], chosen: str) -> Html:
    rows = [_row(item, is_chosen=_path(item) == chosen) for item in listed.items]
    return element(
        "nav",
        element("ol", *rows, class_="rows two dense", data_follow=True),
        more_rows("/inbox", listed, {}, ()),
        class_="stack tight",
        aria_label="Items",
    )


def _row(item: InboxItem, *, is_chosen: bool) -> Html:
    """Two lines: the question and since when; project, goal and attempts, and what is known of the run."""
    facts: Sequence[Child] = (
        element("span", item.project) if item.project else None,
        element("span", cut(item.goal), dir="auto") if item.goal else None,
        element("span", count(item.attempts, "attempt")) if item.attempts > 1 else None,
    )
    return element(
        "li",
        element(
            "span",
            item_glyph(item),
            element(
                "a",
                cut(ask_in_short(item)),
                href=_path(item),
                class_="row-link",
                dir="auto",
                aria_current="true" if is_chosen else None,
            ),
            under(*facts),
        ),
        element(
            "span",
            ago(item.since),
            element("span", silence_badge(item.silence), proof_bar(item.sources), class_="cluster"),
            class_="stack right",
        ),
        class_="answered" if item.is_answered else None,
        aria_current="true" if is_chosen else None,
        data_key=f"{item.session_id} {key_of(item)}",
    )


def _pane(chosen: Card | None, *, is_gone: bool) -> Sequence[Child]:
    back = element("p", element("a", "All items", href="/inbox", class_="button plain"), class_="back")
    if is_gone or chosen is None:
        text = "It was answered and the agent has gone on, or it was resolved elsewhere."
        return (back, empty("This no longer waits for you", element("p", text)))
    return (back, read_card(chosen))


def _nothing() -> Html:
    return empty(
        "Nothing waits for you",
        element("p", "Questions of your agents, blocked runs and critical gaps show up here."),
        element("a", "Show the sessions", href=add_query("/sessions"), class_="button"),
        soft("Press g s to go there."),
    )
