"""Versions in order: 1.10 stands after 1.9, and 1.9rc1 before it. Pure."""

from __future__ import annotations

import re
from typing import TypeAlias

VersionKey: TypeAlias = tuple[tuple[int, ...], tuple[int, int]]

_VERSION = re.compile(
    r"v?(?P<numbers>[0-9]{1,9}(?:\.[0-9]{1,9}){0,5})"
    r"(?:[-._]?(?P<stage>dev|alpha|a|beta|b|preview|pre|rc|c)[-._]?(?P<stage_number>[0-9]{0,9}))?"
    r"(?:[-._]?(?P<after>post)[-._]?(?P<after_number>[0-9]{0,9}))?"
    r"(?:\+[A-Za-z0-9.-]{1,64})?",
    re.ASCII | re.IGNORECASE,
)
_STAGES = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3, "preview": 3}
_FINAL, _AFTER = 4, 5


def version_key(text: str) -> VersionKey | None:
    """What orders a version: its numbers, then where it stands before or after the final one.

    None when the text is no version.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    numbers = tuple(int(part) for part in match["numbers"].split("."))
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers = numbers[:-1]  # 1.0 and 1.0.0 are one version
    if match["stage"]:
        return numbers, (_STAGES[match["stage"].lower()], int(match["stage_number"] or 0))
    if match["after"]:
        return numbers, (_AFTER, int(match["after_number"] or 0))
    return numbers, (_FINAL, 0)
