"""Help says everything the table knows, and its examples run."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from handrail.surfaces.cli import _catalog, _table
from handrail.surfaces.cli.help import help_text
from tests.conftest import THREE_STEPS
from tests.surfaces.cli.tool import Tool

EXAMPLES = [
    (path, example)
    for path, entry in _catalog.COMMANDS.items()
    for example in entry["examples"]
    if path not in ("mcp", "demo")
]


@pytest.mark.parametrize("path", list(_table.COMMANDS))
def test_help_names_every_flag_its_choices_and_its_variable(path: str) -> None:
    text = help_text(path)

    command = _table.COMMANDS[path]
    for param in command["params"]:
        assert (param["flag"] or param["value"]) in text
        assert all(choice in text for choice in param["choices"])
    for flag in _catalog.GLOBALS:
        assert (f"  {flag['name']}" in text) is (flag["name"] in command["globals"])
        assert (
            not flag["environment"]
            or flag["name"] not in command["globals"]
            or f"[env: {flag['environment']}]" in text
        )
    assert text.startswith(f"Usage: handrail {path}")
    assert "Examples:\n  handrail " in text


def test_the_tool_s_help_lists_every_command() -> None:
    text = help_text("")

    assert all(f"  {path} " in text for path in _table.COMMANDS)


def test_a_group_s_help_lists_its_own_commands_only() -> None:
    text = help_text("session")

    assert "session show" in text
    assert "workflow list" not in text


@pytest.mark.parametrize(("path", "example"), EXAMPLES)
def test_an_example_runs(tool: Tool, started: Any, path: str, example: str) -> None:
    """Words in capitals stand for what the caller brings along."""
    answer = tool.run("workflow", "list", "--envelope", "lafs").out
    with open(f"{tool.project}/answer.json", "wb") as file:
        file.write(answer)
    with open(f"{tool.project}/my_check.json", "wb") as file:
        file.write(THREE_STEPS)
    preview = tool.data("workflow", "new", "project.my_check", "--to", "drafts", "--dry-run")
    names = {
        "CONFIRM_TOKEN": preview["confirm_token"],
        "ACK_TOKEN": started["ackToken"],
        "STATE_TOKEN": started["stateToken"],
        "CHECKPOINT_TOKEN": started["checkpointToken"],
        "SESSION_ID": started["session"]["sessionId"],
    }
    words = [names.get(word, word) for word in shlex.split(example)]

    ran = tool.run(*words[1:], stdin=answer)

    assert words[0] == "handrail"
    assert " ".join(words[1:]).startswith(path)
    assert (ran.status, ran.err) == (0, b""), ran.out
