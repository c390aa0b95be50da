"""The four sets that a proof splits a project into: tests, rules of the check, dependencies, and code. Pure.

The code is what is left, prose included. A path in a folder of tests is a test, whatever it is called.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import msgspec

FileSet: TypeAlias = Literal["tests", "rules", "dependencies", "code"]

TESTS: Final = (
    *("test/", "tests/", "spec/", "specs/", "__tests__/", "__snapshots__/", "testdata/"),
    *("test.*", "tests.*", "spec.*", "test_*", "test-*", "*_test.*", "*_tests.*", "*.test.*", "*.spec.*"),
    *("*_spec.*", "*-test.*", "*-spec.*", "conftest.py", "*.snap"),
)
"""Patterns of tests if a declaration has none. A name that ends with `/` is a folder."""
RULES: Final = (
    *("tox.ini", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "noxfile.py", ".coveragerc"),
    *("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile", "Taskfile.y*ml"),
    *(".mocharc*", "mocha.opts", "jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.workspace.*"),
    *("ava.config.*", ".taprc", ".nycrc*", ".c8rc*", "karma.conf.*", "playwright.config.*"),
    *("ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", ".flake8", ".pylintrc", "pyrightconfig.json"),
    *(".eslintrc*", "eslint.config.*", "nextest.toml", ".*ignore", "/.handrail/"),
)
"""Files that control how a check runs: always rules."""
DEPENDENCIES: Final = (
    *(
        "requirements*.txt",
        "requirements*.in",
        "constraints*.txt",
        "requirements/",
        "Pipfile",
        "Pipfile.lock",
    ),
    *("uv.lock", "poetry.lock", "pdm.lock", "pylock*.toml", "setup.py", "environment.yml", ".python-version"),
    *("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml"),
    *("bun.lock", "bun.lockb", ".npmrc", ".nvmrc", ".node-version", "deno.lock"),
    *("go.mod", "go.sum", "go.work", "go.work.sum", "Cargo.toml", "Cargo.lock", "Gemfile", "Gemfile.lock"),
    *("composer.json", "composer.lock", "mix.exs", "mix.lock", "pom.xml"),
)
MIXED: Final = frozenset({"pyproject.toml", "package.json", "setup.cfg"})
"""Manifests that also say how tests run: rules if that part differs, otherwise dependencies."""

_PYTHON_RUNNERS = frozenset(
    {"pytest", "coverage", "tox", "nox", "poe", "taskipy", "pdm", "rye", "pixi", "hatch", "nose", "ward"}
)
"""Tables below `tool` of pyproject.toml that say how tests run."""
_SCRIPT_TABLES = {"pdm": "scripts", "rye": "scripts", "pixi": "tasks", "hatch": "envs"}
"""For these tools, only that part does."""
_NODE_RUNNERS = ("scripts", "jest", "mocha", "ava", "tap", "nyc", "c8", "vitest", "xo", "eslintConfig")
_NODE_STARTERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_SHELL_ENDS = frozenset({".sh", ".bash", ".zsh"})
_INTERPRETER = re.compile(
    r"(?:.*/)?(?:(?:ba|da|k|z)?sh|python[\d.]*|node|deno|bun|tsx|ts-node|ruby|perl|php)"
    r"|env|exec|time|nice|timeout|\d+s?|run|uv|poetry|pdm|pipenv|hatch|npx|coverage"
)
"""A program that starts the next word, or a word that may come between the two."""
_SEPARATOR = re.compile(r"[;&|()]+|\n+")
_SHELL_WORD = re.compile(r"[;&|()]+|\n+|[^\s'\"();&|<>]+")
_WORD_ENDS = re.compile(r"[\s'\"();&|<>=]+")
MOST_MANIFEST_BYTES = 1_000_000


class Patterns(msgspec.Struct, frozen=True, kw_only=True):
    """The patterns for the tests and for the rules of one check."""

    tests: tuple[str, ...] = TESTS
    scripts: frozenset[str] = frozenset()
    """Files that the command of the check starts."""
    words: frozenset[str] = frozenset()
    """The words of the command: if it names a tool, the tool's table in pyproject.toml is one of
    the rules.
    """


def make_patterns(
    command: Sequence[str],
    directory: str = ".",
    declared_tests: Sequence[str] = (),
    manifest: bytes = b"",
    paths: Collection[str] = (),
) -> Patterns:
    """Return the patterns of a check.

    `manifest` is the package.json of its directory, and `paths` are the files of the project.
    """
    lines = [*command]
    if command and posixpath.basename(command[0]) in _NODE_STARTERS:
        lines += ["&&", _find_script_line(command, manifest)]
    words = [word for line in lines for word in _WORD_ENDS.split(line) if word]
    started = {posixpath.normpath(posixpath.join(directory, word)) for word in _list_started(lines)}
    return Patterns(
        tests=tuple(declared_tests) or TESTS,
        scripts=frozenset(started & set(paths)),
        words=frozenset(posixpath.basename(word) for word in words),
    )


def _list_started(lines: Sequence[str]) -> Iterator[str]:
    """Yield the words that may be started as programs, without files that a program only reads."""
    is_next = True
    for word in (word for line in lines for word in _SHELL_WORD.findall(line)):
        if _SEPARATOR.fullmatch(word):
            is_next = True
            continue
        if word.startswith("-") or "=" in word:
            continue
        name = posixpath.basename(word)
        if is_next or posixpath.splitext(name)[1] in _SHELL_ENDS:
            yield word
        is_next = _INTERPRETER.fullmatch(word) is not None


def _find_script_line(command: Sequence[str], manifest: bytes) -> str:
    """Return the package.json script that `npm run NAME` or `npm test` starts; empty if there is none."""
    scripts = _read_json(manifest).get("scripts")
    names = [word for word in command[1:] if not word.startswith("-")]
    name = next((one for one in names if one not in ("run", "run-script")), "")
    line = scripts.get({"t": "test", "tst": "test"}.get(name, name)) if isinstance(scripts, dict) else None
    return line if isinstance(line, str) else ""


class MixedContent(msgspec.Struct, frozen=True, kw_only=True):
    """A manifest of `MIXED` that differs: its bytes before and after, or None if it does not exist."""

    before: bytes | None
    after: bytes | None


def sort_path(path: str, patterns: Patterns, mixed: Mapping[str, MixedContent]) -> FileSet:
    """Return the set to which a path belongs; `mixed` has every manifest of both kinds that differs."""
    if matches(path, patterns.tests):
        return "tests"
    if path in patterns.scripts or matches(path, RULES):
        return "rules"
    if posixpath.basename(path) in MIXED:
        content = mixed.get(path)
        return "rules" if content is not None and has_other_rules(path, content, patterns) else "dependencies"
    return "dependencies" if matches(path, DEPENDENCIES) else "code"


def has_other_rules(path: str, content: MixedContent, patterns: Patterns) -> bool:
    """Whether the part of a manifest that says how tests run differs. A manifest that cannot be read counts
    as different.
    """
    read = {"pyproject.toml": _read_pyproject, "package.json": _read_package}.get(
        posixpath.basename(path), _read_setup_cfg
    )
    try:
        before, after = (
            {} if one is None else read(one[:MOST_MANIFEST_BYTES], patterns.words)
            for one in (content.before, content.after)
        )
    except (ValueError, RecursionError):
        return True
    return before != after


def _read_pyproject(content: bytes, words: frozenset[str]) -> dict[str, Any]:
    tools = tomllib.loads(content.decode("utf-8", "surrogateescape")).get("tool", {})
    found = {}
    for name, table in tools.items() if isinstance(tools, dict) else ():
        if name in _SCRIPT_TABLES and isinstance(table, dict):
            table = table.get(_SCRIPT_TABLES[name])
        elif name not in _PYTHON_RUNNERS and name not in words:
            continue
        if table:
            found[name] = table
    return found


def _read_package(content: bytes, words: frozenset[str]) -> dict[str, Any]:
    held = json.loads(content)
    names = {*_NODE_RUNNERS, *(words & {"eslint", "prettier", "stylelint", "tsd"})}
    return {name: held[name] for name in names if name in held} if isinstance(held, dict) else {}


_SECTION = re.compile(r"(?m)^\[([^\]\n]+)\][^\n]*\n((?:(?!\[)[^\n]*\n?)*)")
_CFG_RUNNERS = ("tool:pytest", "pytest", "coverage", "tox", "nosetests", "flake8", "mypy", "aliases")


def _read_setup_cfg(content: bytes, words: frozenset[str]) -> dict[str, Any]:
    del words
    sections = _SECTION.findall(content.decode("utf-8", "replace"))
    return {name: body.strip() for name, body in sections if name.startswith(_CFG_RUNNERS)}


def _read_json(content: bytes) -> dict[str, Any]:
    try:
        held = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}


# Patterns


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches a pattern.

    `name/` is a folder of that name anywhere, and all below it; `name` is a file of that name anywhere. A
    pattern with another `/` is read from the project's folder. `*` and `?` stay within a name, `**` does not.
    Names of folders match in any case.
    """
    return any(_compile(pattern).search(path) is not None for pattern in patterns)


@lru_cache(maxsize=1_024)
def _compile(pattern: str) -> re.Pattern[str]:
    is_folder = pattern.endswith("/")
    body = pattern.strip("/")
    start = r"\A" if "/" in pattern.rstrip("/") else r"(?:\A|/)"
    text = start + "".join(_translate(body)) + ("/" if is_folder else r"\Z")
    if not is_folder and "/" in body:  # a path of a folder means everything in it
        text = text.removesuffix(r"\Z") + r"(?:/|\Z)"
    return re.compile(text, re.DOTALL | (re.IGNORECASE if is_folder else 0))


_SPECIAL: Final[dict[str, str]] = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _translate(body: str) -> Iterator[str]:
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", body):
        yield _SPECIAL.get(part) or re.escape(part)


SortPath: TypeAlias = Callable[[str], FileSet]
