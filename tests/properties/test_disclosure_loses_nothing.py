"""Laws of the budget: every answer keeps every limit with its marks, or says exactly what it needs.

Following the pages of a list under any budget gives exactly the list, and a payload that is not a list
keeps its id and its minimal level.
"""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.contract.catalogue import BUDGET_EXCEEDED
from handrail.contract.conformance.check import check
from handrail.contract.disclosure.disclose import disclose
from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.disclosure.fields import Ask, Budget, Shape
from handrail.contract.envelopes.cli import encode_document, payload_of, to_cli
from handrail.contract.envelopes.lafs import to_lafs
from handrail.contract.outcome import Call, Failure, Json, Outcome, Page, Success
from handrail.contract.tokens.cursor import CursorClaims, cursor_scope, mint_cursor

pytestmark = pytest.mark.thorough

CALL = Call(operation="session.list", request_id="req_01", at="2026-11-15T09:30:00.123Z", duration_ms=7)
SLOWEST = msgspec.structs.replace(CALL, duration_ms=10**9)
KEY = b"k" * 32
SCOPE = cursor_scope({}, ["title", "id"])
CONSTRAINTS = {"max_tokens": "maxTokens", "max_bytes": "maxBytes", "max_items": "maxItems"}

ITEMS = Shape(
    levels={"minimal": ("id",), "standard": None, "full": None},
    id_field="id",
    select="items",
    untrusted=("title",),
)
ENTITY = Shape(
    levels={"minimal": ("id", "status"), "standard": None, "full": None},
    id_field="id",
    drop_order=("body", "runs", "tags", "status"),
    windows=("runs", "tags"),
    untrusted=("body",),
)

TITLES = st.text(max_size=40)
ROWS = st.lists(TITLES, max_size=7).map(
    lambda titles: [{"id": f"s{number}", "title": title} for number, title in enumerate(titles)]
)
ENTITIES = st.fixed_dictionaries(
    {"id": st.just("s1"), "status": st.sampled_from(["open", "done"])},
    optional={
        "body": st.text(max_size=120),
        "runs": st.lists(st.fixed_dictionaries({"id": TITLES}), max_size=5),
        "tags": st.lists(TITLES, max_size=4),
    },
)
OBJECTS = st.dictionaries(
    st.text(min_size=1, max_size=12).filter(lambda key: not key.startswith(("truncated", "_"))),
    st.one_of(TITLES, st.integers(), st.lists(TITLES, max_size=3)),
    max_size=5,
)


def sent(success: Success) -> Success:
    """As the surface sends it: with the cursor minted after the last item shown."""
    page = success.page
    if page is None or not page.has_more or page.style != "cursor":
        return success
    claims = CursorClaims(
        operation=CALL.operation, scope=SCOPE, after=page.sort_keys[-1], expires_at=2 * 10**9
    )
    minted = msgspec.structs.replace(page, next_cursor=mint_cursor(KEY, claims))
    return msgspec.structs.replace(success, page=minted)


def written(success: Success, call: Call = SLOWEST) -> int:
    return len(encode_document(to_cli(success, call, command_line=lambda _: None), compact=False))


def sizes(success: Success) -> dict[str, float]:
    tokens = estimate_tokens(payload_of(sent(success)))
    page = success.page
    return {
        "max_tokens": float("inf") if tokens is None else tokens,
        "max_bytes": written(sent(success), CALL),
        "max_items": 0 if page is None else len(page.items),
    }


def window(rows: list[dict[str, Json]], start: int, style: str, size: int) -> Success:
    """What an operation hands over: one window of a sorted list."""
    shown = rows[start : start + size]
    page = Page(
        items=tuple(shown),
        sort_keys=tuple((row["title"], row["id"]) for row in shown),
        style="cursor" if style == "cursor" else "offset",
        offset=start,
        limit=size,
        has_more=start + size < len(rows),
    )
    return Success(data={}, page=page)


def asked(success: Success, shape: Shape | None, part: str, limit: int) -> Outcome:
    return disclose(success, shape, Ask(budget=msgspec.structs.replace(Budget(), **{part: limit})), written)


def check_kept(outcome: Success, part: str, limit: int) -> None:
    assert sizes(outcome)[part] <= limit


def check_minimum(success: Success, shape: Shape | None, part: str, failure: Failure) -> None:
    """The stated minimum works, and one less does not."""
    assert failure.kind is BUDGET_EXCEEDED
    assert failure.details["constraint"] == CONSTRAINTS[part]
    minimum = failure.details["minimum"]
    enough = asked(success, shape, part, minimum)
    assert isinstance(enough, Success)
    check_kept(enough, part, minimum)
    assert check(to_lafs(sent(enough), CALL)).ok
    if minimum > 1:
        assert isinstance(asked(success, shape, part, minimum - 1), Failure)


