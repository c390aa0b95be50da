"""The rooms keep their order, and each import rule fails on a break that is planted for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.house.tree import ROOT

LINT = "from importlinter.cli import lint_imports_command as lint; lint()"
DEADLINE_SECONDS = 60

DOWN = "Rooms only look down"
APART = "No surface knows another, no adapter knows another"
PURE = "The core touches nothing outside"
LIGHT = "Below the servers everything is synchronous and light"
ACYCLIC = "No cycles"

BREAKS: dict[str, tuple[Mapping[str, str], str]] = {
    "a clock in the engine": ({"engine/planted.py": "import time\n"}, PURE),
    "a file in the contract": ({"contract/planted.py": "import os\n"}, PURE),
    "the engine holding a port": ({"engine/planted.py": "import handrail.ports\n"}, PURE),
    "a file in the code tools": ({"code_tools/facts/planted.py": "import pathlib\n"}, PURE),
    "the code tools looking at projections": (
        {"code_tools/planted.py": "import handrail.projections.recap\n"},
        DOWN,
    ),
    "an upward import": ({"engine/planted.py": "import handrail.runtime\n"}, DOWN),
    "the runtime naming an adapter": ({"runtime/planted.py": "import handrail.event_log.files.log\n"}, DOWN),
    "an undeclared room": ({"lobby/__init__.py": "", "lobby/desk.py": "x = 1\n"}, DOWN),
    "the CLI importing MCP": ({"surfaces/cli/planted.py": "import handrail.surfaces.mcp\n"}, APART),
    "the MCP stack in the CLI": ({"surfaces/cli/planted.py": "import mcp\n"}, LIGHT),
    "an event loop behind stdin and stdout": ({"surfaces/mcp/calls.py": "import anyio\n"}, LIGHT),
    "asyncio in the runtime": ({"runtime/planted.py": "import asyncio\n"}, LIGHT),
    "a cycle of two files": (
        {
            "engine/planted.py": "import handrail.engine.planted_too\n",
            "engine/planted_too.py": "import handrail.engine.planted\n",
        },
        ACYCLIC,
    ),
}


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


def broken_rules(report: str) -> set[str]:
    return {line.removesuffix("BROKEN").strip() for line in report.splitlines() if line.endswith("BROKEN")}


def test_the_rooms_keep_the_import_rules() -> None:
    result = lint_imports(ROOT)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", BREAKS)
def test_a_planted_break_is_reported_by_its_rule(name: str, tmp_path: Path) -> None:
    files, rule = BREAKS[name]
    root = copy_of_the_package(str(tmp_path))
    plant_files(root, files)

    result = lint_imports(root)

    assert result.returncode == 1, result.stdout + result.stderr
    assert rule in broken_rules(result.stdout), result.stdout + result.stderr
