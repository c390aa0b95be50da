"""Which place of the project a text of a report means. Pure.

Nothing here refuses: a text that is not clearly a place is asked for as it is, and whoever looks says what
it could be. Only a member that holds nothing but a quotation is compared: a sentence is the agent's word.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, Literal, TypeAlias, assert_never

from handrail.contract.wording import make_readable
from handrail.engine.command_lines import (
    distinguishes,
    find_program,
    list_loaded,
    list_patterns,
    list_starts,
)
from handrail.engine.judge.witnessed import AskedPlace, SeenPlace, Sighting
from handrail.workflows.evidence import PathExists, PlaceExists

_PLACE = re.compile(
    r"(?P<path>.+?)(?:(?::L?|#L|,?\s+lines?\s+|\()(?P<line>[1-9]\d{0,8})"
    r"(?:\s*[-–]\s*L?(?P<end>\d{1,9}))?(?:[:,]\d{1,9}(?:-\d{1,9})?)?\)?)?"
)
_WRAPPED = re.compile(r"([\"'`])(?P<text>[^\"'`]+)\1")


def read_place(rule: PathExists | PlaceExists, text: str, around: dict[str, Any]) -> AskedPlace:
    """The place that a text means, with the line and the quotation that stand beside it."""
    if isinstance(rule, PathExists):
        return AskedPlace(path=text.strip().removeprefix("./"))
    bare = text.strip()
    wrapped = _WRAPPED.fullmatch(bare)
    path, line, end = (wrapped["text"] if wrapped else bare).removeprefix("./"), 0, 0
    found = _PLACE.fullmatch(path)
    if found is not None and found["line"]:
        path, line = found["path"], int(found["line"])
        end = int(found["end"] or 0) if int(found["end"] or 0) > line else 0
    written = bare if path != bare.removeprefix("./") else ""
    beside = around.get(rule.line) if rule.line else None
    if isinstance(beside, int) and not isinstance(beside, bool):
        line, end = beside, 0
    quoted = around.get(rule.quote) if rule.quote else None
    return AskedPlace(
        path=path, line=line, end=end, written=written, quote=quoted if isinstance(quoted, str) else ""
    )


def describe_place(seen: SeenPlace) -> str:
    """Why a place does not hold; empty: it does, or nobody can say."""
    path = make_readable(seen.path)
    match seen.state:
        case "missing":
            return f"{path} is not in the project"
        case "outside":
            return f"{path} is not inside the project"
        case "line_missing":
            return f"{path} has no line {seen.line}"
        case "quote_missing":
            place = f"{path} at line {seen.line}" if seen.line else path
            how = "quote its lines whole, with … for what is left out"
            return f"the quoted text does not stand in {place}; {how}"
        case "here" | "unreadable":
            return ""
        case never:
            assert_never(never)


# What a file is to a test runner, by the conventions of its place and name

DECLARATIONS = ".handrail/config.json"
"""Where a project declares its checks."""
_TEST_FOLDERS = frozenset(
    {"test", "tests", "__tests__", "spec", "specs", "testdata"}
    | {"fixtures", "golden", "goldens", "__snapshots__"}
)


_NAMED = re.compile(r"(?:test[_-].*|.*[_-](?:tests?|spec)|tests?)\..*|.*\.(?:test|spec)\..*")
_NAMED_BY_CASE = re.compile(
    r"(?:Test[A-Z].*|.*[a-z0-9](?:Tests?|TestCase|Spec))\.(?:java|kt|groovy|scala|php|swift)"
)
"""Names by which runners find tests when nobody says more: pytest, Django, Node, Jest, Go, JUnit."""


def is_test_file(path: str) -> bool:
    """Whether a file is a test by the conventions of its place and name."""
    *folders, name = path.split("/")
    is_inside = not _TEST_FOLDERS.isdisjoint((*folders, name))  # a repository of tests is named by its folder
    stem = name.partition(".")[0]
    return is_named_as_test(path) or stem == "conftest" or (is_inside and stem != "README")


def is_named_as_test(path: str) -> bool:
    """Whether runners find it by its name, in whichever folder."""
    name = posixpath.basename(path)
    return bool(_NAMED.fullmatch(name) or _NAMED_BY_CASE.fullmatch(name))


def is_test_of(argv: Sequence[str], path: str, directory: str = ".") -> bool:
    """The same for a command, which may say itself by which names it finds tests, or which files it loads."""
    name = posixpath.basename(path)
    is_named = path in list_loaded(argv, directory) or any(
        fnmatchcase(name, one) for one in list_patterns(argv)
    )
    return is_named or is_test_file(path)


def is_found_as_before(old: str, new: str, packages: Collection[str]) -> bool:
    """Whether runners find a test in its new place: in its folder, or in a package of Python below it."""
    (at, name), (folder, now) = posixpath.split(old), posixpath.split(new)
    (stem, _, rest), (now_stem, _, now_rest) = name.partition("."), now.partition(".")
    is_alike = rest == now_rest and all(
        stem.startswith(one) == now_stem.startswith(one) and stem.endswith(two) == now_stem.endswith(two)
        for one, two in (("test_", "_test"), ("test-", "-test"), ("test", "_spec"))
    )
    below = folder.removeprefix(f"{at}/").split("/") if folder.startswith(f"{at}/") else []
    inner = [posixpath.join(at, *below[: count + 1]) for count in range(len(below))]
    is_below = bool(below) and name == now and name.endswith(".py") and {*inner} <= {*packages}
    is_skipped = not _NEVER_ENTERED.isdisjoint(below) or not all(map(str.isidentifier, below))
    return is_alike and (folder == at or (is_below and not is_skipped))


_NEVER_ENTERED = frozenset({"build", "dist", "node_modules", "venv"})
_READ = {
    **dict.fromkeys(("conftest.py", "tox.ini", "setup.cfg", "pyproject.toml", "entry_points.txt"), "python"),
    **dict.fromkeys(("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"), "python"),
    **dict.fromkeys(("package.json", ".mocharc.json", ".npmrc", ".yarnrc", ".yarnrc.yml"), "node"),
    **dict.fromkeys(("Makefile", "makefile", "GNUmakefile", "justfile"), "make"),
    "noxfile.py": "python",
    "Cargo.toml": "rust",
}
"""Configuration, each with the language whose runners read it."""
_IMPORTED = frozenset({"pytest.py", "unittest.py", "sitecustomize.py", "usercustomize.py"})
_CONFIGURED = ("jest.config.", "vitest.config.", "vite.config.", "babel.config.")
_SHADOWING = frozenset({"pytest", "_pytest", "unittest"})
"""Folders that Python takes for the runner itself."""
_LOADED = {".pth": "python", ".pyc": "python", ".mk": "make"}
"""Endings of what Python loads by itself, or in place of a module that has no source; parts of a makefile."""
_PROGRAMS = {
    **dict.fromkeys(("pytest", "py.test", "unittest"), "python"),
    **dict.fromkeys(("ruff", "mypy", "flake8", "pylint", "pyright", "black"), "python"),
    **dict.fromkeys(("jest", "vitest", "mocha", "node", "deno", "bun"), "node"),
    **dict.fromkeys(("eslint", "tsc", "prettier", "biome"), "node"),
    **dict.fromkeys(("mvn", "mvnw", "gradle", "gradlew"), "java"),
    **dict.fromkeys(("rspec", "rubocop"), "ruby"),
    **dict.fromkeys(("phpunit", "phpstan"), "php"),
    "cargo": "rust",
    "go": "go",
}
"""Runners and linters, each with the language of what it looks at; any other may start anything."""
_ENDINGS = {
    **dict.fromkeys((".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"), "node"),
    **dict.fromkeys((".java", ".kt", ".groovy", ".scala"), "java"),
    ".py": "python",
    ".go": "go",
    ".rs": "rust",
    ".rb": "ruby",
    ".php": "php",
}


def configures_runner(path: str) -> bool:
    """Whether a file may say what a runner runs, and how, or is loaded without being asked for."""
    return bool(_find_reader(path))


def _find_reader(path: str) -> str:
    """The language whose runners are configured by a file; empty: it configures none."""
    *folders, name = path.split("/")
    if name.endswith(".py") and not _SHADOWING.isdisjoint(folders):
        return "python"
    by_name = _READ.get(name) or _LOADED.get(posixpath.splitext(name)[1], "")
    return by_name or ("node" if name.startswith(_CONFIGURED) else "python" if name in _IMPORTED else "")


def concerns(argv: Sequence[str], directory: str, path: str) -> bool:
    """Whether a command may read a file of checks: of its own language, and of the package where it begins.

    Configuration is read on the way from where it begins up to the project, and below; what an interpreter
    loads by itself, from anywhere. What another package has is no matter of this check.
    """
    reader, known, starts = (
        _find_reader(path),
        _PROGRAMS.get(find_program(argv), ""),
        list_starts(argv, directory),
    )
    language = reader or (_ENDINGS.get(posixpath.splitext(path)[1], "") if is_named_as_test(path) else "")
    if known and language and known != language:
        return False
    name = posixpath.basename(path)
    if name in _READ or name.startswith(_CONFIGURED):
        folder = posixpath.dirname(path)
        return not folder or any(_is_below(one, folder) or _is_below(path, one) for one in starts)
    return bool(reader) or any(_is_below(path, one) for one in map(_find_package, starts))


def _is_below(path: str, folder: str) -> bool:
    return folder == "." or f"{path}/".startswith(f"{folder}/")


def decides(argv: Sequence[str], directory: str, path: str) -> bool:
    """Whether a file decides about the result of a command beside the code."""
    return (configures_runner(path) or is_test_of(argv, path, directory)) and concerns(argv, directory, path)


def list_moved(sighting: Sighting, argv: Sequence[str]) -> dict[str, str]:
    """Tests that a command finds in another place as it did before; with the old ones."""
    return {
        new: old
        for new, old in sighting.moved.items()
        if new not in sighting.displaced and not distinguishes(argv, old, new)
    }


def _find_package(start: str) -> str:
    """The folder that holds the tests at which a command begins."""
    start = posixpath.dirname(start) if start.endswith(".py") else start
    outer = takewhile(lambda name: name not in _TEST_FOLDERS and not is_named_as_test(name), start.split("/"))
    return "/".join(outer) or "."


Placed: TypeAlias = tuple[Sequence[str], str]
"""The words of a command, and where it starts."""
Use: TypeAlias = Literal["configuration", "program", "tests", "named files"]
"""What a file is to a command; a named one stands among its words, and may be what is checked."""


def sort_by_use(
    paths: Iterable[str], programs: Collection[str], commands: Collection[Placed]
) -> dict[Use, list[str]]:
    """Files of checks by what they are to these, in the order of how much they can hide."""
    found: dict[Use, list[str]] = {"configuration": [], "program": [], "tests": [], "named files": []}
    for path in paths:
        use: Use = (
            "tests"
            if is_test_file(path) or any(is_test_of(one, path, at) for one, at in commands)
            else "named files"
        )
        use = "program" if path in programs else "configuration" if configures_runner(path) else use
        found[use].append(path)
    return {use: own for use, own in found.items() if own}


IGNORE_RULES = (".git/info/exclude", "core.excludesFile")
"""Ignore rules that are no files of a project, as they are kept; the folder of a repository goes before."""


def names_ignore_rules(path: str) -> bool:
    """Whether it is no file of a tree, but ignore rules: as they are kept, or where git has the file."""
    is_of_git = ".git" in path.split("/") and path.endswith("/info/exclude")
    return is_of_git or path.endswith(IGNORE_RULES)


def is_of_checks(path: str) -> bool:
    """Whether a file decides about the result of tests beside the code."""
    return is_test_file(path) or configures_runner(path)


def list_sparse_tests(apart: Mapping[str, str] | None) -> list[str]:
    """By the marks of a tree: what decides about tests, and the checkout leaves out."""
    return [path for path, mark in (apart or {}).items() if mark == "sparse" and is_of_checks(path)]
