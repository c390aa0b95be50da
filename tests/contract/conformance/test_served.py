"""A server is judged by what it answers: each rule passes on a good server and names a bad one."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from handrail.contract.conformance.check import (
    DiscoveryExchanges,
    Exchange,
    endpoints_of,
    first_operation,
    is_envelope,
    judge_discovery,
    judge_envelope,
    judge_problem,
)
from tests.cases import every_case

DISCOVERY = {
    "$schema": "https://lafs.dev/schemas/v1/discovery.schema.json",
    "lafs_version": "1.0.0",
    "service": {"name": "x", "version": "1.0.0"},
    "capabilities": [{"name": "a", "version": "1.0.0", "operations": ["a.b"]}],
    "endpoints": {
        "envelope": "http://h/api",
        "discovery": "http://h/.well-known/lafs.json",
        "context": "http://h/c",
    },
}
META = {
    "specVersion": "1.0.0",
    "schemaVersion": "1.0.0",
    "timestamp": "2026-11-16T10:00:00.000Z",
    "operation": "a.b",
    "requestId": "req_1",
    "transport": "http",
    "strict": True,
    "mvi": "standard",
    "contextVersion": 0,
}
ENVELOPE = {
    "$schema": "https://lafs.dev/schemas/v1/envelope.schema.json",
    "_meta": META,
    "success": True,
    "result": {"a": 1},
}
ERROR = {
    "code": "E_TRANSIENT_UPSTREAM",
    "message": "Wait.",
    "category": "TRANSIENT",
    "retryable": True,
    "retryAfterMs": 1000,
    "details": {},
    "agentAction": "retry",
}
TAG = '"0123456789abcdef"'


def exchange(document: Any, status: int = 200, method: str = "GET", **headers: str) -> Exchange:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    named = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return Exchange(method=method, url="http://h/x", status=status, headers=named, body=body)


def good() -> DiscoveryExchanges:
    return DiscoveryExchanges(
        get=exchange(DISCOVERY, etag=TAG),
        again=exchange(b"", 304, etag=TAG),
        head=exchange(b"", method="HEAD", etag=TAG),
        post=exchange(b"", 405, "POST", allow="GET, HEAD"),
    )


def test_a_good_server_conforms() -> None:
    report = judge_discovery(good(), "complete")

    assert (report.ok, report.failed) == (True, ())
    assert [check.name for check in report.checks if check.passed] == [check.name for check in report.checks]
    assert endpoints_of(good().get)["context"] == "http://h/c"


@every_case(
    ("part", "bad", "failed"),
    [
        ("get", exchange(DISCOVERY), ("http_etag", "http_head")),
        ("get", exchange(DISCOVERY, etag="bare"), ("http_etag", "http_head")),
        ("get", exchange(DISCOVERY, 500, etag=TAG), ("http_status", "http_head")),
        ("get", exchange(DISCOVERY, content_type="text/html", etag=TAG), ("http_content_type",)),
        ("get", exchange(b"<html>", etag=TAG), ("http_json", "discovery_schema_valid")),
        ("get", exchange({**DISCOVERY, "who": "me"}, etag=TAG), ("discovery_schema_valid",)),
        ("again", exchange(DISCOVERY, etag=TAG), ("http_not_modified",)),
        ("head", exchange(DISCOVERY, etag=TAG), ("http_head",)),
        ("post", exchange(b"", 200), ("http_method_refused",)),
        ("post", exchange(b"", 405), ("http_method_refused",)),
    ],
)
def test_each_rule_of_discovery_names_who_breaks_it(
    part: str, bad: Exchange, failed: tuple[str, ...]
) -> None:
    report = judge_discovery(msgspec.structs.replace(good(), **{part: bad}), "complete")

    assert (report.ok, report.failed) == (False, failed)


@every_case(
    ("asked", "failed"),
    [
        (exchange(ENVELOPE), ()),
        (exchange(ENVELOPE, content_type="application/vnd.lafs.envelope+json; charset=utf-8"), ()),
        (exchange({**ENVELOPE, "success": False, "result": None, "error": ERROR}, 503, retry_after="1"), ()),
        (
            exchange({**ENVELOPE, "success": False, "result": None, "error": ERROR}, 503),
            ("http_retry_after",),
        ),
        (
            exchange({**ENVELOPE, "success": False, "result": None, "error": ERROR}, retry_after="1"),
            ("http_status_agrees",),
        ),
        (exchange(ENVELOPE, 404), ("http_status_agrees",)),
        (exchange(ENVELOPE, content_type="text/plain"), ("http_content_type",)),
        (exchange({**ENVELOPE, "_meta": {**META, "transport": "cli"}}), ("http_transport",)),
    ],
)
def test_each_rule_of_an_envelope_names_who_breaks_it(asked: Exchange, failed: tuple[str, ...]) -> None:
    report = judge_envelope(asked, "standard")

    assert report.failed == failed


PROBLEM = {"type": "about:blank", "title": "Not found", "status": 404}


@every_case(
    ("document", "status", "failed"),
    [
        (PROBLEM, 404, ()),
        (PROBLEM, 200, ("http_status", "problem_status")),
        ({**PROBLEM, "status": 400}, 404, ("problem_status",)),
        ({"status": 404}, 404, ("problem_type", "problem_title")),
        (b"<html>", 404, ("http_json", "problem_status", "problem_type", "problem_title")),
    ],
)
def test_each_rule_of_a_problem_names_who_breaks_it(
    document: Any, status: int, failed: tuple[str, ...]
) -> None:
    report = judge_problem(exchange(document, status, content_type="application/problem+json"), "complete")

    assert (report.kind, report.failed) == ("problem", failed)
    assert judge_problem(exchange(PROBLEM, 404), "core").failed == ("http_content_type",)


def test_first_operation_is_the_one_discovery_names_first() -> None:
    assert first_operation(exchange(DISCOVERY)) == "a.b"
    assert first_operation(exchange({**DISCOVERY, "capabilities": [{"operations": []}, 1]})) == ""


def test_what_is_no_envelope_is_not_taken_for_one() -> None:
    assert is_envelope(exchange(ENVELOPE))
    assert not is_envelope(exchange({"type": "about:blank", "status": 401}, 401))
    assert not is_envelope(exchange(b"<html>"))
    assert endpoints_of(exchange([])) == {}
