"""Budgets: what is cut, what is marked, and what the smallest budget would be."""

from __future__ import annotations

import pytest

from handrail.contract.catalogue import BUDGET_EXCEEDED
from handrail.contract.disclosure.budget import cursor_width, fit
from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.disclosure.fields import Budget, Shape
from handrail.contract.envelopes.cli import encode_document, payload_of, to_cli
from handrail.contract.outcome import Call, Failure, Json, Outcome, Page, Success
from handrail.contract.tokens.cursor import CursorClaims, cursor_scope, mint_cursor
from tests.cases import every_case

CALL = Call(operation="session.list", request_id="req_1", at="2026-11-15T09:30:00.123Z", duration_ms=999_999)
SHOW = Shape(
    levels={"minimal": ("id", "status"), "standard": None, "full": None},
    id_field="id",
    drop_order=("status", "runs", "goal", "nothing"),
    windows=("runs", "tags"),
    untrusted=("goal",),
)


def written(success: Success) -> int:
    return len(encode_document(to_cli(success, CALL, command_line=lambda _: None), compact=True))


def listing(count: int, *, has_more: bool = False, total: int | None = None) -> Success:
    return Success(
        data={"scope": "here"},
        page=Page(
            items=tuple({"id": f"s{n}", "title": "a title of some length"} for n in range(count)),
            sort_keys=tuple((f"s{n}",) for n in range(count)),
            has_more=has_more,
            total=total,
        ),
    )


def entity() -> Success:
    return Success(
        data={
            "id": "s1",
            "status": "open",
            "goal": "a goal of some length, told in words " * 4,
            "runs": [{"id": f"r{n}", "note": "some words about it " * 3} for n in range(6)],
            "tags": ["one " * 20, "two " * 20, "three " * 20],
        }
    )


def cut(outcome: Outcome) -> Success:
    assert isinstance(outcome, Success), outcome
    return outcome


def refused(outcome: Outcome) -> Failure:
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind is BUDGET_EXCEEDED
    return outcome


def tokens_of(success: Success) -> int:
    tokens = estimate_tokens(payload_of(success))
    assert tokens is not None
    return tokens


def test_what_fits_is_unchanged_and_unmarked() -> None:
    success = listing(3)
    budget = Budget(max_tokens=tokens_of(success), max_bytes=written(success), max_items=3)

    assert fit(success, None, budget, written) is success


def test_list_is_cut_to_the_most_items_that_fit() -> None:
    outcome = cut(fit(listing(9), None, Budget(max_items=4), written))

    assert outcome.page is not None
    assert [item["id"] for item in outcome.page.items] == ["s0", "s1", "s2", "s3"]
    assert outcome.page.sort_keys == (("s0",), ("s1",), ("s2",), ("s3",))
    assert (outcome.page.limit, outcome.page.has_more, outcome.page.truncated) == (4, True, True)
    assert outcome.page.next_cursor is None, "the surface mints it"
    assert outcome.data == {"scope": "here"}


def test_a_cut_list_carries_its_notice_and_estimate() -> None:
    outcome = cut(fit(listing(9), None, Budget(max_tokens=150), written))

    (notice,) = outcome.notices
    assert (notice.type, notice.severity, notice.extra) == (
        "budget_truncated",
        "warning",
        {"strategy": "window"},
    )
    estimate = outcome.extensions["x-token-estimate"]
    assert estimate["budget"] == 150
    assert estimate["method"] == "character_based"
    assert tokens_of(outcome) <= estimate["estimated"] <= 150


def test_without_a_token_budget_the_estimate_names_none() -> None:
    outcome = cut(fit(listing(9), None, Budget(max_items=1), written))

    assert set(outcome.extensions["x-token-estimate"]) == {"estimated", "method"}


def test_an_offset_list_continues_after_the_last_item_shown() -> None:
    page = Page(items=tuple(range(10)), style="offset", offset=30, limit=10, total=99)

    outcome = cut(fit(Success(data={}, page=page), None, Budget(max_items=4), written))

    assert payload_of(outcome) == {
        "items": [0, 1, 2, 3],
        "count": 4,
        "offset": 30,
        "next_offset": 34,
        "has_more": True,
        "truncated": True,
    }


