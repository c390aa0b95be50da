"""Who uses a definition and what it uses; and both to a depth, as a tree. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from handrail.contract.outcome import make_from
from handrail_code.facts.class_members import find_member_uses
from handrail_code.facts.join import Found, Project, Reference, References, refer
from handrail_code.facts.model import NONE, Use
from handrail_code.facts.python_words import is_python
from handrail_code.facts.spelled_names import Shared, Trouble, doubt
from handrail_code.scan.ids import make_id

CALLS = frozenset({"call", "jsx"})
_HANDED_ON = frozenset({"read", "shorthand", "base"})
"""Uses after which anybody may call it."""
_CARRIERS = frozenset({"function", "class", "method"})
_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.DOTALL)
_TEST = re.compile(
    r"(^|/)(__tests__|tests?|spec)/|[._-](test|spec)\.[cm]?[jt]sx?$|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$"
)


class Linked(msgspec.Struct, frozen=True, kw_only=True):
    """What calls a definition, or is called in it; in a tree, below that one."""

    found: Found | None
    """None for the top of a file, and for what comes from elsewhere or is unknown."""
    name: str
    spots: tuple[int, ...]
    """Where the calls are, as offsets in `spot_path`."""
    spot_path: str
    depth: int = 0
    parent: int = -1
    """Its place in the list; -1 below the one that was asked about."""
    is_repeated: bool = False
    """It is in the tree already, and is not followed again."""


class Callers(msgspec.Struct, frozen=True, kw_only=True):
    known: tuple[Linked, ...]
    """By path and place."""
    unsure: tuple[Reference | Trouble, ...]
    """Uses that may be calls or lead to some."""
    troubles: tuple[Trouble, ...]
    """Why there may be more."""


def find_callers(project: Project, found: Found, used: References) -> Callers:
    """Who calls a definition. Where it is handed on as a value, nobody can tell who calls it then."""
    grouped: dict[tuple[str, int], list[int]] = {}
    holders: dict[tuple[str, int], Found | None] = {}
    for one in used.sure:
        if one.role in CALLS:
            around = _find_around(project, one.path, one.definition)
            key = (one.path, NONE if around is None else around.index)
            grouped.setdefault(key, []).append(one.start)
            holders[key] = around
    values = tuple(_list_handed_on(project, found, used))
    is_member = project.symbol_of(found.path, found.index) is None
    unsure = [one for one in used.unsure if one.role in CALLS or (is_member and one.role != "declaration")]
    return Callers(
        known=tuple(_link(holders[key], "", key[0], grouped[key]) for key in sorted(grouped)),
        unsure=(*unsure, *values),
        troubles=(*used.reasons, *values),
    )


def _link(found: Found | None, name: str, path: str, spots: Sequence[int]) -> Linked:
    shown = name or ("" if found is None else found.definition.name)
    return Linked(found=found, name=shown, spots=tuple(spots), spot_path=path)


def _list_handed_on(project: Project, found: Found, used: References) -> Iterator[Trouble]:
    for one in used.sure:
        is_read = one.role in _HANDED_ON and not _is_known_export(project, one)
        if is_read or _is_handed_on_at_once(project, one):
            yield doubt("used_as_value", one.path, one)
    if _is_decorated(project, found) or _is_value(project, found):
        yield doubt("used_as_value", found.path, found.definition)


def _is_handed_on_at_once(project: Project, one: Reference) -> bool:
    """`f = x.g = …` and `{f: g} = module`: whoever calls g calls f."""
    facts = project.look(one.path)
    members = facts.members if one.role == "pattern" else ()
    return any(each.start == one.start and each.role == "pattern" for each in members) or any(
        each.start == one.start and each.kind == "handed_on" for each in facts.dynamic
    )


def _is_value(project: Project, found: Found) -> bool:
    """`x = function f() {}`: the name is known inside alone, and the function goes elsewhere."""
    facts, binding = project.look(found.path), found.definition.binding
    return binding != NONE and facts.scopes[facts.bindings[binding].scope].kind == "name"


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


def find_uses(project: Project, found: Found) -> References:
    """References to a definition. Of a member whose class is not proven nothing is sure but itself."""
    symbol = project.symbol_of(found.path, found.index)
    if symbol is None:
        return _find_member_uses(project, found)
    return project.references(symbol)


def _find_around(project: Project, path: str, index: int) -> Found | None:
    """The nearest function, class or method that holds a place; None at the top of a file.

    A variable or a property carries a call only if its value is a function: one that holds the result of a
    call does not call.
    """
    facts = project.facts(path)
    while facts is not None and index != NONE:
        definition = facts.definitions[index]
        if definition.kind in _CARRIERS or definition.complexity:
            return Found(path=path, index=index, definition=definition)
        index = definition.container
    return None


def list_callees(project: Project, found: Found) -> list[Linked]:
    """What is called inside a definition, in order; each name once."""
    facts, definition = project.look(found.path), found.definition
    callees: dict[tuple[str, str, int], Linked] = {}
    for use in facts.uses:
        if use.role in CALLS and definition.extent_start <= use.start < definition.extent_end:
            target = _find_target(project, found.path, use)
            key = (use.name, target.path if target else "", target.index if target else NONE)
            callees.setdefault(key, _link(target, use.name, found.path, [use.start]))
    for member in facts.members:
        if member.role in CALLS and definition.extent_start <= member.start < definition.extent_end:
            key = ("." + member.name, "", NONE)
            callees.setdefault(key, _link(None, member.name, found.path, [member.start]))
    return sorted(callees.values(), key=lambda one: one.spots)


def is_test(path: str) -> bool:
    """Whether a file holds tests, by its path."""
    return _TEST.search(path) is not None


def _find_target(project: Project, path: str, use: Use) -> Found | None:
    """The definition behind a use, in whatever file."""
    slot = None if use.binding == NONE else project.home_of(path, use.binding)
    for index, definition in enumerate(project.look(slot.path).definitions if slot is not None else ()):
        if slot is not None and definition.binding == slot.binding:
            return Found(path=slot.path, index=index, definition=definition)
    return None


def _find_member_uses(project: Project, found: Found) -> References:
    """Where the class is proven, its own; every other member of this name is of an unknown object."""
    known = find_member_uses(project, found)
    if known is not None:
        return References(items=_sort([*known.proven, *known.unsure]), reasons=known.troubles)
    name = found.definition.name
    own = {"path": found.path, "definition": found.definition.container}
    sure = make_from(Reference, found.definition, role="declaration", level="exact", **own)
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
    return References(items=(sure, *_sort(unsure)), reasons=troubles)


def _sort(references: Sequence[Reference]) -> tuple[Reference, ...]:
    return tuple(sorted(references, key=lambda one: (one.path, one.start)))


MOST_TRACED = 200
"""Definitions of one tree; what is beyond is counted."""


class TraceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    nodes: tuple[Linked, ...]
    left_out: int
    unsure: tuple[Reference | Trouble, ...]
    """Uses that may be calls, and are not followed."""
    troubles: tuple[Trouble, ...]


def trace_callers(project: Project, found: Found, depth: int) -> TraceAnswer:
    """Who calls it, who calls those, and so on; breadth first, by path and place."""
    unsure: dict[tuple[str, int], Reference | Trouble] = {}
    troubles: dict[tuple[str, str, int], Trouble] = {}

    def list_callers(current: Found) -> Sequence[Linked]:
        callers = find_callers(project, current, find_uses(project, current))
        unsure.update({(one.path, one.start): one for one in callers.unsure})
        troubles.update({(one.code, one.path, one.start): one for one in callers.troubles})
        return callers.known

    nodes, left_out = _grow(found, depth, list_callers)
    return TraceAnswer(
        nodes=nodes,
        left_out=left_out,
        unsure=tuple(unsure[key] for key in sorted(unsure)),
        troubles=tuple(troubles[key] for key in sorted(troubles)),
    )


def trace_callees(project: Project, found: Found, depth: int) -> TraceAnswer:
    """What it calls, what those call, and so on. What is unknown is in the tree without a definition."""
    nodes, left_out = _grow(found, depth, partial(list_callees, project))
    return TraceAnswer(nodes=nodes, left_out=left_out, unsure=(), troubles=())


def _grow(
    found: Found, depth: int, list_next: Callable[[Found], Sequence[Linked]]
) -> tuple[tuple[Linked, ...], int]:
    """The tree below a definition, level by level, and how many did not fit."""
    nodes: list[Linked] = []
    seen = {make_id(found)}
    left_out = 0
    waiting: list[tuple[Found, int, int]] = [(found, -1, 1)]
    while waiting:
        current, parent, level = waiting.pop(0)
        for one in list_next(current):
            if len(nodes) == MOST_TRACED:
                left_out += 1
                continue
            # The top of a file has no name and is shown by its path; what comes from elsewhere by nothing.
            name = ("" if one.name else one.spot_path) if one.found is None else make_id(one.found)
            is_repeated = bool(name) and name in seen
            seen.add(name)
            nodes.append(msgspec.structs.replace(one, depth=level, parent=parent, is_repeated=is_repeated))
            if one.found is not None and not is_repeated and level < depth:
                waiting.append((one.found, len(nodes) - 1, level + 1))
    return tuple(nodes), left_out
