"""`{{name}}` in texts: finding it, and putting in what an argument says. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from handrail.contract.canonical import canonical_bytes

PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)\s*\}\}")
"""`{{name}}` or `{{name.member}}`; the first group is the dotted name."""


def input_named_by(value: Any) -> str:
    """The dotted name when a value is one `{{name}}` and nothing else; empty otherwise."""
    whole = PLACEHOLDER.fullmatch(value.strip()) if isinstance(value, str) else None
    return whole[1] if whole else ""


def filled(text: str, values: Mapping[str, Any]) -> str:
    """The text with each known name replaced once; unknown names stay for the run to fill in."""
    return PLACEHOLDER.sub(lambda match: _filled(match, values), text)


def _filled(match: re.Match[str], values: Mapping[str, Any]) -> str:
    head, _, rest = match[1].partition(".")
    if head not in values:
        return match[0]
    value = values[head]
    renamed = input_named_by(value)
    if renamed:
        return "{{" + (f"{renamed}.{rest}" if rest else renamed) + "}}"
    for name in rest.split(".") if rest else ():
        if not isinstance(value, Mapping) or name not in value:
            return match[0]
        value = value[name]
    return in_words(value)


def in_words(value: Any) -> str:
    """A value inside a sentence: texts as they are, lists with commas, the rest as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(in_words(each) for each in value)
    return canonical_bytes(value).decode()
