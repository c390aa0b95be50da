"""LAFS over HTTP: the ledger in its modes, the discovery document, and what a request may ask for."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
import rfc8785

from handrail.contract.conformance.check import check
from handrail.contract.conformance.rules import DocumentKind
from handrail.wiring import registry
from handrail_serve.app import App
from tests.surfaces.http.client import HOST, LAFS, ask

NOT_SERVED = {
    *("check.prove", "check.run", "clients.setup", "program.update", "store.copy"),
    *("store.adopt", "store.move", "store.selftest"),
    *("team.init", "team.link", "team.login", "team.logout", "team.new_workspace", "team.unlink"),
}
"""What starts programs, replaces this one, is about the machine of its caller, or is the operator's."""
START = {"workflowId": "project.three_steps", "goal": "Look.", "requestId": "one"}


def conforms(document: Any, kind: DocumentKind) -> None:
    report = check(document, kind=kind, tier="complete")
    assert report.ok, report


def started(app: App) -> str:
    """The run of a session with two answered steps."""
    reply = ask(app, "POST", "/api/run.start", body=START).document["data"]
    run = ask(app, "GET", "/api/session.list").document["data"]["items"][0]["run_id"]
    for _ in range(2):
        body = {"ackToken": reply["ackToken"], "output": {"notesMarkdown": "Looked at it."}}
        reply = ask(app, "POST", "/api/run.continue", body=body).document["data"]
    return str(run)


@pytest.mark.promise("http.lafs.ledger")
def test_the_ledger_conforms_in_every_mode(app: App) -> None:
    run = started(app)

    full = ask(app, "GET", f"/_lafs/context/{run}?mode=full&limit=2")
    delta = ask(app, "GET", f"/_lafs/context/{run}?mode=delta&sinceVersion=1")
    summary = ask(app, "GET", f"/_lafs/context/{run}?mode=summary")

    for answer in (full, delta, summary):
        assert answer.status == 200
        assert answer.header("content-type") == "application/vnd.lafs.envelope+json"
        assert answer.document["_meta"]["transport"] == "http"
        conforms(answer.document, "lafs")
        conforms(answer.document["result"], "ledger")
    version = summary.document["result"]["version"]
    assert version == full.document["result"]["version"] == delta.document["result"]["toVersion"]
    assert full.document["page"]["mode"] == "offset"
    assert len(full.document["result"]["entries"]) == 2
    assert summary.document["result"]["checksum"] == delta.document["result"]["checksum"]


def test_the_parameters_of_lafs_choose_what_comes(app: App) -> None:
    run = started(app)

    bare = ask(app, "GET", f"/_lafs/context/{run}?includeChecksum=false").document["result"]
    kept = ask(app, "GET", f"/_lafs/context/{run}?includeChecksum=true").document["result"]
    one = ask(app, "GET", f"/_lafs/context/{run}?filterByOperation=run.start").document["result"]
    both = ask(app, "GET", f"/_lafs/context/{run}?filterByOperation=run.start&filterByOperation=run.continue")

    assert "checksum" not in bare
    assert "checksum" in kept
    assert {entry["operation"] for entry in one["entries"]} == {"run.start"}
    assert {entry["operation"] for entry in both.document["result"]["entries"]} == {
        "run.start",
        "run.continue",
    }


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        ("run_000000000000", 404, "E_NOT_FOUND_RESOURCE"),
        ("../../etc/passwd", 404, ""),
        ("{run}?mode=whole", 400, "E_VALIDATION_SCHEMA"),
        ("{run}?mode=delta", 400, "E_VALIDATION_SCHEMA"),
        ("{run}?mode=delta&sinceVersion=99", 409, "E_CONTEXT_STALE"),
        ("{run}?limit=1001", 400, "E_VALIDATION_SCHEMA"),
        ("{run}?includeChecksum=maybe", 400, "E_VALIDATION_SCHEMA"),
        ("{run}?sinceVersoin=1", 400, "E_VALIDATION_SCHEMA"),
        ("{run}?runId=run_000000000000", 200, ""),
    ],
)
def test_refusals_below_lafs_are_envelopes_too(app: App, target: str, status: int, code: str) -> None:
    run = started(app)

    answer = ask(app, "GET", f"/_lafs/context/{target.format(run=run)}")

    assert answer.status == status
    if code:
        assert answer.document["error"]["code"] == code
        conforms(answer.document, "lafs")


@pytest.mark.promise("http.lafs.discovery")
def test_the_discovery_document_names_every_operation_and_nobody(app: App) -> None:
    started(app)

    answer = ask(app, "GET", "/.well-known/lafs.json", token="")
    document = answer.document

    conforms(document, "discovery")
    named = [name for group in document["capabilities"] for name in group["operations"]]
    assert sorted(named) == sorted(set(registry().names) - NOT_SERVED)
    assert document["endpoints"]["context"] == f"http://{HOST}/_lafs/context"
    assert b"Look." not in answer.body
    assert b"ses_" not in answer.body


@pytest.mark.promise("http.lafs.discovery")
def test_a_client_that_has_the_document_gets_304(app: App) -> None:
    first = ask(app, "GET", "/.well-known/lafs.json", token="")
    tag = first.header("etag") or ""

    again = ask(app, "GET", "/.well-known/lafs.json", ("if-none-match", f'"x", W/{tag}'), token="")
    other = ask(app, "GET", "/.well-known/lafs.json", ("if-none-match", '"x"'), token="")
    head = ask(app, "HEAD", "/.well-known/lafs.json", token="")

    assert tag == '"' + hashlib.sha256(rfc8785.dumps(first.document)).hexdigest()[:32] + '"'
    assert (again.status, again.body, again.header("etag")) == (304, b"", tag)
    assert other.status == 200
    assert (head.status, head.body, head.header("etag")) == (200, b"", tag)
    assert ask(app, "POST", "/.well-known/lafs.json", body={}, token="").status == 405


@pytest.mark.promise("http.lafs.disclosure")
def test_a_body_asks_as_lafs_writes_it(app: App) -> None:
    started(app)
    ask(app, "POST", "/api/run.start", body={**START, "requestId": "two"})

    picked = ask(app, "POST", "/api/session.list", LAFS, body={"_fields": ["goal"]}).document
    small = ask(app, "POST", "/api/session.list", LAFS, body={"_budget": {"maxItems": 1}}).document
    query = ask(app, "GET", "/api/session.list?_fields=goal,status", LAFS).document

    assert picked["_meta"]["mvi"] == query["_meta"]["mvi"] == "custom"
    assert set(picked["result"]["items"][0]) == {"id", "goal", "_untrusted"}
    assert len(small["result"]["items"]) == 1
    for document in (picked, small, query):
        conforms(document, "lafs")


@pytest.mark.parametrize(
    "body",
    [
        {"_fields": "x" * 0},
        {"_fields": [1]},
        {"_fields": {}},
        {"_budget": {}},
        {"_budget": {"maxTokens": 0}},
        {"_budget": {"maxTokens": "1,bytes=9"}},
        {"_budget": {"tokens": 5}},
        {"_budget": 7},
        {"_mvi": "tiny"},
        {"_other": 1},
    ],
)
def test_an_ask_that_does_not_fit_is_refused(app: App, body: dict[str, Any]) -> None:
    assert ask(app, "POST", "/api/session.list", body=body).status == 400


def test_json_with_too_many_members_is_refused(app: App) -> None:
    body = b'{"query":[' + b",".join([b"[]"] * 100_001) + b"]}"

    answer = ask(app, "POST", "/api/session.list", body=body)

    assert (answer.status, answer.document["details"]["what"]) == (413, "members")