def check_every_budget(success: Success, shape: Shape | None, part: str, step: int) -> None:
    """From 1 to beyond the full size: refused with one correct minimum below it, kept from there on."""
    whole = disclose(success, shape, Ask(), written)
    assert isinstance(whole, Success)
    full = sizes(whole)[part]
    assert full != float("inf")
    refused: Failure | None = None
    for limit in range(1, int(full) + 400, step):
        outcome = asked(success, shape, part, limit)
        if isinstance(outcome, Failure):
            assert refused is None or outcome.details["minimum"] == refused.details["minimum"]
            assert limit < outcome.details["minimum"]
            refused = outcome
        else:
            check_kept(outcome, part, limit)
            assert refused is None or limit >= refused.details["minimum"]
    if refused is not None:
        check_minimum(success, shape, part, refused)
    assert asked(success, shape, part, 10**6) == whole


@pytest.mark.parametrize("part", ["max_tokens", "max_bytes", "max_items"])
@pytest.mark.parametrize("style", ["cursor", "offset"])
@settings(max_examples=8)
@given(rows=ROWS, size=st.integers(1, 7), step=st.integers(1, 9))
def test_a_list_keeps_every_budget_or_says_what_it_needs(
    part: str, style: str, rows: list[dict[str, Json]], size: int, step: int
) -> None:
    check_every_budget(window(rows, 0, style, size), ITEMS, part, step)


@pytest.mark.parametrize("part", ["max_tokens", "max_bytes"])
@settings(max_examples=14)
@given(data=ENTITIES, step=st.integers(1, 9))
def test_an_entity_keeps_every_budget_and_its_minimal_level(
    part: str, data: dict[str, Json], step: int
) -> None:
    success = Success(data=data)

    check_every_budget(success, ENTITY, part, step)
    for limit in (30, 60, 90):
        outcome = asked(success, ENTITY, part, limit)
        if isinstance(outcome, Success):
            assert isinstance(outcome.data, dict)
            assert {key: outcome.data[key] for key in ("id", "status")} == {
                key: data[key] for key in ("id", "status")
            }


@pytest.mark.parametrize("part", ["max_tokens", "max_bytes"])
@settings(max_examples=14)
@given(data=OBJECTS, step=st.integers(1, 9))
def test_a_payload_without_a_shape_keeps_every_budget(part: str, data: dict[str, Json], step: int) -> None:
    check_every_budget(Success(data=data), None, part, step)


@pytest.mark.parametrize("style", ["cursor", "offset"])
@given(
    rows=ROWS,
    size=st.integers(1, 8),
    tokens=st.one_of(st.none(), st.integers(1, 200)),
    bytes_=st.one_of(st.none(), st.integers(200, 1500)),
    items=st.one_of(st.none(), st.integers(1, 5)),
)
def test_pages_under_any_budget_join_to_the_list(
    style: str,
    rows: list[dict[str, Json]],
    size: int,
    tokens: int | None,
    bytes_: int | None,
    items: int | None,
) -> None:
    budget = Budget(max_tokens=tokens, max_bytes=bytes_, max_items=items)
    collected: list[Json] = []
    has_more = True
    while has_more:
        outcome = answered(window(rows, len(collected), style, size), budget)
        page = outcome.page
        assert page is not None
        assert page.items or not page.has_more, "a page that goes on has at least one item"
        collected += page.items
        has_more = page.has_more
        if has_more:
            check_continues(outcome, page, len(collected))

    assert collected == rows


def answered(success: Success, budget: Budget) -> Success:
    """The answer, after raising what the refusals name; three limits can be refused at most once each."""
    for _ in range(4):
        outcome = disclose(success, None, Ask(budget=budget), written)
        if isinstance(outcome, Success):
            return outcome
        constraint, minimum = outcome.details["constraint"], outcome.details["minimum"]
        part = next(name for name, spelt in CONSTRAINTS.items() if spelt == constraint)
        budget = msgspec.structs.replace(budget, **{part: minimum})
    raise AssertionError("raising every limit to its stated minimum was not enough")


def check_continues(outcome: Success, page: Page, position: int) -> None:
    """The next call begins right after the last item shown."""
    payload = payload_of(outcome)
    assert isinstance(payload, dict)
    if page.style == "offset":
        assert payload["next_offset"] == position
    else:
        assert page.sort_keys[-1] == (page.items[-1]["title"], page.items[-1]["id"])
