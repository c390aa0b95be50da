"""What will be removed, and when: one table, and the notice that each use returns. Pure.

Something is removed in a major release only, after at least 90 days and two minor releases. Until
then it has an entry here, and every use of it returns a notice; over HTTP also headers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from handrail.contract.outcome import Json, Notice

DEPRECATED = "deprecated"
"""The type of the notice."""

_ID = re.compile("[a-z0-9]+(?:[._-][a-z0-9]+)*")
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Deprecation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that will be removed."""

    id: str
    what: str
    """The name as a caller writes it: a flag, a field, a command."""
    since: str
    """The release that announced it."""
    announced: str
    """The day of that release, as `2026-11-15`."""
    remove_by: str
    """The day of its removal at the latest, in the same format."""
    replacement: str
    operation: str
    """The operation whose calls use it."""
    param: str = ""
    """The input field, by wire name, that uses it; empty if every call of the operation does."""

    def __post_init__(self) -> None:
        assert _ID.fullmatch(self.id), "a deprecation id is lower-case words"
        assert _DATE.fullmatch(self.announced), "the day of a release is year, month and day"
        assert _DATE.fullmatch(self.remove_by), "a removal date is year, month and day"
        assert self.announced < self.remove_by, "something is announced before it goes"


DEPRECATIONS: tuple[Deprecation, ...] = ()
"""Everything that will be removed. The operation of each entry is also in `outcome.WITH_DEPRECATIONS`."""


def find_used(operation: str, params: Mapping[str, Json]) -> list[Deprecation]:
    """Return the entries that a call uses."""
    return [
        entry
        for entry in DEPRECATIONS
        if entry.operation == operation and (not entry.param or entry.param in params)
    ]


def notice_of(entry: Deprecation) -> Notice:
    """Return the notice for a use of the entry."""
    return Notice(
        type=DEPRECATED,
        severity="warning",
        message=f"{entry.what} goes away by {entry.remove_by}; use {entry.replacement} instead.",
        extra={
            "id": entry.id,
            "what": entry.what,
            "since": entry.since,
            "remove_by": entry.remove_by,
            "replacement": entry.replacement,
        },
    )
