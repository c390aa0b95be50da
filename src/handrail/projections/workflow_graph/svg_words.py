"""Text inside an SVG: cut into lines that fit, escaped, never measured. Pure."""

from __future__ import annotations

import textwrap

import msgspec

_LINE = 16
_MOST_LINES = 4
"""Of one text; the tooltip of its shape has the whole."""
_CHARACTERS = {
    "node": 50,
    "small node": 56,
    "diamond": 30,
    "small diamond": 34,
    "small": 56,
    "heading": 56,
}
"""What fits into one line, by place, with a wide font."""
_CHARACTER_WIDTH = 6
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """Lines around one middle, the small ones last."""

    lines: tuple[str, ...]
    small: tuple[str, ...] = ()
    style: str = ""

    @property
    def height(self) -> int:
        return _LINE * (len(self.lines) + len(self.small))

    def drawn(self, middle: int, top: int, *, on_paper: bool = False) -> str:
        """The text elements; on paper, with something behind them that hides the line they stand on."""
        styled = [(line, self.style) for line in self.lines] + [(line, "small") for line in self.small]
        paper = self._paper(middle, top) if on_paper else ""
        return paper + "".join(
            f'<text{_class(style)} x="{middle}" y="{top + _LINE * number + 12}">{escaped(line)}</text>'
            for number, (line, style) in enumerate(styled)
        )

    def _paper(self, middle: int, top: int) -> str:
        half = _CHARACTER_WIDTH * max(len(line) for line in (*self.lines, *self.small)) // 2 + 4
        return (
            f'<rect class="paper" x="{middle - half}" y="{top}" width="{2 * half}" height="{self.height}"/>'
        )


def wrapped(text: str, place: str) -> tuple[str, ...]:
    """At most a few lines that fit the place; what does not fit ends in an ellipsis."""
    width = _CHARACTERS[place]
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, width)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], lines[_MOST_LINES - 1][: width - 1] + "…"]
    return tuple(lines)


def escaped(text: str) -> str:
    """XML text; what XML cannot hold becomes U+FFFD."""
    held = "".join(
        character if character.isprintable() or character == "\n" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
    return held.translate(_ESCAPES)


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""
