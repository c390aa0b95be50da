"""What `code.scan` answers, one document per question."""

from __future__ import annotations

from typing import Literal

from handrail.contract.outcome import Answer
from handrail_code.operations.code_answers import CodeAnswer, UnsurePlace
from handrail_code.operations.named_symbols import FoundCode


class SearchResult(FoundCode, frozen=True, kw_only=True):
    """One match. A use has no id and no hash: its `signature` is its line, its `container` is around it."""

    match: str
    """`definition`, how the name is used, or `text`."""


class SearchedCode(CodeAnswer, frozen=True, kw_only=True):
    """Where a text is part of a name."""

    results: list[SearchResult]
    count: int
    total: int
    has_more: bool
    message: str
    """What to do when there is nothing, or too much to choose; else empty."""


class LinkedCode(Answer, frozen=True, kw_only=True):
    """Another definition, or the top of a file."""

    id: str
    name: str
    file: str
    line: int
    """Where the call is."""
    count: int


class AnalyzedCode(CodeAnswer, frozen=True, kw_only=True):
    """One definition in detail."""

    symbol: FoundCode
    doc: str
    parameters: list[str]
    complexity: int
    """Decisions in its body plus one; 0 without a body."""
    calls: list[LinkedCode]
    call_count: int
    callers: list[LinkedCode]
    caller_count: int
    exported_as: list[str]
    imported_by: list[str]
    tests: list[str]
    references: dict[str, int]
    """How many of each level: exact, alias, member, possible."""
    unsure: list[UnsurePlace]
    unsure_count: int


class TracedCode(Answer, frozen=True, kw_only=True):
    """One definition of a tree; the ones above it come before it."""

    index: int
    parent: int
    """The index of the definition above it; -1 for the one that was asked about."""
    depth: int
    id: str
    name: str
    file: str
    lines: list[int]
    """Where the calls are, in the file of the caller."""
    repeated: bool
    """It is in the tree already, and is not followed again."""


class TraceOfCode(CodeAnswer, frozen=True, kw_only=True):
    """Callers, or callees, as a tree."""

    symbol: FoundCode
    depth: int
    tree: list[TracedCode]
    left_out: int
    unsure: list[UnsurePlace]
    unsure_count: int


class RippleLayer(Answer, frozen=True, kw_only=True):
    """Files that are equally far away."""

    distance: int
    files: list[str]
    file_count: int


class RippleOfCode(CodeAnswer, frozen=True, kw_only=True):
    """What may break."""

    symbol: FoundCode
    score: int
    """0 to 100, by the formula in the documentation."""
    risk: Literal["low", "medium", "high"]
    layers: list[RippleLayer]
    entry_points: list[str]
    tests: list[str]
    unsure: list[UnsurePlace]
    unsure_count: int


class OutlinedFile(CodeAnswer, frozen=True, kw_only=True):
    """The definitions of a file."""

    file: str
    results: list[FoundCode]
    count: int
    total: int
    has_more: bool


class FileLink(Answer, frozen=True, kw_only=True):
    """One module or importer."""

    module: str
    file: str
    """Empty for a package, and where `resolved` is false."""
    resolved: bool
    line: int
    names: list[str]


class FileDeps(CodeAnswer, frozen=True, kw_only=True):
    """What a file takes and gives."""

    file: str
    imports: list[FileLink]
    exports: list[str]
    importers: list[FileLink]
    importer_count: int
