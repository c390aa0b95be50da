"""What somebody meant who wrote almost JSON: a comma too many, a comment, other quotes, other literals. Pure.

The decoder says where it stopped. What stands there tells the kinds of trouble apart, and for most of them
there is one stretch of text that, put in its place, is what was meant.
"""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder, dumps
from typing import NamedTuple

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
"""How the decoder begins its sentences, and ours, so that an answer does not change with the interpreter."""

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
    """What is wrong at `position`; `text` in the place of `length` characters makes it right, unless None."""

    sentence: str
    position: int
    fix: str = "Correct the text at that place: one JSON object in UTF-8, without a byte order mark."
    length: int = 0
    text: str | None = None


def syntax_trouble(text: str, position: int, said: str) -> SyntaxTrouble:
    """The trouble where the decoder stopped and said why."""
    if said.startswith(_TRAILING_COMMA):  # newer interpreters point at the comma, older ones behind it
        position = len(text) - len(text[position + 1 :].lstrip())
    return _other_language(text) or _meant(text, position, said) or _plain(text, position, said)


def first_trouble(text: str) -> SyntaxTrouble | None:
    """The first place where a text is no JSON; None where the grammar has nothing against it."""
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
    """A whole file in another language: one sentence, not one for its first letter."""
    if _YAML.match(text):
        fix = "Write the same as JSON: braces, double quotes, commas."
        return SyntaxTrouble("this is YAML and not JSON", 0, fix)
    if _MARKDOWN.match(text):
        fix = "Keep only what stands between the lines with the backticks."
        return SyntaxTrouble("the JSON stands inside a Markdown code block", 0, fix)
    return None


def _meant(text: str, position: int, said: str) -> SyntaxTrouble | None:
    here = text[position : position + 1]
    comma = _comma_before(text, position)
    comment = _COMMENT.match(text, position)
    if comment is not None and not said.startswith(("Invalid", "Unterminated")):
        sentence = "JSON has no comments"
        return SyntaxTrouble(sentence, position, "Remove the comment.", len(comment[0]), "")
    if here in ("]", "}") and comma >= 0 and not said.startswith("Invalid"):
        sentence = "a comma stands before a closing bracket"
        return SyntaxTrouble(sentence, comma, "Remove the comma.", 1, "")
    if here in _OTHER_QUOTES and not said.startswith("Invalid"):
        return _other_quotes(text, position)
    if said.startswith("Invalid control character"):
        if here not in _CONTROLS:
            return None
        sentence = "a string holds a raw line break or tab"
        return SyntaxTrouble(sentence, position, f"Write {_CONTROLS[here]}.", 1, _CONTROLS[here])
    if said.startswith("Invalid \\escape"):
        fix = "Write two backslashes for one."
        return SyntaxTrouble(_SYNTAX["Invalid \\escape"], position, fix, 0, "\\")
    return _word(text, position, said) or _missing_comma(text, position, said)


def _comma_before(text: str, position: int) -> int:
    """The place of the comma that is the last thing before a position; -1 when it is something else."""
    before = text[:position].rstrip()
    return len(before) - 1 if before.endswith(",") else -1


def _other_quotes(text: str, position: int) -> SyntaxTrouble:
    sentence, fix = "keys and texts stand in double quotes", "Write double quotes around it."
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


def _word(text: str, position: int, said: str) -> SyntaxTrouble | None:
    found = _WORD.match(text, position)
    if found is None:
        return None
    word = found[0]
    if said.startswith("Expecting value") and word in _LITERALS:
        sentence = "JSON writes true, false and null, in small letters"
        return SyntaxTrouble(sentence, position, f"Write {_LITERALS[word]}.", len(word), _LITERALS[word])
    is_key = text[found.end() :].lstrip()[:1] == ":"
    if said.startswith("Expecting property name") and is_key:
        sentence = "a key stands without double quotes"
        return SyntaxTrouble(sentence, position, "Write double quotes around it.", len(word), f'"{word}"')
    return None


def _missing_comma(text: str, position: int, said: str) -> SyntaxTrouble | None:
    """Two values on two lines without a comma; on one line it is as likely a quote inside a text."""
    before = text[:position].rstrip()
    between = text[len(before) : position]
    if (
        said.startswith("Expecting ','")
        and text[position : position + 1] in ('"', "{", "[")
        and "\n" in between
    ):
        sentence = "a comma is missing between two values"
        return SyntaxTrouble(sentence, len(before), "Write a comma behind the first.", 0, ",")
    return None


def _plain(text: str, position: int, said: str) -> SyntaxTrouble:
    if position >= len(text.rstrip()):
        return SyntaxTrouble("the text ends too early", position)
    sentence = next((ours for theirs, ours in _SYNTAX.items() if said.startswith(theirs)), "this is not JSON")
    return SyntaxTrouble(sentence, position)
