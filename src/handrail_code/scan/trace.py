"""Callers or callees of a definition to a depth, as a tree. Pure."""

from __future__ import annotations

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
    depth: int
    parent: int
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
    nodes: list[Traced] = []
    unsure: dict[tuple[str, int], Reference | Trouble] = {}
    troubles: dict[tuple[str, str, int], Trouble] = {}
    seen = {make_id(found)}
    left_out = 0
    waiting: list[tuple[Found, int, int]] = [(found, -1, 1)]
    while waiting:
        current, parent, level = waiting.pop(0)
        callers = find_callers(project, current, find_uses(project, current))
        unsure |= {(one.path, one.start): one for one in callers.unsure}
        troubles |= {(one.code, one.path, one.start): one for one in callers.troubles}
        for caller in callers.known:
            if len(nodes) == MOST_TRACED:
                left_out += 1
                continue
            around = caller.found
            name = make_id(around) if around is not None else caller.path
            is_repeated = name in seen
            seen.add(name)
            nodes.append(
                Traced(
                    found=around,
                    path=caller.path,
                    name="" if around is None else around.definition.name,
                    depth=level,
                    parent=parent,
                    spots=caller.starts,
                    spot_path=caller.path,
                    is_repeated=is_repeated,
                )
            )
            if around is not None and not is_repeated and level < depth:
                waiting.append((around, len(nodes) - 1, level + 1))
    return TraceAnswer(
        nodes=tuple(nodes),
        left_out=left_out,
        unsure=tuple(unsure[key] for key in sorted(unsure)),
        troubles=tuple(troubles[key] for key in sorted(troubles)),
    )


def trace_callees(project: Project, found: Found, depth: int) -> TraceAnswer:
    """What it calls, what those call, and so on. What cannot be told is in the tree without a definition."""
    nodes: list[Traced] = []
    seen = {make_id(found)}
    left_out = 0
    waiting: list[tuple[Found, int, int]] = [(found, -1, 1)]
    while waiting:
        current, parent, level = waiting.pop(0)
        for callee in list_callees(project, current):
            if len(nodes) == MOST_TRACED:
                left_out += 1
                continue
            name = "" if callee.found is None else make_id(callee.found)
            is_repeated = bool(name) and name in seen
            seen.add(name)
            nodes.append(
                Traced(
                    found=callee.found,
                    path="" if callee.found is None else callee.found.path,
                    name=callee.name,
                    depth=level,
                    parent=parent,
                    spots=(callee.start,),
                    spot_path=callee.path,
                    is_repeated=is_repeated,
                )
            )
            if callee.found is not None and not is_repeated and level < depth:
                waiting.append((callee.found, len(nodes) - 1, level + 1))
    return TraceAnswer(nodes=tuple(nodes), left_out=left_out, unsure=(), troubles=())
