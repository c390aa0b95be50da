"""What was meant by a text that is almost YAML, where only one reading of it parses. Pure.

Each repair is tried: it is offered if the text then reads, or is first wrong further down.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from handrail.workflows.problem import NO_EDIT, Edit, rewrite_text
from handrail.workflows.spellings.decoded import Decoded

Decode = Callable[[str], Decoded]

_MOST_BYTES = 64_000
"""Of a longer text the repairs are not tried: each try reads it once more."""
_WIDTHS = range(1, 9)
_INDENT = re.compile(r" *\t[ \t]*")
_JOINED = re.compile(r"( *(?:- +)?)([A-Za-z]\w*):(?=[^\s:/])")
_PROSE = re.compile(
    r"( *(?:- +)?(?:title|name|description|prompt|label|purpose|text|goal|message|agentRole|reason|brief"
    r"|append|prepend): +)([^\s\"'|>#].*?)[ \t]*"
)
"""A member whose value is never anything but a text."""


Mended = tuple[str, Edit]
"""What to write, and the edit; no edit where it is not certain."""
_UNMENDED: Mended = "", NO_EDIT


def mend_yaml(text: str, line: int, decode: Decode) -> Mended:
    """What makes the text readable at a line."""
    if len(text) > _MOST_BYTES:
        return _UNMENDED
    lines = text.split("\n")
    spaces = _spaces_for_tabs(lines, decode)
    return ("Indent with spaces.", spaces) if spaces else _mended_line(lines, line, decode)


def _spaces_for_tabs(lines: list[str], decode: Decode) -> Edit:
    """Spaces for the tabs that indent, if every width at which the text reads says the same."""
    indents = {at: tabs[0] for at, line in enumerate(lines) if (tabs := _INDENT.match(line)) is not None}
    if not indents:
        return NO_EDIT
    found: list[tuple[int, Decoded]] = []
    for width in _WIDTHS:
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
