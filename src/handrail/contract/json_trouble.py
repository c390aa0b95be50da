"""What is wrong with a refused JSON value or text, and where: a Fault with a place and a way out. Pure.

Nothing here runs unless something was already refused, so clarity comes before speed. Of the caller's
text a message shows at most a key or a place, quoted.
"""

from __future__ import annotations

import re
from json import loads
from math import isfinite

from handrail.contract.catalogue import E_VALIDATION, REQUEST_TOO_LARGE
from handrail.contract.json_numbers import survives
from handrail.contract.json_syntax import syntax_trouble
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quoted

DEEPEST = 200
"""Arrays and objects inside each other that every step can walk without exhausting the stack."""

_AS_STRING = "Send large integers as strings."
_NO_SUCH_NUMBER = "Leave the number out, or send null."

# An unclosed string matches too, up to the end: a failing match would be tried again at every quote.
_PART = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},:]|[^\s"\[\]{},:]+', re.DOTALL)
_INTEGER = re.compile("-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")


def too_many_bytes(measured: int, limit: int) -> Fault:
    return Fault(
        REQUEST_TOO_LARGE,
        f"The JSON has {measured} bytes; the limit is {limit}.",
        details={"what": "bytes", "measured": measured, "limit": limit},
    )


def broken_text(text: str, position: int, sentence: str) -> Fault:
    """The text up to `position` is fine, then comes what the sentence says."""
    line, column = _place(text, position)
    return Fault(
        E_VALIDATION,
        f"This JSON cannot be read: {sentence}, at line {line}, column {column}.",
        details={"line": line, "column": column},
        hint="Correct the text at that place and send the call again.",
    )


def _place(text: str, position: int) -> tuple[int, int]:
    """Line and column, both from 1, the column in characters."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def broken_syntax(text: str, position: int, said: str) -> Fault:
    """The decoder stopped at `position` and said why."""
    trouble = syntax_trouble(text, position, said)
    return broken_text(text, trouble.position, trouble.sentence)


def refused_text(text: str, max_depth: int, at: int = 0, depth: int = 0) -> Fault:
    """The first thing in a text that the grammar allows and `decode_json` does not.

    It is looked for from `at` on, where `depth` arrays and objects are open.
    """
    brackets: list[set[str] | None] = [None] * depth  # per open bracket: the keys so far, None for an array
    key_is_next = False
    for match in _PART.finditer(text, at):
        part = match.group()
        if part in ("{", "["):
            brackets.append(set() if part == "{" else None)
            if len(brackets) > max_depth:
                return _too_deep(text, match.start(), max_depth)
        elif part in ("}", "]"):
            brackets.pop()
        elif part not in (",", ":"):
            sentence = _refused_string(part, brackets[-1] if key_is_next else None) or _refused_number(part)
            if sentence:
                return broken_text(text, match.start(), sentence)
        key_is_next = part in ("{", ",") and bool(brackets) and brackets[-1] is not None
    raise AssertionError("a refused text holds something to refuse")


def _too_deep(text: str, position: int, limit: int) -> Fault:
    line, column = _place(text, position)
    return Fault(
        REQUEST_TOO_LARGE,
        f"The JSON is nested more than {limit} levels deep, at line {line}, column {column}.",
        details={"what": "depth", "measured": limit + 1, "limit": limit},
        hint=f"Send a flatter value: at most {limit} arrays and objects inside each other.",
    )


def _refused_string(part: str, keys: set[str] | None) -> str:
    """What is wrong with a string; `keys` are those of its object when it is itself a key."""
    if part[0] != '"':
        return ""
    string = loads(part)
    if not _is_whole(string):
        return "a string holds half of a surrogate pair"
    if keys is None:
        return ""
    if string in keys:
        return f"the key {quoted(string)} appears twice in one object"
    keys.add(string)
    return ""


def _refused_number(part: str) -> str:
    """What is wrong with a number; text right behind it is no part of it."""
    if part[0] == '"' or part in ("true", "false", "null"):
        return ""
    number = _NUMBER.match(part)
    if number is None:
        return "a number is not finite" if part.startswith(_CONSTANTS) else ""
    digits = number.group()
    if _INTEGER.fullmatch(digits):
        return "" if _is_readable(digits) else "an integer has too many digits"
    return "" if isfinite(float(digits)) else "a number is not finite"


def _is_readable(digits: str) -> bool:
    """Whether the interpreter reads an integer this long; it refuses to spend quadratic time."""
    try:
        int(digits)
    except ValueError:
        return False
    return True


def refused_value(value: Json) -> Fault:
    """Why a value has no canonical form; the value was refused, so there is a reason."""
    waiting: list[tuple[str, int, Json]] = [("", 0, value)]
    while waiting:
        pointer, depth, current = waiting.pop()
        sentence, hint = _refused_part(current, depth)
        if sentence:
            place = quoted(pointer)
            message = f"The value at {place} {sentence}." if pointer else f"The value {sentence}."
            return Fault(E_VALIDATION, message, details={"param": place.strip('"')}, hint=hint)
        if isinstance(current, dict):
            waiting += [(f"{pointer}/{_escaped(key)}", depth + 1, current[key]) for key in reversed(current)]
        elif isinstance(current, list | tuple):
            waiting += [(f"{pointer}/{i}", depth + 1, current[i]) for i in reversed(range(len(current)))]
    raise AssertionError("a value without a canonical form holds something to refuse")


def _escaped(key: str) -> str:
    """A key as part of a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _refused_part(value: Json, depth: int) -> tuple[str, str]:
    """What is wrong with this value alone, and what to do about it; empty texts when nothing is."""
    if depth > DEEPEST:
        return "is nested too deep", "Send a flatter value."
    if type(value) is dict:
        if not all(isinstance(key, str) for key in value):
            return "has a key that is not a string", "Use strings as keys."
        if not all(map(_is_whole, value)):
            return "has a key with half of a surrogate pair", "Send whole characters."
        return "", ""
    if type(value) is str:
        return ("", "") if _is_whole(value) else ("holds half of a surrogate pair", "Send whole characters.")
    if type(value) is int:
        return ("", "") if survives(value) else ("is an integer that JSON readers would round", _AS_STRING)
    if type(value) is float:
        return ("", "") if isfinite(value) else ("is not a finite number", _NO_SUCH_NUMBER)
    if value is None or type(value) in (bool, list, tuple):
        return "", ""
    return "is not a JSON value", "Send objects, arrays, strings, numbers, true, false and null only."


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
