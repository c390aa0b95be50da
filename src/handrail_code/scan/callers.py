"""Who uses a definition and what it uses: the steps that analyze, trace and ripple are made of. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from handrail_code.facts.class_members import find_member_uses
from handrail_code.facts.join import Found, Project, Reference, refer
from handrail_code.facts.model import NONE, Use
from handrail_code.facts.python_words import is_python
from handrail_code.facts.slots import Shared, Trouble
from handrail_code.facts.spelled_names import doubt

CALLS = frozenset({"call", "jsx"})
_HANDED_ON = frozenset({"read", "shorthand", "base"})
"""Uses after which anybody may call it."""
_CARRIERS = frozenset({"function", "class", "method", "variable", "property"})
_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.DOTALL)
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


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls it; none for the top of a file."""

    found: Found | None
    path: str
    starts: tuple[int, ...]


class Callers(msgspec.Struct, frozen=True, kw_only=True):
    known: tuple[Caller, ...]
    """By path and place."""
    unsure: tuple[Reference | Trouble, ...]
    """Uses that may be calls or lead to some."""
    troubles: tuple[Trouble, ...]
    """Why there may be more."""


def find_callers(project: Project, found: Found, used: Used) -> Callers:
    """Who calls a definition. Where it is handed on as a value, nobody can tell who calls it then."""
    grouped: dict[tuple[str, int], list[int]] = {}
    holders: dict[tuple[str, int], Found | None] = {}
    for one in used.sure:
        if one.role in CALLS:
            around = find_around(project, one.path, one.definition)
            key = (one.path, NONE if around is None else around.index)
            grouped.setdefault(key, []).append(one.start)
            holders[key] = around
    values = tuple(_list_handed_on(project, found, used))
    is_member = project.symbol_of(found.path, found.index) is None
    unsure = [one for one in used.unsure if one.role in CALLS or (is_member and one.role != "declaration")]
    return Callers(
        known=tuple(
            Caller(found=holders[key], path=key[0], starts=tuple(grouped[key])) for key in sorted(grouped)
        ),
        unsure=(*unsure, *values),
        troubles=(*used.troubles, *values),
    )


def _list_handed_on(project: Project, found: Found, used: Used) -> Iterator[Trouble]:
    for one in used.sure:
        if one.role in _HANDED_ON and not _is_known_export(project, one):
            yield doubt("used_as_value", one.path, one)
    if _is_decorated(project, found):
        yield doubt("used_as_value", found.path, found.definition)


def _is_known_export(project: Project, one: Reference) -> bool:
    """`f` in `module.exports = {f}`: what others do with that is among the references."""
    spans = (export.local_span for export in project.slots.links(one.path).exports)
    return any(span is not None and span.start == one.start for span in spans)


def _is_decorated(project: Project, found: Found) -> bool:
    """A decorator gets the thing, unless it is known to hand it back."""
    facts, text = project.look(found.path), project.source.text(found.path) or b""
    if is_python(found.path):
        start = found.definition.start
        return any(each.kind == "decorator" and each.start == start for each in facts.dynamic)
    head = text[found.definition.extent_start : found.definition.start]
    return b"@" in _COMMENT.sub(b"", head)


def find_uses(project: Project, found: Found) -> Used:
    """References to a definition. Of a member whose class is not proven nothing is sure but itself."""
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
    facts, definition = project.look(found.path), found.definition
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


def _find_target(project: Project, path: str, use: Use) -> Found | None:
    """The definition behind a use, in whatever file."""
    slot = None if use.binding == NONE else project.home_of(path, use.binding)
    for index, definition in enumerate(project.look(slot.path).definitions if slot is not None else ()):
        if slot is not None and definition.binding == slot.binding:
            return Found(path=slot.path, index=index, definition=definition)
    return None


def _find_member_uses(project: Project, found: Found) -> Used:
    """Where the class is proven, its own; every other member of this name is of an unknown object."""
    known = find_member_uses(project, found)
    if known is not None:
        return Used(sure=known.proven, unsure=_sort(known.unsure), troubles=known.troubles)
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
        unsure += [
            refer(path, member, "member")
            for member in project.look(path).members
            if member.name == name and (path, member.start) != (found.path, found.definition.start)
        ]
    unproven = doubt("unproven_member", found.path, found.definition)
    troubles = (unproven, *project.troubles(candidates, [Shared(name=name)]))
    return Used(sure=(sure,), unsure=_sort(unsure), troubles=troubles)


def _sort(references: Sequence[Reference]) -> tuple[Reference, ...]:
    return tuple(sorted(references, key=lambda one: (one.path, one.start)))
