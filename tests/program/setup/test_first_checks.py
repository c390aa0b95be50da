"""The first set of checks that `setup` suggests: from files alone, shown first, never over what is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.host.settings import LocalSettings
from handrail.operations.checks.found_commands import find_commands
from handrail.program.setup.first_checks import suggest_checks
from tests.cases import every_case
from tests.conformance.forked import ForkedTool, ForkServer
from tests.surfaces.cli.tool import Tool

PYPROJECT = (
    b'[project]\nname = "x"\n[dependency-groups]\ndev = ["pytest>=8"]\n[tool.ruff]\nline-length = 99\n'
)
PACKAGE = b'{"scripts": {"test": "vitest run", "lint": "eslint .", "dev": "vite"}}'


@every_case(
    ("files", "commands"),
    [
        ({}, {}),
        ({"pyproject.toml": PYPROJECT}, {"tests": "python -m pytest -q", "lint": "ruff check"}),
        (
            {"pyproject.toml": PYPROJECT, "uv.lock": b""},
            {"tests": "uv run python -m pytest -q", "lint": "uv run ruff check"},
        ),
        ({"pyproject.toml": b"[project"}, {}),
        ({"pyproject.toml": b'[project]\nname = "x"\n'}, {}),
        ({"package.json": PACKAGE}, {"tests": "npm test", "lint": "npm run lint"}),
        (
            {"package.json": PACKAGE, "pnpm-lock.yaml": b""},
            {"tests": "pnpm test", "lint": "pnpm run lint"},
        ),
        ({"package.json": b'{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, {}),
        ({"package.json": b"[]"}, {}),
        ({"tox.ini": b"[testenv]\ndeps = pytest\n"}, {"tests": "python -m pytest -q"}),
        ({"test_bill.py": b"import unittest\n"}, {"tests": "python -m unittest"}),
        ({"Cargo.toml": b'[package]\nname = "x"\n'}, {"tests": "cargo test"}),
        ({"go.mod": b"module example.org/x\n"}, {"tests": "go test -json ./..."}),
        (
            {"package.json": b'{"scripts": {"test": "node --test spec"}}'},
            {"tests": "node --test --test-reporter=tap spec"},
        ),
        (
            {"justfile": b"test *args:\n  pytest\nlint := 'x'\n", "pyproject.toml": PYPROJECT},
            {"tests": "just test", "lint": "ruff check"},
        ),
        ({"Makefile": b".PHONY: test\ntest: build\n\tgo test\ncheck::\n"}, {"tests": "make test"}),
        (
            {"Cargo.toml": b"[workspace]\n", "package.json": PACKAGE},
            {"tests": "npm test", "lint": "npm run lint", "tests-cargo": "cargo test"},
        ),
    ],
)
def test_checks_are_suggested_from_the_files_of_a_project(
    files: dict[str, bytes], commands: dict[str, str]
) -> None:
    found = suggest_checks(find_commands(files, lambda path: files[path].decode()))

    assert {name: " ".join(check["command"]) for name, check in found.items()} == commands


@pytest.fixture
def tool(tmp_path: Path, fork_server: ForkServer) -> Tool:
    """The command on a machine that has Go."""
    tool = ForkedTool(str(tmp_path), fork_server)
    program = tmp_path / "bin" / "go"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    tool.environment["PATH"] = f"{program.parent}:{tool.environment['PATH']}"
    return tool


def confirmed(tool: Tool, *line: str) -> Any:
    return tool.data(*line, "--confirm", tool.data(*line, "--dry-run")["confirm_token"])


def test_the_suggestion_is_shown_first_and_written_once(tool: Tool) -> None:
    project = Path(tool.project)
    (project / "go.mod").write_text("module example.org/x\n", encoding="utf-8")

    shown = tool.data("setup", "--checks", "--dry-run")
    before = sorted(path.name for path in project.rglob("*"))
    done = confirmed(tool, "setup", "--checks")
    again = tool.data("setup", "--checks", "--dry-run")

    (change,) = shown["preview"]["changes"]
    assert before == ["go.mod"]
    assert (change["id"], change["action"]) == ("checks", "create")
    assert "handrail check list" in done["next_steps"][0]
    held = json.loads((project / ".handrail" / "config.json").read_text(encoding="utf-8"))
    assert held["checks"]["tests"]["command"] == ["go", "test", "-json", "./..."]
    assert held["checks"]["tests"]["report"] == {"path": "-", "format": "go"}
    assert LocalSettings(tool.home, {}).problems(tool.project) == ()
    assert "declares checks already" in json.dumps(again["preview"])


def test_a_command_that_would_not_start_is_not_written(tool: Tool) -> None:
    (Path(tool.project) / "go.mod").write_text("module example.org/x\n", encoding="utf-8")
    tool.environment["PATH"] = "/nowhere"

    shown = tool.data("setup", "--checks", "--dry-run")

    assert [change["action"] for change in shown["preview"]["changes"]] == ["none"]


def test_other_settings_of_the_project_stay_as_they_are(tool: Tool) -> None:
    project = Path(tool.project)
    (project / "go.mod").write_text("module example.org/x\n", encoding="utf-8")
    (project / ".handrail").mkdir()
    (project / ".handrail" / "config.json").write_text('{"output": {"compact": true}}\n', encoding="utf-8")

    confirmed(tool, "setup", "--checks")

    text = (project / ".handrail" / "config.json").read_text(encoding="utf-8")
    assert json.loads(text)["output"] == {"compact": True}
    assert '"output": {"compact": true}' in text


def test_settings_folder_outside_is_not_written_to(tool: Tool, tmp_path: Path) -> None:
    """A settings folder that leads out of the project is not written to."""
    project, elsewhere = Path(tool.project), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / ".handrail").symlink_to(elsewhere)
    (project / "go.mod").write_text("module example.org/x\n", encoding="utf-8")

    error = tool.error("setup", "--checks", "--dry-run")

    assert error["details"]["domain_code"] == "VALIDATION_ERROR"
    assert list(elsewhere.iterdir()) == []


def test_a_plain_setup_offers_checks_and_declares_none(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    (Path(tool.project) / "go.mod").write_text("module example.org/x\n", encoding="utf-8")

    done = confirmed(tool, "setup", "--clients", "cursor")

    assert any("setup --checks --dry-run" in step for step in done["next_steps"])
    assert not (Path(tool.project) / ".handrail").exists()
