"""Two versions of a text as a unified diff, within limits. Pure."""

from __future__ import annotations

import difflib

import msgspec

from handrail.contract.wording import make_readable, spell_hidden

MOST_DIFF_LINES = 20_000
"""Most lines of both sides of one file, without the common lines at the beginning and end."""
MOST_DIFF_WORK = 4_000_000
"""Most lines of one side times lines of the other."""
_CONTEXT = 3


class UnifiedDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The diff of one file."""

    added: int
    removed: int
    text: str
    """The diff, with hidden characters shown as escapes."""


def diff_texts(path: str, old: bytes, new: bytes) -> UnifiedDiff | str:
    """Return the diff, or why there is none, as the end of a sentence."""
    if b"\0" in old or b"\0" in new:
        return "it is not text"
    before, after = _lines(old), _lines(new)
    start, end = _count_alike(before, after)
    one_side, other = len(before) - start - end, len(after) - start - end
    if one_side + other > MOST_DIFF_LINES or one_side * other > MOST_DIFF_WORK:
        return "it differs in too many lines"
    shown = spell_hidden(make_readable(path))
    first = max(0, start - _CONTEXT)
    hunks = _make_hunks(
        before[first : len(before) - max(0, end - _CONTEXT)],
        after[first : len(after) - max(0, end - _CONTEXT)],
        first,
    )
    lines = [f"--- a/{shown}\n", f"+++ b/{shown}\n", *hunks]
    return UnifiedDiff(
        added=sum(line.startswith("+") for line in hunks),
        removed=sum(line.startswith("-") for line in hunks),
        text="".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
        ),
    )


def _make_hunks(before: list[str], after: list[str], first: int) -> list[str]:
    """Return the hunks of two lists of lines, whose first line is number `first` of its file."""
    lines: list[str] = []
    for group in difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(_CONTEXT):
        _, from_old, _, from_new, _ = group[0]
        _, _, to_old, _, to_new = group[-1]
        old, new = _span(first + from_old, to_old - from_old), _span(first + from_new, to_new - from_new)
        lines.append(f"@@ -{old} +{new} @@\n")
        for tag, one, other, third, fourth in group:
            if tag == "equal":
                lines += [f" {line}" for line in before[one:other]]
                continue
            lines += [f"-{line}" for line in before[one:other]]
            lines += [f"+{line}" for line in after[third:fourth]]
    return lines


def _span(start: int, length: int) -> str:
    """Return a span as unified diffs count it: from one, and an empty span by the line before it."""
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"


def _count_alike(before: list[str], after: list[str]) -> tuple[int, int]:
    """Return how many lines both begin with and end with; comparing those would only cost time."""
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return start, end


def _lines(content: bytes) -> list[str]:
    text = content.decode("utf-8", "backslashreplace")
    return [
        spell_hidden(line.removesuffix("\n")) + ("\n" if line.endswith("\n") else "") for line in _cut(text)
    ]


def _cut(text: str) -> list[str]:
    """Return the lines, split at line feeds only: other line ends are part of a line."""
    lines = text.split("\n")
    whole = [line + "\n" for line in lines[:-1]]
    return [*whole, lines[-1]] if lines[-1] else whole
