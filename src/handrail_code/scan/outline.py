"""What one file defines, and what it takes from and gives to others. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from handrail_code.facts.join import Found, Project
from handrail_code.facts.model import FileFacts, Import, Links
from handrail_code.facts.python_words import is_python

_LEFT_OUT = frozenset({"parameter", "type_parameter", "label", "import"})


class Dependency(msgspec.Struct, frozen=True, kw_only=True):
    """One module that a file takes something from."""

    module: str
    path: str
    """Its file; empty for a package or what cannot be resolved."""
    is_resolved: bool
    names: tuple[str, ...]
    start: int


class Importer(msgspec.Struct, frozen=True, kw_only=True):
    """One place that takes something from a file."""

    path: str
    start: int
    names: tuple[str, ...]


class ModuleGraph:
    """Who imports whom, over all files: each is read once, when the first question needs it."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._importers: dict[str, list[Importer]] | None = None

    def importers_of(self, path: str) -> list[Importer]:
        if self._importers is None:
            self._importers = {}
            for importing in self._project.source.files():
                links = self._project.slots.links(importing)
                for one in list_dependencies(self._project, importing, links):
                    if one.path:
                        importer = Importer(path=importing, start=one.start, names=one.names)
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
