"""Commands that a project's own files suggest as checks, if none is declared. Nothing is run."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec

from handrail.contract.ids import ReportFormat

LOOKED_AT = (
    *("justfile", "Justfile", ".justfile", "Makefile", "makefile", "GNUmakefile"),
    *("pyproject.toml", "uv.lock", "poetry.lock", "pdm.lock", "setup.cfg", "tox.ini", "setup.py"),
    *("pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py", "tests/conftest.py", "noxfile.py"),
    *("requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "Pipfile"),
    *("requirements/dev.txt", "requirements/test.txt"),
    *("package.json", "pnpm-lock.yaml", "yarn.lock", "bun.lockb", "bun.lock"),
    *("Cargo.toml", "go.mod"),
)
"""The most informative files, for a caller that cannot list all files; lock files count only by presence."""
MOST_CHARACTERS = 1_000_000

_TARGETS = {"test": "tests", "tests": "tests", "lint": "lint", "check": "check"}
_RECIPE = r"(?m)^@?({})(?:[ \t][^:=\n]*)?:(?![=:])"
_TASK_RUNNERS = (
    ("just", ("justfile", "Justfile", ".justfile")),
    ("make", ("Makefile", "makefile", "GNUmakefile")),
)
_PYTEST_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py", "tests/conftest.py")
_PYTHON_LISTS = (
    *("pyproject.toml", "setup.cfg", "tox.ini", "setup.py", "requirements.txt", "requirements-dev.txt"),
    *("dev-requirements.txt", "requirements/dev.txt", "requirements/test.txt", "Pipfile", "noxfile.py"),
)
_PYTHON_TEST = re.compile(r"(?:\A|/)(?:test_[^/]*|[^/]*_test|tests)\.py\Z")
_PYTEST_TEST = re.compile(r"(?m)^(?:async )?def test|\bpytest\b")
"""Matches a test outside of a class in a test file; unittest does not find such tests."""
_PYTHON_STARTERS = {"uv.lock": ("uv", "run"), "poetry.lock": ("poetry", "run"), "pdm.lock": ("pdm", "run")}
_NODE_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}
_NODE_SCRIPTS = {"test": "tests", "lint": "lint", "typecheck": "types"}
_NO_TEST = "no test specified"
_CARGO = re.compile(r"(?m)^\[(?:package|workspace)\]")
_GO = re.compile(r"(?m)^module\s")

LoadText = Callable[[str], str]
"""Returns the text of a file; empty if it does not exist or cannot be read."""


class FoundCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command, and the file that suggests it."""

    name: str
    """The suggested name of the check."""
    command: tuple[str, ...]
    because: str
    report: ReportFormat | None = None
    """The format in which it can report its test cases."""
    reporting: tuple[str, ...] = ()
    """The command that reports them, if it differs."""


def find_commands(paths: Collection[str], load: LoadText) -> tuple[FoundCommand, ...]:
    """Return the commands that the files of a project suggest: of languages first, then of task runners."""

    def read(path: str) -> str:
        text = load(path) if path in paths else ""
        return text if len(text) <= MOST_CHARACTERS else ""

    return (
        *_find_python(paths, read),
        *_find_node(paths, read),
        *_find_by_language(read),
        *_find_targets(read),
    )


def _find_python(paths: Collection[str], read: LoadText) -> Iterator[FoundCommand]:
    start = next((words for lock, words in _PYTHON_STARTERS.items() if lock in paths), ())
    because = next((path for path in _PYTEST_FILES if path in paths), "")
    because = because or next((path for path in _PYTHON_LISTS if "pytest" in read(path)), "")
    runner: tuple[str, ...] = ("pytest", "-q")
    if not because:
        because = next((path for path in sorted(paths) if _PYTHON_TEST.search(path)), "")
        if not _PYTEST_TEST.search(read(because)):
            runner = ("unittest",)
    if because:
        yield FoundCommand(name="tests", command=(*start, "python", "-m", *runner), because=because)
    if "ruff" in _read_tools(read("pyproject.toml")):
        yield FoundCommand(name="lint", command=(*start, "ruff", "check"), because="pyproject.toml")


def _read_tools(text: str) -> dict[str, Any]:
    try:
        tools = tomllib.loads(text).get("tool")
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    return tools if isinstance(tools, dict) else {}


def _find_node(paths: Collection[str], read: LoadText) -> Iterator[FoundCommand]:
    try:
        held: Any = msgspec.json.decode(read("package.json") or "{}")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return
    scripts = held.get("scripts") if isinstance(held, dict) else None
    if not isinstance(scripts, dict):
        return
    manager = next((name for lock, name in _NODE_LOCKS.items() if lock in paths), "npm")
    for script, name in _NODE_SCRIPTS.items():
        line = scripts.get(script)
        if not isinstance(line, str) or not line.strip() or _NO_TEST in line:
            continue
        words = _split(line)
        is_reporting = words[:2] == ("node", "--test")
        yield FoundCommand(
            name=name,
            command=(manager, "test") if script == "test" else (manager, "run", script),
            because="package.json",
            report="tap" if is_reporting else None,
            reporting=("node", "--test", "--test-reporter=tap", *words[2:]) if is_reporting else (),
        )


def _split(line: str) -> tuple[str, ...]:
    """Return the words of a plain command line; empty if a shell would interpret it further."""
    try:
        return () if set(line) & set("|&;<>()$`\\=") else tuple(shlex.split(line))
    except ValueError:
        return ()


def _find_by_language(read: LoadText) -> Iterator[FoundCommand]:
    if _CARGO.search(read("Cargo.toml")):
        yield FoundCommand(name="tests", command=("cargo", "test"), because="Cargo.toml")
    if _GO.search(read("go.mod")):
        yield FoundCommand(
            name="tests",
            command=("go", "test", "./..."),
            because="go.mod",
            report="go",
            reporting=("go", "test", "-json", "./..."),
        )


def _find_targets(read: LoadText) -> Iterator[FoundCommand]:
    for program, files in _TASK_RUNNERS:
        for file in files:
            text = read(file)
            for target, name in _TARGETS.items():
                if re.search(_RECIPE.format(target), text):
                    yield FoundCommand(name=name, command=(program, target), because=file)
