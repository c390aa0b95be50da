"""A page ends where its rows reach the limit of items or of bytes, and says whether more follows."""

from __future__ import annotations

import pytest

from handrail.operations.sessions.list_events import OPERATION, ListEvents
from handrail.runtime.paging import page_of
from handrail.runtime.runtime import Runtime

SESSION = "ses_000000000001"


@pytest.mark.parametrize(
    ("most_bytes", "shown"),
    [(1, 1), (15, 1), (16, 2), (23, 2), (24, 3)],  # a row is `{"n":1}` and a comma
)
def test_page_holds_rows_up_to_exactly_its_bytes(runtime: Runtime, most_bytes: int, shown: int) -> None:
    page = page_of(
        runtime,
        OPERATION,
        ListEvents(session_id=SESSION),
        [1, 2, 3],
        lambda number: (str(number),),
        lambda number: {"n": number},
        most_bytes=most_bytes,
    )

    assert list(page.items) == [{"n": number} for number in range(1, shown + 1)]
    assert page.has_more is (shown < 3)


@pytest.mark.parametrize(("limit", "is_whole"), [(2, False), (3, True)])
def test_page_of_all_items_has_no_next(runtime: Runtime, limit: int, *, is_whole: bool) -> None:
    request = ListEvents(session_id=SESSION, limit=limit)

    page = page_of(runtime, OPERATION, request, "abc", lambda item: (item,), lambda item: item)

    assert len(page.items) == limit
    assert page.has_more is not is_whole
