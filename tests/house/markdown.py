"""Markdown as the house rules read it: headings, prose, code, links and tables."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import msgspec

FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(\S*)")
HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE_SPAN = re.compile(r"`([^`]+)`")
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One fenced block: its language and the lines between the fences."""

    language: str
    lines: tuple[str, ...]


def closes(line: str, mark: str) -> bool:
    """Whether a line ends the fence that began with this mark."""
    fence = FENCE.match(line)
    return fence is not None and fence[1].startswith(mark) and not fence[2]


def fenced_blocks(text: str) -> list[Block]:
    blocks = []
    language: str | None = None
    mark = ""
    lines: list[str] = []
    for line in text.splitlines():
        fence = FENCE.match(line)
        if language is None and fence is not None:
            mark, language, lines = fence[1], fence[2], []
        elif language is not None and closes(line, mark):
            blocks.append(Block(language=language, lines=tuple(lines)))
            language = None
        else:
            lines.append(line)
    return blocks


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """Every line outside of fenced blocks and front matter, with its number."""
    mark = ""
    lines = text.splitlines()
    matter = lines.index("---", 1) + 1 if lines[:1] == ["---"] and "---" in lines[1:] else 0
    for number, line in enumerate(lines[matter:], start=matter + 1):
        fence = FENCE.match(line)
        if mark:
            mark = "" if closes(line, mark) else mark
        elif fence is not None:
            mark = fence[1]
        else:
            yield number, line


def headings(text: str) -> Iterator[tuple[int, str]]:
    for number, line in prose_lines(text):
        found = HEADING.fullmatch(line)
        if found:
            yield number, found[1]


@functools.cache
def anchors(text: str) -> set[str]:
    """What a link can point at: the slug of each heading, and explicit anchors."""
    explicit = {found for _, line in prose_lines(text) for found in ANCHOR.findall(line)}
    return explicit | {slug(heading) for _, heading in headings(text)}


def slug(heading: str) -> str:
    """The anchor that repository hosts derive from a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def links(text: str) -> Iterator[tuple[int, str]]:
    for number, line in prose_lines(text):
        for target in LINK.findall(CODE_SPAN.sub("", line)):
            yield number, target


def code_spans(text: str) -> Iterator[tuple[int, str]]:
    for number, line in prose_lines(text):
        for span in CODE_SPAN.findall(line):
            yield number, span


def table_rows(text: str) -> Iterator[list[str]]:
    """The cells of every table row, heading rows included, rules left out."""
    for _, line in prose_lines(text):
        if line.startswith("|") and not re.fullmatch(r"[|\s:-]+", line):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]
