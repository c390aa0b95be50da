"""Explain a rejected JSON value or text: a Fault with the place and a correction. Pure.

This code runs only after something was rejected, so clarity comes before speed. A message shows at
most a key or a place of the caller's text, quoted.
"""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder, dumps, loads
from math import isfinite
from typing import NamedTuple

from handrail.contract.catalogue import E_VALIDATION, REQUEST_TOO_LARGE
from handrail.contract.json.numbers import is_exact_integer
from handrail.contract.json.places import CLOSING, OPENING, PART, find_place, join_pointer
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import has_whole_characters, quote

# Text that is almost JSON: an extra comma, a comment, other quotes, other literals. The decoder says where
# it stopped. The text at that place shows which mistake it is, and most mistakes have exactly one
# correction.

_TRAILING_COMMA = "Illegal trailing comma"
_SYNTAX = {
    "Expecting value": "a value is missing or misspelt",
    "Expecting property name": "a key in double quotes is missing",
    "Expecting ':'": "a colon is missing after a key",
    "Expecting ','": "a comma or a closing bracket is missing",
    "Unterminated string": "a string is not closed",
    "Invalid control character": "a string holds a raw control character",
    "Invalid \\escape": "a string holds an escape that JSON does not have",
    "Invalid \\uXXXX escape": "a string holds an incomplete \\u escape",
    "Extra data": "there is more text after the end of the value",
}
"""How messages of the decoder begin, and our replacement, so that answers do not depend on the
interpreter.
"""

_LITERALS = {
    "True": "true",
    "TRUE": "true",
    "False": "false",
    "FALSE": "false",
    "None": "null",
    "NULL": "null",
    "Null": "null",
    "nil": "null",
    "undefined": "null",
}
_CONTROLS = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
_OTHER_QUOTES = {"'": "'", "‘": "’", "“": "”", "”": "”", "`": "`"}
_YAML = re.compile(r"(?:\s*#[^\n]*\n)*\s*(?:---|%YAML|- |[A-Za-z_][\w.-]*[ \t]*:(?:[ \t]|$))", re.MULTILINE)
_MARKDOWN = re.compile(r"\s*```")
_LONGEST_STRING = 100_000


class SyntaxTrouble(NamedTuple):
    """What is wrong at `position`; replacing `length` characters by `text` corrects it, unless
    `text` is None.
    """

    sentence: str
    position: int
    fix: str = "Correct the text at that place: one JSON object in UTF-8, without a byte order mark."
    length: int = 0
    text: str | None = None


def syntax_trouble(text: str, position: int, reason: str) -> SyntaxTrouble:
    """Return the error at the place where the decoder stopped."""
    if reason.startswith(_TRAILING_COMMA):  # newer interpreters point at the comma, older ones behind it
        position = len(text) - len(text[position + 1 :].lstrip())
    return _other_language(text) or _meant(text, position, reason) or _plain(text, position, reason)


def find_syntax_trouble(text: str) -> SyntaxTrouble | None:
    """Return the first place where a text is not JSON; None if the grammar allows it."""
    if text.startswith("\ufeff"):
        return SyntaxTrouble("it begins with a byte order mark", 0, "Remove the byte order mark.", 1, "")
    try:
        JSONDecoder().decode(text)
    except JSONDecodeError as error:
        return syntax_trouble(text, error.pos, error.msg)
    except (ValueError, RecursionError):
        return None
    return None


def _other_language(text: str) -> SyntaxTrouble | None:
    """Return one error for a whole file in another language, instead of one at its first character."""
    if _YAML.match(text):
        fix = "Name the file .yaml if it is one, or write the same as JSON: braces, double quotes, commas."
        return SyntaxTrouble("this is YAML, not JSON", 0, fix)
    if _MARKDOWN.match(text):
        fix = "Keep only the text between the lines of backticks."
        return SyntaxTrouble("the JSON is inside a Markdown code block", 0, fix)
    return None


