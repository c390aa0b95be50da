"""What one file defines, takes and gives; and what may break when a definition changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from handrail_code.facts.join import Found, Project, Reference
from handrail_code.facts.model import FileFacts, Import, Links
from handrail_code.facts.python_words import is_python
from handrail_code.facts.spelled_names import Trouble
from handrail_code.scan.callers import find_uses, is_test

_LEFT_OUT = frozenset({"parameter", "type_parameter", "label", "import"})


class Dependency(msgspec.Struct, frozen=True, kw_only=True):
    """One module that a file takes something from, or one place that takes something from a file."""

    module: str = ""
    path: str
    """Its file; empty for a package or what cannot be resolved."""
    is_resolved: bool = True
    names: tuple[str, ...]
    start: int


class ModuleGraph:
    """Who imports whom, over all files: each is read once, when the first question needs it."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._importers: dict[str, list[Dependency]] | None = None

    def importers_of(self, path: str) -> list[Dependency]:
        if self._importers is None:
            self._importers = {}
            for importing in self._project.source.files():
                links = self._project.slots.links(importing)
                for one in list_dependencies(self._project, importing, links):
                    if one.path:
                        importer = Dependency(path=importing, start=one.start, names=one.names)
                        self._importers.setdefault(one.path, []).append(importer)
        forms = (path, *self._project.slots.twins.of(path))
        found = [one for form in forms for one in self._importers.get(form, [])]
        return sorted(found, key=lambda one: (one.path, one.start))


def outline(path: str, facts: FileFacts) -> Iterator[Found]:
    """The definitions of a file in their order, without parameters and imports."""
    for index, definition in enumerate(facts.definitions):
        if definition.kind not in _LEFT_OUT:
            yield Found(path=path, index=index, definition=definition)


def list_dependencies(project: Project, path: str, facts: FileFacts | Links) -> list[Dependency]:
    """The modules of a file's imports and re-exports, each once, in their order."""
    taken: dict[tuple[str, str], tuple[int, list[str]]] = {}
    for one in facts.imports:
        if one.module and one.kind != "mentioned":
            key = (one.module, _find_submodule(project, path, one))
            taken.setdefault(key, (one.module_span.start, []))[1].append(one.imported)
    for export in facts.exports:
        if export.module and export.module_span is not None:
            taken.setdefault((export.module, ""), (export.module_span.start, []))[1].append(
                export.imported or export.exported
            )
    dependencies = []
    for (module, submodule), (start, names) in taken.items():
        found = submodule or project.slots.module_of(path, module)
        dependencies.append(
            Dependency(
                module=module,
                path=found or "",
                is_resolved=found is not None or not module.startswith((".", "/", "#")),
                names=tuple(sorted({name for name in names if name})),
                start=start,
            )
        )
    return sorted(dependencies, key=lambda one: (one.start, one.module))


def _find_submodule(project: Project, path: str, one: Import) -> str:
    """The file of `b` in `from a import b`, where that is a module of its own."""
    if not is_python(path) or one.imported in ("", "*"):
        return ""
    if project.slots.slot_of_import(path, one) is not None:
        return ""
    found = project.slots.python.module_of_import(path, one)
    return "" if found is None or found.endswith("/") else found


def list_exports(facts: FileFacts) -> list[str]:
    """The names that a file gives to others."""
    return sorted({one.exported for one in facts.exports})


MOST_LAYERS = 10
MOST_UNSURE_POINTS = 20
HIGHEST_SCORE = 100

Risk: TypeAlias = Literal["low", "medium", "high"]


class RippleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    layers: tuple[tuple[str, ...], ...]
    """First the files that use it, then those that import them, and so on; each file once."""
    entry_points: tuple[str, ...]
    """Files that a package.json names, among them."""
    tests: tuple[str, ...]
    score: int
    risk: Risk
    unsure: tuple[Reference, ...]
    troubles: tuple[Trouble, ...]


def ripple(project: Project, graph: ModuleGraph, found: Found) -> RippleAnswer:
    """The score is a sum with a ceiling, so that it can be checked by hand:

    10 if it is exported, 20 if an entry point of a package reaches it,
    3 for each file that uses it (or names a member so), 1 for each file that only imports one of those,
    2 for each place that may mean it and cannot be proven, at most 20 for these,
    10 if files could not be judged, 10 if no test reaches it; at most 100.

    Below 25 it is low, below 60 medium, else high.
    """
    used = find_uses(project, found)
    is_member = project.symbol_of(found.path, found.index) is None
    near = (one for one in used.unsure if is_member and one.level == "member")
    layers = [sorted({one.path for one in (*used.sure, *near)} - {found.path})]
    reached = {found.path, *layers[0]}
    is_public = found.definition.exported
    # What a file does with its own helper reaches those who import the file.
    is_used_here = is_member or any(one.role != "declaration" for one in used.sure)
    front = [*layers[0], *([found.path] if is_public or is_used_here else [])]
    while front and len(layers) < MOST_LAYERS:
        further = sorted({one.path for path in front for one in graph.importers_of(path)} - reached)
        if not further:
            break
        layers.append(further)
        reached |= set(further)
        front = further
    entries = sorted(path for path in reached if project.slots.modules.is_entry(path))
    tests = sorted(path for path in reached if is_test(path))
    direct, unsure = len(layers[0]), min(MOST_UNSURE_POINTS, 2 * len(used.unsure))
    points = 10 * is_public + 20 * bool(entries) + 3 * direct + (len(reached) - 1 - direct)
    score = min(HIGHEST_SCORE, points + unsure + 10 * bool(used.reasons) + 10 * (not tests))
    return RippleAnswer(
        layers=tuple(tuple(layer) for layer in layers),
        entry_points=tuple(entries),
        tests=tuple(tests),
        score=score,
        risk="low" if score < 25 else "medium" if score < 60 else "high",
        unsure=tuple(used.unsure),
        troubles=used.reasons,
    )
