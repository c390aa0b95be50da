"""Versions, the listing of a package index in JSON, and which release to install. Pure."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

from handrail.contract.catalogue import (
    E_AUTH,
    E_CONFLICT,
    E_FORBIDDEN,
    E_NETWORK,
    E_NOT_FOUND,
    E_RATE_LIMITED,
    E_SERVER,
    E_TIMEOUT,
    E_UNKNOWN,
    E_VALIDATION,
    Kind,
)

# Ordering versions: 1.10 comes after 1.9, and 1.9rc1 before it

VersionKey: TypeAlias = tuple[tuple[int, ...], tuple[int, int]]

_VERSION = re.compile(
    r"v?(?P<numbers>[0-9]{1,9}(?:\.[0-9]{1,9}){0,5})"
    r"(?:[-._]?(?P<stage>dev|alpha|a|beta|b|preview|pre|rc|c)[-._]?(?P<stage_number>[0-9]{0,9}))?"
    r"(?:[-._]?(?P<after>post)[-._]?(?P<after_number>[0-9]{0,9}))?"
    r"(?:\+[A-Za-z0-9.-]{1,64})?",
    re.ASCII | re.IGNORECASE,
)
_STAGES = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3, "preview": 3}
_FINAL_VERSION, _AFTER = 4, 5


def version_key(text: str) -> VersionKey | None:
    """What orders a version: its numbers, then where it stands before or after the final one; None if the
    text is no version.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    numbers = tuple(int(part) for part in match["numbers"].split("."))
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers = numbers[:-1]  # 1.0 and 1.0.0 are one version
    if match["stage"]:
        return numbers, (_STAGES[match["stage"].lower()], int(match["stage_number"] or 0))
    if match["after"]:
        return numbers, (_AFTER, int(match["after_number"] or 0))
    return numbers, (_FINAL_VERSION, 0)


# Listings

_WHEEL = re.compile(r"handrail-([A-Za-z0-9_.!+]+?)(?:-[0-9][^-]*)?-[^-]+-[^-]+-[^-]+\.whl", re.IGNORECASE)
_OLDEST = re.compile(r"\s*>=\s*([0-9]+(?:\.[0-9]+)*)")
MOST_FILES = 10_000


class OfferedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One wheel of an index."""

    version: str
    url: str
    sha256: str = ""
    requires_python: str = ""
    is_yanked: bool = False
    has_metadata: bool = False
    """Whether its metadata stands beside it as a file of its own (PEP 658)."""
    metadata_sha256: str = ""
    filename: str = ""
    provenance: str = ""
    """Where its attestations are (PEP 740); empty when it has none."""


def choose_newest(files: list[OfferedFile], python: str) -> OfferedFile | None:
    """The newest release that is final, not withdrawn and fits this Python."""
    fitting = [
        (key, one)
        for one in files
        if not one.is_yanked
        and (key := version_key(one.version)) is not None
        and key[1][0] >= _FINAL_VERSION
        and fits_python(one.requires_python, python)
    ]
    return max(fitting, key=lambda pair: pair[0], default=(None, None))[1]


def choose_version(files: list[OfferedFile], version: str, python: str) -> OfferedFile | None:
    """The release of that version, even if it was withdrawn.

    A file that does not fit this Python is returned only if there is no other; the caller then refuses it.
    """
    wanted = version_key(version)
    named = [one for one in files if version_key(one.version) == wanted]
    fitting = [one for one in named if fits_python(one.requires_python, python)]
    return next(iter(fitting or named), None)


def fits_python(specifier: str, python: str) -> bool:
    """Whether a release accepts a Python version; ours name the oldest one and nothing else."""
    oldest = _OLDEST.match(specifier)
    return oldest is None or _numbers(oldest[1]) <= _numbers(python)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall("[0-9]+", version)[:6])


def read_offered_files(content: bytes) -> list[OfferedFile]:
    """The wheels that a listing names. Raises ValueError when it is no listing in JSON."""
    try:
        listing = msgspec.json.decode(content, type=dict[str, Any])
        if str(listing.get("meta", {}).get("api-version", "1.0")).partition(".")[0] != "1":
            raise ValueError("it is a listing of a later kind")
        return [one for file in listing["files"][:MOST_FILES] if (one := _of_json_file(file)) is not None]
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, RecursionError) as trouble:
        raise ValueError("it is no listing of a package") from trouble


def _of_json_file(file: dict[str, Any]) -> OfferedFile | None:
    match = _WHEEL.fullmatch(str(file.get("filename", "")))
    if match is None:
        return None
    metadata = file.get("core-metadata")
    return OfferedFile(
        version=match[1],
        url=str(file["url"]),
        sha256=str(file.get("hashes", {}).get("sha256", "")),
        requires_python=str(file.get("requires-python") or ""),
        is_yanked=bool(file.get("yanked", False)),
        has_metadata=bool(metadata),
        metadata_sha256=str(metadata.get("sha256", "")) if isinstance(metadata, dict) else "",
        filename=match[0],
        provenance=str(file.get("provenance") or ""),
    )


def is_major_step(current: str, latest: str) -> bool:
    before, after = version_key(current), version_key(latest)
    return before is not None and after is not None and after[0][0] > before[0][0]


# What an upstream's HTTP answer means for our caller: by status, never by the words of a message.


_BY_STATUS = {
    401: E_AUTH,
    403: E_FORBIDDEN,
    404: E_NOT_FOUND,
    408: E_TIMEOUT,
    409: E_CONFLICT,
    429: E_RATE_LIMITED,
}
_SECONDS = re.compile("[0-9]{1,9}")


def kind_of_upstream(status: int | None) -> Kind:
    """The kind for a status that is not a success; None means that no answer came (refused, DNS, reset)."""
    if status is None:
        return E_NETWORK
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 500 <= status <= 599:
        return E_SERVER
    return E_VALIDATION if 400 <= status <= 499 else E_UNKNOWN


def wait_ms_of_header(retry_after: str | None) -> int | None:
    """The wait that a `Retry-After` header in seconds asks for; None leaves the row's own wait.

    The header's date form needs a clock to read, and there is none here.
    """
    if retry_after is None or not _SECONDS.fullmatch(retry_after.strip()):
        return None
    return int(retry_after) * 1000
