"""Which place of the project a text of a report means, and what it quotes from there. Pure.

Nothing here refuses: a text that is not clearly a place is asked for as it is, and whoever looks says what
it could be. A quotation is compared only where it is clearly one, because a sentence about a place is no
quotation, and neither is a name in it.
"""

from __future__ import annotations

import re
from typing import Any

from handrail.engine.judge.run_claims import AskedPlace
from handrail.workflows.compiled import PathExists, PlaceExists

LEAST_QUOTED_WORDS = 3
LEAST_QUOTED_LETTERS = 10
"""A shorter text may be a name, or stand anywhere."""

_PLACE = re.compile(
    r"(?P<path>.+?)(?:(?::L?|#L|,?\s+lines?\s+|\()(?P<line>[1-9]\d{0,8})"
    r"(?:\s*[-–]\s*L?(?P<end>\d{1,9}))?(?:[:,]\d{1,9}(?:-\d{1,9})?)?\)?)?"
)
_WRAPPED = re.compile(r"([\"'`])(?P<text>[^\"'`]+)\1")
_LEAD = re.compile(
    r"(?:it|this|(?:the\s+)?(?:code|comment|docstring|file|lines?|page|section|sentence|text)"
    r"(?:\s+\d+(?:\s*[-–]\s*\d+)?)?)(?:(?:\s+now)?\s+(?:reads?|says?)\s*:?|\s*:)\s*",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"```(?P<language>[\w+-]*)[ \t]*\n(?P<fenced>.+?)\n?[ \t]*```"
    r"|(?P<ticks>`{1,2})(?P<code>[^`]+)(?P=ticks)"
    r'|"(?P<said>[^"]+)"|“(?P<told>[^”]+)”|«(?P<quoted>[^»]+)»',
    re.DOTALL,
)
_A_CALL = re.compile(r"[\w.:]+\([^()]*\)")
_CHANGES = ("diff", "patch")


def read_place(rule: PathExists | PlaceExists, text: str, around: dict[str, Any]) -> AskedPlace:
    """The place that a text means, with the line and the quotation that stand beside it."""
    if isinstance(rule, PathExists):
        return AskedPlace(path=text.strip().removeprefix("./"))
    bare = text.strip()
    wrapped = _WRAPPED.fullmatch(bare)
    path, line, end = (wrapped["text"] if wrapped else bare).removeprefix("./"), 0, 0
    found = _PLACE.fullmatch(path)
    if found is not None and found["line"]:
        path, line = found["path"], int(found["line"])
        end = int(found["end"] or 0) if int(found["end"] or 0) > line else 0
    written = bare if path != bare.removeprefix("./") else ""
    beside = around.get(rule.line) if rule.line else None
    if isinstance(beside, int) and not isinstance(beside, bool):
        line, end = beside, 0
    return AskedPlace(path=path, line=line, end=end, written=written, quote=_find_quotation(rule, around))


def _find_quotation(rule: PlaceExists, around: dict[str, Any]) -> str:
    whole = around.get(rule.quote) if rule.quote else None
    if isinstance(whole, str):
        return whole
    told = around.get(rule.quoted_in) if rule.quoted_in else None
    return read_quotation(told) if isinstance(told, str) else ""


def read_quotation(text: str) -> str:
    """What a text quotes, if it is nothing but a quotation, or says "it reads" before it; else empty."""
    bare = text.strip()
    lead = _LEAD.match(bare)
    rest = bare[lead.end() :] if lead is not None else bare
    found = _QUOTED.fullmatch(rest.removesuffix("."))
    if found is None or (found["language"] or "").lower() in _CHANGES:
        return ""
    inner = next(found[name] for name in ("fenced", "code", "said", "told", "quoted") if found[name])
    words = re.findall(r"\w+", inner)
    is_long = len(words) >= LEAST_QUOTED_WORDS and sum(map(len, words)) >= LEAST_QUOTED_LETTERS
    is_name = _A_CALL.fullmatch(inner.strip()) is not None or not re.search(r"\s", inner.strip())
    return inner if is_long and not is_name else ""
