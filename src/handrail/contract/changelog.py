"""What a changelog says of each release, in the categories of Keep a Changelog. Pure."""

from __future__ import annotations

import re

from handrail.contract.payload import Answer
from handrail.contract.versions import version_key

_RELEASE = re.compile(r"## \[?(?P<version>[^\]\s]+)\]?(?:\s+-\s+(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}))?")
_LINK = re.compile(r"\[[^\]]+\]:\s")


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


def newer_releases(text: str, running: str, latest: str) -> list[Release]:
    """The releases after the running version, up to the latest."""
    floor, top = version_key(running), version_key(latest)
    keyed = [(version_key(one.version), one) for one in releases(text)]
    return [
        one
        for key, one in keyed
        if key is not None and floor is not None and top is not None and floor < key <= top
    ]
