"""Looking at named places: is the file there, inside the project, with that line and that text."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from handrail.host.private_files import open_regular_file
from handrail.ports.worktree import (
    MOST_PLACE_BYTES,
    MOST_PLACES,
    QUOTE_REACH,
    PlaceAsked,
    PlaceSeen,
    PlaceState,
)

_TOO_MANY = f"only {MOST_PLACES} places are looked at in one call"
_TOO_LARGE = f"the file is larger than {MOST_PLACE_BYTES:,} bytes".replace(",", " ")


def see_places(project: str, asked: Sequence[PlaceAsked]) -> tuple[PlaceSeen, ...]:
    """One answer per place; each file is read once."""
    root = os.path.realpath(project)
    read: dict[str, bytes | PlaceSeen] = {}
    seen = [_see(root, place, read) for place in asked[:MOST_PLACES]]
    seen += [_answer(place, "unreadable", _TOO_MANY) for place in asked[MOST_PLACES:]]
    return tuple(seen)


def _see(root: str, place: PlaceAsked, read: dict[str, bytes | PlaceSeen]) -> PlaceSeen:
    try:
        named = os.path.normpath(os.path.join(root, place.path))
        real = os.path.realpath(named)
    except ValueError:  # a null byte, or half of a surrogate pair
        return _answer(place, "missing", "no file can have this name")
    if not (_is_inside(named, root) and _is_inside(real, root)):
        return _answer(place, "outside", "" if not _is_inside(named, root) else "a link leads out of there")
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


def _see_text(place: PlaceAsked, content: bytes) -> PlaceSeen:
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    if place.line > len(lines):
        return _answer(place, "line_missing", _count_lines(len(lines)))
    quote = _squeeze(place.quote.encode("utf-8", "surrogatepass"))
    if not quote:
        return _answer(place, "here")
    if place.line > 0:
        height = place.quote.strip().count("\n")
        lines = lines[max(0, place.line - 1 - QUOTE_REACH) : place.line + height + QUOTE_REACH]
    if quote in _squeeze(b"\n".join(lines)):
        return _answer(place, "here")
    return _answer(place, "quote_missing")


def _read(path: str, place: PlaceAsked) -> bytes | PlaceSeen:
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            content = file.read(MOST_PLACE_BYTES + 1)
    except OSError:
        return _answer(place, "unreadable", "it may not be read")
    if len(content) > MOST_PLACE_BYTES:
        return _answer(place, "unreadable", _TOO_LARGE)
    return content


def _answer(place: PlaceAsked, state: PlaceState, note: str = "") -> PlaceSeen:
    return PlaceSeen(path=place.path, line=place.line, state=state, note=note)


def _count_lines(count: int) -> str:
    return "the file has 1 line" if count == 1 else f"the file has {count} lines"


def _squeeze(text: bytes) -> bytes:
    """The words with one space between: indentation and line ends do not count."""
    return b" ".join(text.split())


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
