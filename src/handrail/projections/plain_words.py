"""Statuses, reasons and artifacts in the words that people read, in reports and in the Console. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

STATUS_WORDS = {
    "in_progress": "in progress",
    "blocked": "blocked",
    "complete": "complete",
    "complete_with_gaps": "complete with gaps",
    "closed": "closed",
    "empty": "nothing started",
    "notes_only": "notes, no run",
    "unreadable": "cannot be read",
}
CLOSE_WORDS = {
    "abandoned": "abandoned",
    "superseded": "superseded by other work",
    "done_elsewhere": "done elsewhere",
}
_DEEPEST = 6
HEADLINES = ("title", "claim", "finding", "name", "path", "question", "command", "summary")
"""Members that say what an entry of a list is about."""

Line: TypeAlias = tuple[int, str]
"""How deep it stands, and its words."""


def artifact_lines(body: dict[str, Any]) -> list[Line]:
    """An artifact as people read it: names in words, lists as points, one thing per line."""
    return list(_member_lines({name: value for name, value in body.items() if name != "kind"}, 0))


def _member_lines(members: dict[str, Any], depth: int) -> Iterator[Line]:
    for name, value in members.items():
        if isinstance(value, dict | list):
            if value:
                yield depth, f"{spell_name(name)}:"
                yield from _value_lines(value, depth + 1)
        elif value not in (None, ""):
            yield depth, f"{spell_name(name)}: {_scalar(value)}"


def _value_lines(value: Any, depth: int) -> Iterator[Line]:
    if depth > _DEEPEST:
        yield depth, "…"
    elif isinstance(value, dict):
        yield from _member_lines(value, depth)
    else:
        for one in value:
            match one:
                case dict():
                    head = _headline(one)
                    yield depth, str(one[head]) if head else "–"
                    yield from _value_lines({name: one[name] for name in one if name != head}, depth + 1)
                case list():
                    yield depth, "–"
                    yield from _value_lines(one, depth + 1)
                case _:
                    yield depth, _scalar(one)


def _headline(members: dict[str, Any]) -> str:
    """What an entry of a list is about: its first member that is a text."""
    named = [name for name in HEADLINES if isinstance(members.get(name), str) and members[name]]
    texts = [name for name, value in members.items() if isinstance(value, str) and value]
    return (named or texts or [""])[0]


def spell_name(name: str) -> str:
    """`exitStatus` → `Exit status`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+", " ", name).lower()
    return words[:1].upper() + words[1:]


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


LOOP_ENDS = {
    "condition_false": "its condition no longer held",
    "items_exhausted": "nothing was left to do in it",
    "limit_reached": "it reached its limit",
    "items_missing": "nobody sent the list that it goes through",
    "decision_missing": "nobody decided about another round",
}
"""Why a loop ended."""
