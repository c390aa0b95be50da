"""JSON as tsconfig files have it: with comments and trailing commas. Pure."""

from __future__ import annotations

import re

import msgspec

MAX_LENGTH = 1_000_000
_PART = r'(?s)"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[\]}])'


def read_jsonc(text: str) -> object | None:
    """The value, or None where the text is not even that."""
    if len(text) > MAX_LENGTH:
        return None
    plain = re.sub(
        _PART, lambda found: found[0] if found[0].startswith('"') else "", text.removeprefix("\ufeff")
    )
    try:
        value: object = msgspec.json.decode(plain)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return value
