"""A run as a story: the outcome first, then one row per step with what happened and who decided."""

from __future__ import annotations

import re
from typing import Any

from handrail.engine.events import ChangeSum
from handrail.projections.html.elements import Html
from handrail.runtime.runtime import Runtime
from handrail.views.diffs import CodeDiff
from handrail.views.runs import RunView
from handrail_serve.pages.outcome import changed_files
from handrail_serve.pages.run_rail import rail_list
from tests.journeys.conversation import advance, answer, rehydrate, viewed
from tests.journeys.given_workflows import A_DECISION, WITH_DECISION, begin, choice, declared, option, step
from tests.journeys.rich_session import report
from tests.journeys.test_confirmations import at_console
from tests.projections.html.pages.test_pages import show, words_in


def rail_of(page: Html) -> str:
    return words_in(Html(markup=page.markup[page.markup.index('id="rail"') :]))


def test_the_outcome_stands_before_the_steps(runtime: Runtime) -> None:
    first = begin(runtime, step("look"), fields={})
    advance(runtime, first, "## Found it\n\nIt is in **one** place.")

    page = show(runtime, f"/sessions/{first['session']['sessionId']}")

    assert page.markup.index("Done: 1 step") < page.markup.index('id="rail"')
    assert "Found it" in rail_of(page)
    assert "It is in" not in rail_of(page)


def test_a_row_says_the_choice_and_the_attempts(runtime: Runtime) -> None:
    asked = begin(runtime, step("decide", **WITH_DECISION), step("tell"), fields={})
    blocked = report(runtime, asked["ackToken"], notes="Rounding once is better.")
    chosen = report(runtime, blocked["retryAckToken"], A_DECISION, notes="Took the way of the bank.")

    words = rail_of(show(runtime, f"/sessions/{asked['session']['sessionId']}"))

    assert f"Chose {A_DECISION['chosen']}. Took the way of the bank." in words
    assert "1 attempt was not accepted" in words
    assert "The agent has not delivered" in words
    assert chosen["pending"]["title"] in words


def test_a_decision_of_a_person_stays_visible(runtime: Runtime) -> None:
    """On the row of the step, the timeline, the node and the comparison, once the agent has gone on."""
    way = choice("way", option("keep", way="keep"), option("drop", way="drop"))
    fields = declared("way")
    first = begin(runtime, {**way, "nonAssumable": "scope_boundary"}, step("tell"), fields=fields)
    session = first["session"]["sessionId"]
    question = answer(at_console(runtime), "run.answer", session=session, show=True)
    given = {"answer": "keep", "whatDigest": question["what_digest"], "basedOn": ""}
    answer(at_console(runtime), "run.answer", session=session, given=given, note="The bank needs it.")
    call = rehydrate(runtime, first)["nextCall"]
    went_on = answer(runtime, "run.continue", **call.get("options", [call])[0]["params"])
    advance(runtime, went_on, "Told them.")
    graph = answer(runtime, "run.graph", sessionId=session)
    start, chosen, tip = (node["id"] for node in graph["nodes"])
    run = f"/sessions/{session}/runs/{graph['run_id']}"

    pages = {
        "row": rail_of(show(runtime, run)),
        "timeline": words_in(show(runtime, f"/sessions/{session}/timeline")),
        "node": words_in(show(runtime, f"{run}/nodes/{chosen}")),
        "comparison": words_in(show(runtime, f"/sessions/{session}/compare/{start}/{tip}")),
    }

    for name, words in pages.items():
        assert "tester" in words, name
        assert "chose “Keep”" in words, name
        assert "The bank needs it." in words, name
        assert "2027-01-15" in words, name


SLOW, QUICK = 3_600, 36
"""Seconds of two steps."""


def test_time_is_drawn_to_scale(runtime: Runtime) -> None:
    first = begin(runtime, step("one"), step("two"), fields={})
    advance(runtime, advance(runtime, first))
    graph: dict[str, Any] = answer(runtime, "run.graph", sessionId=first["session"]["sessionId"])
    for node, seconds in zip(graph["nodes"], (0, SLOW, QUICK), strict=True):
        node["seconds"] = seconds

    rail = rail_list(viewed(RunView, graph))

    assert re.findall(r'<rect width="(\d+)"', rail.markup) == ["96", "2"]
    assert re.findall(r"1 h|36 s", words_in(rail)) == ["1 h", "36 s"]


SAME = CodeDiff(session_id="ses_1", before="t1", after="t1", differing=0, files=[], diff="")


def test_step_without_changes_says_so_and_folds_nothing() -> None:
    shown = changed_files(SAME)

    assert isinstance(shown, Html)
    assert words_in(shown) == "No file changed."
    assert "<details" not in shown.markup


def test_files_that_cannot_be_compared_are_counted_from_the_log() -> None:
    shown = changed_files(None, ChangeSum(files=3, added=12, removed=4))

    assert isinstance(shown, Html)
    assert words_in(shown).startswith("3 files changed (+12 −4). This server cannot compare them")
    assert changed_files(None, ChangeSum(files=0)) is None
