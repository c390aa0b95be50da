"""What a package index lists, in JSON or HTML, and which release is the one to take. Pure."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import msgspec

from handrail.contract.versions import VersionKey, version_key

_WHEEL = re.compile(r"handrail-([A-Za-z0-9_.!+]+?)(?:-[0-9][^-]*)?-[^-]+-[^-]+-[^-]+\.whl", re.IGNORECASE)
_CLAUSE = re.compile(r"\s*(~=|===?|!=|<=|>=|<|>)\s*([0-9]+(?:\.[0-9]+)*)(\.\*)?\s*")
_FINAL = 4
MOST_FILES = 10_000


class OfferedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One wheel of an index."""

    version: str
    url: str
    sha256: str = ""
    requires_python: str = ""
    is_yanked: bool = False
    has_metadata: bool = False
    filename: str = ""
    provenance: str = ""
    """Where its attestations are (PEP 740); empty when it has none."""


def offered_files(content: bytes, media_type: str) -> list[OfferedFile]:
    """The wheels that a listing names. Raises ValueError when it is no listing."""
    if "json" in media_type:
        return _from_json(content)
    return _from_html(content.decode("utf-8", "replace"))


def offered_names(names: list[str], base: str) -> list[OfferedFile]:
    """The same for a directory that holds the wheels themselves."""
    found = [(name, _WHEEL.fullmatch(name)) for name in sorted(names)[:MOST_FILES]]
    return [OfferedFile(version=match[1], url=f"{base}/{name}") for name, match in found if match]


def best(files: list[OfferedFile], python: str, *, with_pre: bool) -> OfferedFile | None:
    """The newest release that is not withdrawn and fits this Python."""
    fitting = [
        (key, one)
        for one in files
        if not one.is_yanked
        and (key := version_key(one.version)) is not None
        and (with_pre or key[1][0] >= _FINAL)
        and python_fits(one.requires_python, python)
    ]
    return max(fitting, key=lambda pair: pair[0], default=(None, None))[1]


def exactly(files: list[OfferedFile], version: str) -> OfferedFile | None:
    """The release of that version; whoever names one gets it though it was withdrawn."""
    wanted = version_key(version)
    return next((one for one in files if version_key(one.version) == wanted), None)


def python_fits(specifier: str, python: str) -> bool:
    """Whether a Python version is one that a release asks for; what cannot be read fits nobody."""
    given = _numbers(python)
    for clause in filter(str.strip, specifier.split(",")):
        match = _CLAUSE.fullmatch(clause)
        if match is None or not _holds(match[1], given, _numbers(match[2]), is_prefix=bool(match[3])):
            return False
    return True


def _holds(sign: str, given: tuple[int, ...], wanted: tuple[int, ...], *, is_prefix: bool) -> bool:
    size = max(len(given), len(wanted))
    padded, asked = given + (0,) * (size - len(given)), wanted + (0,) * (size - len(wanted))
    is_equal = given[: len(wanted)] == wanted if is_prefix else padded == asked
    match sign:
        case "==" | "===":
            return is_equal
        case "!=":
            return not is_equal
        case ">=":
            return padded >= asked
        case "<=":
            return padded <= asked
        case ">":
            return padded > asked
        case "<":
            return padded < asked
        case _:  # ~= 3.11: from there on, within 3
            return padded >= asked and given[: len(wanted) - 1] == wanted[:-1]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall("[0-9]+", version)[:6])


def _from_json(content: bytes) -> list[OfferedFile]:
    try:
        listed = msgspec.json.decode(content, type=dict[str, Any])["files"][:MOST_FILES]
        return [one for file in listed if (one := _of_json_file(file)) is not None]
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError) as trouble:
        raise ValueError("it is no listing of a package") from trouble


def _of_json_file(file: dict[str, Any]) -> OfferedFile | None:
    match = _WHEEL.fullmatch(str(file.get("filename", "")))
    if match is None:
        return None
    return OfferedFile(
        version=match[1],
        url=str(file["url"]),
        sha256=str(file.get("hashes", {}).get("sha256", "")),
        requires_python=str(file.get("requires-python") or ""),
        is_yanked=bool(file.get("yanked", False)),
        has_metadata=bool(file.get("core-metadata") or file.get("dist-info-metadata")),
        filename=match[0],
        provenance=str(file.get("provenance") or ""),
    )


class _Links(HTMLParser):
    """Every link of a page with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a" and len(self.found) < MOST_FILES:
            self.found.append(dict(attrs))


def _from_html(text: str) -> list[OfferedFile]:
    links = _Links()
    links.feed(text)
    found = []
    for link in links.found:
        address, _, fragment = (link.get("href") or "").partition("#")
        match = _WHEEL.fullmatch(address.rpartition("/")[2])
        if match is not None:
            found.append(
                OfferedFile(
                    version=match[1],
                    url=address,
                    sha256=fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else "",
                    requires_python=unescape(link.get("data-requires-python") or ""),
                    is_yanked="data-yanked" in link,
                    has_metadata="data-core-metadata" in link or "data-dist-info-metadata" in link,
                    filename=match[0],
                    provenance=unescape(link.get("data-provenance") or ""),
                )
            )
    return found


def is_major_step(current: str, latest: str) -> bool:
    before, after = version_key(current), version_key(latest)
    return before is not None and after is not None and _major(after) > _major(before)


def _major(key: VersionKey) -> int:
    return key[0][0]
