"""Looking at named places: is the file there, inside the project, with that line and that text."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from functools import cached_property
from typing import assert_never

import msgspec

from handrail.host.private_files import open_regular_file
from handrail.host.worktree.quotations import QuotedFile, is_near
from handrail.host.worktree.spelling import find_named
from handrail.ports.worktree import (
    MOST_PLACE_BYTES,
    MOST_PLACES,
    PlaceAsked,
    PlaceSeen,
    PlaceState,
)

_TOO_MANY = f"only {MOST_PLACES} places are looked at in one call"
_TOO_LARGE = f"the file is larger than {MOST_PLACE_BYTES:,} bytes".replace(",", " ")
_BETWEEN_PATHS = re.compile(r"[\s,;:()@#]+")
_A_PATH = re.compile(r"[/\\][^/\\]*\.\w+$")


def see_places(project: str, asked: Sequence[PlaceAsked]) -> tuple[PlaceSeen, ...]:
    """One answer per place; each file is read once."""
    root = os.path.realpath(project)
    read: dict[str, _Text | PlaceSeen] = {}
    seen = [_see(root, place, read) for place in asked[:MOST_PLACES]]
    seen += [_answer(place, "unreadable", _TOO_MANY) for place in asked[MOST_PLACES:]]
    return tuple(seen)


class _Text:
    """A file as lines; searched for quotations only if one is asked for."""

    def __init__(self, content: bytes) -> None:
        self.is_whole, text = _decode(content)
        text = text.replace("\r\n", "\n")
        text = text if "\n" in text else text.replace("\r", "\n")
        self.lines = text.removesuffix("\n").split("\n")
        """An empty file has one line, as editors show it."""

    @cached_property
    def quoted(self) -> QuotedFile:
        return QuotedFile(self.lines)


def _see(root: str, place: PlaceAsked, read: dict[str, _Text | PlaceSeen]) -> PlaceSeen:
    if place.written and find_named(root, place.written).state == "there":
        place = msgspec.structs.replace(place, path=place.written, line=0, end=0, written="")
    named = find_named(root, place.path)
    match named.state:
        case "outside":
            return _answer(place, "outside")
        case "linked_out":
            return _answer(place, "outside", "a link leads out of there")
        case "impossible":
            return _answer(place, "missing", "no file can have this name")
        case "absent":
            return _see_loose_text(root, place)
        case "there":
            return _see_file(named.real, place, read)
        case never:
            assert_never(never)


def _see_file(real: str, place: PlaceAsked, read: dict[str, _Text | PlaceSeen]) -> PlaceSeen:
    try:
        found = os.stat(real)
    except (FileNotFoundError, NotADirectoryError):
        return _answer(place, "missing")
    except OSError:
        return _answer(place, "unreadable", "it may not be read")
    if stat.S_ISDIR(found.st_mode):
        return _see_directory(place)
    if not stat.S_ISREG(found.st_mode):
        return _answer(place, "unreadable", "it is not a regular file")
    if place.line <= 0 and not place.quote:
        return _answer(place, "here")
    if found.st_size > MOST_PLACE_BYTES:
        return _answer(place, "unreadable", _TOO_LARGE)
    if real not in read:
        read[real] = _read(real, place)
    content = read[real]
    if isinstance(content, PlaceSeen):
        return _answer(place, content.state, content.note)
    return _see_text(place, content)


def _see_directory(place: PlaceAsked) -> PlaceSeen:
    if place.line > 0:
        return _answer(place, "line_missing", "it is a directory")
    if place.quote:
        return _answer(place, "quote_missing", "it is a directory")
    return _answer(place, "here")


def _see_text(place: PlaceAsked, text: _Text) -> PlaceSeen:
    last = max(place.line, place.end)
    if last > len(text.lines):
        seen = msgspec.structs.replace(place, line=last)
        return _answer(seen, "line_missing", _count_lines(len(text.lines)))
    if not place.quote.strip():
        return _answer(place, "here")
    found = text.quoted.find(place.quote, place.line, last)
    if not found and not text.is_whole:
        return _answer(place, "unreadable", "its text is not UTF-8")
    if found and (place.line <= 0 or is_near(found, place.line, last)):
        return _answer(place, "here")
    return _answer(place, "quote_missing", f"it stands at line {found}" if found else "")


def _see_loose_text(root: str, place: PlaceAsked) -> PlaceSeen:
    """A text that is no path: what it means is unknown, if the paths in it are there."""
    text = place.written or place.path
    if "://" in text:
        return _answer(place, "unreadable", "it is an address, and not a path")
    if any(mark in text for mark in "*?{"):
        return _answer(place, "unreadable", "it is a pattern, and not a path")
    words = [word for word in _BETWEEN_PATHS.split(text) if word]
    there = [word for word in words if find_named(root, word).state == "there"]
    if len(words) > 1 and there and not any(_A_PATH.search(word) for word in words if word not in there):
        return _answer(place, "unreadable", f"only the path {there[0]} in it could be looked for")
    return _answer(place, "missing")


def _read(path: str, place: PlaceAsked) -> _Text | PlaceSeen:
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            content = file.read(MOST_PLACE_BYTES + 1)
    except OSError:
        return _answer(place, "unreadable", "it may not be read")
    if len(content) > MOST_PLACE_BYTES:
        return _answer(place, "unreadable", _TOO_LARGE)
    return _Text(content)


def _decode(content: bytes) -> tuple[bool, str]:
    """Whether every byte could be read, and the text."""
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    try:
        return True, content.decode(encoding)
    except UnicodeDecodeError:
        return False, content.decode("latin-1")


def _answer(place: PlaceAsked, state: PlaceState, note: str = "") -> PlaceSeen:
    return PlaceSeen(path=place.path, line=place.line, state=state, note=note)


def _count_lines(count: int) -> str:
    return "the file has 1 line" if count == 1 else f"the file has {count} lines"