def _meant(text: str, position: int, reason: str) -> SyntaxTrouble | None:
    here = text[position : position + 1]
    comma = _comma_before(text, position)
    comment = _COMMENT.match(text, position)
    if comment is not None and not reason.startswith(("Invalid", "Unterminated")):
        sentence = "JSON has no comments"
        return SyntaxTrouble(sentence, position, "Remove the comment.", len(comment[0]), "")
    if here in ("]", "}") and comma >= 0 and not reason.startswith("Invalid"):
        sentence = "there is a comma before a closing bracket"
        return SyntaxTrouble(sentence, comma, "Remove the comma.", 1, "")
    if here == "," and comma >= 0 and reason.startswith("Expecting"):
        return SyntaxTrouble("there are two commas", position, "Remove one of them.", 1, "")
    if here in _OTHER_QUOTES and not reason.startswith("Invalid"):
        return _other_quotes(text, position)
    if reason.startswith("Invalid control character"):
        if here not in _CONTROLS:
            return None
        sentence = "a string holds a raw line break or tab"
        return SyntaxTrouble(sentence, position, f"Write {_CONTROLS[here]}.", 1, _CONTROLS[here])
    if reason.startswith("Invalid \\escape"):
        fix = "Write two backslashes for one."
        return SyntaxTrouble(_SYNTAX["Invalid \\escape"], position, fix, 0, "\\")
    return _word(text, position, reason) or _missing_comma(text, position, reason)


def _comma_before(text: str, position: int) -> int:
    """Return the place of the comma directly before a position; -1 if there is no comma."""
    before = text[:position].rstrip()
    return len(before) - 1 if before.endswith(",") else -1


def _other_quotes(text: str, position: int) -> SyntaxTrouble:
    sentence, fix = "keys and texts need double quotes", "Write double quotes around it."
    closing = _OTHER_QUOTES[text[position]]
    written: list[str] = []
    place = position + 1
    while place < len(text) and place - position < _LONGEST_STRING:
        letter = text[place]
        if letter == closing:
            made = dumps("".join(written), ensure_ascii=False)
            return SyntaxTrouble(sentence, position, fix, place + 1 - position, made)
        if letter == "\\" and text[place + 1 : place + 2] in (closing, "\\", '"'):
            place += 1
            letter = text[place]
        elif letter == "\\" or letter == "\n":
            break
        written.append(letter)
        place += 1
    return SyntaxTrouble(sentence, position, fix)


def _word(text: str, position: int, reason: str) -> SyntaxTrouble | None:
    found = _WORD.match(text, position)
    if found is None:
        return None
    word = found[0]
    if reason.startswith("Expecting value") and word in _LITERALS:
        sentence = "JSON writes true, false and null, in small letters"
        return SyntaxTrouble(sentence, position, f"Write {_LITERALS[word]}.", len(word), _LITERALS[word])
    is_key = text[found.end() :].lstrip()[:1] == ":"
    if reason.startswith("Expecting property name") and is_key:
        sentence = "a key has no double quotes"
        return SyntaxTrouble(sentence, position, "Write double quotes around it.", len(word), f'"{word}"')
    return None


def _missing_comma(text: str, position: int, reason: str) -> SyntaxTrouble | None:
    """Whether a comma is missing between values on two lines; on one line it may be a quote inside a text."""
    before = text[:position].rstrip()
    between = text[len(before) : position]
    if (
        reason.startswith("Expecting ','")
        and text[position : position + 1] in ('"', "{", "[")
        and "\n" in between
    ):
        sentence = "a comma is missing between two values"
        return SyntaxTrouble(sentence, len(before), "Write a comma after the first.", 0, ",")
    return None


def _plain(text: str, position: int, reason: str) -> SyntaxTrouble:
    if position >= len(text.rstrip()):
        return SyntaxTrouble("the text ends too early", position)
    sentence = next(
        (ours for theirs, ours in _SYNTAX.items() if reason.startswith(theirs)), "this is not JSON"
    )
    if reason.startswith("Extra data"):
        return SyntaxTrouble(sentence, position, "Remove it, or put it into a file of its own.")
    return SyntaxTrouble(sentence, position)


# Faults for rejected texts and values

DEEPEST = 200
"""Nesting that every step can walk without exhausting the stack."""

_AS_STRING = "Send large integers as strings."
_NO_SUCH_NUMBER = "Leave the number out, or write null."
_WAYS_OUT = {
    "the key": "Keep one of the two.",
    "a number": _NO_SUCH_NUMBER,
    "an integer": _AS_STRING,
    "a string": "Send whole characters.",
}
"""Kinds of errors, by how a sentence about a rejected text begins."""

_INTEGER = re.compile("-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")


def explain_too_many_bytes(measured: int, limit: int) -> Fault:
    return Fault(
        REQUEST_TOO_LARGE,
        f"The JSON has {measured} bytes; the limit is {limit}.",
        details={"what": "bytes", "measured": measured, "limit": limit},
    )


_SEND_AGAIN = "Correct the text at that place and send the call again."


