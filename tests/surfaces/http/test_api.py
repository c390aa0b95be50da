"""`/api/{operation}`: the operations of the registry, their input, their answers and their refusals."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract import deprecations, outcome
from handrail.contract.conformance.check import check as check_contract
from handrail.contract.deprecations import Deprecation
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import registry
from handrail_serve.app import App
from handrail_serve.limits import MOST_BODY_BYTES, Bounds
from tests.surfaces.http.client import CONSOLE_TOKEN, LAFS, Answered, ask, make_app

START = {"workflowId": "project.three_steps", "goal": "Look.", "requestId": "one"}


def refused(answer: Answered, status: int, code: str) -> Any:
    assert (answer.status, answer.document["code"]) == (status, code), answer.document
    assert answer.header("content-type") == "application/problem+json"
    assert answer.document["status"] == status
    assert answer.document["details"]["hint"]
    return answer.document


def test_every_operation_has_a_route_and_only_reads_are_got(app: App) -> None:
    routes = {route.pattern: route.methods for route in app.router.routes}

    for called in registry().operations():
        methods = routes[f"/api/{called.name}"]
        assert ("GET" in methods) == (called.effect == "read"), called.name
        assert "POST" in methods
    assert len(registry().names) == len([pattern for pattern in routes if pattern.count(".") == 1])


def test_a_read_answers_as_the_command_line_does(app: App, runtime: Runtime) -> None:
    started = ask(app, "POST", "/api/run.start", body=START)
    by_query = ask(app, "GET", "/api/session.list?limit=1&status=in_progress")
    by_body = ask(app, "POST", "/api/session.list", body={"limit": 1, "status": "in_progress"})
    outcome = perform(runtime, "session.list", {"limit": 1, "status": "in_progress"})

    assert started.status == 200
    assert isinstance(outcome, Success)
    assert by_query.document["data"] == by_body.document["data"] == payload_of(outcome)
    assert list(by_query.document) == ["ok", "schema_version", "data", "meta"]
    assert by_query.header("content-type") == "application/json"


def test_a_whole_run_goes_over_http(app: App) -> None:
    reply = ask(app, "POST", "/api/run.start", body=START).document["data"]
    for _ in range(3):
        ack = {"ackToken": reply["ackToken"], "output": {"notesMarkdown": "Looked at it."}}
        first = ask(app, "POST", "/api/run.continue", body=ack).document["data"]
        again = ask(app, "POST", "/api/run.continue", body=ack).document["data"]
        assert first == again
        reply = first

    assert reply["isComplete"] is True


def test_creation_needs_its_key_and_the_refusal_offers_one(app: App) -> None:
    body = {"workflowId": "project.three_steps", "goal": "Look."}

    problem = refused(ask(app, "POST", "/api/run.start", body=body), 428, "E_CONFIRMATION_REQUIRED")
    offered = problem["details"]["next_call"]

    assert ask(app, "POST", f"/api/{offered['operation']}", body=offered["params"]).status == 200


def test_a_gated_write_is_previewed_and_then_made(app: App) -> None:
    asked = {"autonomy": "guided", "riskPolicy": "balanced"}

    refused(ask(app, "POST", "/api/preferences.set", body=asked), 428, "E_CONFIRMATION_REQUIRED")
    shown = ask(app, "POST", "/api/preferences.set", body={**asked, "dryRun": True}).document["data"]
    made = ask(app, "POST", "/api/preferences.set", body={**asked, "confirm": shown["confirm_token"]})

    assert shown["preview"]["changes"]
    assert made.status == 200


@pytest.mark.parametrize(
    "name", ["check.run", "clients.setup", "program.update", "store.selftest", "store.copy"]
)
def test_what_only_the_command_line_has_is_refused_by_name(app: App, name: str) -> None:
    refused(ask(app, "POST", f"/api/{name}", body={}), 403, "FEATURE_DISABLED")


def test_the_lafs_envelope_comes_when_it_is_asked_for(app: App) -> None:
    good = ask(app, "GET", "/api/session.list?limit=2", LAFS)
    bad = ask(app, "GET", "/api/session.show?sessionId=ses_000000000000", LAFS)

    assert good.header("content-type") == "application/vnd.lafs.envelope+json"
    assert good.document["_meta"]["transport"] == "http"
    assert (bad.status, bad.document["error"]["code"]) == (404, "E_NOT_FOUND_RESOURCE")
    for answer in (good, bad):
        report = check_contract(answer.document, kind="lafs", tier="complete")
        assert report.ok, report


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        ("/api/session.list?limit=many", 400, "VALIDATION_ERROR"),
        ("/api/session.list?limti=1", 400, "VALIDATION_ERROR"),
        ("/api/session.list?limit=1&limit=2", 400, "VALIDATION_ERROR"),
        ("/api/session.list?_fields=goal&_fields=id", 400, "VALIDATION_ERROR"),
        ("/api/session.list?_field=goal", 400, "VALIDATION_ERROR"),
        ("/api/session.list?_mvi=tiny", 400, "VALIDATION_ERROR"),
        ("/api/session.list?_budget=tokens=0", 400, "E_USAGE"),
        ("/api/session.list?_fields=", 400, "E_USAGE"),
        ("/api/session.list?_fields=nonsense", 400, "FIELD_UNKNOWN"),
        ("/api/session.list?limit", 400, "VALIDATION_ERROR"),
        ("/api/session.list?query=%ff", 400, "VALIDATION_ERROR"),
        ("/api/nothing", 404, "E_NOT_FOUND"),
        ("/api/session.list/", 404, "E_NOT_FOUND"),
        ("/api/view/nowhere", 404, "E_NOT_FOUND"),
        ("/assets/../limits.py", 404, "E_NOT_FOUND"),
    ],
)
def test_a_query_that_does_not_fit_is_refused(app: App, target: str, status: int, code: str) -> None:
    refused(ask(app, "GET", target), status, code)


def test_fields_levels_and_budgets_shape_the_answer(app: App) -> None:
    ask(app, "POST", "/api/run.start", body=START)
    ask(app, "POST", "/api/run.start", body={**START, "requestId": "two"})

    picked = ask(app, "GET", "/api/session.list?_fields=goal").document["data"]["items"][0]
    small = ask(app, "GET", "/api/session.list?_mvi=minimal")
    bounded = ask(app, "GET", "/api/session.list?_budget=items=1").document["data"]
    whole = ask(app, "GET", "/api/session.list?_mvi=full")

    assert set(picked) == {"id", "goal", "_untrusted"}
    assert len(small.body) < len(whole.body)
    assert (bounded["count"], bounded["has_more"]) == (1, True)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "E_VALIDATION"),
        (b"[]", 400, "E_VALIDATION"),
        (b'{"limit":1,"limit":2}', 400, "E_VALIDATION"),
        (b'{"limit":NaN}', 400, "E_VALIDATION"),
        (b"\xff", 400, "E_VALIDATION"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, 413, "REQUEST_TOO_LARGE"),
        (b'{"query":"' + b"x" * MOST_BODY_BYTES + b'"}', 413, "REQUEST_TOO_LARGE"),
    ],
)
def test_a_body_that_is_no_input_is_refused(app: App, body: bytes, status: int, code: str) -> None:
    refused(ask(app, "POST", "/api/session.list", body=body), status, code)


def test_overload_is_refused_with_a_time_to_wait(runtime: Runtime) -> None:
    app = make_app(runtime, Bounds(requests=1))
    app.load.requests = 1

    answer = ask(app, "GET", "/api/session.list")

    refused(answer, 503, "SERVER_BUSY")
    assert answer.header("retry-after") == "1"
    assert ask(app, "GET", "/health/live").status == 200


def test_draining_server_refuses_work_and_says_that_it_lives(app: App) -> None:
    app.drain()

    answer = ask(app, "GET", "/api/session.list")

    refused(answer, 503, "SERVER_DRAINING")
    assert answer.header("retry-after") == "1"
    assert ask(app, "GET", "/health/live", token="").status == 200


def test_a_page_shows_what_the_operation_tells_and_escapes_it(app: App) -> None:
    ask(app, "POST", "/api/run.start", body={**START, "goal": "<script>alert(1)</script>"})

    page = ask(app, "GET", "/api/view/sessions")

    assert page.header("content-type") == "text/html; charset=utf-8"
    assert page.header("x-handrail-title") == "Sessions"
    assert b"&lt;script&gt;" in page.body
    assert b"<script" not in page.body


def test_the_shell_holds_no_data_and_its_files_are_kept_for_good(app: App) -> None:
    ask(app, "POST", "/api/run.start", body=START)
    shells = {ask(app, "GET", path, token="").body for path in ("/", "/sessions/ses_1/runs/run_1", "/gaps")}
    (shell,) = shells
    names = [part.split('"')[0] for part in shell.decode().split('"/assets/')[1:]]

    assert b"Look." not in shell
    assert names
    for name in names:
        asset = ask(app, "GET", f"/assets/{name}", token="")
        assert asset.status == 200
        assert asset.header("cache-control") == "public, max-age=31536000, immutable"


def test_head_answers_as_get_without_a_body(app: App) -> None:
    told = ask(app, "HEAD", "/api/session.list")

    assert (told.status, told.body) == (200, b"")
    assert int(told.header("content-length") or 0) > 0


def test_only_a_page_of_the_console_answers_for_a_person(app: App) -> None:
    reply = ask(app, "POST", "/api/run.start", body=START).document["data"]
    for _ in ("first", "second"):
        sent = {"ackToken": reply["ackToken"], "output": {"notesMarkdown": "done"}}
        reply = ask(app, "POST", "/api/run.continue", body=sent).document["data"]
    step = {"stateToken": reply["stateToken"]}
    question = ask(app, "POST", "/api/run.answer", body={**step, "show": True}).document["data"]
    given = {**step, "given": {"answer": "yes", "whatDigest": question["what_digest"]}}

    asked = ask(app, "POST", "/api/run.answer", body=step)
    by_program = ask(app, "POST", "/api/run.answer", body=given)
    page = ("sec-fetch-site", "same-origin")
    forged = ask(app, "POST", "/api/run.answer", page, body=given)
    by_script = ask(app, "POST", "/api/run.answer", body=given, token=CONSOLE_TOKEN)
    shown = f"/api/view/sessions/{reply['session']['sessionId']}"
    looks_in = ask(app, "GET", shown, page).body.decode()
    sits_there = ask(app, "GET", shown, page, token=CONSOLE_TOKEN).body.decode()
    assert ("no answer of a person" in looks_in, 'data-operation="run.answer"' in looks_in) == (True, False)
    assert ("no answer of a person" in sits_there, "Yes, I confirm it" in sits_there) == (False, True)
    by_person = ask(app, "POST", "/api/run.answer", page, body=given, token=CONSOLE_TOKEN)

    for one in (asked, by_program, forged, by_script):
        refused(one, 403, "E_HUMAN_REQUIRED")
    assert by_person.document["data"]["source"] == "console"


@pytest.mark.promise("http.deprecation")
def test_removal_is_announced_in_headers_notices_and_warnings(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    going = Deprecation(
        id="field.status",
        what="status",
        since="1.4",
        announced="2026-11-16",
        remove_by="2027-03-01",
        replacement="state",
        operation="session.list",
        param="status",
    )
    monkeypatch.setattr(deprecations, "DEPRECATIONS", (going,))
    monkeypatch.setattr(outcome, "WITH_DEPRECATIONS", frozenset({"session.list"}))

    used = ask(app, "GET", "/api/session.list?status=blocked")
    lafs = ask(app, "GET", "/api/session.list?status=blocked", LAFS)
    refused = ask(app, "GET", "/api/session.list?status=blocked&limit=0")
    unused = ask(app, "GET", "/api/session.list")

    for answer in (used, lafs, refused):
        assert answer.header("deprecation") == "@1794787200"  # date -u -d 2026-11-16 +%s
        assert answer.header("sunset") == "Mon, 01 Mar 2027 00:00:00 GMT"
    assert [notice["type"] for notice in used.document["meta"]["notices"]] == ["deprecated"]
    assert [one["code"] for one in lafs.document["_meta"]["warnings"]] == ["W_DEPRECATED_FIELD_STATUS"]
    assert unused.header("deprecation") is None
    assert unused.header("sunset") is None
