"""`handrail prove` from the command line, on real projects with real runners."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.forked import ForkedTool, ForkServer
from tests.journeys.proved_projects import ALONE, FIXED, NEW_TEST, PYTEST, START
from tests.worktree.repositories import commit, run_git, write

pytestmark = pytest.mark.thorough


@pytest.fixture
def tool(tmp_path: Path, fork_server: ForkServer) -> ForkedTool:
    return ForkedTool(str(tmp_path), fork_server)


@pytest.fixture
def root(tool: ForkedTool) -> Path:
    """The project of the tool, with one commit and a declared check."""
    root = Path(tool.project)
    run_git(root, "init", "-q", "-b", "main")
    for path, text in START.items():
        write(root, path, text)
    (root / ".handrail").mkdir(exist_ok=True)
    declared = {"checks": {"tests": {"command": PYTEST, "environment": ALONE}}}
    write(root, ".handrail/config.json", json.dumps(declared))
    commit(root)
    return root


def prove(tool: ForkedTool, *flags: str) -> Any:
    return json.loads(tool.run("prove", "--quiet", *flags).out)


def test_fix_is_proved_with_its_table(tool: ForkedTool, root: Path) -> None:
    write(root, "bills.py", FIXED)
    write(root, "test_bills.py", NEW_TEST)

    ran = tool.run("prove", "--human", "--quiet")

    assert ran.status == 0
    assert ran.out.decode().splitlines()[:5] == [
        "PROVED  1 new test fails without the change and passes with it",
        "                  code before       code after",
        "  tests before    not needed        1 pass",
        "  tests after     1 FAIL, 1 pass    2 pass",
        "  proof: test_bills.py::test_halves",
    ]


def test_failing_check_exits_with_one_and_shows_its_table(tool: ForkedTool, root: Path) -> None:
    write(root, "bills.py", "def bill(parts):\n    return 0\n")

    ran = tool.run("prove", "--human", "--quiet")

    assert ran.status == 1
    assert ran.out.decode().startswith("FAILS  The check fails at the end: 1 test fails\n")
    assert "  tests after     1 pass         1 FAIL\n" in ran.out.decode()
    assert ran.err.decode().startswith("Error: tests: FAILS. The check fails at the end: 1 test fails.\n")
    failure = prove(tool)["error"]
    assert failure["code"] == "E_CHECK_FAILED"
    assert failure["details"]["proof"]["checks"][0]["names"] == ["test_bills.py::test_whole"]
    assert failure["retryable"] is False


def test_refactoring_is_kept(tool: ForkedTool, root: Path) -> None:
    write(root, "bills.py", "def bill(parts):\n    return sum(map(round, parts))\n")
    assert prove(tool, "--expect", "kept")["data"]["checks"][0]["sentence"] == (
        "Every old test still passes; no test shows the change"
    )


def test_changed_expectation_is_rewritten(tool: ForkedTool, root: Path) -> None:
    write(root, "bills.py", "def bill(parts):\n    return 4\n")
    write(root, "test_bills.py", NEW_TEST.replace("== 3", "== 4").replace("== 1", "== 4"))
    data = prove(tool)["data"]
    assert (data["word"], data["checks"][0]["names"]) == ("rewrote", ["test_bills.py::test_whole"])


def test_progress_names_the_run_that_is_under_way(tool: ForkedTool, root: Path) -> None:
    write(root, "bills.py", FIXED)
    ran = tool.run("prove", "--compact")
    assert ran.err.decode().splitlines()[:2] == [
        "handrail: tests: run 1, new tests with the new code",
        "handrail: tests: run 2, new tests with the old code",
    ]


def test_markdown_is_printed_alone(tool: ForkedTool, root: Path) -> None:
    write(root, "bills.py", "def bill(parts):\n    return 0\n")
    ran = tool.run("prove", "--as", "markdown", "--format", "raw", "--quiet")
    assert ran.status == 1
    assert ran.out.decode().startswith("**`tests`: FAILS** – The check fails at the end: 1 test fails\n\n| ")


def test_proof_leaves_the_project_as_it_is(tool: ForkedTool, root: Path) -> None:
    write(root, "bills.py", FIXED)
    write(root, "test_bills.py", NEW_TEST)
    before = stamp_files(root)
    prove(tool)
    assert stamp_files(root) == before


def stamp_files(root: Path) -> dict[Path, tuple[int, int, int]]:
    """What a write would change. Git renews the time of an object that it would write once more."""
    seen = {path: path.stat() for path in root.rglob("*")}
    objects = root / ".git" / "objects"
    return {
        path: (one.st_mode, one.st_size, 0 if path.is_relative_to(objects) else one.st_mtime_ns)
        for path, one in seen.items()
    }
