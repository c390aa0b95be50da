"""What an agent pays before its first step: the skill's first commands, and the reference of one command."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.reading.command_table import COMMANDS
from tests.conformance.forked import ForkedTool, ForkServer
from tests.surfaces.cli.here import run_here
from tests.surfaces.cli.tool import Tool

SKILL = Path(__file__).parents[2] / "skills" / "handrail" / "SKILL.md"


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory, fork_server: ForkServer) -> Tool:
    return ForkedTool(str(tmp_path_factory.mktemp("learning")), fork_server)


def first_lines() -> list[list[str]]:
    section = SKILL.read_text(encoding="utf-8").partition("## First step")[2]
    block = section.partition("```sh\n")[2].partition("```")[0]
    return [shlex.split(line)[1:] for line in block.splitlines()]


@pytest.mark.thorough
def test_the_first_step_of_the_skill_costs_at_most_600_tokens(tool: Tool) -> None:
    answers = [tool.run(*line) for line in first_lines()]

    assert [one.status for one in answers] == [0] * len(answers)
    assert sum(estimate_tokens(one.out.decode()) or 0 for one in answers) <= 600


@pytest.mark.parametrize(
    "form", [(), ("--compact",), ("--json",), ("--human",), ("--envelope", "lafs"), ("--mvi", "full")]
)
@pytest.mark.thorough
def test_the_reference_of_any_command_costs_at_most_1200_tokens(
    runtime: Runtime, form: tuple[str, ...]
) -> None:
    costs = {}
    for path in COMMANDS:
        told = run_here(runtime, ("reference", "--command", path, *form)).out.decode()
        costs[path] = estimate_tokens(told) or 0

    assert {path: cost for path, cost in costs.items() if not cost or cost > 1_200} == {}


def test_help_as_a_document_is_short_and_indented_on_request(runtime: Runtime) -> None:
    for path in COMMANDS:
        told = run_here(runtime, (*path.split(), "--help", "--json")).out.decode()
        assert json.loads(told)["data"]["selection"]["value"] == path
        assert (estimate_tokens(told) or 0) <= 1_200, path

    indented = run_here(runtime, ("reference", "--command", "context"), {"HANDRAIL_COMPACT": "0"}).out
    assert indented.startswith(b'{\n  "ok"')
