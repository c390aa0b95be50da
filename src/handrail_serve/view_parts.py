"""What a page of the Console is made from: its row in the table, and the answers of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Failure, Fault, Json, Outcome, Success
from handrail.projections.html.elements import Html
from handrail.runtime.operation import MODULES

Call: TypeAlias = Callable[[str, dict[str, Json]], Outcome]
"""Runs an operation of the registry as `/api/{operation}` does."""
Query: TypeAlias = Mapping[str, str]
SETTLE = "session.settle_gap"
"""By which a person settles a gap."""
RENAME = "session.rename"


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What the Console shows: the inside of `<main>`, and the title of the window."""

    title: str
    html: Html
    waiting: int | None = None
    """How many things wait for a person, where the page knows it."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of page. `*` in its pattern is a segment that the function is given."""

    pattern: str
    show: Callable[[Call, tuple[str, ...], Query], View]


def is_served(operation: str) -> bool:
    """Whether this server has the operation: a page has no door that does not open."""
    return operation in MODULES


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


def payload_or_none(call: Call, operation: str, params: dict[str, Json]) -> dict[str, Json] | None:
    """The same where a page can do without it: None when the operation refuses."""
    outcome = call(operation, params)
    return payload(lambda *_: outcome, operation, params) if isinstance(outcome, Success) else None
