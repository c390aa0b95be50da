"""The pages of the Console: what they show is what the operations say, and text stays text."""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any

import pytest

from handrail.contract.outcome import Json, Outcome
from handrail.projections.evidence import EVIDENCE_WORDS
from handrail.projections.html.elements import Html, notes_html
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.views.inbox import InboxItem
from handrail.views.nodes import NodeView
from handrail.views.runs import RunView
from handrail.views.summaries import SessionSummary
from handrail_serve.pages.compare import mark_words
from handrail_serve.pages.items import Card, read_card
from handrail_serve.pages.node import node_page
from handrail_serve.pages.session import session_page
from handrail_serve.views import render_view
from tests.journeys.conversation import advance, answer, start, viewed
from tests.journeys.given_workflows import WITH_DECISION, begin, step
from tests.journeys.rich_session import rich_session

HOSTILE = "</p><script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202ebad"


def pages_of(runtime: Runtime, session_id: str) -> dict[str, Html]:
    """Every page about a session, by name."""
    graph = answer(runtime, "run.graph", sessionId=session_id)
    shown = answer(runtime, "session.show", sessionId=session_id, run=graph["run_id"])
    first, last = graph["nodes"][0]["id"], graph["preferred_tip"]
    return {
        "sessions": show(runtime, "/sessions"),
        "inbox": show(runtime, "/inbox"),
        "session": draw_session(shown, graph),
        **{
            f"node {node['id']}": node_page(
                viewed(NodeView, answer(runtime, "run.node", sessionId=session_id, node=node["id"]))
            )
            for node in graph["nodes"]
        },
        "compare": show(runtime, f"/sessions/{session_id}/compare/{first}/{last}"),
        "timeline": show(runtime, f"/sessions/{session_id}/timeline"),
        "hours": show(runtime, f"/sessions/{session_id}/timeline", zoom="hour"),
    }


def show(runtime: Runtime, path: str, **query: str) -> Html:
    """A page as the server makes it."""

    def call(operation: str, params: dict[str, Json]) -> Outcome:
        return perform(runtime, operation, params)

    return render_view(call, path, query).html


def draw_session(shown: dict[str, Any], graph: dict[str, Any], *, before: int | None = None) -> Html:
    return session_page(viewed(SessionSummary, shown), viewed(RunView, graph), before=before)


def words_in(page: Html) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.markup)).split())


@pytest.fixture
def rich(runtime: Runtime) -> tuple[Runtime, str]:
    session_id: str = rich_session(runtime)["session"]["sessionId"]
    return runtime, session_id


def test_text_of_agents_and_people_is_never_markup(runtime: Runtime) -> None:
    reply = advance(runtime, start(runtime, goal=HOSTILE), HOSTILE)

    pages = pages_of(runtime, reply["session"]["sessionId"])

    for name, page in pages.items():
        assert "<script" not in page.markup, name
        assert "<img" not in page.markup, name
        assert 'href="javascript:' not in page.markup, name
        assert "\u202e" not in page.markup, name
        assert " style=" not in page.markup, name
        without_values = re.sub(r'"[^"]*"', '""', page.markup)  # of a form: the title is held in one
        assert not re.search(r"<[^>]* on\w+=", without_values), name


def test_no_page_shows_a_token(rich: tuple[Runtime, str]) -> None:
    runtime, session_id = rich

    for name, page in pages_of(runtime, session_id).items():
        assert not re.search(r"\b(?:ak|st|ck)1[0-9a-z]{20,}", page.markup), name


def test_every_node_is_a_link_of_the_rail_and_opens(rich: tuple[Runtime, str]) -> None:
    runtime, session_id = rich
    graph = answer(runtime, "run.graph", sessionId=session_id)

    page = pages_of(runtime, session_id)["session"]

    links = re.findall(r'data-node="(nod_[^"]*)"', page.markup)
    assert sorted(links) == sorted(node["id"] for node in graph["nodes"])
    for node_id in links:
        assert f"/sessions/{session_id}/runs/{graph['run_id']}/nodes/{node_id}" in page.markup


def test_numbers_on_the_session_page_are_those_of_the_operation(rich: tuple[Runtime, str]) -> None:
    runtime, session_id = rich
    graph = answer(runtime, "run.graph", sessionId=session_id)
    shown = answer(runtime, "session.show", sessionId=session_id, run=graph["run_id"])

    words = words_in(draw_session(shown, graph))

    assert f"{graph['node_count']} nodes" in words
    assert f"{graph['branch_count']} branches" in words
    assert f"{shown['event_count']} events" in words
    run = shown["runs"][0]
    for name, number in run["evidence"].items():
        assert (f"{number} {EVIDENCE_WORDS[name]}" in words) == (number > 0)
    for gap in run["gaps"]:
        assert gap["summary"] in words


