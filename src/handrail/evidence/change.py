"""A change between two trees, split into the four sets, and the trees that a proof runs. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from handrail.evidence.file_sets import MIXED, FileSet, MixedContent, Patterns, sort_path

RunName: TypeAlias = Literal[
    "tests_after_code_after",
    "tests_after_code_before",
    "tests_before_code_after",
    "tests_before_code_before",
    "rules_after",
    "control",
]
"""The trees to run: the four combinations, the end with its own rules, and the end with broken code."""

SYNTAX_ERRORS: Final[dict[str, bytes]] = {
    **dict.fromkeys((".py", ".pyi"), b"def broken on purpose(:\n"),
    **dict.fromkeys(
        (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"), b"const = broken on purpose;\n"
    ),
    ".go": b"broken on purpose\n",
    ".rs": b"fn broken on purpose( {\n",
}
"""The content that the control puts in place of a changed code file, by the ending of its name."""

Entry: TypeAlias = tuple[str, str]
"""The git mode and the object id of a path."""
_FILE_MODES = frozenset({"100644", "100755"})


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between the files at the start and at the end, by set. Every list is sorted."""

    before: Mapping[str, Entry]
    after: Mapping[str, Entry]
    sets: Mapping[str, FileSet]
    """The set of every path of both trees."""
    tests: tuple[str, ...]
    rules: tuple[str, ...]
    dependencies: tuple[str, ...]
    code: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.tests or self.rules or self.dependencies or self.code)


def split_change(
    before: Mapping[str, Entry],
    after: Mapping[str, Entry],
    patterns: Patterns,
    mixed: Mapping[str, MixedContent],
) -> Change:
    """Return the differences between two trees, split into the four sets."""
    sets = {path: sort_path(path, patterns, mixed) for path in sorted({*before, *after})}
    changed: dict[FileSet, list[str]] = {"tests": [], "rules": [], "dependencies": [], "code": []}
    for path, name in sets.items():
        if before.get(path) != after.get(path):
            changed[name].append(path)
    return Change(
        before=before,
        after=after,
        sets=sets,
        tests=tuple(changed["tests"]),
        rules=tuple(changed["rules"]),
        dependencies=tuple(changed["dependencies"]),
        code=tuple(changed["code"]),
    )


def list_mixed(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> tuple[str, ...]:
    """Return the manifests that differ, whose contents are needed to sort them."""
    paths = (path for path in sorted({*before, *after}) if posixpath.basename(path) in MIXED)
    return tuple(path for path in paths if before.get(path) != after.get(path))


def list_run(change: Change, run: RunName) -> dict[str, Entry]:
    """Return the entries of the tree of a run, sorted by path.

    Rules are those of the start, except in `rules_after`; dependencies are those of the end. The tree of
    the control is that of the end: `list_broken` has the content that replaces its files.
    """
    ends: dict[FileSet, Mapping[str, Entry]] = {
        "tests": change.before if run.startswith("tests_before") else change.after,
        "code": change.before if run.endswith("code_before") else change.after,
        "rules": change.after if run == "rules_after" else change.before,
        "dependencies": change.after,
    }
    found = {path: ends[name][path] for path, name in change.sets.items() if path in ends[name]}
    return {path: entry for path, entry in found.items() if not _is_below_file(path, found)}


def _is_below_file(path: str, entries: Mapping[str, Entry]) -> bool:
    """Whether a folder above a path is a file in the other tree: no tree can have both."""
    parts = path.split("/")
    return any("/".join(parts[:end]) in entries for end in range(1, len(parts)))


def list_broken(change: Change) -> dict[str, bytes]:
    """Return the changed code files that the control breaks, with their replacement.

    If none of them has a known language, all of them are emptied.
    """
    files = [path for path in change.code if path in change.after and change.after[path][0] in _FILE_MODES]
    known = {path: SYNTAX_ERRORS[ending] for path in files if (ending := _find_ending(path)) in SYNTAX_ERRORS}
    return known or dict.fromkeys(files, b"")


def has_known_syntax(path: str) -> bool:
    """Whether the control can break a file so that every program that loads it fails."""
    return _find_ending(path) in SYNTAX_ERRORS


def _find_ending(path: str) -> str:
    return posixpath.splitext(path)[1].lower()
