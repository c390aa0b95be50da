"""Pages: which address of the Console shows what. A page calls operations, and a pure function draws it.

No page reads the store by itself, so each of its numbers equals the JSON of the same operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from handrail.contract.catalogue import E_NOT_FOUND
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Failure, Fault, Json, Outcome, Success
from handrail.contract.wording import quote
from handrail.projections.html.elements import Html
from handrail.projections.html.pages.sessions import sessions_page
from handrail.surfaces.http.routes import Matcher

Call: TypeAlias = Callable[[str, dict[str, Json]], Outcome]
"""Runs an operation of the registry as `/api/{operation}` does."""
Query: TypeAlias = Mapping[str, str]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What the Console shows: the inside of `<main>`, and the title of the window."""

    title: str
    html: Html
    status: int = 200


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of page. `*` in its pattern is a segment that the function is given."""

    pattern: str
    show: Callable[[Call, tuple[str, ...], Query], View]


def render_view(call: Call, path: str, query: Query) -> View:
    """The page at this path.

    Raises Fault E_NOT_FOUND, and what the operations of the page answer.
    """
    for page in PAGES:
        segments = Matcher(page.pattern).match(path)
        if segments is not None:
            return page.show(call, segments, query)
    raise Fault(
        E_NOT_FOUND,
        f"There is no page {quote(path)}.",
        hint="Go back to the list of sessions.",
    )


def payload(call: Call, operation: str, params: dict[str, Json]) -> dict[str, Json]:
    """The payload of an operation, as the command line shows it under `data`.

    Raises the Fault that the operation answered with.
    """
    match call(operation, params):
        case Success() as success:
            data = payload_of(success)
            assert isinstance(data, dict), "pages are drawn from objects"
            return data
        case Failure() as failure:
            raise Fault(
                failure.kind,
                failure.message,
                details=failure.details,
                hint=failure.hint,
                next_call=failure.next_call,
                retry_after_ms=failure.retry_after_ms,
            )


_LIST_FIELDS = ("status", "workflow", "query", "cursor")


def _sessions(call: Call, _: tuple[str, ...], query: Query) -> View:
    asked: dict[str, Json] = {name: query[name] for name in _LIST_FIELDS if query.get(name)}
    return View(title="Sessions", html=sessions_page(payload(call, "session.list", asked)))


PAGES: tuple[Page, ...] = (Page(pattern="/sessions", show=_sessions),)
