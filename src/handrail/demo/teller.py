"""How the demo tells its story: plain lines of at most 80 columns, and the same as data."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Callable, Sequence

import msgspec

WIDTH = 80
_INDENT = "   "
_TOKEN = re.compile(r"\b((?:st|ak|ck)1)[0-9a-z]{20,}([0-9a-z]{5})\b")
CHAPTER_SECONDS = 0.4
CHECK_SECONDS = 0.1


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of the demo and whether it held."""

    claim: str
    passed: bool


class Chapter(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the story with everything that was told in it."""

    title: str
    told: list[str]


class Teller:
    """Writes each line as it is told, and keeps all of them."""

    def __init__(self, write: Callable[[str], None], pause: Callable[[float], None]) -> None:
        self._write = write
        self._pause = pause
        self.chapters: list[Chapter] = []
        self.checks: list[Check] = []

    def begin(self, title: str) -> None:
        """A new chapter; they are numbered."""
        self._pause(CHAPTER_SECONDS)
        self.chapters.append(Chapter(title=title, told=[]))
        self._write(f"\n{len(self.chapters)}. {title}\n\n")

    def say(self, text: str) -> None:
        """A paragraph."""
        self._tell(textwrap.wrap(text, WIDTH - len(_INDENT)))

    def quote(self, text: str, lines: int = 3) -> None:
        """The beginning of somebody's text, as it was written."""
        wrapped = [part for line in text.splitlines() for part in textwrap.wrap(line, WIDTH - 12)]
        more = ["…"] if len(wrapped) > lines else []
        self._tell([f"  | {line}" for line in (*wrapped[:lines], *more)])

    def command(self, arguments: Sequence[str]) -> None:
        """A call as it would be typed; tokens are shortened, and the end is cut if it is long."""
        typed = "$ handrail " + " ".join(shlex.quote(word) for word in arguments if word != "--compact")
        shown = _shortened(typed)
        line = _cut(shown, WIDTH - len(_INDENT))
        is_open = line != shown and line.count("'") % 2 == 1
        self._tell([line[:-2] + "…'" if is_open else line])

    def row(self, name: str, value: object) -> None:
        """One fact beside its name."""
        self._tell([_cut(f"  {name:<12} {_shortened(str(value))}", WIDTH - len(_INDENT))])

    def block(self, lines: Sequence[str]) -> None:
        """Lines that must keep their shape."""
        self._tell([_cut(f"  {line}", WIDTH - len(_INDENT)) for line in lines])

    def check(self, claim: str, passed: bool) -> None:
        """A claim, printed with its verdict."""
        self.checks.append(Check(claim=claim, passed=passed))
        mark = "[ok]" if passed else "[FAILED]"
        self._tell(textwrap.wrap(f"{mark} {claim}", WIDTH - len(_INDENT), subsequent_indent="     "))
        self._pause(CHECK_SECONDS)

    def has_passed(self) -> bool:
        return bool(self.checks) and all(check.passed for check in self.checks)

    def _tell(self, lines: Sequence[str]) -> None:
        self.chapters[-1].told.extend(lines)
        self._write("".join(f"{_INDENT}{line}".rstrip() + "\n" for line in lines))


def _shortened(text: str) -> str:
    """Tokens by their kind and their last characters: enough to tell them apart."""
    return _TOKEN.sub(r"\1…\2", text)


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"
