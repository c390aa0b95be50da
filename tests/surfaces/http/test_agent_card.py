"""The agent card and the calls of other agents, without the library; the referees use its client."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785

from handrail.contract.conformance.check import check
from handrail.runtime.runtime import Runtime
from handrail.wiring import registry
from handrail_serve.app import App
from handrail_serve.calls import Served
from handrail_serve.endpoints.lafs import InThread, perform_for_agent, read_call
from handrail_serve.exchange import HttpRequest, Response
from tests.cases import every_case
from tests.journeys.given_workflows import WITH_DECISION, begin, step
from tests.surfaces.http.client import HOST, ask, make_app
from tests.surfaces.http.test_lafs import NOT_SERVED

CARD = "/.well-known/agent-card.json"


class EchoCalls:
    """In place of the library: answers with what it gets."""

    async def answer(self, request: HttpRequest, body: bytes) -> Response:
        return Response(headers=((b"content-type", b"application/json"),), body=body)


def build_echo(served: Served, in_thread: InThread) -> EchoCalls:
    return EchoCalls()


@pytest.fixture
def app(runtime: Runtime) -> App:
    return make_app(runtime, build_a2a=build_echo)


@pytest.mark.promise("http.a2a.card")
def test_card_conforms_and_names_every_callable_operation(app: App) -> None:
    answer = ask(app, "GET", CARD, token="")
    card = answer.document

    report = check(card, kind="card", tier="complete")
    assert report.ok, report
    assert sorted(skill["id"] for skill in card["skills"]) == sorted(set(registry().names) - NOT_SERVED)
    assert card["url"] == card["supportedInterfaces"][0]["url"] == f"http://{HOST}/a2a"
    assert card["capabilities"]["streaming"] is False
    assert card["capabilities"]["pushNotifications"] is False
    (extension,) = card["capabilities"]["extensions"]
    assert extension["uri"] == "https://lafs.dev/extensions/envelope/v1"
    assert set(extension["params"]) == {"supportsContextLedger", "supportsTokenBudgets", "envelopeSchema"}


@pytest.mark.promise("http.a2a.card")
def test_the_card_is_cached_by_its_tag_and_only_fetched(app: App) -> None:
    first = ask(app, "GET", CARD, token="")
    tag = first.header("etag") or ""

    again = ask(app, "GET", CARD, ("if-none-match", tag), token="")
    head = ask(app, "HEAD", CARD, token="")
    posted = ask(app, "POST", CARD, body={}, token="")

    assert tag == '"' + hashlib.sha256(rfc8785.dumps(first.document)).hexdigest()[:32] + '"'
    assert (again.status, again.body) == (304, b"")
    assert (head.status, head.body, head.header("etag")) == (200, b"", tag)
    assert (posted.status, posted.header("allow")) == (405, "GET, HEAD")


@pytest.mark.promise("http.a2a.card")
def test_missing_library_means_no_card_and_is_named(runtime: Runtime) -> None:
    app = make_app(runtime)

    for answer in (ask(app, "GET", CARD, token=""), ask(app, "POST", "/a2a", body={})):
        assert answer.status == 404
        assert answer.header("content-type") == "application/problem+json"
        assert "handrail[a2a]" in answer.body.decode()


@pytest.mark.promise("http.deprecation")
def test_older_discovery_document_leads_to_the_card(app: App, runtime: Runtime) -> None:
    beside = ask(app, "GET", "/.well-known/lafs.json", token="")
    alone = ask(make_app(runtime), "GET", "/.well-known/lafs.json", token="")

    assert beside.header("deprecation") == "@1794787200"  # date -u -d 2026-11-16 +%s
    assert beside.header("link") == f'<{CARD}>; rel="successor-version"'
    assert beside.header("sunset") is None
    assert (alone.header("deprecation"), alone.header("link")) == (None, None)
    assert beside.body == alone.body


@pytest.mark.promise("http.a2a.calls")
def test_calls_of_agents_need_a_token_and_bounded_bodies(app: App) -> None:
    assert ask(app, "POST", "/a2a", body={"a": 1}).document == {"a": 1}
    assert ask(app, "POST", "/a2a", body={"a": 1}, token="").status == 401
    assert ask(app, "POST", "/a2a", body=b"[" + b" " * (4 * 1024 * 1024) + b"]").status == 413


@pytest.mark.promise("http.a2a.calls")
def test_a_task_ends_as_its_call_did_and_carries_the_envelope(runtime: Runtime) -> None:
    served = Served(runtime=runtime, notices=lambda _: (), operation_seconds=28.0)
    start = {"workflowId": "project.three_steps", "goal": "Look.", "requestId": "one"}

    def perform(operation: str, **given: Any) -> tuple[str, dict[str, Any]]:
        done = perform_for_agent(served, "req_1", operation, given)
        document: dict[str, Any] = json.loads(done.body)
        report = check(document, kind="lafs", tier="complete")
        assert report.ok, report
        return done.state, document

    notes = {"notesMarkdown": "Looked at it."}
    first, started = perform("run.start", **start)
    second, _ = perform("run.continue", ackToken=started["result"]["ackToken"], output=notes)
    deciding = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields={})
    third, blocked = perform("run.continue", ackToken=deciding["ackToken"], output=notes)

    assert (first, second, third) == ("COMPLETED", "COMPLETED", "INPUT_REQUIRED")
    assert blocked["result"]["kind"] == "blocked"
    assert perform("session.list", _fields=["goal"])[1]["_meta"]["mvi"] == "custom"
    assert perform("session.list", limit=0)[0] == "FAILED"
    assert perform("session.list", _fields=7)[0] == "FAILED"
    assert perform("session.lits")[0] == "REJECTED"
    assert perform("check.run", command=["true"])[0] == "REJECTED"


@every_case(
    ("parts", "call"),
    [
        ([{"operation": "a.b"}], ("a.b", {})),
        ([{"operation": "a.b", "input": {"n": 5.0, "x": [1.5, 2.0]}}], ("a.b", {"n": 5, "x": [1.5, 2]})),
        ([], None),
        ([None], None),
        ([{"operation": "a.b"}, {"operation": "a.b"}], None),
        ([{"operation": 1}], None),
        ([{"operation": "a.b", "input": []}], None),
        ([{"operation": "a.b", "inputs": {}}], None),
    ],
)
def test_a_message_names_one_operation_and_its_input(parts: list[Any], call: Any) -> None:
    assert read_call(parts) == call
