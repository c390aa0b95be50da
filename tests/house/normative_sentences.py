"""The sentences of a specification that bind somebody, each under its heading and number. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_BINDING = {
    "EXEC": re.compile(r"\b(must|never)\b", re.IGNORECASE),
    "PACK": re.compile(r"\b(must|never|locked|chosen)\b", re.IGNORECASE),
}
"""The words that bind: EXEC writes MUST, the resumption pack also records what was locked and chosen."""
_END = re.compile(r"(?<=[.;:!?])\s+")


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """One binding sentence."""

    heading: str
    number: int
    """Counted from 1 under its heading."""
    text: str

    @property
    def key(self) -> str:
        return f"{self.heading} #{self.number}"


def binding_sentences(specification: str, text: str) -> Iterator[Sentence]:
    """Every binding sentence in order; examples in code blocks bind nobody."""
    heading, number, is_code = "", 0, False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif line.startswith("#") and not is_code:
            heading, number = line.lstrip("#").strip(), 0
        elif not is_code:
            for part in _END.split(line.strip()):
                if _BINDING[specification].search(part):
                    number += 1
                    yield Sentence(heading=heading, number=number, text=part)


def headings(text: str) -> list[str]:
    """Every heading, in order."""
    return [line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")]


_EXAMPLE = re.compile(r"```.*?```")
_PLACE = re.compile(r"#{2,3} (?:([0-9]+(?:\.[0-9]+)?)\.? )?(\S+)")
_RULER = re.compile(r"[|\s-]+")
_STOP = re.compile(r"(?<=[.!?])(?<!e\.g\.)\s+(?=[A-Z`*(])|(?<=:)\s*$")
_MARK = re.compile(r"^(- \[ \]|-|[0-9]\.) ")


def command_line_sentences(text: str) -> Iterator[Sentence]:
    """Every sentence, bullet and table row of CLI in order: it has no word that marks those that bind.

    Its text has no line ends, so a place is the number of its section, and the first word of a heading
    that has none.
    """
    place, section, number = "0", "0", 0
    for line in _restored_lines(text):
        if found := _PLACE.match(line):
            section = found[1] or section
            place, number = (section if found[1] else f"{section} {found[2]}"), 0
            line = line[found.start(2) :]
        if _RULER.fullmatch(line):
            continue
        for part in _STOP.split(_MARK.sub("", line.strip())):
            if part.strip():
                number += 1
                yield Sentence(heading=place, number=number, text=part)


def _restored_lines(text: str) -> list[str]:
    for pattern, instead in (
        (_EXAMPLE, " "),
        (re.compile(r"\s(#{2,3} )"), r"\n\1"),
        (re.compile(r"(?<!\|)\s- (?=\S)"), r"\n- "),
        (re.compile(r"(?<!##)(?<!§)\s([0-9]\. )(?=[A-Z`s])"), r"\n\1"),
        (re.compile(r"\|\s+\|"), "|\n|"),
    ):
        text = pattern.sub(instead, text)
    return text.splitlines()
