"""A command imports what it needs and nothing else: start-up time is what an agent pays on every call."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.surfaces.cli.tool import DEADLINE_SECONDS, Tool

HEAVY = """
argparse dataclasses inspect importlib.metadata asyncio concurrent urllib http ssl socket email logging
subprocess tempfile shutil pathlib tomllib configparser sqlite3 multiprocessing unittest pydoc
"""
FOREIGN = """
mcp mcp_types starlette uvicorn anyio httpx httpx2 pydantic jsonschema tree_sitter psycopg sigstore click rich
typing_extensions regex
"""
SCRIPT = """
import sys
before = set(sys.modules)
from handrail.main import main
sys.argv = ["handrail", *sys.argv[1:]]
main()
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


def loaded(tool: Tool, *arguments: str) -> set[str]:
    """The modules that a call loads beside those the interpreter starts with."""
    finished = subprocess.run(
        [tool.command[0], "-c", SCRIPT, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tool.project,
        env=tool.environment,
        timeout=DEADLINE_SECONDS,
        check=True,
    )
    return set(finished.stderr.decode().split())


def check_light(modules: set[str]) -> None:
    assert modules & {*HEAVY.split(), *FOREIGN.split()} == set()


def test_the_version_loads_nothing_but_the_front_door(tool: Tool) -> None:
    assert loaded(tool, "--version") == {"handrail", "handrail.main"}


@pytest.mark.parametrize("line", [["nope"], [], ["session", "list", "--limit", "x"]])
def test_a_usage_error_loads_neither_help_nor_runtime(tool: Tool, line: list[str]) -> None:
    modules = loaded(tool, *line)

    check_light(modules)
    assert not any(
        name.startswith(("handrail.runtime", "handrail.host", "handrail.engine")) for name in modules
    )
    assert "handrail.surfaces.cli._catalog" not in modules


def test_continue_and_checkpoint_load_nothing_heavy(tool: Tool, started: Any) -> None:
    check_light(loaded(tool, "run", "continue", "--ack", started["ackToken"], "--notes", "x"))
    check_light(loaded(tool, "run", "checkpoint", "--checkpoint", started["checkpointToken"], "--notes", "x"))
    check_light(loaded(tool, "run", "continue", "--state", started["stateToken"], "--envelope", "lafs"))


@pytest.mark.parametrize(
    "line",
    [
        ["workflow", "list"],
        ["workflow", "inspect", "wr.small_change"],
        ["run", "start", "wr.small_change", "--request-id", "cold"],
        ["session", "list"],
        ["session", "resume"],
        ["--help"],
        ["session", "list", "--human"],
    ],
)
def test_no_command_loads_what_only_servers_need(tool: Tool, started: Any, line: list[str]) -> None:
    modules = loaded(tool, *line)

    assert modules & set(FOREIGN.split()) == set()


def test_an_operation_loads_only_its_own_module(tool: Tool, started: Any) -> None:
    modules = loaded(tool, "run", "continue", "--state", started["stateToken"])

    for name in (
        "start_run",
        "list_workflows",
        "list_sessions",
        "show_session",
        "check_lafs",
        "inspect_workflow",
    ):
        assert f"handrail.runtime.{name}" not in modules
    assert "handrail.surfaces.cli.commands" not in modules
    assert "handrail.surfaces.cli.rows" not in modules
