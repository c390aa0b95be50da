"""Checks of named places: whether the file exists, inside the project, with that line."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, TypeAlias, assert_never

import msgspec

from handrail.host.bounds import HIDDEN, Bounds
from handrail.host.private_files import is_below, open_regular_file
from handrail.ports.worktree import (
    MOST_PLACE_BYTES,
    MOST_PLACES,
    LocatedFile,
    PlaceAsked,
    PlaceSeen,
    PlaceState,
)

_TOO_MANY = f"only {MOST_PLACES} places are looked at in one call"
_TOO_LARGE = f"the file is larger than {MOST_PLACE_BYTES:,} bytes".replace(",", " ")
_NOT_LISTED = "git does not list it: it is ignored, or of another repository"
_BETWEEN_PATHS = re.compile(r"[\s,;:()@#]+")
_A_PATH = re.compile(r"[/\\][^/\\]*\.\w+$")


def see_places(
    bounds: Bounds,
    asked: Sequence[PlaceAsked],
    find_unlisted: Callable[[Bounds, Sequence[str]], Collection[str]] = lambda *_: (),
) -> tuple[PlaceSeen, ...]:
    """Return one answer per place. Each file is read once, and none that is in no tree, because a guess
    about it proves nothing.
    """
    if bounds.trouble:
        return tuple(_answer(place, "unreadable", bounds.trouble) for place in asked)
    read_now = [place for place in asked[:MOST_PLACES] if place.line > 0]
    texts = {one for place in read_now for one in (place.path, place.written)}
    named = {one.real for one in (find_named(bounds, text) for text in texts if text) if one.state == "there"}
    paths = sorted(os.path.relpath(real, bounds.root) for real in named)
    read: dict[str, _Text | PlaceSeen] = {
        os.path.join(bounds.root, path): PlaceSeen(path=path, state="unreadable", note=_NOT_LISTED)
        for path in (find_unlisted(bounds, paths) if paths else ())
    }
    seen = [_see(bounds, place, read) for place in asked[:MOST_PLACES]]
    seen += [_answer(place, "unreadable", _TOO_MANY) for place in asked[MOST_PLACES:]]
    return tuple(seen)


class _Text:
    """A file as lines."""

    def __init__(self, content: bytes) -> None:
        text = _decode(content)
        text = text.replace("\r\n", "\n")
        text = text if "\n" in text else text.replace("\r", "\n")
        self.lines = text.removesuffix("\n").split("\n")
        """An empty file has one line, as editors show it."""


def _see(bounds: Bounds, place: PlaceAsked, read: dict[str, _Text | PlaceSeen]) -> PlaceSeen:
    if place.written and find_named(bounds, place.written).state == "there":
        place = msgspec.structs.replace(place, path=place.written, line=0, end=0, written="")
    named = find_named(bounds, place.path)
    match named.state:
        case "outside":
            return _answer(place, "outside")
        case "linked_out":
            return _answer(place, "outside", "a link leads out of there")
        case "impossible":
            return _answer(place, "missing", "no file can have this name")
        case "absent":
            return _see_loose_text(bounds, place)
        case "there":
            return _see_file(bounds, named.real, place, read)
        case "hidden":
            return _answer(place, "unreadable", HIDDEN)
        case never:
            assert_never(never)


def _see_file(bounds: Bounds, real: str, place: PlaceAsked, read: dict[str, _Text | PlaceSeen]) -> PlaceSeen:
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
    if place.line <= 0:
        return _answer(place, "here")
    closed = bounds.explain_closed(os.path.relpath(real, bounds.root), found)
    if closed:
        return _answer(place, "unreadable", closed)
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
    return _answer(place, "here")


def _see_text(place: PlaceAsked, text: _Text) -> PlaceSeen:
    last = max(place.line, place.end)
    if last > len(text.lines):
        seen = msgspec.structs.replace(place, line=last)
        return _answer(seen, "line_missing", _count_lines(len(text.lines)))
    return _answer(place, "here")


def _see_loose_text(bounds: Bounds, place: PlaceAsked) -> PlaceSeen:
    """A text that is no path: what it means is unknown, if the paths in it are there."""
    text = place.written or place.path
    if "://" in text:
        return _answer(place, "unreadable", "it is an address, and not a path")
    if any(mark in text for mark in "*?{"):
        return _answer(place, "unreadable", "it is a pattern, and not a path")
    words = [word for word in _BETWEEN_PATHS.split(text) if word]
    there = [word for word in words if find_named(bounds, word).state == "there"]
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


def _decode(content: bytes) -> str:
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _answer(place: PlaceAsked, state: PlaceState, note: str = "") -> PlaceSeen:
    return PlaceSeen(path=place.path, line=place.line, state=state, note=note)


def _count_lines(count: int) -> str:
    return "the file has 1 line" if count == 1 else f"the file has {count} lines"


# Which file a text means, however it is written: quoted, absolute, with other separators, through a link.
#
# People and programs write one path in many ways: `./src/a.py`, `"src/a b.py"`, git's `"src/\303\244.py"`,
# `src\a.py`, the absolute path, or one through a link. The text as it is comes first; another reading
# counts
# only if something is there. What lies outside the project is recognised by its name, and is not looked at.


_PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "<": ">"}
_ESCAPED = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_SHOWN = re.compile(r"\\x([89a-f][0-9a-f])")
"""How our own answers show a byte that is not UTF-8 (`contract.wording.make_readable`)."""
_FILE_ADDRESS = "file://"
_MOST_CHARACTERS = 4_096

NamedState: TypeAlias = Literal["there", "absent", "outside", "linked_out", "impossible", "hidden"]


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """The meaning of a text: a path below the project, and the place to which its links lead."""

    state: NamedState
    path: str = ""
    """Relative path with the links of its folders resolved; empty for the project itself, and if they lead
    outside.
    """
    real: str = ""
    """Absolute path without any link; empty outside of the project."""


def find_named(bounds: Bounds, text: str) -> Named:
    """Return the first reading of the text for which a file exists, else the text as it is written."""
    first: Named | None = None
    for written in dict.fromkeys(_readings(text)):
        named = _find_written(bounds, written)
        if named.state == "there":
            return named
        first = first or named
    assert first is not None, "the text itself is a reading"
    return first


def _list_readings(bounds: Bounds, text: str) -> tuple[str, ...]:
    """Return every path below the project that the text may mean: for a file that is gone, none can be
    excluded.
    """
    found = (_find_written(bounds, written) for written in dict.fromkeys(_readings(text)))
    return tuple(dict.fromkeys(named.path for named in found if named.path))


def locate(bounds: Bounds, text: str) -> LocatedFile:
    """Return the file that a text means, as trees name it."""
    named, root = find_named(bounds, text), bounds.root
    if named.state == "absent" and not os.path.lexists(os.path.join(root, named.path)):
        return LocatedFile(paths=_list_readings(bounds, text))
    paths = [named.path, os.path.relpath(named.real, root) if named.real not in ("", root) else ""]
    return LocatedFile(paths=tuple(dict.fromkeys(filter(None, paths))))


def _find_written(bounds: Bounds, written: str) -> Named:
    root = bounds.root
    inside = _place_inside(root, written)
    if inside is None:
        return Named(state="outside")
    if bounds.is_hidden_place(inside):  # no answer says whether it is there
        return Named(state="hidden", path=os.path.relpath(inside, root))
    try:
        folder, name = os.path.split(inside)
        at_link = os.path.join(os.path.realpath(folder), name) if inside != root else root
        real = os.path.realpath(inside)
    except (ValueError, UnicodeError):  # a null byte, or half of a surrogate pair
        return Named(state="impossible")
    path = os.path.relpath(at_link, root) if is_below(at_link, root) and at_link != root else ""
    if not is_below(real, root):
        return Named(state="linked_out", path=path)
    if bounds.is_hidden_place(at_link) or bounds.is_hidden_place(real):
        return Named(state="hidden", path=path)
    state: NamedState = "there" if os.path.lexists(real) else "absent"
    return Named(state=state, path=path, real=real)


def _place_inside(root: str, written: str) -> str | None:
    """Return the absolute path, if it is below the project by its name."""
    spelt = os.path.expanduser(written) if written.startswith("~/") else written
    named = os.path.normpath(os.path.join(root, spelt))
    if is_below(named, root):
        return named
    above = named
    while above != os.path.dirname(above):
        # The project behind a link, as /tmp is on some machines: only what is called like it is looked at.
        if os.path.basename(above) == os.path.basename(root) and _is_same(above, root):
            return os.path.normpath(os.path.join(root, os.path.relpath(named, above)))
        above = os.path.dirname(above)
    return None


def _is_same(path: str, root: str) -> bool:
    try:
        return os.path.realpath(path) == root
    except (ValueError, UnicodeError):
        return False


def _readings(text: str) -> Iterator[str]:
    """Yield the text as it is, and its other possible meanings."""
    readings = [text[:_MOST_CHARACTERS]]
    bare = text.strip()[:_MOST_CHARACTERS]
    if len(bare) > 2 and _PAIRS.get(bare[0]) == bare[-1]:
        readings.append(bare[1:-1])
        readings += [_unescape(bare[1:-1])] if bare[0] == '"' and "\\" in bare else []
    if bare.startswith(_FILE_ADDRESS):
        readings.append(bare.removeprefix(_FILE_ADDRESS).replace("%20", " "))
    readings += [_SHOWN.sub(_read_byte, one) for one in readings if _SHOWN.search(one)]
    readings += [one.replace("\\", "/") for one in readings if "\\" in one]
    readings += [one[2:] for one in readings if one.startswith(("a/", "b/"))]  # as a diff names them
    for one in readings:
        yield one
        yield unicodedata.normalize("NFC", one)
        yield unicodedata.normalize("NFD", one)


def _unescape(text: str) -> str:
    """As git prints a name that is not plain ASCII: its bytes in octal."""
    spelt = text.encode("utf-8", "surrogateescape").decode("latin-1")
    return _ESCAPED.sub(_read_escape, spelt).encode("latin-1").decode("utf-8", "surrogateescape")


def _read_escape(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) == 3:
        return chr(int(code, 8) & 0xFF)
    return chr(_LETTERS[code]) if code in _LETTERS else code


def _read_byte(found: re.Match[str]) -> str:
    return bytes([int(found[1], 16)]).decode("utf-8", "surrogateescape")
