"""Two trees of files, and what differs. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from handrail.contract.outcome import Answer

FileChange: TypeAlias = Literal["added", "changed", "removed"]


class DiffedFile(Answer, frozen=True, kw_only=True):
    """One file that differs."""

    path: str
    change: FileChange
    added: int
    removed: int
    note: str
    """Why no lines are shown; empty: they are in the diff."""


class UnknownFile(Answer, frozen=True, kw_only=True):
    """A path whose content one of the two trees does not have, so nobody can say whether it differs."""

    path: str
    why: str


class CodeDiff(Answer, frozen=True, kw_only=True):
    """The difference of two trees."""

    session_id: str
    before: str
    after: str
    differing: int
    files: list[DiffedFile]
    diff: str
    """Unified; hidden characters stand as their escapes."""
    unknown: list[UnknownFile] = []
    """Paths that were not compared, such as files of credentials; they are not counted."""
