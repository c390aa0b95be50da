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
