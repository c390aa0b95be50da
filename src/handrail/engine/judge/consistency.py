"""Rules between the members of an artifact, which a schema cannot express. Pure."""

from __future__ import annotations

from typing import Any

from handrail.engine.judge.artifact_spots import find_spots, write_pointer
from handrail.workflows.compiled import Contract
from handrail.workflows.evidence import Consistent, Term


def find_inconsistent(contract: Contract, body: dict[str, Any]) -> list[tuple[str, str]]:
    """Return, for each rule, the first place where its first part holds and the second does not, and why."""
    rules = (rule for rule in contract.evidence if isinstance(rule, Consistent))
    return [found for rule in rules for found in _break_rule(rule, body)]


def _break_rule(rule: Consistent, body: dict[str, Any]) -> list[tuple[str, str]]:
    """Return where the first part of a rule holds and the second does not, and what is wrong there."""
    found: list[tuple[str, str]] = []
    for way, value, _ in find_spots(body, rule.when.at):
        if not _holds(rule.when, value):
            continue
        bound = _bind(rule.then.at, way)
        spots = list(find_spots(body, bound))
        if not spots and (rule.then.exists is True or rule.then.equals is not None):
            found.append((write_pointer(way), f"is {value}, so {bound[1:]} must be there"))
        for place, held, _ in spots:
            if not _holds(rule.then, held):
                found.append((write_pointer(way), f"cannot be {value} while {'/'.join(place)} is {held}"))
    return found[:1]


def _bind(path: str, way: tuple[str, ...]) -> str:
    """Return a path with the items of `way`, as far as both lead through the same lists."""
    names = path[1:].split("/")
    for place, name in enumerate(way[: len(names)]):
        if names[place] not in ("*", name):
            break
        names[place] = name
    return "/" + "/".join(names)


def _holds(term: Term, value: Any) -> bool:
    if term.equals is not None:
        return bool(value == term.equals)
    if term.differs is not None:
        return bool(value != term.differs)
    return term.exists is True
