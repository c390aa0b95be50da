"""The inbox and the list of sessions: every link leads on, and filters hold for the whole store."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest

from handrail.projections.html.elements import Html
from handrail.runtime.runtime import Runtime
from handrail.views.inbox import InboxItem, key_of
from tests.journeys.conversation import advance, answer, start, viewed
from tests.journeys.given_workflows import WITH_DECISION, begin, choice, declared, option, step
from tests.projections.html.pages.test_pages import show, words_in

NEVER_STOP = {"autonomy": "full_auto_never_stop"}


def follow(runtime: Runtime, page: Html, word: str) -> Html:
    """The page that a link leads to, asked for as the script of the Console asks."""
    (address,) = re.findall(rf'<a href="([^"]*)"[^>]*>{word}</a>', page.markup)
    found = urlsplit(unescape(address))
    return show(runtime, found.path, **dict(parse_qsl(found.query, strict_parsing=True)))


def titles(page: Html) -> list[str]:
    return re.findall(r'class="row-link"[^>]*>([^<]*)</a>', page.markup)


@pytest.mark.parametrize("query", [{}, {"sort": "title"}, {"group": "project"}, {"status": "in_progress"}])
def test_older_sessions_are_reached_by_their_link(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    monkeypatch.setattr("handrail_serve.views.ROWS", 2)
    goals = ["Ant", "Bee", "Cat", "Dog", "Eel"]
    for goal in goals:
        start(runtime, goal=goal)

    page = show(runtime, "/sessions", **query)
    seen = titles(page)
    while "Older sessions" in page.markup:
        page = follow(runtime, page, "Older sessions")
        seen += titles(page)

    assert sorted(seen) == goals
    assert query != {"sort": "title"} or seen == goals


def test_every_page_of_gaps_is_reached(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail_serve.views.ROWS", 1)
    with_two_gaps(runtime)

    page = follow(runtime, show(runtime, "/gaps"), "Show more")

    assert "Show more" not in page.markup
    assert len(titles(page)) == 1


def with_two_gaps(runtime: Runtime) -> InboxItem:
    """The item of a run that went on without two answers."""
    steps = (step("one", requireConfirmation=True), step("two", requireConfirmation=True))
    advance(runtime, advance(runtime, begin(runtime, *steps, fields={}, preferences=NEVER_STOP)))
    (item,) = answer(runtime, "session.inbox")["items"]
    return viewed(InboxItem, item)


def test_filters_offer_the_values_of_the_whole_store(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail_serve.views.ROWS", 1)
    begin(runtime, step("other"), fields={}, goal="Older")
    start(runtime, goal="Newer")

    page = show(runtime, "/sessions")

    offered = re.findall(r'<select name="workflow">(.*?)</select>', page.markup)[0]
    assert titles(page) == ["Newer"]
    assert offered.count("<option") == 3


def test_a_run_without_any_proof_is_finished_but_only_stated(runtime: Runtime) -> None:
    advance(runtime, begin(runtime, step("look"), fields={}, goal="Look at it"))
    start(runtime, goal="Not finished")

    page = show(runtime, "/sessions", status="stated")

    assert titles(page) == ["Look at it"]
    assert "finished, only stated" in words_in(page)
    assert "1 stated only" in words_in(page)


def test_gaps_of_a_run_are_resolved_with_one_note(runtime: Runtime) -> None:
    item = with_two_gaps(runtime)

    page = show(runtime, f"/inbox/{item.session_id}/{key_of(item)}")

    each = json.loads(unescape(re.findall(r'data-each="([^"]*)"', page.markup)[0]))
    sent = json.loads(unescape(re.findall(r'data-input="([^"]*)"', page.markup)[0]))
    assert [sent["gap"], *(one["gap"] for one in each)] == item.gap_ids
    assert page.markup.count('name="note"') == 1
    assert "Resolve all 2" in words_in(page)


def test_an_irreversible_option_is_asked_a_second_time(runtime: Runtime) -> None:
    way = choice("way", option("keep", way="keep"), {**option("drop", way="drop"), "irreversible": True})
    begin(runtime, {**way, "nonAssumable": "scope_boundary"}, step("tell"), fields=declared("way"))

    page = show(runtime, "/inbox").markup

    again = re.findall(r'<button[^>]*value="(\w+)"[^>]*data-again="([^"]*)"', page)
    keys = re.findall(r'value="(\w+)"[^>]*data-key-press="(\w)"', page)
    assert [value for value, _ in again] == ["drop"]
    assert "cannot be undone" in again[0][1]
    assert keys == [("keep", "1"), ("drop", "2"), ("no", "n")]


def test_the_recommended_option_alone_is_primary(runtime: Runtime) -> None:
    way = choice("way", option("keep", way="keep"), {**option("drop", way="drop"), "recommended": True})
    begin(runtime, {**way, "nonAssumable": "scope_boundary"}, step("tell"), fields=declared("way"))

    page = show(runtime, "/inbox")

    assert re.findall(r'class="button main"[^>]*value="(\w+)"', page.markup) == ["drop"]
    assert "Drop (recommended)" in words_in(page)


def test_a_blocked_run_is_one_link_away(runtime: Runtime) -> None:
    ways = option("keep", way="keep"), option("drop", way="drop")
    ask = {**choice("way", *ways), "nonAssumable": "scope_boundary"}
    begin(runtime, ask, step("tell"), fields=declared("way"), goal="Asks")
    stuck = begin(runtime, step("decide", **WITH_DECISION), fields={}, goal="Is stuck")
    advance(runtime, stuck, "No decision.")

    page = show(runtime, "/inbox")
    opened = follow(runtime, page, "Blocked")

    assert "Which way do you take" in words_in(page).partition("All items")[2]
    assert "“Decide” was not accepted" in words_in(opened).partition("All items")[2]


def test_an_item_that_no_longer_waits_says_so(runtime: Runtime) -> None:
    start(runtime, goal="Nothing waits")

    page = show(runtime, "/inbox/ses_000000000000/nod_000000000000")

    assert "This no longer waits for you" in words_in(page)