def explain_broken_text(text: str, position: int, sentence: str, hint: str = _SEND_AGAIN) -> Fault:
    """Return a Fault for a text that is valid up to `position`; the sentence says what is wrong there."""
    line, column = find_place(text, position)
    return Fault(
        E_VALIDATION,
        f"This JSON cannot be read: {sentence}, at line {line}, column {column}.",
        details={"line": line, "column": column},
        hint=hint,
    )


def explain_broken_syntax(text: str, position: int, reason: str) -> Fault:
    """Return a Fault for the place where the decoder stopped."""
    trouble = syntax_trouble(text, position, reason)
    return explain_broken_text(text, trouble.position, trouble.sentence)


def explain_refused_text(text: str, max_depth: int) -> Fault:
    """Return a Fault for the first thing in a text that the grammar allows and `decode_json` rejects."""
    brackets: list[set[str] | None] = []  # per open bracket: the keys so far, None for an array
    key_is_next = False
    for match in PART.finditer(text):
        part = match.group()
        if part in OPENING:
            brackets.append(set() if part == "{" else None)
            if len(brackets) > max_depth:
                return _too_deep(text, match.start(), max_depth)
        elif part in CLOSING:
            brackets.pop()
        elif part not in (",", ":"):
            sentence = _refused_string(part, brackets[-1] if key_is_next else None) or _refused_number(part)
            if sentence:
                hint = next(way for begins, way in _WAYS_OUT.items() if sentence.startswith(begins))
                return explain_broken_text(text, match.start(), sentence, hint)
        key_is_next = part in ("{", ",") and bool(brackets) and brackets[-1] is not None
    raise AssertionError("a refused text holds something to refuse")


def _too_deep(text: str, position: int, limit: int) -> Fault:
    line, column = find_place(text, position)
    return Fault(
        REQUEST_TOO_LARGE,
        f"The JSON is nested more than {limit} levels deep, at line {line}, column {column}.",
        details={"what": "depth", "measured": limit + 1, "limit": limit},
        hint=f"Send a flatter value: at most {limit} arrays and objects inside each other.",
    )


def _refused_string(part: str, keys: set[str] | None) -> str:
    """Return what is wrong with a string; `keys` are those of its object if it is itself a key."""
    if part[0] != '"':
        return ""
    string = loads(part)
    if not has_whole_characters(string):
        return "a string holds half of a surrogate pair"
    if keys is None:
        return ""
    if string in keys:
        return f"the key {quote(string)} appears twice in one object"
    keys.add(string)
    return ""


def _refused_number(part: str) -> str:
    """Return what is wrong with a number; text directly after it does not count."""
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
    """Whether the interpreter reads an integer of this length; it rejects those that take quadratic time."""
    try:
        int(digits)
    except ValueError:
        return False
    return True


def explain_refused_value(value: Json) -> Fault:
    """Return a Fault that says why a rejected value has no canonical form."""
    waiting: list[tuple[str, int, Json]] = [("", 0, value)]
    while waiting:
        pointer, depth, current = waiting.pop()
        sentence, hint = _refused_part(current, depth)
        if sentence:
            place = quote(pointer)
            message = f"The value at {place} {sentence}." if pointer else f"The value {sentence}."
            return Fault(E_VALIDATION, message, details={"param": place.strip('"')}, hint=hint)
        if isinstance(current, dict):
            waiting += [(join_pointer(pointer, key), depth + 1, current[key]) for key in reversed(current)]
        elif isinstance(current, list | tuple):
            waiting += [(f"{pointer}/{i}", depth + 1, current[i]) for i in reversed(range(len(current)))]
    raise AssertionError("a value without a canonical form holds something to refuse")


def _refused_part(value: Json, depth: int) -> tuple[str, str]:
    """Return what is wrong with this value alone, and what to do about it; empty texts if nothing is."""
    if depth > DEEPEST:
        return "is nested too deep", "Send a flatter value."
    if type(value) is dict:
        if not all(isinstance(key, str) for key in value):
            return "has a key that is not a string", "Use strings as keys."
        if not all(map(has_whole_characters, value)):
            return "has a key with half of a surrogate pair", "Send whole characters."
        return "", ""
    if type(value) is str:
        return (
            ("", "")
            if has_whole_characters(value)
            else ("holds half of a surrogate pair", "Send whole characters.")
        )
    if type(value) is int:
        return (
            ("", "")
            if is_exact_integer(value)
            else ("is an integer that JSON readers would round", _AS_STRING)
        )
    if type(value) is float:
        return ("", "") if isfinite(value) else ("is not a finite number", _NO_SUCH_NUMBER)
    if value is None or type(value) in (bool, list, tuple):
        return "", ""
    return "is not a JSON value", "Send objects, arrays, strings, numbers, true, false and null only."
