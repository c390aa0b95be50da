"""Modules that are named in quotes and not imported, as in `jest.mock("./m")`. Pure.

Such a name is a path relative to its file, and what it does with the module only a run tells. So no edit
changes one: it is listed, keeps a module in place, or refuses a move of the text that it stands in.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from handrail_code.edit.moving.shift import Shift
from handrail_code.edit.moving.specifiers import split_extension
from handrail_code.edit.plan import Refusal
from handrail_code.facts.join import Project
from handrail_code.facts.model import FileFacts, Span
from handrail_code.facts.python_words import is_python
from handrail_code.facts.spelled_names import Trouble, doubt

_MOST_NAMED = 50
_QUOTED = re.compile(rb"""(['"`])([^'"`\n]{1,500})\1""")
_COMMENT = (b"//", b"*", b"/*")
_BY_PATH = re.compile(
    rb"""(?:\brequire\.resolve|\b(?:jest|vi|vitest)\.\w+|\bnew\s+URL|\bnew\s+(?:Shared)?Worker)\s*\(\s*$"""
)
"""What takes the path of a module, whether there is such a file or not."""


def is_named(project: Project, path: str) -> bool:
    """An import of it, or any text in quotes that leads to it, such as that of a mock or a worker."""
    return next(_find_quoted(project, path), None) is not None


def list_named(project: Project, path: str) -> tuple[Trouble, ...]:
    """Where the module is named and not imported, outside of comments."""
    found = []
    for other, place in _find_quoted(project, path):
        facts, text = project.facts(other), project.source.text(other) or b""
        if facts is not None and place.start not in _specifiers(facts):
            found += [] if _is_in_comment(text, place.start) else [doubt("module_named", other, place)]
    return tuple(found[:_MOST_NAMED])


def refuse_paths(shift: Shift) -> None:
    """A path in the moved text would lead elsewhere from another folder."""
    if posixpath.dirname(shift.target) == posixpath.dirname(shift.home):
        return
    for part in shift.extent.parts:
        found = _find_relative(shift.project, shift.home, part.start, part.end)
        if found is not None:
            message = "This path leads elsewhere from another folder; choose a module in the same one."
            raise Refusal("place_dependent", message, shift.home, found)


def _find_relative(project: Project, path: str, start: int, end: int) -> Span | None:
    text, specifiers = project.source.text(path) or b"", _specifiers(project.look(path))
    for found in _QUOTED.finditer(text, start, end):
        spelled = found[2].decode(errors="replace")
        if not spelled.startswith(("./", "../")) or found.start(2) in specifiers:
            continue
        if _is_in_comment(text, found.start()):
            continue
        is_path = _BY_PATH.search(text, max(start, found.start() - 100), found.start()) is not None
        if is_path or project.slots.module_of(path, spelled) is not None:
            return Span(start=found.start(2), end=found.end(2))
    return None


def _find_quoted(project: Project, path: str) -> Iterator[tuple[str, Span]]:
    stem = posixpath.basename(split_extension(path)[0])
    wanted = posixpath.basename(posixpath.dirname(path)) if stem == "index" else stem
    files = project.source.files() if stem == "index" else project.source.candidates(wanted)
    for other in files:
        if other == path or is_python(other):
            continue
        for found in _QUOTED.finditer(project.source.text(other) or b""):
            spelled = found[2].decode(errors="replace")
            is_likely = "." in spelled or wanted in spelled
            if is_likely and project.slots.module_of(other, spelled) == path:
                yield other, Span(start=found.start(2), end=found.end(2))


def _is_in_comment(text: bytes, start: int) -> bool:
    """Recognized by how its line begins."""
    return text[text.rfind(b"\n", 0, start) + 1 : start].lstrip().startswith(_COMMENT)


def _specifiers(facts: FileFacts) -> set[int]:
    """Where imports and exports name their modules."""
    named = {each.module_span.start for each in facts.imports if each.kind != "mentioned"}
    return named | {each.module_span.start for each in facts.exports if each.module_span is not None}
