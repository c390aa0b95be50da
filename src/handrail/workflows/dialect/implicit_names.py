"""Variables that the parts of a native document use and nothing in them sets. Pure."""

from __future__ import annotations

import re

from handrail.contract.outcome import Json
from handrail.workflows.limits import MAX_NAME_CHARACTERS

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)(?:\.[A-Za-z0-9_-]+)*\s*\}\}")
_NAME = re.compile(r"(?!(__proto__|constructor|prototype)$)[A-Za-z_][A-Za-z0-9_-]*")
_UNREAD = frozenset({"validation", "args", "id", "title", "agentRole"})
"""Keys of a part whose texts are not filled in."""


def implicit_names(steps: Json) -> list[str]:
    """The names, sorted and without their members; variables of a loop do not count inside it."""
    used: set[str] = set()
    _collect(steps, frozenset(), used)
    return sorted(name for name in used if len(name) <= MAX_NAME_CHARACTERS and _NAME.fullmatch(name))


def _collect(value: Json, own: frozenset[str], used: set[str]) -> None:
    if isinstance(value, str):
        used |= {match[1] for match in _PLACEHOLDER.finditer(value)} - own
    elif isinstance(value, list):
        for item in value:
            _collect(item, own, used)
    elif isinstance(value, dict):
        inside = own | _variables(value)
        if isinstance(value.get("input"), str):
            used |= {value["input"].partition(".")[0]} - own
        for name, member in value.items():
            if name not in _UNREAD:
                _collect(member, inside if name == "body" else own, used)


def _variables(part: dict[str, Json]) -> frozenset[str]:
    """What a loop sets for its body."""
    repeat = part.get("forEach", part.get("count"))
    if not isinstance(repeat, dict):
        return frozenset()
    return frozenset(repeat[name] for name in ("as", "indexAs") if isinstance(repeat.get(name), str))
