"""Commands that a project's own files suggest as checks, for people who declared none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from handrail.ports.trees import GitEntry

MOST_COMMANDS = 5
_PYTEST_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py", "tests/conftest.py")
_PYTHON_LISTS = (
    *("pyproject.toml", "setup.cfg", "tox.ini", "setup.py", "requirements.txt", "requirements-dev.txt"),
    *("dev-requirements.txt", "requirements/dev.txt", "requirements/test.txt", "Pipfile", "noxfile.py"),
)
_PYTHON_TEST = re.compile(r"(?:\A|/)(?:test_[^/]*|[^/]*_test|tests)\.py\Z")
_PYTEST_TEST = re.compile(r"(?m)^(?:async )?def test|\bpytest\b")
"""In a test file: a test outside of a class, which unittest does not find."""
_NODE_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}
_NO_TEST = "no test specified"
_MAKE_TEST = re.compile(r"(?m)^(test|check)\s*:(?!=)")

ReadFile = Callable[[GitEntry], bytes | None]


class FoundCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command, and the file that suggests it."""

    command: tuple[str, ...]
    because: str


def find_commands(entries: Mapping[str, GitEntry], read: ReadFile) -> tuple[FoundCommand, ...]:
    """The commands that the files of a tree suggest, the likeliest first. No file is executed."""

    def load(path: str) -> str:
        content = read(entries[path]) if path in entries else None
        return "" if content is None else content.decode("utf-8", "replace")

    found = [*_find_python(entries.keys(), load), *_find_node(entries.keys(), load)]
    for path, command in (("go.mod", ("go", "test", "./...")), ("Cargo.toml", ("cargo", "test"))):
        if path in entries:
            found.append(FoundCommand(command=command, because=path))
    target = _MAKE_TEST.search(load("Makefile"))
    if target is not None:
        found.append(FoundCommand(command=("make", target[1]), because="Makefile"))
    return tuple(found[:MOST_COMMANDS])


def _find_python(paths: Collection[str], load: Callable[[str], str]) -> list[FoundCommand]:
    because = next((path for path in _PYTEST_FILES if path in paths), "")
    because = because or next((path for path in _PYTHON_LISTS if "pytest" in load(path)), "")
    runner: tuple[str, ...] = ("python", "-m", "pytest", "-q")
    if not because:
        because = next((path for path in sorted(paths) if _PYTHON_TEST.search(path)), "")
        if not _PYTEST_TEST.search(load(because)):
            runner = ("python", "-m", "unittest")
    if not because:
        return []
    start = ("uv", "run") if "uv.lock" in paths else ()
    return [FoundCommand(command=(*start, *runner), because=because)]


def _find_node(paths: Collection[str], load: Callable[[str], str]) -> list[FoundCommand]:
    try:
        manifest: Any = json.loads(load("package.json") or "{}")
    except (ValueError, RecursionError):
        return []
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    line = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(line, str) or not line.strip() or _NO_TEST in line:
        return []
    manager = next((name for lock, name in _NODE_LOCKS.items() if lock in paths), "npm")
    return [FoundCommand(command=(manager, "test"), because="package.json")]
