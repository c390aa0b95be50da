"""Which file a text means, however it is written: quoted, absolute, with other separators, through a link.

People and programs write one path in many ways: `./src/a.py`, `"src/a b.py"`, git's `"src/\\303\\244.py"`,
`src\\a.py`, the absolute path, or one through a link. The text as it is comes first; another reading counts
only if something is there. What lies outside the project is recognised by its name, and is not looked at.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from handrail.host.private_files import is_below
from handrail.host.worktree.bounds import Bounds

_PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "<": ">"}
_ESCAPED = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_SHOWN = re.compile(r"\\x([89a-f][0-9a-f])")
"""As our own answers show a byte that is no UTF-8 (`contract.wording.make_readable`)."""
_FILE_ADDRESS = "file://"
_MOST_CHARACTERS = 4_096

NamedState: TypeAlias = Literal["there", "absent", "outside", "linked_out", "impossible", "hidden"]


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """What a text means: a path below the project, and the place that its links lead to."""

    state: NamedState
    path: str = ""
    """Relative, the links of its folders resolved; empty for the project itself, and where those lead out."""
    real: str = ""
    """Absolute, without any link; empty outside."""


def find_named(bounds: Bounds, text: str) -> Named:
    """The first reading of the text at which something is, else the text as it is written."""
    first: Named | None = None
    for written in dict.fromkeys(_read(text)):
        named = _find(bounds, written)
        if named.state == "there":
            return named
        first = first or named
    assert first is not None, "the text itself is a reading"
    return first


def list_readings(bounds: Bounds, text: str) -> tuple[str, ...]:
    """Every path below the project that the text may mean: of what is gone, nobody can tell which."""
    found = (_find(bounds, written) for written in dict.fromkeys(_read(text)))
    return tuple(dict.fromkeys(named.path for named in found if named.path))


def _find(bounds: Bounds, written: str) -> Named:
    root = bounds.root
    inside = _place_inside(root, written)
    if inside is None:
        return Named(state="outside")
    if bounds.is_hidden_place(inside):  # nobody is told whether it is there
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
    """The absolute path, if it is below the project by its name."""
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


def _read(text: str) -> Iterator[str]:
    """The text as it is, and what else it may mean."""
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
