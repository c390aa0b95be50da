"""Which place of the project a text of a report means, and what it quotes from there. Pure.

Nothing here refuses: a text that is not clearly a place is asked for as it is, and whoever looks says what
it could be. A quotation is compared only where it is clearly one, because a sentence about a place is no
quotation, and neither is a name in it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from handrail.engine.judge.run_claims import AskedPlace
from handrail.workflows.compiled import PathExists, PlaceExists

LEAST_QUOTED_WORDS = 3
LEAST_QUOTED_LETTERS = 10
"""A shorter text may be a name, or stand anywhere."""
LEAST_CODE_LETTERS = 6

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
    r'|"(?P<said>[^"]+)"|“(?P<told>[^”]+)”|«(?P<quoted>[^»]+)»'
    r"|'(?P<single>[^']+)'|‘(?P<curled>[^’]+)’",
    re.DOTALL,
)
_TRAIL = re.compile(
    r"\s+(?:stands|is|appears|is\s+(?:written|found))\s+"
    r"(?:there|here|(?:at|in|on)\s+(?:this|that|the)\s+(?:file|line|place)|(?:at|on)\s+line\s+\d+)\s*$",
    re.IGNORECASE,
)
_CODE = re.compile(r"\s[-+*/%<>=!&|^]|[-+*/%<>=!&|^]\s|\([^()\s]")
_STATEMENT = re.compile(
    r"(?:(?:assert|class|const|def|export|from|function|import|let|raise|return|throw|var)\s+\S"
    r"|[\w.\[\]]+\s*(?:[-+*/|&]?=)\s*\S)",
)
"""The beginning of a line of code without any mark around it; prose may begin so, so it is doubtful."""
_CALLED = re.compile(r"(?P<name>[\w.:]+)\([^()]+\)")
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
    quoted = _find_quotation(rule, around)
    return AskedPlace(
        path=path, line=line, end=end, written=written, quote=quoted.text, is_doubtful=quoted.is_doubtful
    )


class Quotation(msgspec.Struct, frozen=True, kw_only=True):
    """What a text quotes; empty: it does not clearly quote anything."""

    text: str = ""
    is_doubtful: bool = False
    """It may be a name or an example: the text is not compared, only looked for."""


def _find_quotation(rule: PlaceExists, around: dict[str, Any]) -> Quotation:
    whole = around.get(rule.quote) if rule.quote else None
    if isinstance(whole, str):
        return Quotation(text=whole)
    told = around.get(rule.quoted_in) if rule.quoted_in else None
    return read_quotation(told) if isinstance(told, str) else Quotation()


def read_quotation(text: str) -> Quotation:
    """What a text quotes, if it is nothing but a quotation, or says that the words stand there.

    Who says so is held to a short line of code too. A call alone may be an example: it is doubtful.
    """
    lines = text.strip().splitlines()
    if lines and all(line.startswith(">") for line in lines):
        return _read_words("\n".join(line[1:].strip() for line in lines), is_said=True)
    bare = text.strip().removesuffix(".")
    lead, trail = _LEAD.match(bare), _TRAIL.search(bare)
    rest = bare[lead.end() if lead else 0 : trail.start() if trail else len(bare)]
    found = _QUOTED.fullmatch(rest.removesuffix("."))
    if found is None:
        is_line = _STATEMENT.match(rest) is not None and _CODE.search(rest) is not None and "\n" not in rest
        return Quotation(text=rest, is_doubtful=True) if is_line else Quotation()
    if (found["language"] or "").lower() in _CHANGES:
        return Quotation()
    names = ("fenced", "code", "said", "told", "quoted", "single", "curled")
    return _read_words(next(found[name] for name in names if found[name]), bool(lead or trail))


def _read_words(inner: str, is_said: bool) -> Quotation:
    """What stands between quotation marks; `is_said`: somebody says that it stands there."""
    words = re.findall(r"\w+", inner)
    letters = sum(map(len, words))
    is_long = len(words) >= LEAST_QUOTED_WORDS and letters >= LEAST_QUOTED_LETTERS
    is_name = _A_CALL.fullmatch(inner.strip()) is not None or not re.search(r"\s", inner.strip())
    if is_long and not is_name:
        return Quotation(text=inner)
    is_code = len(words) > 1 and letters >= LEAST_CODE_LETTERS and _CODE.search(inner) is not None
    if is_said and is_code:
        return Quotation(text=inner)
    called = _CALLED.fullmatch(inner.strip())
    if called is not None and len(called["name"]) >= LEAST_CODE_LETTERS:
        return Quotation(text=called["name"], is_doubtful=True)
    return Quotation()