def test_a_list_of_which_not_even_one_item_fits_is_refused() -> None:
    success = listing(9)

    failure = refused(fit(success, None, Budget(max_tokens=20), written))

    assert failure.details["constraint"] == "maxTokens"
    assert failure.details["budget"] == 20
    assert failure.details["measured"] == failure.details["estimated_tokens"] == tokens_of(success)
    assert failure.details["excess_tokens"] == tokens_of(success) - 20
    minimum = failure.details["minimum"]
    smallest = cut(fit(success, None, Budget(max_tokens=minimum), written))
    assert smallest.page is not None
    assert len(smallest.page.items) == 1
    refused(fit(success, None, Budget(max_tokens=minimum - 1), written))


def test_a_plain_array_has_no_place_for_marks_and_is_never_cut() -> None:
    success = Success(data=[1, 2, 3])

    failure = refused(fit(success, None, Budget(max_items=2), written))

    assert failure.details["constraint"] == "maxItems"
    assert failure.details["minimum"] == 3


def test_window_keeps_as_many_items_as_the_limit_allows() -> None:
    outcome = cut(fit(entity(), SHOW, Budget(max_items=2), written))

    assert isinstance(outcome.data, dict)
    assert [run["id"] for run in outcome.data["runs"]] == ["r0", "r1"]
    assert [tag[:3] for tag in outcome.data["tags"]] == ["one", "two"]
    assert outcome.data["goal"].startswith("a goal"), "no field is dropped while a window is enough"
    assert outcome.data["truncated"] is True
    assert outcome.data["truncated_fields"] == ["runs", "tags"]
    assert outcome.notices[0].extra == {"strategy": "window"}


def test_one_window_that_is_enough_leaves_the_next_alone() -> None:
    outcome = cut(fit(entity(), SHOW, Budget(max_tokens=tokens_of(entity()) - 20), written))

    assert isinstance(outcome.data, dict)
    assert 1 <= len(outcome.data["runs"]) < 6
    assert len(outcome.data["tags"]) == 3
    assert outcome.data["truncated_fields"] == ["runs"]


def test_window_is_cut_further_where_the_limit_is_too_low() -> None:
    outcome = cut(fit(entity(), SHOW, Budget(max_tokens=180, max_items=4), written))

    assert isinstance(outcome.data, dict)
    assert len(outcome.data["runs"]) < 4
    assert len(outcome.data["tags"]) == 3
    assert outcome.data["truncated_fields"] == ["runs"]


def test_fields_are_dropped_in_order_and_never_the_minimal_level() -> None:
    seen: list[tuple[list[str], list[str]]] = []
    for limit in range(tokens_of(entity()), 0, -1):
        outcome = fit(entity(), SHOW, Budget(max_tokens=limit), written)
        if isinstance(outcome, Failure):
            break
        assert isinstance(outcome.data, dict)
        marks = outcome.data.get("truncated_fields", [])
        step = (marks, [key for key in outcome.data if not key.startswith("truncated")])
        if step not in seen:
            seen.append(step)

    assert seen == [
        ([], ["id", "status", "goal", "runs", "tags"]),
        (["runs"], ["id", "status", "goal", "runs", "tags"]),
        (["runs", "tags"], ["id", "status", "goal", "runs", "tags"]),
        (["runs", "tags"], ["id", "status", "goal", "tags"]),
        (["runs", "tags", "goal"], ["id", "status", "tags"]),
    ]


def test_payload_without_a_shape_loses_its_last_key_first() -> None:
    success = Success(data={"first": "x" * 40, "second": "y" * 40, "third": "z" * 80})
    roomy = cut(fit(success, None, Budget(max_tokens=tokens_of(success) - 1), written))
    failure = refused(fit(success, None, Budget(max_tokens=5), written))
    tight = cut(fit(success, None, Budget(max_tokens=failure.details["minimum"]), written))

    assert roomy.data == {
        "first": "x" * 40,
        "second": "y" * 40,
        "truncated": True,
        "truncated_fields": ["third"],
    }
    assert tight.data == {"first": "x" * 40, "truncated": True, "truncated_fields": ["third", "second"]}
    assert tight.notices[0].extra == {"strategy": "fields"}


