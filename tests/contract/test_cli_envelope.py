"""The CLI dialect: exact keys in exact order for every outcome, and the bytes of a document."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from handrail.contract.catalogue import (
    E_FORBIDDEN,
    E_INTERRUPTED,
    E_NETWORK,
    E_NOT_FOUND,
    KINDS,
    UPSTREAM_OPEN,
    VALIDATION_ERROR,
    Kind,
)
from handrail.contract.envelopes.cli import (
    encode_document,
    encode_line,
    payload_of,
    stream_summary,
    to_cli,
)
from handrail.contract.outcome import Call, Failure, Fault, Json, NextCall, Notice, Outcome, Page, Success
from tests.cases import every_case
from tests.contract.worked_examples import EXAMPLES, Example, call_of, command_line

CALL = call_of("session.list", duration_ms=0)
NEXT = NextCall(operation="session.resume", params={"query": "ses_1"})

CURSOR_LAST = Page(items=({"id": "a"},), limit=2)
CURSOR_MORE = Page(items=("a", "b"), limit=2, has_more=True, next_cursor="cu1x", total=9)
OFFSET_LAST = Page(items=("a",), style="offset", limit=5, offset=20)
OFFSET_MORE = Page(items=("a", "b", "c"), style="offset", limit=3, offset=6, has_more=True)
NAMED = Page(
    items=("e1", "e2"), list_key="entries", style="offset", limit=2, offset=0, has_more=True, total=7
)

# The page, the other keys of the payload, and the payload in order.
PAYLOADS: list[tuple[str, Page | None, dict[str, Json] | list[Json], str]] = [
    ("no page", None, {"b": 1, "a": 2}, '{"b":1,"a":2}'),
    ("a plain array", None, [1, 2], "[1,2]"),
    (
        "last cursor page",
        CURSOR_LAST,
        {},
        '{"items":[{"id":"a"}],"count":1,"next_cursor":null,"has_more":false}',
    ),
    (
        "cursor page and more",
        CURSOR_MORE,
        {"scope": "all"},
        '{"items":["a","b"],"count":2,"next_cursor":"cu1x","has_more":true,"scope":"all"}',
    ),
    ("empty page", Page(items=()), {}, '{"items":[],"count":0,"next_cursor":null,"has_more":false}'),
    (
        "last offset page",
        OFFSET_LAST,
        {},
        '{"items":["a"],"count":1,"offset":20,"has_more":false}',
    ),
    (
        "offset page and more",
        OFFSET_MORE,
        {"z": 0},
        '{"items":["a","b","c"],"count":3,"offset":6,"next_offset":9,"has_more":true,"z":0}',
    ),
    (
        "a page that was cut",
        Page(items=("a",), limit=1, has_more=True, next_cursor="cu1y", truncated=True),
        {"scope": "all"},
        '{"items":["a"],"count":1,"next_cursor":"cu1y","has_more":true,"truncated":true,"scope":"all"}',
    ),
    (
        "a document with its own list",
        NAMED,
        {"ledgerId": "run_1", "entries": [], "checksum": "sha256:0"},
        '{"ledgerId":"run_1","entries":["e1","e2"],"checksum":"sha256:0","offset":0,"next_offset":2,"has_more":true}',
    ),
    (
        "a stale cursor on the last page",
        Page(items=("a",), has_more=False, next_cursor="cu1old"),
        {},
        '{"items":["a"],"count":1,"next_cursor":null,"has_more":false}',
    ),
]

# A value and its compact bytes.
BYTES: list[tuple[Json, bytes]] = [
    ({"b": 1, "a": [True, None, 1.5]}, b'{"b":1,"a":[true,null,1.5]}\n'),
    ("é\u2028😀", b'"\xc3\xa9\\u2028\xf0\x9f\x98\x80"\n'),
    ("a\ud800b", '"a\ufffdb"\n'.encode()),
    ({"\udfff": 1}, '{"\ufffd":1}\n'.encode()),
    (9007199254740991, b"9007199254740991\n"),
    (9007199254740992, b'"9007199254740992"\n'),
    (-9007199254740992, b'"-9007199254740992"\n'),
    (2**70, b'"1180591620717411303424"\n'),
    ((1, (2,)), b"[1,[2]]\n"),
    ('\x00\n"\\', b'"\\u0000\\n\\"\\\\"\n'),
]


def rendered(outcome: Outcome, call: Call = CALL) -> dict[str, Json]:
    return to_cli(outcome, call, command_line=command_line)


def failure(kind: Kind, **fields: Json) -> Failure:
    return Failure(kind=kind, message="Something is wrong.", **fields)


@every_case("example", EXAMPLES)
def test_a_worked_example_is_rendered_byte_for_byte(example: Example) -> None:
    document = to_cli(example.outcome, example.call, command_line=command_line)

    assert encode_document(document, compact=True).decode() == example.cli + "\n"


@pytest.mark.promise("cli.offset")
@every_case(("page", "data", "expected"), [p[1:] for p in PAYLOADS])
def test_paging_keys_come_first_and_the_other_keys_follow(
    page: Page | None, data: dict[str, Json] | list[Json], expected: str
) -> None:
    payload = payload_of(Success(data=data, page=page))

    assert encode_line(payload).decode() == expected + "\n"


@pytest.mark.parametrize("key", ["items", "count", "next_cursor", "has_more"])
def test_a_payload_cannot_hide_a_paging_key(key: str) -> None:
    with pytest.raises(AssertionError, match="the page alone"):
        payload_of(Success(data={key: 1}, page=CURSOR_MORE))


def test_own_list_cannot_hide_where_the_page_stands() -> None:
    with pytest.raises(AssertionError, match="the page alone"):
        payload_of(Success(data={"entries": [], "offset": 3}, page=NAMED))


def test_a_page_stands_in_an_object() -> None:
    with pytest.raises(AssertionError, match="object"):
        payload_of(Success(data=[], page=CURSOR_LAST))


def test_making_the_payload_leaves_the_outcome_as_it_was() -> None:
    success = Success(data={"scope": "all"}, page=CURSOR_MORE)

    payload_of(success)

    assert success.data == {"scope": "all"}


@pytest.mark.promise("cli.envelope")
def test_a_success_has_exactly_its_four_keys() -> None:
    document = rendered(Success(data={}))

    assert document == {"ok": True, "schema_version": "1.0", "data": {}, "meta": {"duration_ms": 0}}
    assert list(document) == ["ok", "schema_version", "data", "meta"]


@pytest.mark.promise("cli.error")
@every_case("kind", KINDS.values())
def test_every_kind_has_exact_keys_and_the_facts_of_its_row(kind: Kind) -> None:
    own = dict.fromkeys(kind.details, "x")
    added = ["agent_action", "hint", "next_command"]
    added += [] if kind.code.startswith("E_") else ["domain_code"]
    added += ["escalation_required"] if kind.needs_escalation else []
    added += [] if kind.wait_ms is None else ["retry_after_ms"]

    document = rendered(failure(kind, details=own, next_call=NEXT))
    error = document["error"]

    assert list(document) == ["ok", "schema_version", "error", "meta"]
    assert document["ok"] is False
    assert list(error) == ["code", "message", "details", "retryable"]
    assert (error["code"], error["retryable"]) == (kind.native, kind.is_retryable)
    assert sorted(error["details"]) == sorted([*own, *added])
    assert list(error["details"])[: len(own)] == list(own)
    assert error["details"]["hint"] == kind.hint
    assert error["details"]["next_command"] == "handrail session resume ses_1 --compact"


@pytest.mark.promise("cli.error")
def test_details_stay_and_a_missing_next_command_is_null() -> None:
    error = rendered(failure(E_NOT_FOUND, hint="Look again."))["error"]

    assert error["details"] == {"agent_action": "stop", "hint": "Look again.", "next_command": None}


def test_a_next_call_that_the_command_line_cannot_spell_is_null() -> None:
    document = to_cli(failure(E_NOT_FOUND, next_call=NEXT), CALL, command_line=lambda _: None)

    assert document["error"]["details"]["next_command"] is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (failure(E_NETWORK), 1000),
        (failure(E_NETWORK, retry_after_ms=250), 250),
        (failure(E_NETWORK, retry_after_ms=0), 0),
        (failure(UPSTREAM_OPEN, retry_after_ms=31_000), 31_000),
    ],
)
def test_a_wait_of_its_own_beats_the_wait_of_the_row(given: Failure, expected: int) -> None:
    assert rendered(given)["error"]["details"]["retry_after_ms"] == expected


def test_without_any_wait_the_key_is_left_out() -> None:
    assert "retry_after_ms" not in rendered(failure(E_INTERRUPTED))["error"]["details"]


def test_escalation_is_said_only_where_it_is_needed() -> None:
    assert rendered(failure(E_FORBIDDEN))["error"]["details"]["escalation_required"] is True
    assert "escalation_required" not in rendered(failure(E_NOT_FOUND))["error"]["details"]


@pytest.mark.promise("cli.notices")
def test_notices_keep_their_order_and_their_own_keys() -> None:
    notices = (
        Notice(type="update_available", message="1.2 is out.", extra={"latest_version": "1.2"}),
        Notice(type="budget_truncated", severity="warning", message="Cut."),
    )

    meta = rendered(Success(data={}, notices=notices), call_of("context", duration_ms=7))["meta"]

    assert encode_line(meta).decode() == (
        '{"duration_ms":7,"notices":[{"type":"update_available","severity":"info","message":"1.2 is out.",'
        '"latest_version":"1.2"},{"type":"budget_truncated","severity":"warning","message":"Cut."}]}\n'
    )


def test_an_extra_key_cannot_change_what_a_notice_is() -> None:
    notice = Notice(type="a", message="m", extra={"severity": "none", "type": "b", "message": "n", "x": 1})

    (shown,) = rendered(Success(data={}, notices=(notice,)))["meta"]["notices"]

    assert shown == {"type": "a", "severity": "info", "message": "m", "x": 1}


@every_case(("value", "expected"), BYTES)
def test_a_value_is_written_so_that_every_reader_holds_it(value: Json, expected: bytes) -> None:
    assert encode_document(value, compact=True) == expected


def test_a_document_is_indented_by_two_and_ends_with_one_newline() -> None:
    document = {"ok": True, "data": {"items": [{"id": "é"}], "none": [], "empty": {}}}

    written = encode_document(document, compact=False)

    assert written.decode() == json.dumps(document, indent=2, ensure_ascii=False) + "\n"


@every_case(
    "value",
    [float("nan"), {"a": [float("inf")]}, [-float("inf")], {1: 2}, {None: 1}, b"x", {"a": {1}}, Decimal("1")],
)
def test_what_json_cannot_carry_is_refused(value: Json) -> None:
    with pytest.raises(Fault, match="INVARIANT_VIOLATION"):
        encode_document(value, compact=True)


def test_a_broken_stream_says_how_far_it_came() -> None:
    broken = failure(E_NETWORK, details={"stage": "read"})

    line = stream_summary(broken, call_of("session.events"), count=2, command_line=command_line)

    assert encode_line(line).decode() == (
        '{"ok":false,"schema_version":"1.0","type":"summary","error":{"code":"E_NETWORK",'
        '"message":"Something is wrong.","details":{"stage":"read","agent_action":"retry",'
        '"retry_after_ms":1000,"hint":"Wait, then send the same call again.","next_command":null,'
        '"count":2,"complete":false},"retryable":true},"meta":{"duration_ms":4}}\n'
    )


def test_a_problem_of_a_call_has_all_four_keys() -> None:
    given: list[Json] = [
        {"param": "limit", "problem": "missing"},
        {"param": "a", "problem": "is wrong", "expected": "b", "did_you_mean": "c"},
        {"code": "unknown_key", "line": 4},
        "plain",
    ]
    failure = Failure(kind=VALIDATION_ERROR, message="No.", details={"problems": given})

    problems = to_cli(failure, CALL, command_line=command_line)["error"]["details"]["problems"]

    assert problems == [
        {"param": "limit", "problem": "missing", "got": None, "expected": None},
        {"param": "a", "problem": "is wrong", "got": None, "expected": "b", "did_you_mean": "c"},
        {"code": "unknown_key", "line": 4},
        "plain",
    ]
