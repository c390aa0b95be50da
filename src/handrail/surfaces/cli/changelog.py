"""`handrail changelog`: what changed between versions, from the CHANGELOG.md packed with the program."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail import __version__
from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.outcome import Fault
from handrail.contract.payload import Answer
from handrail.contract.shape import Shape
from handrail.contract.versions import version_key
from handrail.contract.wording import quoted
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime

CHANGELOG_NAME = "CHANGELOG.md"

_RELEASE = re.compile(r"## \[?(?P<version>[^\]\s]+)\]?(?:\s+-\s+(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}))?")
_LINK = re.compile(r"\[[^\]]+\]:\s")


class ShowChangelog(Input, frozen=True, kw_only=True):
    """From where on."""

    since: (
        Annotated[
            str, Meta(description="Only versions that are strictly newer.", min_length=1, max_length=64)
        ]
        | UnsetType
    ) = UNSET


class Changes(Answer, frozen=True, kw_only=True):
    """The categories of Keep a Changelog."""

    added: list[str]
    changed: list[str]
    fixed: list[str]
    deprecated: list[str]
    removed: list[str]
    security: list[str]


class Release(Answer, frozen=True, kw_only=True):
    """One version."""

    version: str
    date: str | None
    changes: Changes


class Changelog(Answer, frozen=True, kw_only=True):
    """Newest first. The list is short and comes whole: there is no paging."""

    current_version: str
    since: str | None
    count: int
    entries: list[Release]


def show_changelog(rt: Runtime, request: ShowChangelog) -> Changelog:
    """Every release, or those after one version.

    Raises Fault E_VALIDATION for a text that is no version; one that was never released is fine.
    """
    content = rt.installation().packed(CHANGELOG_NAME) or b""
    entries = releases(content.decode("utf-8", "replace"))
    since = None if request.since is UNSET else request.since
    if since is not None:
        floor = version_key(since)
        if floor is None:
            raise Fault(
                E_VALIDATION,
                f"--since has the value {quoted(since)}, which is no version.",
                details={"param": "--since", "expected": "a version such as 1.9 or 2.0rc1"},
            )
        entries = [one for one in entries if (version_key(one.version) or floor) > floor]
    return Changelog(current_version=__version__, since=since, count=len(entries), entries=entries)


def releases(text: str) -> list[Release]:
    """The released sections of a changelog, in its order; Unreleased and link lines are left out."""
    found: list[tuple[str, str | None, dict[str, list[str]]]] = []
    items: list[str] | None = None
    for line in text.splitlines():
        heading = _RELEASE.fullmatch(line.rstrip())
        if line.startswith("## "):
            items = None
            is_release = heading is not None and version_key(heading["version"]) is not None
            found.append(
                (heading["version"], heading["date"], {}) if heading and is_release else ("", None, {})
            )
        elif line.startswith("### ") and found:
            items = found[-1][2].setdefault(line.removeprefix("### ").strip().lower(), [])
        elif items is not None:
            _take_line(items, line)
    return [
        Release(version=version, date=date, changes=_changes(sections))
        for version, date, sections in found
        if version
    ]


def _take_line(items: list[str], line: str) -> None:
    """A new item, or the next line of the one before."""
    if line.startswith(("- ", "* ")):
        items.append(line[2:].strip())
    elif line.strip() and items and not _LINK.match(line):
        items[-1] = f"{items[-1]} {line.strip()}"


def _changes(sections: dict[str, list[str]]) -> Changes:
    return Changes(
        added=sections.get("added", []),
        changed=sections.get("changed", []),
        fixed=sections.get("fixed", []),
        deprecated=sections.get("deprecated", []),
        removed=sections.get("removed", []),
        security=sections.get("security", []),
    )


OPERATION = Operation(
    name="self.changelog",
    effect="read",
    summary="Show what changed in each release, newest first; all of it at once, without paging.",
    input=ShowChangelog,
    output=Changelog,
    perform=show_changelog,
    shape=Shape(
        levels={"minimal": ("current_version", "since", "count"), "standard": None, "full": None},
        windows=("entries",),
    ),
)
