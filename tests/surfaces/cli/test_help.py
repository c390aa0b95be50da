"""Help says everything the table knows. Its examples run in tests/conformance/test_every_declaration.py."""

from __future__ import annotations

import pytest

from handrail.surfaces.cli.reading import _table
from handrail.surfaces.cli.self_description import _catalog
from handrail.surfaces.cli.self_description.help import help_text


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
        ("mcp", "Runs until it is ended."),
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
