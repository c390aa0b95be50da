"""What the identifier at a place means, for tests that mark one: the tools begin at definitions."""

from __future__ import annotations

from handrail_code.facts.join import Project, Symbol
from handrail_code.facts.model import NONE, Use
from handrail_code.facts.python_words import is_python
from handrail_code.facts.spelled_names import Exported, Shared, Slot


def symbol_at(project: Project, path: str, offset: int) -> Symbol | None:
    """In its own file: an import means its local name."""
    slot = _slot_at(project, path, offset)
    return None if slot is None else project.symbol_of_slot(slot)


def _slot_at(project: Project, path: str, offset: int) -> Slot | None:
    facts = project.facts(path)
    if facts is None:
        return None
    for use in facts.uses:
        if use.start <= offset < use.end or offset == use.start:
            return _slot_of_use(project, path, use)
    for found in facts.imports:
        span = found.imported_span
        if span is not None and span.start <= offset < span.end:
            return project.slots.slot_of_import(path, found)
    for export in facts.exports:
        span = export.exported_span
        if span is not None and span.start <= offset < span.end:
            return Exported(path=path, name=export.exported)
    for member in facts.members:
        if member.start <= offset < member.end:
            return project.slots.slot_of_member(path, facts, member)
    return None


def _slot_of_use(project: Project, path: str, use: Use) -> Slot | None:
    if use.binding != NONE:
        return project.slots.slot_of_binding(path, use.binding)
    return project.slots.python.slot_of_use(path, use) if is_python(path) else _find_global(project, use.name)


def _find_global(project: Project, name: str) -> Slot | None:
    for path in project.slots.candidates(name):
        facts = project.facts(path)
        for at, each in enumerate(facts.bindings if facts is not None else ()):
            if each.name == name and isinstance(project.slots.slot_of_binding(path, at), Shared):
                return Shared(name=name)
    return None