def test_a_node_page_tells_everything_that_is_recorded(rich: tuple[Runtime, str]) -> None:
    runtime, session_id = rich
    graph = answer(runtime, "run.graph", sessionId=session_id)
    told = [answer(runtime, "run.node", sessionId=session_id, node=node["id"]) for node in graph["nodes"]]

    for node in told:
        words = words_in(node_page(viewed(NodeView, node)))
        assert node["title"] in words
        assert node["origin"]["workflow_id"] in words
        assert node["preferences"]["autonomy"] == "guided"
        assert "Guided" in words
        for one in (*node["gaps"], *node["divergences"]):
            assert one["summary"] in words
        for one in node["blockers"]:
            assert one["message"] in words
        for one in node["statements"]:
            assert one["level_text"] in words
        for line in node["trace"]:
            assert line in words
        if node["pending"] is not None:
            assert words_in(notes_html(node["pending"]["prompt"])) in words
    assert any(node["blockers"] for node in told)
    assert any(node["gaps"] for node in told)
    assert any(node["divergences"] for node in told)


def test_node_seen_by_the_agent_alone_is_never_green(rich: tuple[Runtime, str]) -> None:
    runtime, session_id = rich

    for name, page in pages_of(runtime, session_id).items():
        assert "badge good" not in page.markup, name


def test_what_needs_a_person_comes_first_with_the_words_to_paste(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), fields={})
    advance(runtime, first)
    (item,) = answer(runtime, "session.inbox")["items"]

    page = show(runtime, "/inbox").markup
    card = read_card(Card(row=viewed(InboxItem, item | {"count": 2})))

    assert item["kind"] == "blocked"
    assert 'class="need blocked"' in page
    assert f'data-copy="{escape(item["reply"])}"' in page
    assert "And 1 more reason." in words_in(card)


def test_a_store_without_sessions_says_how_to_begin(runtime: Runtime) -> None:
    for path in ("/inbox", "/sessions"):
        page = words_in(show(runtime, path))

        assert "handrail setup" in page
        assert "No sessions yet" in page


def test_words_that_only_one_side_has_are_marked() -> None:
    one, other = mark_words("Rounded each line.", "Rounded the sum.")

    assert one.markup == "Rounded <del>each line</del>."
    assert other.markup == "Rounded <ins>the sum</ins>."


def test_long_run_shows_newest_nodes_and_a_way_to_others(runtime: Runtime) -> None:
    reply = start(runtime)
    graph = answer(runtime, "run.graph", sessionId=reply["session"]["sessionId"])
    first = graph["nodes"][0]
    chain = [
        {**first, "id": f"nod_{number}", "parent": f"nod_{number - 1}" if number else None, "row": number}
        for number in range(1_200)
    ]
    long = {**graph, "nodes": chain, "node_count": len(chain)}
    shown = answer(runtime, "session.show", sessionId=graph["session_id"], run=graph["run_id"])

    newest = draw_session(shown, long).markup
    earlier = draw_session(shown, long, before=900).markup

    assert "900 earlier nodes" in newest.replace("\u202f", "")
    assert 'data-node="nod_1199"' in newest
    assert 'data-node="nod_899"' not in newest
    assert 'data-node="nod_899"' in earlier
    assert len(newest) < 256_000


def test_damaged_session_says_what_is_proven(rich: tuple[Runtime, str]) -> None:
    """A damaged session says what is proven and is not in progress."""
    runtime, session_id = rich
    graph = answer(runtime, "run.graph", sessionId=session_id)
    shown = answer(runtime, "session.show", sessionId=session_id, run=graph["run_id"])
    health = {"state": "corrupt_tail", "reason": "digest_mismatch", "banner": "This session is damaged."}

    markup = draw_session({**shown, "health": health, "event_count": 9}, graph).markup

    assert "Its first 9 events are proven, and nothing after them." in markup
    assert f"handrail session export {session_id} --salvage" in markup
    assert "damaged</span>" in markup.partition("</header>")[0]
    assert "in progress" not in markup.partition("</header>")[0]
    assert "data-operation" not in markup


def test_searched_words_are_marked_in_what_was_found(rich: tuple[Runtime, str]) -> None:
    runtime, _ = rich

    page = show(runtime, "/sessions", q="another .*")

    assert "Tried it <mark>another</mark> way." in page.markup
