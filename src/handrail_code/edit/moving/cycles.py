"""Modules that import each other: a move makes no circle in which a name is used too early. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail_code.edit.moving.meanings import edited_project
from handrail_code.edit.moving.shift import Shift
from handrail_code.edit.plan import Plan, Refusal
from handrail_code.facts.join import Project
from handrail_code.facts.model import NONE, FileFacts, Import
from handrail_code.languages.javascript.layout import read_layout

MAX_MODULES = 5_000


def refuse_cycles(shift: Shift, plan: Plan) -> Refusal | None:
    """Refused where a new circle is loaded in an order that nobody chose."""
    edited = edited_project(shift.project, plan)
    if isinstance(edited, Refusal):
        return edited
    graphs = (Graph(shift.project), Graph(edited))
    for path in sorted({edit.path for edit in plan.edits}):
        new = set(graphs[1].loaded_by(path)) - set(graphs[0].loaded_by(path))
        for target in sorted(new):
            if path not in graphs[1].reach(target):
                continue
            if path in graphs[0].reach(target) and target in graphs[0].reach(path):
                continue
            refusal = _refuse_circle(edited, graphs[1], path, target)
            if refusal is not None:
                return refusal
    return None


class Graph:
    """Which module loads which when it is loaded itself; imports of types load nothing."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._loaded: dict[str, list[str]] = {}
        self._reached: dict[str, set[str]] = {}

    def loaded_by(self, path: str) -> list[str]:
        if path not in self._loaded:
            self._loaded[path] = list(self._read(path))
        return self._loaded[path]

    def _read(self, path: str) -> Iterator[str]:
        facts = self._project.facts(path)
        if facts is None:
            return
        modules = [each.module for each in facts.imports if is_loaded(facts, path, each)]
        modules += [each.module for each in facts.exports if each.module and not each.is_type_only]
        for module in modules:
            found = self._project.slots.module_of(path, module)
            if found is not None and found != path:
                yield found

    def reach(self, path: str) -> set[str]:
        if path not in self._reached:
            seen: set[str] = set()
            waiting = [path]
            while waiting and len(seen) < MAX_MODULES:
                for other in self.loaded_by(waiting.pop()):
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
            self._reached[path] = seen
        return self._reached[path]


def is_loaded(facts: FileFacts, path: str, found: Import) -> bool:
    """An import that does something at run time; TypeScript drops one that only types use."""
    if found.is_type_only or found.kind in ("dynamic", "type", "mentioned"):
        return False
    if found.binding == NONE or not path.endswith((".ts", ".tsx", ".mts", ".cts")):
        return True
    uses = [facts.uses[at] for at in facts.bindings[found.binding].uses]
    return any(use.role not in ("declaration", "import", "type", "doc") for use in uses)


def _refuse_circle(edited: Project, graph: Graph, path: str, target: str) -> Refusal | None:
    circle = {each for each in graph.reach(target) if path in graph.reach(each)} | {target, path}
    for each in sorted(circle):
        facts = edited.facts(each)
        layout = read_layout(each, edited.source.text(each) or b"")
        for found in facts.imports if facts is not None else ():
            inside = edited.slots.module_of(each, found.module)
            if facts is None or inside not in circle or inside == each or not is_loaded(facts, each, found):
                continue
            is_early = facts.is_commonjs and layout.runs_on_load(found.statement.start)
            for at in facts.bindings[found.binding].uses if found.binding != NONE else ():
                use = facts.uses[at]
                is_value = use.role not in ("declaration", "import", "type", "doc", "export", "pattern")
                is_early = is_early or (is_value and layout.runs_on_load(use.start))
            if is_early:
                return Refusal(
                    code="cycle",
                    message=(
                        f"{path} and {target} would load each other; {each} needs {inside} when it is loaded."
                    ),
                    path=path if edited.facts(path) is not None and path in circle else each,
                )
    return None
