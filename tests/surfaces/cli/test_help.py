"""Help says everything the table knows, and its examples run."""

from __future__ import annotations

import shlex
from pathlib import Path

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
        assert param["kind"] == "choices" or all(choice in text for choice in param["choices"])
    for flag in _catalog.GLOBALS:
        assert (f"  {flag['name']} " in text) is (flag["name"] in command["globals"])
        assert (
            not flag["environment"]
            or flag["name"] not in command["globals"]
            or f"[env: {flag['environment']}]" in text
        )
    assert text.startswith(f"Usage: handrail {path}")
    assert "Examples:\n  handrail " in text


@pytest.mark.parametrize(
    ("path", "effect"),
    [
        ("session list", "Changes nothing."),
        ("mcp", "Runs until its input closes."),
        ("update", "Replaces the program; with --check or --dry-run it only looks."),
        ("demo", "Works in a scratch directory only."),
    ],
)
def test_help_says_what_a_command_changes(path: str, effect: str) -> None:
    assert effect in help_text(path).splitlines()


def test_the_tool_s_help_lists_every_command() -> None:
    text = help_text("")

    assert all(f"  {path} " in text for path in _table.COMMANDS)


def test_a_group_s_help_lists_its_own_commands_only() -> None:
    text = help_text("session")

    assert "session show" in text
    assert "workflow list" not in text


ON_THIS_MACHINE = [(path, example) for path, example in EXAMPLES if path != "update"]
"""An update asks an index; its examples run beside a planted one, in tests/conformance."""


@pytest.mark.promise("cli.examples")
@pytest.mark.parametrize(("path", "example"), ON_THIS_MACHINE)
def test_an_example_runs(tool: Tool, fresh_tool: Tool, path: str, example: str) -> None:
    """Words in capitals stand for what the caller brings along; a confirm token comes from a dry run."""
    reply = fresh_tool.data("run", "start", "wr.small_change", "--request-id", "example")
    if "ledger" in path:
        fresh_tool.data("run", "checkpoint", "--checkpoint", reply["checkpointToken"], "--notes", "half")
    answer = fresh_tool.run("workflow", "list", "--envelope", "lafs").out
    given = {"answer.json": answer, "my_check.json": THREE_STEPS}
    if path == "session start":  # switched off unless the user wants it
        Path(fresh_tool.home, "config.json").write_text('{"startSession": true}', encoding="utf-8")
    if "import" in path:
        elsewhere = tool.data("run", "start", "wr.small_change", "--request-id", "elsewhere")["session"][
            "sessionId"
        ]
        given["work.handrail.json"] = tool.run("session", "export", elsewhere, "--format", "raw").out
    for name, content in given.items():
        Path(fresh_tool.project, name).write_bytes(content)
    names = {
        "ACK_TOKEN": reply["ackToken"],
        "STATE_TOKEN": reply["stateToken"],
        "CHECKPOINT_TOKEN": reply["checkpointToken"],
        "SESSION_ID": reply["session"]["sessionId"],
        "RUN_ID": reply["session"]["runId"],
    }
    words = [names.get(word, word) for word in shlex.split(example)]
    if "CONFIRM_TOKEN" in words:
        place = words.index("--confirm")
        shown = fresh_tool.data(*words[1:place], "--dry-run", *words[place + 2 :])
        words[place + 1] = shown["confirm_token"]

    ran = fresh_tool.run(*words[1:], stdin=answer)

    assert words[0] == "handrail"
    assert " ".join(words[1:]).startswith(path)
    assert (ran.status, ran.err) == (0, b""), ran.out
