"""Statuses, artifacts and statements in words for people, in reports and in the Console. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from handrail.engine.events import Artifact, ReportStatement
from handrail.workflows.problem import value_at

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
NEED_WORDS = {
    "person": "Needs your answer",
    "blocked": "Blocked",
    "gap": "Critical gap",
    "damaged": "Damaged",
    "newer": "Newer version",
}
"""Titles of what waits for a person, by kind."""
MOMENT_WORDS = {
    "step": "The agent finished",
    "checkpoint": "The agent saved its progress after",
    "blocked_attempt": "The report was not accepted at",
    "receipt": "A check ran at",
    "closed": "The run was closed at",
    "notes": "Notes of the session were kept",
    "renamed": "A person renamed the session",
    "imported": "The session was imported",
}
"""Words for what happened; the name of the step follows if there is one."""
MOMENTS_WITH_MORE = frozenset({"receipt", "blocked_attempt"})
"""After these words the report adds a detail: how a check ended, or why a report was not accepted."""
_DEEPEST = 6
HEADLINES = ("title", "claim", "finding", "name", "path", "question", "command", "summary")
"""Members that name what an entry of a list is about."""

Line: TypeAlias = tuple[int, str]
"""Indentation and text of a line."""


def artifact_lines(body: dict[str, Any]) -> list[Line]:
    """Return an artifact as lines for people: names in words, lists as points, one thing per line."""
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
        yield depth, msgspec.json.encode(value).decode()
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
    """Return what an entry of a list is about: its first member that is a text."""
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
"""Words for why a loop ended."""


# The text of a statement in the report, instead of its JSON pointer

_LONGEST = 120
"""Characters of each part that is quoted."""
_OWN_CHECKS = {"person": "A person's answer", "notes": "The notes"}


def spell_kind(kind: str) -> str:
    """`wr.loop_control` → `Loop control`."""
    return spell_name(kind.rpartition(".")[2])


def describe_statement(statement: ReportStatement, artifacts: Sequence[Artifact]) -> str:
    """Return the text at the place of a statement in the report; for a whole report, its kind."""
    held = [one for one in artifacts if one.contract_ref == statement.contract_ref] or artifacts[:1]
    if not statement.contract_ref or not held:
        return _OWN_CHECKS.get(statement.check, "The report")
    keys = [part.replace("~1", "/").replace("~0", "~") for part in statement.pointer.split("/") if part]
    kind = spell_kind(held[0].kind)
    if not keys:
        return f"{kind} as a whole"
    name = next((key for key in reversed(keys) if not key.isdigit()), "")
    if not name:
        return kind
    text, value = _find_statement(held[0].body, keys), _spell(value_at(held[0].body, statement.pointer))
    if text and text != value:
        return f"{_cut(text)} ({_cut(value)})"
    return _cut(value if text else f"{spell_name(name)}: {value}")


def _find_statement(body: Any, keys: Sequence[str]) -> str:
    """Return the stated sentence that a place in a list belongs to, if the statement names only its proof."""
    for key in keys:
        if isinstance(body, dict) and isinstance(body.get("claim"), str):
            return str(body["claim"])
        if isinstance(body, list) and key.isdigit() and int(key) < len(body):
            body = body[int(key)]
        elif isinstance(body, dict):
            body = body.get(key)
    return ""


def _spell(value: Any) -> str:
    """Return a value in a few words; empty for a value that no longer exists."""
    if value is None:
        return "…"
    if isinstance(value, dict):
        named = (value[name] for name in HEADLINES if isinstance(value.get(name), str))
        return next(named, ", ".join(str(one) for one in value.values() if isinstance(one, str)))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
