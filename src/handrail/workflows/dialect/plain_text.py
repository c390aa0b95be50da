"""Texts out of values that should have been texts, so that nothing an author wrote is lost. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from json import dumps

from handrail.contract.outcome import Json

_SINGLE_BRACES = re.compile(r"(?<![{$])\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")


def as_text(value: Json) -> str:
    """A text as it is; anything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def as_json(value: Json) -> str:
    """A value as JSON; the same value gives the same text."""
    return dumps(value, ensure_ascii=False, sort_keys=True, separators=(", ", ": "))


def as_texts(value: Json) -> list[str]:
    """The texts of a list, or of one value alone; blank ones are left out."""
    items = value if isinstance(value, list) else [value]
    return [text for item in items if item is not None and (text := as_text(item)).strip()]


def filled_in(value: Json, values: dict[str, str]) -> Json:
    """A copy of a document in which every `{{name}}` of `values` is replaced by its value."""
    if not values:
        return value
    pattern = re.compile(r"\{\{\s*(" + "|".join(re.escape(name) for name in sorted(values)) + r")\s*\}\}")
    return _with_texts(value, lambda text: pattern.sub(lambda match: values[match[1]], text))


def with_double_braces(value: Json) -> Json:
    """A copy of a document in which every `{name}` is written `{{name}}`."""
    return _with_texts(value, lambda text: _SINGLE_BRACES.sub(r"{{\1}}", text))


def _with_texts(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_with_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {name: _with_texts(member, change) for name, member in value.items()}
    return value
