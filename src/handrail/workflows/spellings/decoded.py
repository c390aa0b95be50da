"""What is read from a spelling: the document, where everything in it stands, and its comments. Pure.

Which Markdown is a workflow at all is seen from its front matter without reading any YAML.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TypeAlias

import msgspec

from handrail.contract.outcome import Json
from handrail.workflows.problem import NO_EDIT, Edit, Problem

Place: TypeAlias = tuple[int, int]
"""Line and column, both from 1, the column in characters."""


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside a member or an item: lines before it, and a remark at the end of its line."""

    before: tuple[str, ...] = ()
    beside: str = ""


class Decoded(msgspec.Struct, frozen=True, kw_only=True):
    """The result of decoding a file. There is no document if there are problems; their places are known."""

    document: Json = None
    values: dict[str, Place] = {}
    """Position at which each value begins, by pointer."""
    keys: dict[str, Place] = {}
    """Position of each key, or of the dash of an item, by pointer."""
    comments: dict[str, Comment] = {}
    """Comments by pointer; the empty pointer has those after everything else."""
    problems: tuple[Problem, ...] = ()


class Lines:
    """Places in a text by offset."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(end.end() for end in re.finditer("\n", text))]

    def place(self, offset: int) -> Place:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def report(place: Place, message: str, fix: str, edit: Edit = NO_EDIT) -> Problem:
    """Report syntax that this spelling does not have."""
    line, column = place
    return Problem(
        code="unreadable", message=message, pointer="", fix=fix, line=line, column=column, edit=edit
    )


RULE = "---"
"""The line before and after the front matter."""
_HAS_ID = re.compile(rb"^(?:id|\"id\"|'id')[ \t]*:", re.MULTILINE)
_END = re.compile(rb"^---[ \t\r]*$", re.MULTILINE)


_PART = re.compile(r"^ {0,3}#{2,}[ \t]*[^#\s].*\{#[^{}\s]*\}", re.MULTILINE)
_OTHER_KEY = re.compile(r"^\s*[\"']?(?:id\w?|name)[\"']?[ \t]*[:=]", re.MULTILINE | re.IGNORECASE)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def is_workflow_page(content: bytes) -> bool:
    """Whether Markdown is a workflow, or meant to be one: with keys, and then steps, in whatever form."""
    if has_workflow_id(content):
        return True
    text = content.decode("utf-16" if content.startswith(_UTF_16) else "utf-8", "replace")
    text = text.replace("\r", "\n")
    first = _PART.search(text)
    return first is not None and _OTHER_KEY.search(text.removeprefix("\ufeff"), 0, first.start()) is not None


def has_workflow_id(content: bytes) -> bool:
    """Whether the front matter of a Markdown file has an `id`; other Markdown is no workflow."""
    first, _, rest = content.partition(b"\n")
    if first.rstrip() != RULE.encode():
        return False
    end = _END.search(rest)
    return _HAS_ID.search(rest, 0, len(rest) if end is None else end.start()) is not None
