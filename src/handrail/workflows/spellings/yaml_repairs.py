"""What was meant by a text that is almost YAML, where only one reading of it parses. Pure.

Each repair is tried: it is offered if the text then reads, or is first wrong further down.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from handrail.workflows.problem import NO_EDIT, Edit, rewrite_text
from handrail.workflows.spellings.decoded import Decoded

Decode = Callable[[str], Decoded]

_MOST_BYTES = 64_000
"""Of a longer text the repairs are not tried: each try reads it once more."""
_WIDTHS = range(1, 9)
_MOST_INDENT = 16
_INDENT = re.compile(r" *\t[ \t]*")
_JOINED = re.compile(r"( *(?:- +)?)([A-Za-z]\w*):(?=[^\s:/])")
_PROSE = re.compile(
    r"( *(?:- +)?(?:title|name|description|prompt|label|purpose|text|goal|message|agentRole|reason|brief"
    r"|append|prepend): +)([^\s\"'|>#].*?)[ \t]*"
)
"""A member whose value is never anything but a text."""


_SYNTAX = (
    ("cannot start any token", "A sign stands here that begins no value.", "Put the text in quotes."),
    (
        "mapping values are not allowed",
        "A colon stands here where no key can be.",
        "Put the text in quotes if the colon belongs to it, or indent the line like the keys beside it.",
    ),
    ("expected ':'", "This is no key with a value.", "Write a colon and a space after the key."),
    ("but found '<stream end>'", "A bracket is not closed.", "Close each [ and { of this text."),
    ("expected ',' or", "A bracket is not closed here.", "Close it, or put a comma between the values."),
    ("end of stream", "A quote is not closed.", 'Close it, and write \\" for a quote inside the text.'),
    ("<document start>", "The keys of the top are indented unlike.", "Indent all keys of the top alike."),
)
"""By what the parser says: what that is to an author, and what to do."""


class Stop(NamedTuple):
    """Where a parser gave up, and where what it was reading begins. Lines are those of the text."""

    said: str
    reading: str
    line: int
    column: int
    first_line: int
    first_column: int


def explain_stop(text: str, stop: Stop, shift: int) -> tuple[str, str]:
    """What is wrong there in an author's words, and what to do; `shift` lines of the file come before."""
    here = text.split("\n")[stop.line - 1][stop.column - 1 :]
    if here.startswith("\t"):
        return "A tab indents this line.", "Indent with spaces."
    if "<block end>" not in stop.said:
        known = (one for one in _SYNTAX if one[0] in stop.said)
        _, message, fix = next(known, ("", f"This is not YAML: {stop.said}.", _SYNTAX_FIX))
        if "bracket" in message and " #" in text.split("\n")[stop.first_line - 1][stop.first_column - 1 :]:
            fix = f"A # behind a space begins a comment: quote the text in line {stop.first_line + shift}."
        return message, fix
    beside, begins = "items" if "collection" in stop.reading else "keys", f"line {stop.first_line + shift}"
    if stop.column != stop.first_column:
        own, wanted = stop.column - 1, stop.first_column - 1
        message = f"This line is indented by {own} spaces, unlike the lines that it could stand beside."
        fix = f"Indent it by {wanted} like the {beside} from {begins} on, or like what it belongs to."
        return message, fix
    if beside == "items":
        fix = f"Begin it with a dash too, or write {begins} as a key without a dash, such as `name: value`."
        return f"This is a key, and the list that begins in {begins} has items.", fix
    fix = f"Write it as a key with a colon, or begin {begins} with a dash too."
    return f"This is an item of a list, and keys begin in {begins}.", fix


_SYNTAX_FIX = "Correct the text at that place; indent with spaces, and quote texts with special characters."

Mended = tuple[str, Edit]
"""What to write, and the edit; no edit where it is not certain."""
_UNMENDED: Mended = "", NO_EDIT


