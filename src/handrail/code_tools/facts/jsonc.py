"""JSON as tsconfig files have it: with comments and trailing commas. Pure."""

from __future__ import annotations

import json
import re

MAX_LENGTH = 1_000_000
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[\]}])', re.DOTALL)


def read_jsonc(text: str) -> object | None:
    """The value, or None where the text is not even that."""
    if len(text) > MAX_LENGTH:
        return None
    plain = TOKEN.sub(lambda found: found[0] if found[0].startswith('"') else "", text.removeprefix("\ufeff"))
    try:
        value: object = json.loads(plain)
    except (ValueError, RecursionError):
        return None
    return value
