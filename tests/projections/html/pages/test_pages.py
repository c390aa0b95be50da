"""The pages of the Console: what they show is what the operations say, and text stays text."""

from __future__ import annotations

import re
from html import escape, unescape

import pytest

from handrail.projections.evidence import WORTH_WORDS
from handrail.projections.html.elements import Html, notes_html
from handrail.runtime.runtime import Runtime
from handrail_serve.pages.compare import compare_page, mark_words
from handrail_serve.pages.node import node_page
from handrail_serve.pages.session import session_page
from handrail_serve.pages.sessions import sessions_page
from handrail_serve.pages.timeline import timeline_page
from tests.journeys.conversation import advance, answer, start
from tests.journeys.given_workflows import WITH_DECISION, begin, step
from tests.journeys.rich_session import rich_session

HOSTILE = "</p><script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202ebad"


def pages_of(runtime: Runtime, session_id: str) -> dict[str, Html]:
    """Every page about a session, by name."""
    graph = answer(runtime, "run.graph", sessionId=session_id)
    shown = answer(runtime, "session.show", sessionId=session_id, run=graph["run_id"])
    first, last = graph["nodes"][0]["id"], graph["preferred_tip"]
    return {
        "sessions": sessions_page(
            answer(runtime, "session.list"), answer(runtime, "session.needs"), None, {}
        ),
        "session": session_page(shown, graph),
        **{
            f"node {node['id']}": node_page(
                answer(runtime, "run.node", sessionId=session_id, node=node["id"])
            )
            for node in graph["nodes"]
        },
        "compare": compare_page(answer(runtime, "run.compare", sessionId=session_id, one=first, other=last)),
        "timeline": timeline_page(shown, answer(runtime, "session.timeline", sessionId=session_id)),
        "hours": timeline_page(shown, answer(runtime, "session.timeline", sessionId=session_id), "hour"),
    }


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


def test_every_node_of_the_graph_is_a_link_of_the_rail_and_opens_as_a_page(rich: tuple[Runtime, str]) -> None:
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

    words = words_in(session_page(shown, graph))

    assert f"{graph['node_count']} nodes" in words
    assert f"{graph['branch_count']} branches" in words
    assert f"{shown['event_count']} events" in words
    run = shown["runs"][0]
    for name, number in run["evidence"].items():
        assert (f"{number} {WORTH_WORDS[name]}" in words) == (number > 0)
    for gap in run["gaps"]:
        assert gap["summary"] in words


def test_a_node_page_tells_everything_that_is_recorded(rich: tuple[Runtime, str]) -> None:
    runtime, session_id = rich
    graph = answer(runtime, "run.graph", sessionId=session_id)
    told = [answer(runtime, "run.node", sessionId=session_id, node=node["id"]) for node in graph["nodes"]]

    for node in told:
        words = words_in(node_page(node))
        assert node["title"] in words
        assert node["origin"]["workflow_id"] in words
        assert node["preferences"]["autonomy"] in words
        for one in (*node["gaps"], *node["divergences"]):
            assert one["summary"] in words
        for one in node["blockers"]:
            assert one["message"] in words
        for one in node["claims"]:
            assert one["told"] in words
        for line in node["trace"]:
            assert line in words
        if node["pending"] is not None:
            assert words_in(notes_html(node["pending"]["prompt"])) in words
    assert any(node["blockers"] for node in told)
    assert any(node["gaps"] for node in told)
    assert any(node["divergences"] for node in told)


def test_a_node_that_nobody_but_the_agent_has_seen_is_never_green(rich: tuple[Runtime, str]) -> None:
    runtime, session_id = rich

    for name, page in pages_of(runtime, session_id).items():
        assert "badge good" not in page.markup, name


def test_what_needs_a_person_comes_first_with_the_words_to_paste(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), fields={})
    advance(runtime, first)
    needs = answer(runtime, "session.needs")
    needs["items"][0]["count"] = 2

    page = sessions_page(answer(runtime, "session.list"), needs, None, {}).markup

    assert needs["items"][0]["kind"] == "blocked"
    assert page.index('class="need blocked"') < page.index('id="sessions"')
    assert f'data-copy="{escape(needs["items"][0]["reply"])}"' in page
    assert "And 1 more reason." in page


def test_a_store_without_sessions_says_how_to_begin() -> None:
    nothing = {"items": [], "total": 0, "session_count": 0}

    page = words_in(sessions_page({"items": []}, nothing, None, {}))

    assert "handrail setup" in page
    assert "No sessions yet" in page


def test_words_that_only_one_side_has_are_marked() -> None:
    one, other = mark_words("Rounded each line.", "Rounded the sum.")

    assert one.markup == "Rounded <del>each line</del>."
    assert other.markup == "Rounded <ins>the sum</ins>."


def test_a_long_run_shows_its_newest_nodes_and_a_way_to_the_earlier_ones(runtime: Runtime) -> None:
    reply = start(runtime)
    graph = answer(runtime, "run.graph", sessionId=reply["session"]["sessionId"])
    first = graph["nodes"][0]
    chain = [
        {**first, "id": f"nod_{number}", "parent": f"nod_{number - 1}" if number else None, "row": number}
        for number in range(1_200)
    ]
    long = {**graph, "nodes": chain, "node_count": len(chain)}
    shown = answer(runtime, "session.show", sessionId=graph["session_id"], run=graph["run_id"])

    newest = session_page(shown, long).markup
    earlier = session_page(shown, long, before=700).markup

    assert "700 earlier nodes" in newest.replace("\u202f", "")
    assert 'data-node="nod_1199"' in newest
    assert 'data-node="nod_699"' not in newest
    assert 'data-node="nod_699"' in earlier
    assert len(newest) < 256_000


def test_a_damaged_session_says_what_is_proven_and_is_not_in_progress(rich: tuple[Runtime, str]) -> None:
    runtime, session_id = rich
    graph = answer(runtime, "run.graph", sessionId=session_id)
    shown = answer(runtime, "session.show", sessionId=session_id, run=graph["run_id"])
    health = {"state": "corrupt_tail", "reason": "digest_mismatch", "banner": "This session is damaged."}

    markup = session_page({**shown, "health": health, "event_count": 9}, graph).markup

    assert "Its first 9 events are proven, and nothing after them." in markup
    assert f"handrail session export {session_id} --salvage" in markup
    assert "damaged</span>" in markup.partition("</header>")[0]
    assert "in progress" not in markup.partition("</header>")[0]
    assert "data-operation" not in markup


def test_the_words_that_were_searched_are_marked_in_what_was_found(rich: tuple[Runtime, str]) -> None:
    runtime, _ = rich
    hits = answer(runtime, "session.search", query="another .*")

    page = sessions_page(
        answer(runtime, "session.list"), answer(runtime, "session.needs"), hits, {"q": "another .*"}
    )

    assert "Tried it <mark>another</mark> way." in page.markup
