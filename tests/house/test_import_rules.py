"""The rooms keep their order, and each import rule fails on a break that is planted for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.house.tree import ROOT

LINT = "from importlinter.cli import lint_imports_command as lint; lint()"
DEADLINE_SECONDS = 60

DOWN = "Rooms only look down"
CORE = "The core knows no neighbour"
BESIDE = "No neighbour knows another"
CODE = "Inside the code tools"
SERVER = "Inside the server"
APART = "No surface knows another, no adapter knows another"
PURE = "The core touches nothing outside"
LIGHT = "Below the servers everything is synchronous and light"
ACYCLIC = "No cycles"
ROOT_UNUSED = "Nobody inside asks the public root"
DATABASE = "Only the store of teams speaks to a database"

BREAKS: dict[str, tuple[Mapping[str, str], str, str]] = {
    "a clock in the engine": (
        {"engine/clock.py": "import time\n"},
        PURE,
        "handrail.engine.clock -> time",
    ),
    "a file in the contract": (
        {"contract/planted.py": "import os\n"},
        PURE,
        "handrail.contract.planted -> os",
    ),
    "the engine holding a port": (
        {"engine/port.py": "import handrail.ports\n"},
        PURE,
        "handrail.engine.port -> handrail.ports",
    ),
    "a file in the code tools": (
        {"../handrail_code/facts/planted.py": "import pathlib\n"},
        PURE,
        "handrail_code.facts.planted -> pathlib",
    ),
    "facts of sources that know an edit": (
        {"../handrail_code/facts/upward.py": "import handrail_code.edit.plan\n"},
        CODE,
        "handrail_code.facts.upward -> handrail_code.edit.plan",
    ),
    "an undeclared room of the code tools": (
        {"../handrail_code/lobby/__init__.py": "", "../handrail_code/lobby/desk.py": "x = 1\n"},
        CODE,
        "- handrail_code.lobby",
    ),
    "the core importing the code tools": (
        {"operations/neighbour.py": "import handrail_code.scan.ids\n"},
        CORE,
        "handrail.operations.neighbour -> handrail_code.scan.ids",
    ),
    "a neighbour importing another": (
        {"../handrail_team/neighbour.py": "import handrail_code.scan.ids\n"},
        BESIDE,
        "handrail_team.neighbour -> handrail_code.scan.ids",
    ),
    "a room of the server that nobody declared": (
        {"../handrail_serve/lobby/__init__.py": "", "../handrail_serve/lobby/desk.py": "x = 1\n"},
        SERVER,
        "- handrail_serve.lobby",
    ),
    "a page that knows the app": (
        {"../handrail_serve/pages/upward.py": "import handrail_serve.app\n"},
        SERVER,
        "handrail_serve.pages.upward -> handrail_serve.app",
    ),
    "the core importing the server, late": (
        {"program/neighbour.py": "def serve():\n    import handrail_serve.app\n"},
        CORE,
        "handrail.program.neighbour -> handrail_serve.app",
    ),
    "an event loop in a neighbour": (
        {"../handrail_code/operations/loop.py": "import asyncio\n"},
        LIGHT,
        "handrail_code.operations.loop -> asyncio",
    ),
    "an upward import": (
        {"engine/upward.py": "import handrail.runtime\n"},
        DOWN,
        "handrail.engine.upward -> handrail.runtime",
    ),
    "the runtime naming an adapter": (
        {"runtime/adapter.py": "import handrail.event_log.files.log\n"},
        DOWN,
        "handrail.runtime.adapter -> handrail.event_log.files.log",
    ),
    "a log that looks at files": (
        {"event_log/files/looking.py": "import handrail.worktree.take\n"},
        DOWN,
        "handrail.event_log.files.looking -> handrail.worktree.take",
    ),
    "a log that uses the host": (
        {"event_log/files/hosting.py": "import handrail.host.programs\n"},
        APART,
        "handrail.event_log.files.hosting -> handrail.host.programs",
    ),
    "an undeclared room": (
        {"lobby/__init__.py": "", "lobby/desk.py": "x = 1\n"},
        DOWN,
        "- handrail.lobby",
    ),
    "the CLI importing MCP": (
        {"surfaces/cli/other.py": "import handrail.surfaces.mcp\n"},
        APART,
        "handrail.surfaces.cli.other -> handrail.surfaces.mcp",
    ),
    "the MCP stack in the CLI": (
        {"surfaces/cli/stack.py": "import mcp\n"},
        LIGHT,
        "handrail.surfaces.cli.stack -> mcp",
    ),
    "an event loop behind stdin and stdout": (
        {"surfaces/mcp/results.py": "import anyio\n"},
        LIGHT,
        "handrail.surfaces.mcp.results -> anyio",
    ),
    "asyncio in the runtime": (
        {"runtime/loop.py": "import asyncio\n"},
        LIGHT,
        "handrail.runtime.loop -> asyncio",
    ),
    "the runtime naming the store of teams": (
        {"runtime/team.py": "import handrail_team.store.log\n"},
        CORE,
        "handrail.runtime.team -> handrail_team.store.log",
    ),
    "the driver of the database in an operation": (
        {"operations/driver.py": "import psycopg\n"},
        DATABASE,
        "handrail.operations.driver -> psycopg",
    ),
    "a cycle of two files": (
        {
            "engine/one.py": "import handrail.engine.two\n",
            "engine/two.py": "import handrail.engine.one\n",
        },
        ACYCLIC,
        ".two -> .one",
    ),
    "a cycle of an import in a function and one for types": (
        {
            "views/early.py": "def call():\n    import handrail.views.typed\n",
            "views/typed.py": "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import handrail.views.early\n",
        },
        ACYCLIC,
        ".typed -> .early",
    ),
    "a file that asks the public root": (
        {"host/rooted.py": "def call():\n    from handrail import Handrail\n"},
        ROOT_UNUSED,
        "handrail.host.rooted -> handrail",
    ),
}
"""By break: the files that are planted, the rule that finds them, and how it names them."""


def lint_imports(root: str) -> subprocess.CompletedProcess[str]:
    """The linter on the package under `root`, in a process of its own because it caches modules."""
    return subprocess.run(
        [sys.executable, "-c", LINT, "--no-logo", "--no-cache"],
        cwd=root,
        env=os.environ
        | {"PYTHONPATH": os.path.join(root, "src"), "PYTHONIOENCODING": "utf-8", "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE_SECONDS,
        check=False,
    )


def copy_of_the_package(folder: str) -> str:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(os.path.join(ROOT, "src"), os.path.join(folder, "src"), ignore=ignored)
    shutil.copy(os.path.join(ROOT, "pyproject.toml"), folder)
    return folder


def plant_files(root: str, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        full = os.path.join(root, "src", "handrail", path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of the package with every break in it: one look finds them all."""
    root = copy_of_the_package(str(tmp_path_factory.mktemp("broken")))
    for files, _, _ in BREAKS.values():
        plant_files(root, files)
    result = lint_imports(root)
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stdout


def test_the_rooms_keep_the_import_rules() -> None:
    result = lint_imports(ROOT)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", BREAKS)
def test_a_planted_break_is_reported_by_its_rule(name: str, report: str) -> None:
    _, rule, named = BREAKS[name]

    assert f"{rule} BROKEN" in report
    _, _, found = report.partition(f"\n{rule}\n{'-' * len(rule)}\n")
    held = found.split("\n---", 1)[0].splitlines()
    assert any(line.split(" (")[0].endswith(named) for line in held), report
