"""A first set of checks for a project, from the files that say how it is tested. Pure: nothing is run.

It is a suggestion: a person sees it in a preview before anything is written, and changes it afterwards.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from handrail.contract.ids import ReportFormat
from handrail.ports.checks import PRINTED

LOOKED_AT = (
    *("justfile", "Justfile", ".justfile", "Makefile", "makefile", "GNUmakefile"),
    *("pyproject.toml", "uv.lock", "poetry.lock", "pdm.lock"),
    *("package.json", "pnpm-lock.yaml", "yarn.lock", "bun.lockb", "bun.lock"),
    *("Cargo.toml", "go.mod"),
)
"""Only these files of a project are looked at; of lock files only whether they are there."""
MOST_BYTES = 1_000_000

_TARGETS = {"test": "tests", "tests": "tests", "lint": "lint", "check": "check"}
_RECIPE = r"(?m)^@?({})(?:[ \t][^:=\n]*)?:(?![=:])"
_BY_LANGUAGE = (
    ("Cargo.toml", r"(?m)^\[(?:package|workspace)\]", ("cargo", "test")),
    ("go.mod", r"(?m)^module\s", ("go", "test", "-json", "./...")),
)
_NO_TESTS = "no test specified"
_RUNNERS = {"uv.lock": ("uv", "run"), "poetry.lock": ("poetry", "run"), "pdm.lock": ("pdm", "run")}
_MANAGERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}

Found = Iterator[tuple[str, tuple[str, ...], str]]
"""Name, command, and the file that says so."""
_REPORTS: dict[tuple[str, ...], ReportFormat] = {
    ("node", "--test"): "tap",
    ("go", "test", "-json"): "go",
}
"""By the words that a command begins with: the form in which it prints what it counted."""


def suggest_checks(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """What `checks` of the project could be; a task runner's own targets come before guesses by language."""
    found: dict[str, dict[str, Any]] = {}
    by_task_runner: set[str] = set()
    for name, command, source in _all_of_them(files):
        is_task = command[0] in ("just", "make")
        if name in by_task_runner or (is_task and name in found):
            continue
        free = name if name not in found else f"{name}-{command[0]}"
        check: dict[str, Any] = {"command": list(command), "timeoutSeconds": 600}
        form = next((form for words, form in _REPORTS.items() if command[: len(words)] == words), None)
        check |= {} if form is None else {"report": {"path": PRINTED, "format": form}}
        found.setdefault(free, check | {"description": f"From {source}."})
        by_task_runner |= {name} if is_task else set()
    return found


def _all_of_them(files: Mapping[str, bytes]) -> Found:
    for names, program in (
        (("justfile", "Justfile", ".justfile"), "just"),
        (("Makefile", "makefile", "GNUmakefile"), "make"),
    ):
        for name in names:
            yield from _of_targets(_text(files, name), program, name)
    readers: tuple[tuple[str, Callable[[str, Mapping[str, bytes]], Found]], ...] = (
        ("pyproject.toml", _of_python),
        ("package.json", _of_node),
    )
    for name, read in readers:
        text = _text(files, name)
        if text:
            yield from read(text, files)
    for name, sign, command in _BY_LANGUAGE:
        if re.search(sign, _text(files, name)):
            yield "tests", command, name


def _text(files: Mapping[str, bytes], name: str) -> str:
    content = files.get(name, b"")
    return content.decode("utf-8", "replace") if len(content) <= MOST_BYTES else ""


def _of_targets(text: str, program: str, source: str) -> Found:
    for target, name in _TARGETS.items():
        if re.search(_RECIPE.format(target), text):
            yield name, (program, target), source


def _of_python(text: str, files: Mapping[str, bytes]) -> Found:
    try:
        held = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    tools = held.get("tool")
    known: dict[str, Any] = tools if isinstance(tools, dict) else {}
    runner = next((words for lock, words in _RUNNERS.items() if lock in files), ())
    if "pytest" in known or re.search(r"[\"']pytest\b", text):
        yield "tests", (*runner, "pytest", "-q"), "pyproject.toml"
    if "ruff" in known:
        yield "lint", (*runner, "ruff", "check"), "pyproject.toml"


def _of_node(text: str, files: Mapping[str, bytes]) -> Found:
    try:
        held = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return
    scripts = held.get("scripts") if isinstance(held, dict) else None
    manager = next((name for lock, name in _MANAGERS.items() if lock in files), "npm")
    if not isinstance(scripts, dict):
        return
    for script, name in {"test": "tests", "lint": "lint", "typecheck": "types"}.items():
        line = scripts.get(script)
        words = _split(line) if isinstance(line, str) else ()
        if words[:2] == ("node", "--test"):
            yield name, ("node", "--test", "--test-reporter=tap", *words[2:]), "package.json"
        elif isinstance(line, str) and line.strip() and _NO_TESTS not in line:
            yield name, (manager, "run", script), "package.json"


def _split(line: str) -> tuple[str, ...]:
    """The words of a plain command line; none if a shell would read more into it."""
    try:
        return () if set(line) & set("|&;<>()$`\\=") else tuple(shlex.split(line))
    except ValueError:
        return ()
