"""The newest release on the index, found by one request; and the notice about it.

The severity of a notice comes from the changelog of that release, or from its version.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import urljoin

import msgspec

from handrail.contract import released
from handrail.contract.catalogue import E_CONFIG, E_INTEGRITY, E_INTERRUPTED, E_NETWORK, E_NOT_FOUND, Kind
from handrail.contract.outcome import Answer, Fault, Json, PartlyDone
from handrail.contract.redaction import find_credentials
from handrail.ports.program import InstallFacts, UpdateCheck, Updates
from handrail.program.update.package_index import (
    OfferedFile,
    choose_newest,
    choose_version,
    fits_python,
    is_major_step,
    read_offered_files,
    version_key,
)
from handrail.runtime.runtime import ReadPorts
from handrail.version import __version__

# Failures of an update


def make_update_failure(
    kind: Kind,
    message: str,
    *,
    stage: str,
    current: str | None = __version__,
    target: str | None = None,
    command: tuple[str, ...] = (),
    hint: str = "",
    more: dict[str, Json] | None = None,
) -> PartlyDone:
    """Return a failure that names the stage it reached and the version that is installed now."""
    details: dict[str, Json] = {
        "stage": stage,
        "current_version": current,
        "target_version": target,
        "binary_replaced": False,
        "skill_sync_status": "skipped",
        "command": list(command),
        **(more or {}),
    }
    return PartlyDone(kind, message, details=details, hint=hint)


# Discovery

PUBLIC_INDEX = "https://pypi.org/simple"
_PLAIN = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]+)?/[A-Za-z0-9._/+-]+", re.ASCII)
"""Form of an address that may be shown and passed on: no login, no query, no character that a shell or
terminal interprets.
"""
_DIGEST = re.compile("[0-9a-fA-F]{64}")
LISTING = "application/vnd.pypi.simple.v1+json"
Asked = Callable[[], str]
CHECK_INDEX = "Name an index that offers Handrail in update.index of config.json."


class ReleaseRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The release to find."""

    version: str = ""
    """The version to find; empty for the newest."""
    again: str = "handrail update --check"
    """The command that repeats the request, and does no more than this call."""


class FoundRelease(msgspec.Struct, frozen=True, kw_only=True):
    """The result of discovery."""

    facts: InstallFacts
    index: str
    page: str
    """Final address of the listing; addresses in it are relative to this one."""
    offered: OfferedFile
    is_newer: bool
    """Than what is installed."""
    is_other: bool
    """Whether the release would change what is installed: a release that was named may be older."""


NO_RELEASE = "No release of Handrail is published yet, so no index was asked."
FROM_A_CLONE = "git pull, then uv tool install --force . in the clone"


def choose_index(rt: ReadPorts) -> str:
    """Return the index to ask; empty before the first release, unless the user named one. Raises Fault."""
    own = rt.settings.of().update_index
    if find_credentials(own):
        raise make_update_failure(
            E_CONFIG,
            "update.index in config.json holds a password. Nothing was changed.",
            stage="discover",
            hint="Name an index that asks for no login.",
        )
    return own.rstrip("/") or (PUBLIC_INDEX if released.IS_RELEASED else "")


def find_release(
    rt: ReadPorts, updates: Updates, facts: InstallFacts, wish: ReleaseRequest, asked: Asked
) -> FoundRelease:
    """Return a concrete release. Raises Fault; then nothing was changed and the stage is `discover`."""
    index = choose_index(rt)
    try:
        page = updates.fetch(f"{index}/handrail/", LISTING, asked)
        files = read_offered_files(page.content)
    except ValueError as trouble:
        silent = Fault(E_NETWORK, "The index did not answer with a listing in JSON.")
        raise _trouble(silent, asked, wish.again) from trouble
    except Fault as fault:
        raise _trouble(fault, asked, wish.again) from fault
    chosen = (
        choose_version(files, wish.version, facts.python)
        if wish.version
        else choose_newest(files, facts.python)
    )
    if chosen is None:
        raise _not_offered(wish)
    if not fits_python(chosen.requires_python, facts.python):
        raise _does_not_fit(chosen, facts)
    step = _step_to(chosen)
    is_other = step != 0 if wish.version else step > 0
    if is_other and not _is_exact(chosen, page.url):
        raise _not_exact(chosen)
    return FoundRelease(
        facts=facts,
        index=index,
        page=page.url,
        offered=chosen,
        is_newer=step > 0,
        is_other=is_other,
    )


def _trouble(fault: Fault, asked: Asked, again: str) -> Fault:
    if asked() == "signal":
        message = f"Cancelled while looking for a release; nothing was changed, {__version__} is installed."
        return make_update_failure(E_INTERRUPTED, message, stage="discover", more={"committed": False})
    repeat = f"Run {again} again; it is safe to repeat."
    hint = fault.hint or (repeat if fault.kind.is_retryable else CHECK_INDEX)
    message = f"{fault.message} Nothing was changed."
    trouble = make_update_failure(fault.kind, message, stage="discover", hint=hint, more=fault.details)
    trouble.retry_after_ms = fault.retry_after_ms
    return trouble


def _not_offered(wish: ReleaseRequest) -> Fault:
    what = "the release asked for" if wish.version else "a release for this Python"
    return make_update_failure(
        E_NOT_FOUND,
        f"The index does not offer {what}. Nothing was changed.",
        stage="discover",
        hint=CHECK_INDEX,
        more={"resource": "release", "id": wish.version or "handrail"},
    )


def _is_exact(chosen: OfferedFile, page: str) -> bool:
    """Whether the address and the checksum can be passed on unchanged."""
    try:
        address = urljoin(page, chosen.url)
    except ValueError:
        return False
    return bool(_PLAIN.fullmatch(address) and _DIGEST.fullmatch(chosen.sha256))


