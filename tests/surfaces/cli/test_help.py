"""Help says everything the table knows. Its examples run in tests/conformance/test_every_declaration.py."""

from __future__ import annotations

import re

import pytest

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.surfaces.cli.reading.command_table import COMMANDS
from handrail.surfaces.cli.reading.parse import parse, views_of, words_of
from handrail.surfaces.cli.self_description.help import help_text
from handrail.wiring import registry
from tools.commands.rows import GLOBAL_FLAGS


@pytest.mark.thorough
@pytest.mark.parametrize("path", list(COMMANDS))
def test_help_names_every_flag_its_choices_and_its_variable(path: str) -> None:
    text = help_text(registry(), path)

    command = COMMANDS[path]
    for param in command["params"]:
        assert (param["flag"] or param["value"]) in text
        assert param["kind"] == "choices" or all(choice in text for choice in param["choices"])
    offered = {flag for view in views_of(words_of(path)) for flag in view["globals"]}
    own = {param["flag"] for view in views_of(words_of(path)) for param in view["params"]}
    for flag in GLOBAL_FLAGS:
        assert (f"  {flag.flag} " in text) is (flag.flag in offered | own)
        assert not flag.environment or flag.flag not in offered or f"[env: {flag.environment}]" in text
    assert text.startswith(f"Usage: handrail {words_of(path)}")
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
    assert effect in help_text(registry(), path).splitlines()


def test_first_page_shows_the_loop_and_names_every_noun() -> None:
    text = help_text(registry(), "")
    nouns = [line for line in text.splitlines() if re.match(r"  [a-z]+  ", line)]

    assert (estimate_tokens(text) or 0) <= 600
    assert len(text.splitlines()) <= 40
    assert len(nouns) <= 16
    for command in ("workflow list", "run start", "run continue", "session resume"):
        assert f"  handrail {command}" in text
    assert all(re.search(rf"\b{path.split()[0]}\b", text) for path in COMMANDS)


def test_a_group_s_help_lists_its_own_commands_only() -> None:
    text = help_text(registry(), "session")

    assert "session show" in text
    assert "workflow list" not in text


def test_what_the_first_page_only_names_is_one_question_away() -> None:
    first, more = help_text(registry(), ""), help_text(registry(), "more")
    nouns = {path.split()[0] for path in COMMANDS}

    assert parse(["help", "more"]).problems == ()
    assert parse(["more"]).problems != ()
    assert nouns == {noun for noun in nouns if f"\n  {noun} " in first} | {
        noun for noun in nouns if f"\n  {noun} " in more
    }
    assert f"\n  {'session'} " not in more
