"""The LAFS dialect: every kind and transport conforms, minimal is smaller and can be completed again."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from handrail.contract.catalogue import (
    BUDGET_EXCEEDED,
    CONTEXT_MISSING,
    E_NETWORK,
    KINDS,
    TOKEN_SCOPE_MISMATCH,
    UPSTREAM_OPEN,
    Kind,
)
from handrail.contract.conformance.check import check
from handrail.contract.deprecations import Deprecation, notice_of
from handrail.contract.envelopes.cli import encode_document, payload_of
from handrail.contract.envelopes.lafs import expand_minimal, to_lafs
from handrail.contract.outcome import Call, Failure, Json, LedgerRef, NextCall, Notice, Outcome, Page, Success
from tests.cases import every_case
from tests.contract.worked_examples import EXAMPLES, Example, call_of

Transport = Literal["cli", "http", "sdk"]
TRANSPORTS: tuple[Transport, ...] = ("cli", "http", "sdk")

META_KEYS = [
    "specVersion",
    "schemaVersion",
    "timestamp",
    "operation",
    "requestId",
    "transport",
    "strict",
    "mvi",
    "contextVersion",
]
ERROR_KEYS = ["code", "message", "category", "retryable", "retryAfterMs", "details", "agentAction"]
LEDGER = LedgerRef(ledger_id="run_1", version=3, previous_version=2)
NEXT = NextCall(operation="session.resume", params={"query": "ses_1"})

CURSOR = Page(items=("a", "b"), limit=2, has_more=True, next_cursor="cu1x")
SUCCESSES: dict[str, Success] = {
    "an object": Success(data={"id": "ses_1"}),
    "an empty object": Success(data={}),
    "an array": Success(data=[{"id": 1}]),
    "a cursor page": Success(data={"scope": "all"}, page=CURSOR),
    "a last cursor page": Success(data={}, page=Page(items=(), limit=50)),
    "a page with a total": Success(data={}, page=msgspec.structs.replace(CURSOR, total=9)),
    "an offset page": Success(
        data={}, page=Page(items=("a",), style="offset", limit=1, offset=4, has_more=True)
    ),
    "a cut page": Success(
        data={},
        page=msgspec.structs.replace(CURSOR, truncated=True),
        notices=(
            Notice(type="budget_truncated", severity="warning", message="Cut.", extra={"strategy": "window"}),
        ),
        extensions={"x-token-estimate": {"estimated": 10, "method": "character_based"}},
    ),
    "a projection": Success(data={"id": 1}, disclosure="custom"),
    "a run reply": Success(data={"kind": "ok"}, ledger=LEDGER),
}


def failure(kind: Kind, **fields: Json) -> Failure:
    return Failure(kind=kind, message="Something is wrong.", **fields)


def call(operation: str = "session.list", transport: Transport = "cli", session_id: str = "") -> Call:
    plain = call_of(operation)
    return msgspec.structs.replace(plain, transport=transport, session_id=session_id)


def assert_conforms(document: Json) -> None:
    report = check(document, kind="lafs", tier="complete")
    assert report.ok, (report.failed, report.schema_errors)


@every_case("example", EXAMPLES)
def test_a_worked_example_is_rendered_byte_for_byte(example: Example) -> None:
    document = to_lafs(example.outcome, example.call)

    assert encode_document(document, compact=True).decode() == example.lafs + "\n"
    assert_conforms(document)


@every_case("transport", TRANSPORTS)
@every_case("kind", KINDS.values())
def test_every_kind_conforms_on_every_transport(kind: Kind, transport: Transport) -> None:
    own = dict.fromkeys(kind.details, "x")
    own_names = {
        {"estimated_tokens": "estimatedTokens", "excess_tokens": "excessTokens"}.get(k, k) for k in own
    }
    added = {"native_code", "next_call"} | (set() if kind.code.startswith("E_") else {"domain_code"})
    escalation = ["escalationRequired"] if kind.needs_escalation else []

    document = to_lafs(failure(kind, details=own, next_call=NEXT), call("run.continue", transport))
    error = document["error"]

    assert list(document) == ["$schema", "_meta", "success", "result", "error", "_extensions"]
    assert list(document["_meta"]) == META_KEYS
    assert document["_meta"]["transport"] == transport
    assert list(error) == [*ERROR_KEYS, *escalation, "suggestedAction"]
    assert (error["code"], error["category"]) == (kind.lafs_code, kind.category)
    assert (error["retryable"], error["retryAfterMs"]) == (kind.is_lafs_retryable, kind.wait_ms)
    assert set(error["details"]) == own_names | added
    assert_conforms(document)


@every_case("name", SUCCESSES)
@every_case("operation", ["session.list", "run.continue"])
def test_every_form_of_success_conforms(name: str, operation: str) -> None:
    document = to_lafs(SUCCESSES[name], call(operation, session_id="ses_1"))

    assert document["success"] is True
    assert "error" not in document
    assert_conforms(document)


@every_case("name", SUCCESSES)
def test_the_result_is_the_payload_with_its_place_moved_to_page(name: str) -> None:
    success = SUCCESSES[name]
    payload = payload_of(success)
    moved = {"next_cursor": "nextCursor", "offset": "offset", "has_more": "hasMore"}

    document = to_lafs(success, call())

    if success.page is None:
        assert document["result"] == payload
        assert "page" not in document
        return
    assert isinstance(payload, dict)
    back = {cli: document["page"][lafs] for cli, lafs in moved.items() if cli in payload}
    assert document["result"] | back == {key: payload[key] for key in payload if key != "next_offset"}
    assert not document["result"].keys() & {*moved, "next_offset"}


def test_a_document_with_its_own_list_keeps_exactly_its_keys() -> None:
    page = Page(items=("e",), list_key="entries", style="offset", limit=1, total=1)
    ledger = {"ledgerId": "run_1", "entries": [], "checksum": "sha256:0"}

    document = to_lafs(Success(data=ledger, page=page), call("ledger.show", "http"))

    assert document["result"] == {"ledgerId": "run_1", "entries": ["e"], "checksum": "sha256:0"}
    assert document["page"] == {"mode": "offset", "limit": 1, "offset": 0, "hasMore": False, "total": 1}


def test_the_ledger_gives_the_context_version_and_its_extension() -> None:
    document = to_lafs(SUCCESSES["a run reply"], call("run.start", session_id="ses_1"))

    assert document["_meta"]["contextVersion"] == 3
    assert document["_meta"]["sessionId"] == "ses_1"
    assert document["_extensions"] == {
        "x-timing": {"executionMs": 4},
        "contextLedger": {"ledgerId": "run_1", "version": 3, "previousVersion": 2},
    }


def test_the_estimate_of_a_cut_answer_travels_in_the_extensions() -> None:
    assert to_lafs(SUCCESSES["a cut page"], call())["_extensions"] == {
        "x-timing": {"executionMs": 4},
        "x-token-estimate": {"estimated": 10, "method": "character_based"},
    }


REQUIRED: list[tuple[str, Outcome, str, bool]] = [
    ("run.continue", SUCCESSES["a run reply"], "", True),
    ("run.checkpoint", SUCCESSES["an object"], "ses_1", True),
    ("run.checkpoint", SUCCESSES["an object"], "", False),
    ("run.start", SUCCESSES["a run reply"], "ses_1", False),
    ("run.continue", failure(CONTEXT_MISSING), "", True),
    ("run.continue", failure(E_NETWORK), "", False),
    ("run.checkpoint", failure(TOKEN_SCOPE_MISMATCH), "ses_1", False),
    ("session.resume", failure(CONTEXT_MISSING), "", False),
]


@every_case(("operation", "outcome", "session_id", "is_required"), REQUIRED)
def test_context_is_required_only_where_that_is_shown(
    operation: str, outcome: Outcome, session_id: str, is_required: bool
) -> None:
    document = to_lafs(outcome, call(operation, session_id=session_id))

    assert ("lafsContextRequired" in document["_extensions"]) is is_required
    assert_conforms(document)


WARNINGS: list[tuple[Notice, dict[str, Json]]] = [
    (
        Notice(type="unknown_fields", message="m", extra={"names": ["a"]}),
        {"code": "W_UNKNOWN_FIELDS", "message": "m", "severity": "info", "names": ["a"]},
    ),
    (
        Notice(type="budget_truncated", message="m", severity="warning", extra={"strategy": "fields"}),
        {"code": "E_MVI_BUDGET_TRUNCATED", "message": "m", "severity": "warning", "strategy": "fields"},
    ),
    (
        Notice(type="update-available", message="m", extra={"code": "x", "severity": "y", "message": "z"}),
        {"code": "W_UPDATE_AVAILABLE", "message": "m", "severity": "info"},
    ),
    (
        notice_of(
            Deprecation(
                id="flag.old-limit",
                what="--max",
                since="1.4",
                announced="2026-11-16",
                remove_by="2027-03-01",
                replacement="--limit",
                operation="session.list",
            )
        ),
        {
            "code": "W_DEPRECATED_FLAG_OLD_LIMIT",
            "message": "--max goes away by 2027-03-01; use --limit instead.",
            "severity": "warning",
            "deprecated": "--max",
            "replacement": "--limit",
            "removeBy": "2027-03-01",
        },
    ),
]


@pytest.mark.parametrize(("notice", "expected"), WARNINGS, ids=[notice.type for notice, _ in WARNINGS])
def test_a_notice_is_a_warning_with_a_code(notice: Notice, expected: dict[str, Json]) -> None:
    document = to_lafs(Success(data={}, notices=(notice,)), call())

    assert document["_meta"]["warnings"] == [expected]
    assert list(document["_meta"]["warnings"][0]) == list(expected)
    assert_conforms(document)


def test_the_budget_error_speaks_the_names_of_lafs() -> None:
    details = {"constraint": "maxTokens", "budget": 10, "estimated_tokens": 25, "excess_tokens": 15}

    error = to_lafs(failure(BUDGET_EXCEEDED, details=details), call())["error"]

    assert list(error["details"])[:4] == ["constraint", "budget", "estimatedTokens", "excessTokens"]
    assert (error["retryable"], error["details"]["excessTokens"]) == (True, 15)


def test_a_wait_of_its_own_beats_the_wait_of_the_row() -> None:
    error = to_lafs(failure(UPSTREAM_OPEN, retry_after_ms=7000), call())["error"]

    assert error["retryAfterMs"] == 7000


@every_case(
    ("disclosure", "mvi", "reported"),
    [
        ("standard", "standard", "standard"),
        ("standard", "full", "full"),
        ("full", "standard", "full"),
        ("custom", "standard", "custom"),
        ("custom", "full", "custom"),
        ("minimal", "standard", "minimal"),
    ],
)
def test_the_reported_level_is_the_one_that_was_disclosed(
    disclosure: Literal["minimal", "standard", "full", "custom"],
    mvi: Literal["standard", "full"],
    reported: str,
) -> None:
    document = to_lafs(Success(data={}, disclosure=disclosure), call(), mvi=mvi)

    assert document["_meta"]["mvi"] == reported
    assert_conforms(document)


def test_a_minimal_success_keeps_what_the_caller_does_not_know() -> None:
    success = msgspec.structs.replace(SUCCESSES["a cut page"], ledger=LEDGER)

    document = to_lafs(success, call(session_id="ses_1"), mvi="minimal")

    assert document == {
        "_meta": {
            "contextVersion": 3,
            "requestId": "req_01jc5q8d",
            "sessionId": "ses_1",
            "warnings": [
                {
                    "code": "E_MVI_BUDGET_TRUNCATED",
                    "message": "Cut.",
                    "severity": "warning",
                    "strategy": "window",
                }
            ],
        },
        "success": True,
        "result": {"items": ["a", "b"], "count": 2, "truncated": True},
        "page": {"mode": "cursor", "nextCursor": "cu1x", "hasMore": True, "limit": 2},
    }


def test_a_minimal_failure_keeps_code_action_wait_and_details() -> None:
    document = to_lafs(failure(E_NETWORK, details={"stage": "dns"}), call(), mvi="minimal")

    assert document == {
        "_meta": {"requestId": "req_01jc5q8d", "contextVersion": 0},
        "success": False,
        "error": {
            "code": "E_TRANSIENT_UPSTREAM",
            "agentAction": "retry",
            "retryAfterMs": 1000,
            "details": {"stage": "dns", "native_code": "E_NETWORK"},
        },
    }


def test_minimal_failure_says_when_a_person_is_needed() -> None:
    error = to_lafs(failure(KINDS["STORE_CORRUPT"]), call(), mvi="minimal")["error"]

    assert list(error) == ["code", "agentAction", "escalationRequired", "details"]


@every_case("kind", KINDS.values())
def test_a_minimal_failure_conforms_only_after_it_was_completed(kind: Kind) -> None:
    its_call = call("run.continue")
    complete = to_lafs(failure(kind, next_call=NEXT), its_call)

    minimal = to_lafs(failure(kind, next_call=NEXT), its_call, mvi="minimal")
    restored = expand_minimal(minimal, its_call)

    assert not check(minimal, kind="lafs", tier="core").ok
    assert_conforms(restored)
    lost = {"message": restored["error"]["message"]}
    assert restored["error"] == complete["error"] | lost
    assert list(restored["error"]) == list(complete["error"])


@every_case("name", [name for name in SUCCESSES if name != "a projection"])
def test_a_completed_minimal_success_conforms_and_says_the_same(name: str) -> None:
    its_call = call("run.start", session_id="ses_1")
    complete = to_lafs(SUCCESSES[name], its_call)

    minimal = to_lafs(SUCCESSES[name], its_call, mvi="minimal")
    restored = expand_minimal(minimal, its_call)

    assert not check(minimal, kind="lafs", tier="core").ok
    assert_conforms(restored)
    assert restored["_meta"] == complete["_meta"] | {"mvi": "minimal"}
    assert restored["result"] == complete["result"]
    assert restored.get("page") == complete.get("page")


def test_completing_a_complete_envelope_changes_nothing() -> None:
    for example in EXAMPLES:
        document = to_lafs(example.outcome, example.call)

        assert expand_minimal(document, call("other.operation")) == document


def test_a_code_of_another_tool_is_completed_from_the_registry() -> None:
    foreign = {
        "_meta": {"requestId": "r-1", "contextVersion": 0},
        "success": False,
        "error": {"code": "E_RATE_LIMITED", "details": {"domain_code": "QUOTA", "native_code": ["odd"]}},
    }

    restored = expand_minimal(foreign, call())

    assert_conforms(restored)
    assert restored["error"]["category"] == "RATE_LIMIT"
    assert restored["error"]["agentAction"] == "wait"
    assert restored["error"]["retryable"] is True


def test_a_row_that_does_not_fit_the_code_is_not_believed() -> None:
    error = {"code": "E_NOT_FOUND_RESOURCE", "details": {"native_code": "E_NETWORK"}}

    restored = expand_minimal({"_meta": {}, "success": False, "error": error}, call())

    assert restored["error"]["category"] == "NOT_FOUND"


@every_case(
    "document",
    [
        {},
        {"_meta": 1, "success": True},
        {"_meta": {}, "success": False, "error": "no"},
        {"_meta": {}, "success": False, "error": {"code": "E_OURS_ONLY"}},
        {"_meta": {}, "success": False, "error": {"code": 7, "details": []}},
        {"_meta": {}, "error": {}},
    ],
)
def test_a_broken_document_is_left_for_the_checker_to_name(document: dict[str, Json]) -> None:
    restored = expand_minimal(document, call())

    assert not check(restored, kind="lafs", tier="core").ok
    assert {key: restored[key] for key in document if key != "_meta"} == {
        key: document[key] for key in document if key != "_meta"
    }
