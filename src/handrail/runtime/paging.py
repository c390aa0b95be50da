"""One window of a sorted list, continued by a signed cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from handrail.contract.disclosure.newest import encoded_size
from handrail.contract.outcome import Page
from handrail.contract.tokens.cursor import (
    LIFETIME_SECONDS,
    CursorClaims,
    cursor_scope,
    mint_cursor,
    read_cursor,
)
from handrail.contract.tokens.workflow import CURSOR
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import ReadPorts

DEFAULT_LIMIT = 50
MOST_ITEMS = 500
PAGE_BYTES = 32_768
"""A page ends before it takes more, whatever limit was asked for; a single row is sent at any length."""

_T = TypeVar("_T")


def list_scope(called: Operation, request: Any) -> str:
    """Return what a cursor is bound to: the order, and every filter of the request except the window."""
    filters = msgspec.to_builtins(request)
    filters.pop("limit", None)
    filters.pop("cursor", None)
    return cursor_scope(filters, (called.default_sort,))


def continue_page(runtime: ReadPorts, called: Operation, request: Any, page: Page) -> Page:
    """Return the page with the cursor of its last item."""
    claims = CursorClaims(
        operation=called.name,
        scope=list_scope(called, request),
        after=page.sort_keys[-1],
        expires_at=runtime.clock.unix_seconds() + LIFETIME_SECONDS,
    )
    cursor = mint_cursor(runtime.keys.signing_key(CURSOR), claims)
    return msgspec.structs.replace(page, next_cursor=cursor)


def page_of(
    runtime: ReadPorts,
    called: Operation,
    request: Any,
    items: Iterable[_T],
    sort_key: Callable[[_T], tuple[str, ...]],
    row: Callable[[_T], Any],
    most_bytes: int = PAGE_BYTES,
) -> Page:
    """Return the window that the request asks for. `items` come in the order of `sort_key`, ascending."""
    limit = DEFAULT_LIMIT if request.limit is msgspec.UNSET else request.limit
    after = read_place(runtime, called, request)
    rows: list[Any] = []
    sort_keys: list[tuple[str, ...]] = []
    has_more, used = False, 0
    for item in items:
        if after is not None and sort_key(item) <= after:
            continue
        if len(rows) == limit:
            has_more = True
            break
        made = msgspec.to_builtins(row(item))
        used += encoded_size(made)
        if rows and used > most_bytes:
            has_more = True
            break
        rows.append(made)
        sort_keys.append(sort_key(item))
    return Page(
        items=tuple(rows),
        sort_keys=tuple(sort_keys),
        limit=limit,
        has_more=has_more,
    )


def read_place(runtime: ReadPorts, called: Operation, request: Any) -> tuple[str, ...] | None:
    """Return the sort key of the last row of the previous page; None on the first page."""
    if request.cursor is msgspec.UNSET:
        return None
    return read_cursor(
        runtime.keys.verifying_keys(CURSOR),
        request.cursor,
        operation=called.name,
        scope=list_scope(called, request),
        now=runtime.clock.unix_seconds(),
    )
