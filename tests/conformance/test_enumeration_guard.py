"""Every leaf of the live reference is called by a test: its words stand there, quoted and adjacent."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from tests.house.tree import python_files
from tests.surfaces.cli.tool import Tool


def uncalled(leaves: Sequence[str], tests: str) -> list[str]:
    assert leaves, "a reference without commands would make this rule pass by itself"
    return [leaf for leaf in leaves if not re.search(_adjacent(leaf), tests)]


def _adjacent(leaf: str) -> str:
    return r"[\[(,\s]" + r",\s*".join(f'"{re.escape(word)}"' for word in leaf.split())


@pytest.mark.promise("cli.covered")
def test_every_leaf_of_the_live_reference_is_called_somewhere(tool: Tool) -> None:
    leaves = [command["path"] for command in tool.data("reference", "--fields", "commands.path")["commands"]]
    tests = "\n".join(source.text for source in python_files("tests/"))

    assert uncalled(leaves, tests) == []


@pytest.mark.parametrize(
    ("tests", "missing"),
    [
        ('tool.data("session", "list")', []),
        ('(["session",\n "list"], "", "")', []),
        ('tool.data("session", "show")', ["session list"]),
        ('tool.data("session list")', ["session list"]),
    ],
)
def test_a_leaf_that_no_test_calls_is_named(tests: str, missing: list[str]) -> None:
    assert uncalled(["session list"], tests) == missing


def test_no_leaves_at_all_is_a_failure() -> None:
    with pytest.raises(AssertionError):
        uncalled([], "anything")
