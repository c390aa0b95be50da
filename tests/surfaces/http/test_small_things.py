"""Small promises of the server: a wrong question is told so in its own dialect and words."""

from __future__ import annotations

import asyncio

import pytest

from handrail.projections.html.elements import notes_html
from handrail.runtime.operation import operation
from handrail_serve.app import App
from tests.surfaces.http.client import BEARER, HOST, JSON, LAFS, ask, asked


def test_the_operations_can_be_learned_where_they_are_called(app: App) -> None:
    rows = {row["name"]: row for row in ask(app, "GET", "/api").document["operations"]}

    listed = rows["session.list"]
    assert (listed["address"], listed["methods"]) == ("/api/session.list", ["GET", "HEAD", "POST"])
    assert "limit" in str(listed["input"])
    assert operation("run.start").summary == rows["run.start"]["summary"]
    assert "check.run" not in rows


@pytest.mark.promise("http.lafs.disclosure")
def test_who_asks_for_lafs_is_refused_in_lafs(app: App) -> None:
    for query in ("_budget=many", "_mvi=most", "_other=1"):
        told = ask(app, "GET", f"/api/session.list?{query}", LAFS)

        assert told.header("content-type") == "application/vnd.lafs.envelope+json"
        assert (told.status, told.document["success"]) == (400, False)


def test_a_number_outside_its_bounds_is_told_with_the_bound(app: App) -> None:
    by_query = ask(app, "GET", "/api/session.list?limit=0").document["detail"]
    by_body = ask(app, "POST", "/api/session.list", body={"limit": 0}).document["detail"]

    assert by_query == by_body
    assert ">= 1" in by_query


def test_body_announced_as_too_long_is_refused_early(app: App) -> None:
    headers = [("host", HOST), BEARER, JSON, ("content-length", "99999999999")]

    told = asyncio.run(asked(app, "POST", "/api/session.list", headers, b""))

    assert told.status == 413


def test_notes_lead_to_whole_addresses_alone() -> None:
    shown = notes_html("[a](/api/session.delete) [b](//host/x) [c](https://host/x) [d](x.md)").markup

    assert shown.count("href=") == 1
    assert 'href="https://host/x"' in shown


def test_unknown_address_gets_a_page_or_a_problem(app: App) -> None:
    browser = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8")

    lost = ask(app, "GET", "/nothing/here", browser, token="")

    assert (lost.status, lost.body) == (404, ask(app, "GET", "/sessions", token="").body)
    for target in ("/nothing/here", "/api/nothing"):
        told = ask(app, "GET", target)
        assert (told.status, told.header("content-type")) == (404, "application/problem+json")
    assert ask(app, "GET", "/api/nothing", browser).header("content-type") == "application/problem+json"
    assert ask(app, "POST", "/nothing/here", browser, token="").status in (401, 405)


def test_request_keeps_a_fitting_id_of_its_client(app: App) -> None:
    for given, is_kept in (("trace-7.a:b", True), ("two words", False), ("x" * 129, False)):
        told = ask(app, "GET", "/api/session.show?sessionId=ses_0", LAFS, ("x-request-id", given))

        assert (told.document["_meta"]["requestId"] == given) is is_kept


def test_a_media_type_with_quality_zero_is_not_taken(app: App) -> None:
    for quality, media in (("0", "json"), ("0.00", "json"), ("0.5", "vnd.lafs.envelope+json")):
        accept = ("accept", f"*/*, application/vnd.lafs.envelope+json; q={quality}")

        assert ask(app, "GET", "/api/session.list", accept).header("content-type") == f"application/{media}"
    no_json = ("accept", "application/json;q=0, */*")
    assert ask(app, "GET", "/api/session.list", no_json).header("content-type") == LAFS[1]
    no_page = ("accept", "text/html;q=0, */*")
    assert ask(app, "GET", "/nothing", no_page).header("content-type") == "application/problem+json"


def test_a_budget_in_a_query_is_spelled_as_lafs_does(app: App) -> None:
    spelled = "/api/workflow.builtins?_budget.maxTokens=9000&_budget.maxItems=2"

    assert ask(app, "GET", spelled).document["data"]["count"] == 2
    for wrong in ("_budget.maxTokens=many", "_budget.most=1", "_budget.maxItems=1&_budget.maxItems=2"):
        assert ask(app, "GET", f"/api/workflow.list?{wrong}").status == 400


def test_a_long_address_and_long_headers_have_their_own_statuses(app: App) -> None:
    for target in ("session.list?query=" + "x" * 9_000, "x" * 9_000):
        told = ask(app, "GET", f"/api/{target}")
        assert (told.status, told.document["code"]) == (414, "REQUEST_TOO_LARGE")
    told = ask(app, "GET", "/api/session.list", ("x-more", "x" * 17_000))
    assert (told.status, told.document["code"]) == (431, "REQUEST_TOO_LARGE")
    assert "may have 16384 bytes; 17" in told.document["detail"]


def test_answer_about_one_session_names_it(app: App) -> None:
    begun = {"workflowId": "project.three_steps", "goal": "x", "requestId": "one"}
    started = ask(app, "POST", "/api/run.start", LAFS, body=begun).document
    session_id = started["_meta"]["sessionId"]

    assert session_id == started["result"]["session"]["sessionId"]
    shown = ask(app, "GET", f"/api/session.show?sessionId={session_id}", LAFS).document
    assert shown["_meta"]["sessionId"] == session_id
    assert "sessionId" not in ask(app, "GET", "/api/session.list", LAFS).document["_meta"]
    refused = ask(app, "GET", "/api/session.show?sessionId=ses_000000000000", LAFS).document
    assert refused["_meta"]["sessionId"] == "ses_000000000000"


def test_wrong_member_inside_a_value_gets_the_right_ones(app: App) -> None:
    begun = {"workflowId": "project.three_steps", "goal": "x", "requestId": "two"}

    near = ask(app, "POST", "/api/run.start", body={**begun, "preferences": {"autonomi": "guided"}}).document
    far = ask(app, "POST", "/api/run.continue", body={"ackToken": "x", "output": {"zz": 1}}).document

    (problem,) = near["details"]["problems"]
    assert problem["did_you_mean"] == "autonomy"
    assert "did you mean autonomy?" in near["detail"]
    assert "it may have artifacts, notesMarkdown" in far["detail"]
    assert far["details"]["problems"][0]["expected"] == ["artifacts", "notesMarkdown"]


def test_what_no_server_offers_is_named_with_its_reason(app: App) -> None:
    told = ask(app, "GET", "/api").document["not_served"]

    assert {"self.reference", "self.changelog", "self.completion", "check.run"} <= set(told)
    refused = ask(app, "GET", "/api/self.reference").document
    assert (refused["code"], refused["detail"]) == ("FEATURE_DISABLED", told["self.reference"])


def test_an_unknown_operation_is_told_with_those_that_are_near(app: App) -> None:
    told = ask(app, "GET", "/api/sesion.list").document

    assert told["details"]["did_you_mean"] == ["/api/session.list"]
    assert "GET /api" in str(told)


def test_the_first_page_says_how_many_things_need_a_person(app: App) -> None:
    assert ask(app, "GET", "/api/view/inbox").header("x-handrail-needs") == "0"
    assert ask(app, "GET", "/api/view/workflows").header("x-handrail-needs") is None
