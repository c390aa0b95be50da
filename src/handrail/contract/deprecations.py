"""What is going away: entries with a date, the notice each use gives, and which are overdue. Pure.

Something leaves after at least 90 days and two minor releases, on a major release only; until then its
entry stands here and every use says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
    remove_by: str
    """The day by which it is gone, as `2026-11-15`."""
    replacement: str

    def __post_init__(self) -> None:
        assert _ID.fullmatch(self.id), "a deprecation id is lower-case words"
        assert _DATE.fullmatch(self.remove_by), "a removal date is year, month and day"


DEPRECATIONS: tuple[Deprecation, ...] = ()


def notice_of(entry: Deprecation) -> Notice:
    """The notice that each use gives."""
    return Notice(
        type=DEPRECATED,
        severity="warning",
        message=f"{entry.what} goes away by {entry.remove_by}; use {entry.replacement} instead.",
        extra=msgspec.structs.asdict(entry),
    )


def deprecation_warning(notice: Notice) -> dict[str, Json]:
    """The same notice as LAFS says it."""
    facts = notice.extra
    return {
        "code": "W_DEPRECATED_" + re.sub("[._-]", "_", facts["id"]).upper(),
        "message": notice.message,
        "severity": notice.severity,
        "deprecated": facts["what"],
        "replacement": facts["replacement"],
        "removeBy": facts["remove_by"],
    }


def overdue(entries: Iterable[Deprecation], today: str) -> list[Deprecation]:
    """The entries whose day has passed; the thing should be gone, and its entry with it."""
    assert _DATE.fullmatch(today), "today is year, month and day"
    return [entry for entry in entries if entry.remove_by < today]
