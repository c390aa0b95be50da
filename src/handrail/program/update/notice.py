"""The notice about a newer release; its severity comes from that release's changelog, or from its version."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from hashlib import sha256
from typing import Literal

import msgspec

from handrail import __version__
from handrail.contract.outcome import Answer, Fault, Json
from handrail.ports.program import UpdateCheck, Updates
from handrail.program.update.find_release import Asked, FoundRelease, digest_sources, index_sources_of
from handrail.program.update.package_index import is_major_step, version_key
from handrail.runtime.runtime import ReadPorts

# Reading a changelog, in the categories of Keep a Changelog

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


def read_releases(text: str) -> list[Release]:
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


def list_newer_releases(text: str, running: str, latest: str) -> list[Release]:
    """The releases after the running version, up to the latest."""
    floor, top = version_key(running), version_key(latest)
    keyed = [(version_key(one.version), one) for one in read_releases(text)]
    return [
        one
        for key, one in keyed
        if key is not None and floor is not None and top is not None and floor < key <= top
    ]


# Checking for a newer release

FRESH_SECONDS = 86_400
"""How long a check is valid."""
UPDATE = "handrail update"
_MOST_METADATA_BYTES = 2_097_152
_HEADING = "\n# Changelog\n"
_UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError)
_RELEASE_PAGE = r"(?im)^Project-URL: *(?:changelog|release notes|releases) *, *(https://[^\s@]{1,300})$"


class _Graded(msgspec.Struct, frozen=True, kw_only=True):
    """How much a release matters to someone who runs this version."""

    severity: Literal["info", "warning"]
    basis: Literal["changelog", "version"]
    release_url: str | None


def make_update_check(
    rt: ReadPorts, updates: Updates, found: FoundRelease, asked: Asked, install: str = UPDATE
) -> UpdateCheck:
    """Make the check to remember, with the notice that later calls show. Missing metadata is no error."""
    return UpdateCheck(
        checked_at=rt.clock.now(),
        checked_unix=rt.clock.unix_seconds(),
        version=__version__,
        latest=found.offered.version,
        asked=digest_sources(index_sources_of(rt, found.facts)),
        notice=_notice(rt, updates, found, asked, install) if found.is_newer else None,
    )


def find_fresh_check(rt: ReadPorts, updates: Updates, asked: str) -> UpdateCheck | None:
    """The last check, if it was made by this version, of these sources, in the last 24 hours."""
    look = updates.last_check()
    if look is None or (look.version, look.asked) != (__version__, asked):
        return None
    return look if 0 <= rt.clock.unix_seconds() - look.checked_unix < FRESH_SECONDS else None


def _notice(
    rt: ReadPorts, updates: Updates, found: FoundRelease, asked: Asked, install: str
) -> dict[str, Json]:
    graded = _graded(updates, found, asked)
    return {
        "type": "update_available",
        "severity": graded.severity,
        "severity_basis": graded.basis,
        "current_version": __version__,
        "latest_version": found.offered.version,
        "install_method": found.facts.method,
        "recommended_command": install,
        "release_url": graded.release_url,
        "checked_at": rt.clock.now(),
        "next_steps": [install, f"handrail changelog --since {__version__}"],
    }


def _graded(updates: Updates, found: FoundRelease, asked: Asked) -> _Graded:
    latest = found.offered.version
    is_major = is_major_step(__version__, latest)
    metadata = _metadata(updates, found, asked)
    link = re.search(_RELEASE_PAGE, metadata.partition("\n\n")[0])
    public = found.source.url.removesuffix("/simple") if found.source.named_by == "nobody" else ""
    page = f"{public}/project/handrail/{latest}/" if public else None
    _, heading, told = metadata.rpartition(_HEADING)
    changes = list_newer_releases(told, __version__, latest) if heading else []
    is_told = any(version_key(one.version) == version_key(latest) for one in changes)
    is_security = any(one.changes.security for one in changes)
    return _Graded(
        severity="warning" if is_major or is_security else "info",
        basis="changelog" if is_told else "version",
        release_url=link[1] if link else page,
    )


def _metadata(updates: Updates, found: FoundRelease, asked: Asked) -> str:
    """The metadata of the release, which ends with its changelog; empty when it cannot be had."""
    offered = found.offered
    try:
        if offered.has_metadata:
            address, mark, query = offered.url.partition("?")
            content = updates.fetch(f"{address}.metadata{mark}{query}", "*/*", asked, found.page).content
            stated = offered.metadata_sha256
        else:
            content = updates.fetch(offered.url, "*/*", asked, found.page).content
            stated = offered.sha256
    except Fault:
        return ""
    if stated and sha256(content).hexdigest() != stated.lower():
        return ""
    packed = content if offered.has_metadata else _out_of_wheel(content)
    return packed[:_MOST_METADATA_BYTES].decode("utf-8", "replace").replace("\r\n", "\n")


def _out_of_wheel(content: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as wheel:
            metadata = _file_of(wheel, ".dist-info/METADATA")
            is_told = _HEADING.encode() in metadata.replace(b"\r\n", b"\n")
            return metadata if is_told else metadata + b"\n" + _file_of(wheel, "/packed/CHANGELOG.md")
    except _UNREADABLE:
        return b""


def _file_of(wheel: zipfile.ZipFile, ending: str) -> bytes:
    name = next((name for name in wheel.namelist() if name.endswith(ending)), "")
    if not name:
        return b""
    with wheel.open(name) as file:
        return file.read(_MOST_METADATA_BYTES)