def mend_yaml(text: str, line: int, decode: Decode) -> Mended:
    """What makes the text readable at a line."""
    if len(text) > _MOST_BYTES:
        return _UNMENDED
    lines = text.split("\n")
    spaces = _spaces_for_tabs(lines, decode)
    if spaces:
        return "Indent with spaces.", spaces
    fix, edit = _mended_line(lines, line, decode)
    return (fix, edit) if edit else _moved_line(lines, line, decode)


def _moved_line(lines: list[str], line: int, decode: Decode) -> Mended:
    """Another indent of the line, or of the first one, if the text reads with no other.

    An indent that lines above have is no slip.
    """
    found: dict[str, tuple[int, int]] = {}
    for at in {line - 1, *([0] if lines[0].startswith(" ") else [])}:
        written, above = lines[at].lstrip(" "), {_indent(one) for one in lines[:at] if one.strip()}
        for spaces in () if not written or _indent(lines[at]) in above else range(_MOST_INDENT):
            decoded = decode("\n".join([*lines[:at], " " * spaces + written, *lines[at + 1 :]]))
            if not decoded.problems:
                said = json.dumps(decoded.document, sort_keys=True)
                found.setdefault(said, (at, spaces))
    if len(found) != 1:
        return _UNMENDED
    [(at, spaces)] = found.values()
    edit = rewrite_text(at + 1, 1, _indent(lines[at]), " " * spaces)
    return f"Indent it by {spaces}.", edit


def _spaces_for_tabs(lines: list[str], decode: Decode) -> Edit:
    """Spaces for the tabs that indent, if every width at which the text reads says the same."""
    indents = {at: tabs[0] for at, line in enumerate(lines) if (tabs := _INDENT.match(line)) is not None}
    if not indents:
        return NO_EDIT
    found: list[tuple[int, Decoded]] = []
    for width in (*_WIDTHS, 0):
        if found and not width:  # without any indent it would often read as something else
            break
        spaced = [
            indents[at].replace("\t", " " * width) + line[len(indents[at]) :] if at in indents else line
            for at, line in enumerate(lines)
        ]
        decoded = decode("\n".join(spaced))
        if not decoded.problems:
            found.append((width, decoded))
    if not found or any(one.document != found[0][1].document for _, one in found):
        return NO_EDIT
    widths = [width for width, _ in found]
    width = 2 if 2 in widths else widths[0]  # as this project indents
    return tuple(
        operation
        for at, indent in indents.items()
        for operation in rewrite_text(at + 1, 1, len(indent), indent.replace("\t", " " * width))
    )


def _mended_line(lines: list[str], line: int, decode: Decode) -> Mended:
    """A space behind the colon of a key, or quotes around a text that has signs of YAML."""
    for at in (line - 1, line - 2):  # a parser may stop at the line after
        for mended, fix, edit in _mended(lines, at) if 0 <= at < len(lines) else ():
            decoded = decode("\n".join([*lines[:at], mended, *lines[at + 1 :]]))
            if not decoded.problems or decoded.problems[0].line > max(line, at + 1):
                return fix, edit
    return _UNMENDED


def _mended(lines: list[str], at: int) -> Iterator[tuple[str, str, Edit]]:
    """Lines that could stand there instead, each with what to write."""
    written = lines[at].rstrip("\r")
    joined = _JOINED.match(written)
    if joined is not None:
        edit = rewrite_text(at + 1, joined.end() + 1, 0, " ")
        yield f"{joined[0]} {written[joined.end() :]}", "Write a space after the colon.", edit
    prose = _PROSE.fullmatch(written)
    if prose is None or " #" in prose[2] or _goes_on(lines, at):
        return
    quoted = json.dumps(prose[2], ensure_ascii=False)
    edit = rewrite_text(at + 1, len(prose[1]) + 1, len(prose[2]), quoted)
    yield prose[1] + quoted, "Put the text in quotes: it has signs that mean something in YAML.", edit


def _goes_on(lines: list[str], at: int) -> bool:
    """Whether the next line may belong to the same text."""
    after = next((line for line in lines[at + 1 :] if line.strip()), "")
    return _indent(after) > _indent(lines[at])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
