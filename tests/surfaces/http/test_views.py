"""A page stays within its limit, whatever it has to show."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from handrail.contract.outcome import Json, Outcome, Success
from handrail.projections.html.elements import element
from handrail.runtime.hub import perform
from handrail_serve import views
from handrail_serve.views import Call, Page, Query, View, payload
from tests.referees.console_stores import open_store, seed_long

LONG = "x" * 4_000


def answer(operation: str, params: dict[str, Json]) -> Outcome:
    limit = params.get("limit", 90)
    return Success(data={"items": [LONG] * limit, "next_cursor": "c"})


def show_list(call: Call, _: Query) -> View:
    found = payload(call, "session.list", {"limit": 100})
    rows = [element("li", row) for row in found["items"]]
    return View(title="Rows", html=element("ul", *rows, element("a", "next", href="?cursor=c")))


def show_whole(call: Call, _: Query) -> View:
    found = payload(call, "run.node", {"node": "n"})
    return View(title="<One>", html=element("div", *found["items"]))


def test_a_list_that_is_too_large_has_fewer_rows_and_leads_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "PAGES", (Page(pattern="/rows", show=show_list),))

    shown = views.render_view(answer, "/rows", {}).html.markup

    assert shown.count("<li>") == 25
    assert len(shown) <= 256 * 1024
    assert "?cursor=c" in shown


def test_page_without_rows_says_where_it_can_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(views, "PAGES", (Page(pattern="/one", show=show_whole),))

    view = views.render_view(answer, "/one", {})

    assert view.title == "<One>"
    assert "351 KB" in view.html.markup
    assert "/api/run.node" in view.html.markup
    assert LONG not in view.html.markup
    assert "<One>" not in view.html.markup


def test_page_of_a_long_run_shows_its_latest_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session_id = seed_long(tmp_path, 40)
    call = partial(perform, open_store(tmp_path))
    whole = views.render_view(call, f"/sessions/{session_id}", {}).html.markup
    monkeypatch.setattr(views, "MOST_VIEW_BYTES", len(whole) - 1)
    monkeypatch.setattr(views, "MOST_SHOWN", 40)

    shown = views.render_view(call, f"/sessions/{session_id}", {}).html.markup

    assert whole.count("data-node=") == 40
    assert shown.count("data-node=") == 10
    assert "Note 38." in shown
    assert "30 earlier nodes" in shown
