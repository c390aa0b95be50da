"""Callers or callees of a definition to a depth, as a tree. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from handrail_code.facts.join import Found, Project, Reference
from handrail_code.facts.slots import Trouble
from handrail_code.scan.callers import find_callers, find_uses, list_callees
from handrail_code.scan.ids import make_id

MOST_TRACED = 200
"""Definitions of one tree; what is beyond is counted."""


class Traced(msgspec.Struct, frozen=True, kw_only=True):
    """One definition of the tree, below the one that it calls (or that calls it)."""

    found: Found | None
    """None for the top of a file, and for what comes from elsewhere."""
    path: str
    name: str
    depth: int = 0
    parent: int = -1
    """Its place in the list; -1 below the one that was asked about."""
    spots: tuple[int, ...]
    """Where the calls are, as offsets in `spot_path`."""
    spot_path: str
    is_repeated: bool = False
    """It is in the tree already, and is not followed again."""


class TraceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    nodes: tuple[Traced, ...]
    left_out: int
    unsure: tuple[Reference | Trouble, ...]
    """Uses that may be calls, and are not followed."""
    troubles: tuple[Trouble, ...]


def trace_callers(project: Project, found: Found, depth: int) -> TraceAnswer:
    """Who calls it, who calls those, and so on; breadth first, by path and place."""
    unsure: dict[tuple[str, int], Reference | Trouble] = {}
    troubles: dict[tuple[str, str, int], Trouble] = {}

    def list_callers(current: Found) -> Iterator[Traced]:
        callers = find_callers(project, current, find_uses(project, current))
        unsure.update({(one.path, one.start): one for one in callers.unsure})
        troubles.update({(one.code, one.path, one.start): one for one in callers.troubles})
        for one in callers.known:
            name = "" if one.found is None else one.found.definition.name
            yield Traced(found=one.found, path=one.path, name=name, spots=one.starts, spot_path=one.path)

    nodes, left_out = _grow(found, depth, list_callers)
    return TraceAnswer(
        nodes=nodes,
        left_out=left_out,
        unsure=tuple(unsure[key] for key in sorted(unsure)),
        troubles=tuple(troubles[key] for key in sorted(troubles)),
    )


def trace_callees(project: Project, found: Found, depth: int) -> TraceAnswer:
    """What it calls, what those call, and so on. What cannot be told is in the tree without a definition."""

    def list_called(current: Found) -> Iterator[Traced]:
        for one in list_callees(project, current):
            path = "" if one.found is None else one.found.path
            yield Traced(found=one.found, path=path, name=one.name, spots=(one.start,), spot_path=one.path)

    nodes, left_out = _grow(found, depth, list_called)
    return TraceAnswer(nodes=nodes, left_out=left_out, unsure=(), troubles=())


def _grow(
    found: Found, depth: int, list_next: Callable[[Found], Iterator[Traced]]
) -> tuple[tuple[Traced, ...], int]:
    """The tree below a definition, level by level, and how many did not fit."""
    nodes: list[Traced] = []
    seen = {make_id(found)}
    left_out = 0
    waiting: list[tuple[Found, int, int]] = [(found, -1, 1)]
    while waiting:
        current, parent, level = waiting.pop(0)
        for one in list_next(current):
            if len(nodes) == MOST_TRACED:
                left_out += 1
                continue
            # The top of a file is told by its path; what comes from elsewhere by nothing.
            name = one.path if one.found is None else make_id(one.found)
            is_repeated = bool(name) and name in seen
            seen.add(name)
            nodes.append(msgspec.structs.replace(one, depth=level, parent=parent, is_repeated=is_repeated))
            if one.found is not None and not is_repeated and level < depth:
                waiting.append((one.found, len(nodes) - 1, level + 1))
    return tuple(nodes), left_out
