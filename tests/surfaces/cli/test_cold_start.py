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
RARE = """
json traceback heapq
handrail.contract.disclosure.budget handrail.contract.disclosure.estimate handrail.contract.json.trouble
handrail.contract.envelopes.lafs handrail.contract.disclosure.named_fields handrail.contract.json.strict
handrail.contract.tokens.confirm handrail.contract.tokens.cursor
handrail.host.authored_files handrail.host.programs
handrail.host.workflow_library handrail.host.workflow_sources
handrail.ports.program handrail.ports.store handrail.projections
handrail.runtime.paging handrail.operations.runs.reread_run
handrail.operations.checkpoints handrail.operations.source_drift
handrail.surfaces.cli.rendering.human handrail.surfaces.cli.rendering.text
handrail.workflows.catalog handrail.workflows.contracts.check handrail.workflows.contracts.patterns
handrail.workflows.reading
"""
"""What an advance has no use for, whether it is the first or a replay: each has a call of its own."""
MOST_OWN_MODULES = 103
PATTERNS_OF_A_CALL = {
    *("arrival.py", "conditions.py", "disk.py", "manifest.py", "plan.py", "segments.py", "standing.py"),
    "settings.py",
}
"""Files whose patterns an advance really uses; all others are compiled by the calls that match with them."""
PATTERN_SCRIPT = """
import os, re, sys
compile_now = re.compile
def told(*given):
    caller = sys._getframe(1).f_code.co_filename
    if os.sep + "handrail" + os.sep in caller:
        print(os.path.basename(caller), file=sys.stderr)
    return compile_now(*given)
re.compile = told
from handrail.main import main
sys.argv = ["handrail", *sys.argv[1:]]
main()
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
    assert loaded(tool, "--version") == {"handrail", "handrail.main"}


@pytest.mark.thorough
@pytest.mark.promise("cli.cold-start")
@pytest.mark.parametrize("line", [["nope"], [], ["session", "list", "--limit", "x"]])
def test_a_usage_error_loads_neither_help_nor_runtime(tool: Tool, line: list[str]) -> None:
    modules = loaded(tool, *line)

    check_light(modules)
    assert not any(
        name.startswith(("handrail.runtime", "handrail.host", "handrail.engine")) for name in modules
    )
    assert "handrail.surfaces.cli.self_description.command_tables" not in modules


@pytest.fixture
def started(tool: Tool, request: pytest.FixtureRequest) -> Any:
    """A run of its own: what others did to a shared one decides what a call must load."""
    return tool.data(
        "run", "start", "wr.small_change", "--request-id", f"cold-{abs(hash(request.node.name))}"
    )


@pytest.mark.thorough
@pytest.mark.promise("cli.cold-start")
def test_continue_and_checkpoint_load_nothing_heavy(tool: Tool, started: Any) -> None:
    check_light(loaded(tool, "run", "continue", "--ack", started["ackToken"], "--notes", "x"))
    check_light(loaded(tool, "run", "checkpoint", "--checkpoint", started["checkpointToken"], "--notes", "x"))
    check_light(loaded(tool, "run", "continue", "--state", started["stateToken"], "--envelope", "lafs"))


@pytest.mark.thorough
def test_an_advance_loads_nothing_that_only_rarer_calls_need(tool: Tool, started: Any) -> None:
    call = ("run", "continue", "--ack", started["ackToken"], "--notes", "x")

    first, replayed = loaded(tool, *call), loaded(tool, *call)

    assert first & set(RARE.split()) == set()
    assert replayed & set(RARE.split()) == set()
    assert len([name for name in first | replayed if name.startswith("handrail")]) <= MOST_OWN_MODULES


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


@pytest.mark.thorough
def test_an_advance_compiles_only_the_patterns_that_it_matches_with(tool: Tool, started: Any) -> None:
    compiling = loaded(
        tool, "run", "continue", "--ack", started["ackToken"], "--notes", "x", script=PATTERN_SCRIPT
    )

    assert compiling == PATTERNS_OF_A_CALL


@pytest.mark.promise("door.light")
def test_the_server_loads_neither_the_protocol_library_nor_an_event_loop(tool: Tool) -> None:
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


@pytest.mark.thorough
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
    assert "handrail.surfaces.cli.commands.all" not in modules
    assert "handrail.surfaces.cli.commands.row" not in modules
