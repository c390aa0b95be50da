"""A command imports what it needs and nothing else: start-up time is what an agent pays on every call."""

from __future__ import annotations

import inspect
import json
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest

from handrail.engine.events import Event, EventBody
from handrail.event_log.files.manifest import Attestation
from handrail.workflows.compiled import Choice, CompiledWorkflow, Step
from tests.cases import every_case
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
print("loaded:", *sorted(set(sys.modules) - before), file=sys.stderr)
"""
COLLECTOR_SCRIPT = """
import gc, sys
from handrail.main import main
import handrail.surfaces.mcp.stdio as stdio
def told(*_, **__):
    print(gc.get_threshold()[0], gc.get_freeze_count() > 0, file=sys.stderr)
stdio.serve_stdio = told
sys.argv = ["handrail", *sys.argv[1:]]
main()
"""


def loaded(tool: Tool, *arguments: str, script: str = SCRIPT) -> set[str]:
    """The modules that a call loads beside those the interpreter starts with."""
    finished = subprocess.run(
        [tool.command[0], "-c", script, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tool.project,
        env=tool.environment,
        timeout=DEADLINE_SECONDS,
        check=True,
    )
    before, marked, after = finished.stderr.decode().partition("loaded:")
    return set((after if marked else before).split())  # a bare call writes its page to stderr first


def check_light(modules: set[str]) -> None:
    assert modules & {*HEAVY.split(), *FOREIGN.split()} == set()


def test_the_version_loads_nothing_but_the_front_door(tool: Tool) -> None:
    assert loaded(tool, "--version") == {"handrail", "handrail.main", "handrail.version"}


@pytest.mark.thorough
@pytest.mark.parametrize("line", [["nope"], [], ["session", "list", "--limit", "x"]])
def test_a_usage_error_loads_neither_help_nor_runtime(tool: Tool, line: list[str]) -> None:
    modules = loaded(tool, *line)

    check_light(modules)
    assert not any(
        name.startswith(("handrail.runtime", "handrail.host", "handrail.engine")) for name in modules
    )
    assert "handrail.surfaces.cli.self_description.help_table" not in modules


@pytest.fixture
def started(tool: Tool, request: pytest.FixtureRequest) -> Any:
    """A run of its own: what others did to a shared one decides what a call must load."""
    return tool.data(
        "run", "start", "wr.small_change", "--request-id", f"cold-{abs(hash(request.node.name))}"
    )


@pytest.mark.thorough
def test_continue_and_checkpoint_load_nothing_heavy(tool: Tool, started: Any) -> None:
    check_light(loaded(tool, "run", "continue", "--ack", started["ackToken"], "--notes", "x"))
    check_light(loaded(tool, "run", "checkpoint", "--checkpoint", started["checkpointToken"], "--notes", "x"))
    check_light(loaded(tool, "run", "continue", "--state", started["stateToken"], "--envelope", "lafs"))


@pytest.mark.thorough
def test_a_run_whose_files_are_as_they_were_needs_no_compiler(tool: Tool, started: Any) -> None:
    workflows = Path(tool.project, ".handrail", "workflows")
    workflows.mkdir(parents=True, exist_ok=True)
    steps = [{"id": "look", "title": "Look", "prompt": "Look."}]
    own = {"id": "project.own", "name": "Own", "description": "Own.", "steps": steps}
    (workflows / "own.json").write_text(json.dumps(own), encoding="utf-8")
    ack = tool.data("run", "start", "project.own", "--request-id", "cold-own")["ackToken"]

    for line in (["--ack", ack, "--notes", "x"], ["--state", started["stateToken"]]):
        modules = loaded(tool, "run", "continue", *line)

        assert "handrail.operations.source_drift" in modules
        assert "handrail.workflows.catalog" not in modules


def test_server_loads_no_protocol_library_and_no_event_loop(tool: Tool) -> None:
    assert loaded(tool, "mcp") & {"asyncio", "logging", "ssl", *FOREIGN.split()} == set()


@pytest.mark.thorough
def test_a_server_looks_for_garbage_as_often_as_python_does(tool: Tool) -> None:
    """A short call hardly ever looks; what serves for days would grow without looking."""
    assert loaded(tool, "mcp", script=COLLECTOR_SCRIPT) == {"2000", "True"}


@every_case("shape", [*get_args(Event), EventBody, CompiledWorkflow, Step, Choice, Attestation])
def test_what_an_advance_decodes_has_no_annotations_to_compile(shape: type) -> None:
    """An annotation that is text is parsed when the first decoder of its struct is made, in every process."""
    told = inspect.get_annotations(shape)

    assert [name for name, kind in told.items() if isinstance(kind, str)] == []


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
@pytest.mark.thorough
def test_no_command_loads_what_only_servers_need(tool: Tool, started: Any, line: list[str]) -> None:
    modules = loaded(tool, *line)

    assert modules & set(FOREIGN.split()) == set()
