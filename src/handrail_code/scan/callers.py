"""Who uses a definition and what it uses: the steps that analyze, trace and ripple are made of. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from handrail_code.facts.join import Found, Project, Reference
from handrail_code.facts.model import NONE, FileFacts, Use
from handrail_code.facts.python_words import is_python
from handrail_code.facts.slots import Local, Shared, Trouble

CALLS = frozenset({"call", "jsx"})
_CARRIERS = frozenset({"function", "class", "method", "variable", "property"})
_TEST = re.compile(
    r"(^|/)(__tests__|tests?|spec)/|[._-](test|spec)\.[cm]?[jt]sx?$|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$"
)


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that means a definition, and what may mean it."""

    sure: tuple[Reference, ...]
    unsure: tuple[Reference, ...]
    troubles: tuple[Trouble, ...]


class Callee(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a definition calls."""

    name: str
    path: str
    start: int
    found: Found | None
    """Its definition; none for what comes from elsewhere or cannot be told."""


def find_uses(project: Project, found: Found) -> Used:
    """References to a definition. Of a member nothing is sure but itself."""
    symbol = project.symbol_of(found.path, found.index)
    if symbol is None:
        return _find_member_uses(project, found)
    references = project.references(symbol)
    sure = tuple(one for one in references.items if one.level in ("exact", "alias"))
    unsure = tuple(one for one in references.items if one.level not in ("exact", "alias"))
    return Used(sure=sure, unsure=unsure, troubles=references.reasons)


def find_around(project: Project, path: str, index: int) -> Found | None:
    """The nearest function, class, method or variable that holds a place; None at the top of a file."""
    facts = project.facts(path)
    while facts is not None and index != NONE:
        definition = facts.definitions[index]
        if definition.kind in _CARRIERS:
            return Found(path=path, index=index, definition=definition)
        index = definition.container
    return None


def list_callees(project: Project, found: Found) -> list[Callee]:
    """What is called inside a definition, in order; each name once."""
    facts = project.facts(found.path)
    if facts is None:
        return []
    definition = found.definition
    callees: dict[tuple[str, str, int], Callee] = {}
    for use in facts.uses:
        if use.role in CALLS and definition.extent_start <= use.start < definition.extent_end:
            target = _find_target(project, found.path, use)
            key = (use.name, target.path if target else "", target.index if target else NONE)
            callees.setdefault(key, Callee(name=use.name, path=found.path, start=use.start, found=target))
    for member in facts.members:
        if member.role in CALLS and definition.extent_start <= member.start < definition.extent_end:
            key = ("." + member.name, "", NONE)
            callees.setdefault(key, Callee(name=member.name, path=found.path, start=member.start, found=None))
    return sorted(callees.values(), key=lambda one: one.start)


def is_test(path: str) -> bool:
    """Whether a file holds tests, told by its path."""
    return _TEST.search(path) is not None


def find_home(project: Project, facts: FileFacts, path: str, binding: int) -> Found | None:
    """The definition of a binding of this file."""
    del facts
    slot = project.slots.home_of(project.slots.slot_of_binding(path, binding))
    if not isinstance(slot, Local):
        return None
    home = project.facts(slot.path)
    for index, definition in enumerate(home.definitions if home is not None else ()):
        if definition.binding == slot.binding:
            return Found(path=slot.path, index=index, definition=definition)
    return None


def _find_target(project: Project, path: str, use: Use) -> Found | None:
    facts = project.facts(path)
    if facts is None or use.binding == NONE:
        return None
    return find_home(project, facts, path, use.binding)


def _find_member_uses(project: Project, found: Found) -> Used:
    """Every member of this name: which object it is of is not known."""
    name = found.definition.name
    sure = Reference(
        path=found.path,
        start=found.definition.start,
        end=found.definition.end,
        role="declaration",
        level="exact",
        definition=found.definition.container,
    )
    unsure: list[Reference] = []
    candidates = [
        path for path in project.source.candidates(name) if is_python(path) == is_python(found.path)
    ]
    for path in candidates:
        facts = project.facts(path)
        if facts is None:
            continue
        unsure += [
            Reference(
                path=path,
                start=member.start,
                end=member.end,
                role=member.role,
                level="member",
                definition=member.definition,
            )
            for member in facts.members
            if member.name == name and (path, member.start) != (found.path, found.definition.start)
        ]
    troubles = project.troubles(candidates, [Shared(name=name)])
    return Used(sure=(sure,), unsure=_sort(unsure), troubles=troubles)


def _sort(references: Sequence[Reference]) -> tuple[Reference, ...]:
    return tuple(sorted(references, key=lambda one: (one.path, one.start)))
