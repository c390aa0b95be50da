"""Which place of the project a text of a report means. Pure.

Nothing here refuses: a text that is not clearly a place is asked for as it is, and whoever looks says what
it could be. Only a member that holds nothing but a quotation is compared: a sentence is the agent's word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, TypeAlias, assert_never

from handrail.contract.wording import make_readable
from handrail.engine.judge.witnessed import AskedPlace, SeenPlace
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


def is_test_file(path: str) -> bool:
    """Whether a file is a test by the conventions of its place and name."""
    *folders, name = path.split("/")
    is_inside = not _TEST_FOLDERS.isdisjoint((*folders, name))  # a repository of tests is named by its folder
    stem = name.partition(".")[0]
    return bool(find_pattern(path)) or stem == "conftest" or (is_inside and stem != "README")


def find_pattern(path: str) -> str:
    """The pattern of names, in its folder, by which runners find a test; empty: it is no test by its name."""
    folder, _, name = path.rpartition("/")
    stem, dot, rest = name.partition(".")
    head = "test_" if stem.startswith("test_") else ""
    end = next((one for one in ("_test", "_spec") if stem.endswith(one)), "")
    is_named = bool(head or end) or ".test." in name or ".spec." in name
    return f"{folder}/{head}*{end}{dot}{rest}" if is_named else ""


_CONFIGURATION = frozenset(
    {"conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "package.json", "Makefile"}
    | {"makefile", "GNUmakefile", "justfile", "noxfile.py", "Cargo.toml", ".mocharc.json"}
    | {".npmrc", ".yarnrc", ".yarnrc.yml"}
    | {f"{name}{end}" for name in ("sitecustomize", "usercustomize") for end in (".py", ".pyc")}
    | {"pytest.py", "unittest.py"}
)
_CONFIGURED = ("jest.config.", "vitest.config.", "vite.config.", "babel.config.")
_SHADOWING = frozenset({"pytest", "_pytest", "unittest"})
"""Folders that Python takes for the runner itself."""
_LOADED = (".pth", ".pyc", ".mk")
"""Endings of what Python loads by itself, or in place of a module that has no source; parts of a makefile."""


def configures_runner(path: str) -> bool:
    """Whether a file may say what a runner runs, and how, or is loaded without being asked for."""
    *folders, name = path.split("/")
    is_runner = name.endswith(".py") and not _SHADOWING.isdisjoint(folders)
    return is_runner or name in _CONFIGURATION or name.startswith(_CONFIGURED) or name.endswith(_LOADED)


Use: TypeAlias = Literal["configuration", "program", "tests", "named files"]
"""What a file is to a command; a named one stands among its words, and may be what is checked."""


def sort_by_use(paths: Iterable[str], programs: Collection[str]) -> dict[Use, list[str]]:
    """Files of a check by what they are to it, in the order of how much they can hide."""
    found: dict[Use, list[str]] = {"configuration": [], "program": [], "tests": [], "named files": []}
    for path in paths:
        use: Use = "tests" if is_test_file(path) else "named files"
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