def test_a_key_with_a_dot_is_dropped_as_the_key_it_is() -> None:
    success = Success(data={"first": 1, "a.b": "x" * 200})

    outcome = cut(fit(success, None, Budget(max_tokens=30), written))

    assert outcome.data == {"first": 1, "truncated": True, "truncated_fields": ["a.b"]}


def test_windows_and_fields_of_an_entity_are_cut_inside_it() -> None:
    shape = Shape(id_field="id", select="entity:task", drop_order=("body",), windows=("steps",))
    success = Success(data={"task": {"id": 1, "body": "b" * 90, "steps": [1, 2, 3]}, "project": "p"})

    outcome = cut(fit(success, shape, Budget(max_tokens=41), written))

    assert outcome.data == {
        "task": {"id": 1, "steps": [1]},
        "project": "p",
        "truncated": True,
        "truncated_fields": ["steps", "body"],
    }
    assert outcome.notices[0].extra == {"strategy": "window+fields"}


@pytest.mark.parametrize("shape", [Shape(id_field="id", select="items"), Shape()], ids=["items", "top"])
def test_undeclared_list_without_a_page_is_cut_and_marked(shape: Shape) -> None:
    success = Success(data={"items": [{"id": n} for n in range(5)], "summary": {"total": 5}})

    outcome = cut(fit(success, shape, Budget(max_items=2), written))

    assert outcome.data == {
        "items": [{"id": 0}, {"id": 1}],
        "summary": {"total": 5},
        "truncated": True,
        "truncated_fields": ["items"],
    }


def test_what_the_operation_left_out_itself_stays_marked() -> None:
    success = Success(data={"a": 1, "b": "x" * 99, "truncated": True, "truncated_fields": ["z"]})

    outcome = cut(fit(success, None, Budget(max_tokens=25), written))

    assert outcome.data == {"a": 1, "truncated": True, "truncated_fields": ["z", "b"]}


def test_a_payload_without_an_estimate_fits_no_token_budget() -> None:
    deep: Json = 1
    for _ in range(25):
        deep = [deep]

    failure = refused(fit(Success(data={"deep": deep}), None, Budget(max_tokens=10**9), written))

    assert failure.details["minimum"] is None
    assert failure.details["measured"] is None
    assert failure.details["estimated_tokens"] is None
    assert failure.details["excess_tokens"] is None
    assert failure.hint


def test_items_before_one_without_an_estimate_remain() -> None:
    deep: Json = 1
    for _ in range(25):
        deep = [deep]
    success = Success(data={}, page=Page(items=(1, 2, deep, 4), sort_keys=(("a",), ("b",), ("c",), ("d",))))

    outcome = cut(fit(success, None, Budget(max_tokens=1000), written))

    assert outcome.page is not None
    assert outcome.page.items == (1, 2)


@every_case(
    ("budget", "constraint"),
    [
        (Budget(max_tokens=1, max_bytes=1), "maxTokens"),
        (Budget(max_tokens=10**6, max_bytes=1), "maxBytes"),
        (Budget(max_tokens=1, max_bytes=10**6), "maxTokens"),
        (Budget(max_bytes=1, max_items=1), "maxBytes"),
        (Budget(max_tokens=1, max_bytes=1, max_items=1), "maxTokens"),
    ],
)
def test_the_first_limit_that_has_to_be_raised_is_named(budget: Budget, constraint: str) -> None:
    assert refused(fit(listing(5), None, budget, written)).details["constraint"] == constraint


@pytest.mark.parametrize("key", [("s1",), ("2026-11-15T09:30:00.123Z", "ses_0123456789ab"), ("ü" * 60, "x")])
def test_the_room_for_a_cursor_is_enough_for_the_real_one(key: tuple[str, ...]) -> None:
    page = Page(items=(1,), sort_keys=(key,), has_more=True)
    claims = CursorClaims(
        operation="o" * 50,
        scope=cursor_scope({"query": "x"}, ["at", "id"]),
        after=key,
        expires_at=99_999_999_999,
    )

    cursor = mint_cursor(b"k" * 32, claims)

    assert len(cursor) <= cursor_width(page) <= len(cursor) + 16