def _not_exact(chosen: OfferedFile) -> Fault:
    return make_update_failure(
        E_INTEGRITY,
        "The index names no plain web address and SHA-256 of the release. Nothing was changed.",
        stage="discover",
        target=chosen.version,
        hint="Do not try again. Report this to whoever runs the index.",
    )


def _does_not_fit(chosen: OfferedFile, facts: InstallFacts) -> Fault:
    asks = chosen.requires_python[:80]
    return make_update_failure(
        E_NOT_FOUND,
        f"Handrail {chosen.version} is for Python {asks}; this is {facts.python}. Nothing was changed.",
        stage="discover",
        target=chosen.version,
        hint="Leave --target-version out for the newest release for this Python, or use another one.",
        more={"resource": "release", "id": chosen.version},
    )


def _step_to(chosen: OfferedFile) -> int:
    """Return 1 for a newer release, -1 for an older one, 0 for the installed one."""
    current, there = version_key(__version__), version_key(chosen.version)
    assert current is not None, "our own version reads"
    assert there is not None, "only what reads as a version is chosen"
    return (there > current) - (there < current)


# The notice about a newer release

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


_NO_CHANGES: dict[str, list[str]] = {name: [] for name in Changes.__struct_fields__}


class Release(Answer, frozen=True, kw_only=True):
    """One version."""

    version: str
    date: str | None
    changes: Changes


def read_releases(text: str) -> list[Release]:
    """Return the released sections of a changelog, in its order, without Unreleased and link lines."""
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
        Release(version=version, date=date, changes=msgspec.convert(_NO_CHANGES | sections, Changes))
        for version, date, sections in found
        if version
    ]


def _take_line(items: list[str], line: str) -> None:
    """Add a new item, or the next line of the item before."""
    if line.startswith(("- ", "* ")):
        items.append(line[2:].strip())
    elif line.strip() and items and not _LINK.match(line):
        items[-1] = f"{items[-1]} {line.strip()}"


def list_newer_releases(text: str, running: str, latest: str) -> list[Release]:
    """Return the releases after the running version, up to the latest."""
    floor, top = version_key(running), version_key(latest)
    keyed = [(version_key(one.version), one) for one in read_releases(text)]
    return [
        one
        for key, one in keyed
        if key is not None and floor is not None and top is not None and floor < key <= top
    ]


# Checking for a newer release

FRESH_SECONDS = 86_400
"""How long a check for updates is valid."""
UPDATE = "handrail update"
_MOST_METADATA_BYTES = 2_097_152
_HEADING = "\n# Changelog\n"
_RELEASE_PAGE = r"(?im)^Project-URL: *(?:changelog|release notes|releases) *, *(https://[^\s@]{1,300})$"


def make_update_check(
    rt: ReadPorts, updates: Updates, found: FoundRelease, asked: Asked, install: str = UPDATE
) -> UpdateCheck:
    """Return the check to remember, with the notice that later calls show. Missing metadata is no error."""
    return UpdateCheck(
        checked_at=rt.clock.now(),
        checked_unix=rt.clock.unix_seconds(),
        version=__version__,
        latest=found.offered.version,
        index=found.index,
        notice=_notice(rt, updates, found, asked, install) if found.is_newer else None,
    )


def find_fresh_check(rt: ReadPorts, updates: Updates, index: str) -> UpdateCheck | None:
    """Return the last check, if this version made it, of this index, in the last 24 hours."""
    look = updates.last_check()
    if look is None or (look.version, look.index) != (__version__, index):
        return None
    return look if 0 <= rt.clock.unix_seconds() - look.checked_unix < FRESH_SECONDS else None


def _notice(
    rt: ReadPorts, updates: Updates, found: FoundRelease, asked: Asked, install: str
) -> dict[str, Json]:
    """Return the notice of a release: how important it is for the running version, and how to install it."""
    latest = found.offered.version
    metadata = _metadata(updates, found, asked)
    link = re.search(_RELEASE_PAGE, metadata.partition("\n\n")[0])
    is_public = found.index == PUBLIC_INDEX
    page = f"{found.index.removesuffix('/simple')}/project/handrail/{latest}/" if is_public else None
    _, heading, changelog = metadata.rpartition(_HEADING)
    changes = list_newer_releases(changelog, __version__, latest) if heading else []
    is_listed = any(version_key(one.version) == version_key(latest) for one in changes)
    is_grave = is_major_step(__version__, latest) or any(one.changes.security for one in changes)
    return {
        "type": "update_available",
        "severity": "warning" if is_grave else "info",
        "severity_basis": "changelog" if is_listed else "version",
        "current_version": __version__,
        "latest_version": latest,
        "install_method": found.facts.method,
        "recommended_command": install,
        "release_url": link[1] if link else page,
        "checked_at": rt.clock.now(),
        "next_steps": [install, f"handrail changelog --since {__version__}"],
    }


def _metadata(updates: Updates, found: FoundRelease, asked: Asked) -> str:
    """Return the metadata of the release, which ends with its changelog; empty if it cannot be read."""
    offered = found.offered
    if not offered.has_metadata:
        return ""
    address, mark, query = offered.url.partition("?")
    try:
        content = updates.fetch(f"{address}.metadata{mark}{query}", "*/*", asked, found.page).content
    except Fault:
        return ""
    if offered.metadata_sha256 and sha256(content).hexdigest() != offered.metadata_sha256.lower():
        return ""
    return content[:_MOST_METADATA_BYTES].decode("utf-8", "replace").replace("\r\n", "\n")
