"""The repository as the house rules see it: files, their text, their syntax, and how a rule reports."""

from __future__ import annotations

import ast
import fnmatch
import functools
import gc
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = "src/handrail/"
PURE_ROOMS = (
    *(f"src/handrail/{room}/" for room in ("contract", "workflows", "evidence", "engine", "projections")),
    *(f"src/handrail_code/{room}/" for room in ("edit", "scan", "languages", "facts")),
    "src/handrail_serve/pages/",
)


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One text file; `path` is relative to the repository, with forward slashes."""

    path: str
    text: str


Rule: TypeAlias = Callable[[Sequence[Source]], list[str]]
"""Every problem as `path:line: what is wrong; what to do`."""


def plant(path: str, text: str) -> Source:
    """A source that exists only for a test of a rule."""
    return Source(path=path, text=textwrap.dedent(text).lstrip("\n"))


@functools.cache
def text_files() -> tuple[Source, ...]:
    """Every text file of the repository that git would track, sorted by path."""
    sources = []
    for path in sorted(_paths()):
        with open(os.path.join(ROOT, path), "rb") as file:
            content = file.read()
        if b"\0" not in content:
            sources.append(Source(path=path, text=content.decode("utf-8", "replace")))
    return tuple(sources)


def python_files(*tops: str) -> tuple[Source, ...]:
    """The Python files under these folders; without folders, all of them."""
    return tuple(
        source
        for source in text_files()
        if source.path.endswith(".py") and source.path.startswith(tops or "")
    )


def markdown_files() -> tuple[Source, ...]:
    """The pages. Bundled workflows are Markdown too, but they are programs, with checks of their own."""
    return tuple(
        source
        for source in text_files()
        if source.path.endswith(".md") and not source.path.startswith("src/handrail/host/bundled/")
    )


def page(path: str) -> Source:
    """One file by its path; a missing one is a failed rule, not a crash."""
    found = [source for source in text_files() if source.path == path]
    assert found, f"{path} does not exist; write it, or generate it with: python tools/generate.py"
    return found[0]


def syntax(source: Source) -> ast.Module:
    return _parsed(source.text)


def is_generated(source: Source) -> bool:
    """Generated files say so at the top and are checked by regenerating them, not by style."""
    head = source.text[:400].lower()
    return "generated" in head and "tools/generate.py" in head


def room_of(source: Source) -> str:
    """The room of a file in the package: `engine`, `ports`, ...; empty outside of it."""
    if not source.path.startswith(PACKAGE):
        return ""
    return source.path.removeprefix(PACKAGE).split("/")[0].removesuffix(".py")


def in_pure_room(source: Source) -> bool:
    return source.path.startswith(PURE_ROOMS)


def nodes(source: Source) -> tuple[ast.AST, ...]:
    """Every node of its syntax, walked once for all rules."""
    return _walked(source.text)


def docstrings(source: Source) -> set[ast.Constant]:
    """Every string that stands alone as a statement: docstrings and attribute notes."""
    return {
        node.value
        for node in nodes(source)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def check(problems: Iterable[str]) -> None:
    """Fail with one line per problem."""
    listed = list(problems)
    assert not listed, "\n".join(["", *listed])


def check_planted(rule: Rule, source: Source, expected: str) -> None:
    """The rule reports exactly one problem that contains `expected`, or none when it is empty."""
    problems = rule([source])
    if not expected:
        assert problems == []
        return
    assert len(problems) == 1, problems
    assert expected in problems[0]
    assert problems[0].startswith(source.path)
    assert "; " in problems[0], "a problem ends with what to do"


def _paths() -> Iterator[str]:
    ignored = _ignored_names()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if not _is_ignored(name, ignored)]
        for name in files:
            if not _is_ignored(name, ignored):
                yield os.path.relpath(os.path.join(folder, name), ROOT).replace(os.sep, "/")


def _ignored_names() -> tuple[str, ...]:
    """The patterns of .gitignore, which holds names only, and git's own folder."""
    with open(os.path.join(ROOT, ".gitignore"), encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return (".git", *(line.strip("/") for line in lines if line and not line.startswith("#")))


def _is_ignored(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


@functools.cache
def _parsed(text: str) -> ast.Module:
    """Kept for all rules, so nothing of it is garbage to look for meanwhile."""
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        gc.enable()


@functools.cache
def _walked(text: str) -> tuple[ast.AST, ...]:
    """As `ast.walk`, in half its time."""
    found: list[ast.AST] = [_parsed(text)]
    for node in found:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                found.extend(one for one in value if isinstance(one, ast.AST))
            elif isinstance(value, ast.AST):
                found.append(value)
    return tuple(found)
