"""The difference between two file snapshots. Pure."""

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
    """Why no lines are shown; empty if the diff shows them."""


class UnknownFile(Answer, frozen=True, kw_only=True):
    """A path whose content one of the snapshots lacks, so it may or may not differ."""

    path: str
    why: str


class CodeDiff(Answer, frozen=True, kw_only=True):
    """The difference between two file snapshots."""

    session_id: str
    before: str
    after: str
    differing: int
    files: list[DiffedFile]
    diff: str
    """A unified diff; hidden characters are shown as escapes."""
    unknown: list[UnknownFile] = []
    """Paths that were not compared, such as credential files; the counts leave them out."""
