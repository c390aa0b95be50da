"""Modules that import each other: a move makes no circle in which a name is used too early. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

from handrail_code.edit.moving.shift import Shift
from handrail_code.edit.plan import Plan, Refusal
from handrail_code.facts.join import Project
from handrail_code.facts.model import NONE, FileFacts, Import
from handrail_code.languages.javascript.layout import read_layout

MAX_MODULES = 5_000
MAX_CIRCLE = 400
"""In a larger circle every early use is refused, whatever the order."""
Early: TypeAlias = tuple[str, str, str]
"""A module that needs a name of another one when it is loaded: the module, the other, the name."""


def refuse_cycles(shift: Shift, plan: Plan, edited: Project) -> None:
    """Refused where a module of a circle would need a name before the other module has made it.

    Which module of a circle is loaded first is up to whoever imports it. So each is tried, and what is too
    early then must have been so before.
    """
    graphs = (Graph(shift.project), Graph(edited))
    for path in sorted({edit.path for edit in plan.edits}):
        circle = {each for each in graphs[1].reach(path) if path in graphs[1].reach(each)}
        before = _list_too_early(graphs[0], circle) if len(circle) <= MAX_CIRCLE else ()
        known = {(root, use[0], use[2]) for root, use in before}
        for root, (each, inside, name) in _list_too_early(graphs[1], circle):
            if (root, each, name) not in known:
                message = (
                    f"{each} and {inside} would load each other; {each} needs {inside} when it is loaded."
                )
                raise Refusal("cycle", message, path)


def _list_too_early(graph: Graph, circle: set[str]) -> Iterator[tuple[str, Early]]:
    """Which module was loaded first, and what it makes too early."""
    uses = [use for each in sorted(circle) for use in graph.early(each) if use[1] in circle]
    for root in sorted(circle) if uses else ():
        order = graph.order_from(root, circle) if len(circle) <= MAX_CIRCLE else dict.fromkeys(circle, 0)
        yield from ((root, use) for use in uses if use[0] in order and order[use[0]] <= order[use[1]])


class Graph:
    """Which module loads which when it is loaded itself; imports of types load nothing."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.loaded_by: Callable[[str], list[str]] = cache(lambda path: list(self._read(path)))
        self.reach: Callable[[str], set[str]] = cache(self._reach)
        self.early: Callable[[str], list[Early]] = cache(lambda path: list(self._read_early(path)))
        """What a module needs of others when it is loaded."""

    def _read(self, path: str) -> Iterator[str]:
        facts = self._project.look(path)
        spans = [(each.module_span, each.module) for each in facts.imports if is_loaded(facts, path, each)]
        taken = [each for each in facts.exports if each.module_span and not each.is_type_only]
        spans += [(each.module_span, each.module) for each in taken if each.module_span]
        for _, module in sorted(spans):
            found = self._project.slots.module_of(path, module)
            if found is not None and found != path:
                yield found

    def _reach(self, path: str) -> set[str]:
        seen: set[str] = set()
        waiting = [path]
        while waiting and len(seen) < MAX_MODULES:
            for other in self.loaded_by(waiting.pop()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return seen

    def order_from(self, root: str, circle: set[str]) -> dict[str, int]:
        """When each module of the circle has run, if this one is loaded first."""
        order: dict[str, int] = {}
        seen, waiting = {root}, [(root, iter(self.loaded_by(root)))]
        while waiting:
            path, rest = waiting[-1]
            new = next((each for each in rest if each in circle and each not in seen), None)
            if new is None:
                order[path] = len(order)
                waiting.pop()
            else:
                seen.add(new)
                waiting.append((new, iter(self.loaded_by(new))))
        return order

    def _read_early(self, path: str) -> Iterator[Early]:
        facts = self._project.facts(path)
        if facts is None:
            return
        layout = read_layout(path, self._project.source.text(path) or b"")
        for found in facts.imports:
            inside = self._project.slots.module_of(path, found.module)
            if inside is None or inside == path or not is_loaded(facts, path, found):
                continue
            is_early = facts.is_commonjs and layout.runs_on_load(found.statement.start)
            for at in facts.bindings[found.binding].uses if found.binding != NONE else ():
                use = facts.uses[at]
                is_value = use.role not in ("declaration", "import", "type", "doc", "export", "pattern")
                is_early = is_early or (is_value and layout.runs_on_load(use.start))
            if is_early:
                yield path, inside, found.imported


def is_loaded(facts: FileFacts, path: str, found: Import) -> bool:
    """An import that does something at run time; TypeScript drops one that only types use."""
    if found.is_type_only or found.kind in ("dynamic", "type", "mentioned"):
        return False
    if found.binding == NONE or not path.endswith((".ts", ".tsx", ".mts", ".cts")):
        return True
    uses = [facts.uses[at] for at in facts.bindings[found.binding].uses]
    return any(use.role not in ("declaration", "import", "type", "doc") for use in uses)
