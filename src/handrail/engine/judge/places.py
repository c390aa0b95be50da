"""The places of the project that a report names, and what was found there. Pure.

A text that is not clearly a place is looked up as it is. Quotations are not compared: a reader of the
report has the actual lines beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias, assert_never

import msgspec

from handrail.contract.wording import make_readable
from handrail.engine.judge.computed import ChangedFile
from handrail.workflows.evidence import PathExists, PlaceExists

PlaceState: TypeAlias = Literal["here", "missing", "outside", "unreadable", "line_missing"]

_PLACE = re.compile(
    r"(?P<path>.+?)(?:(?::L?|#L|,?\s+lines?\s+|\()(?P<line>[1-9]\d{0,8})"
    r"(?:\s*[-–]\s*L?(?P<end>\d{1,9}))?(?:[:,]\d{1,9}(?:-\d{1,9})?)?\)?)?"
)
_WRAPPED = re.compile(r"([\"'`])(?P<text>[^\"'`]+)\1")


_ANY_PLACE = PlaceExists(at="/place")


class AskedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A place of the project that a report names; line 0 means the file as a whole."""

    path: str
    line: int = 0
    end: int = 0
    """The last line, if several are named."""
    written: str = ""
    """The text from which path and line were read, if it differs."""


class SeenPlace(msgspec.Struct, frozen=True, kw_only=True):
    """What was found at a place; `note` says why it could not be read."""

    path: str
    line: int = 0
    state: PlaceState
    note: str = ""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What must be read before a report can be judged."""

    places: tuple[AskedPlace, ...] = ()
    wants_changes: bool = False
    """Whether the files that changed since the run began are filled in."""
    change: str | None = None
    """The change whose files the report has to name, as an input gives it; None if it need not."""


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed in the working tree for one attempt."""

    places: Mapping[AskedPlace, SeenPlace] = {}
    deleted: frozenset[str] = frozenset()
    """Paths of missing places that were there when the run began."""
    tree: str = ""
    """The id of the whole tree; empty if it was not read, or could not be."""
    trouble: str = ""
    """Why the files could not be read."""
    changes: tuple[ChangedFile, ...] | None = None
    """Every file that changed since the run began; None if not requested or not readable."""
    named_change: tuple[str, ...] | None = None
    """The files of the change that an input names; None if not requested or not known."""
    change_trouble: str = ""
    """Why the files of the named change are not known."""
    machine: str = ""
    """Machine whose team client read the files; empty for this one."""


def read_place(rule: PathExists | PlaceExists, text: str, around: dict[str, Any]) -> AskedPlace:
    """Return the place that a text means, with the line that is given beside it."""
    if isinstance(rule, PathExists):
        return AskedPlace(path=text.strip().removeprefix("./"))
    bare = text.strip()
    wrapped = _WRAPPED.fullmatch(bare)
    path, line, end = (wrapped["text"] if wrapped else bare).removeprefix("./"), 0, 0
    found = _PLACE.fullmatch(path)
    if found is not None and found["line"]:
        path, line = found["path"], int(found["line"])
        end = int(found["end"] or 0) if int(found["end"] or 0) > line else 0
    written = bare if path != bare.removeprefix("./") else ""
    beside = around.get(rule.line) if rule.line else None
    if isinstance(beside, int) and not isinstance(beside, bool):
        line, end = beside, 0
    return AskedPlace(path=path, line=line, end=end, written=written)


def list_uncovered(files: Iterable[str], named: Iterable[str]) -> list[str]:
    """Return the files that no name covers: a path, a folder of the project, or a pattern with `*`."""
    places = [read_place(_ANY_PLACE, one, {}).path.rstrip("/") for one in named]
    wanted = [place for place in places if place not in ("", ".", "*", "**", "**/*")]
    return [path for path in files if not any(_covers(place, path) for place in wanted)]


def _covers(place: str, path: str) -> bool:
    return place == path or path.startswith(f"{place}/") or ("*" in place and fnmatchcase(path, place))


def describe_place(seen: SeenPlace) -> str:
    """Return what is wrong with a place; empty if nothing is, or if it is not known."""
    path = make_readable(seen.path)
    match seen.state:
        case "missing":
            return f"{path} is not in the project"
        case "outside":
            return f"{path} is not inside the project"
        case "line_missing":
            return f"{path} has no line {seen.line}"
        case "here" | "unreadable":
            return ""
        case never:
            assert_never(never)
