"""`--expand`: parts of a read that are left out unless somebody asks for them (CLI 8.2, LAFS 9.3)."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.surfaces.cli.here import run_here
from tests.surfaces.cli.tool import Tool, checked_document


def data(runtime: Runtime, *line: str) -> Any:
    return checked_document(run_here(runtime, line))["data"]


@pytest.mark.promise("cli.expand")
@pytest.mark.parametrize("level", ["minimal", "standard"])
def test_a_part_on_demand_is_added_to_its_level(runtime: Runtime, level: str) -> None:
    line = ("workflow", "builtins", "--kind", "ref", "--limit", "1", "--mvi", level)

    (plain,), (expanded,) = (data(runtime, *line, *more)["items"] for more in ((), ("--expand", "text")))

    assert "text" not in plain
    assert expanded["text"]
    assert {key: value for key, value in expanded.items() if key != "text"} == plain


def test_parts_of_list_items_are_asked_for_by_name(runtime: Runtime) -> None:
    line = ("workflow", "builtins", "--kind", "contract", "--limit", "1")

    (item,) = data(runtime, *line, "--expand", "schema")["items"]

    assert item["schema"]["type"] == "object"
    assert "text" not in item


def test_fields_choose_inside_what_was_expanded(runtime: Runtime) -> None:
    line = ("workflow", "builtins", "--kind", "contract", "--limit", "1", "--expand", "schema")

    (item,) = data(runtime, *line, "--fields", "schema.type")["items"]

    assert item["schema"] == {"type": "object"}
    assert set(item) == {"id", "schema"}


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("workflow builtins --expand owner,text", "E_VALIDATION", ["text", "schema"]),
        ("workflow builtins --expand ,", "E_USAGE", None),
        ("workflow list --expand text", "E_USAGE", None),
        ("run continue --expand text", "E_USAGE", None),
    ],
)
def test_what_cannot_be_expanded_is_refused(runtime: Runtime, line: str, code: str, said: Any) -> None:
    error = checked_document(run_here(runtime, line.split()))["error"]

    assert error["code"] == code
    assert error["details"].get("valid") == said


@pytest.mark.promise("cli.expand")
@pytest.mark.thorough
def test_reference_says_what_can_be_expanded_where(tool: Tool) -> None:
    commands = tool.data("reference", "--mvi", "full")["commands"]

    assert {one["path"]: one["expand"] for one in commands if one["expand"]} == {
        "workflow builtins": ["text", "schema"],
    }
    assert all(("--expand" in one["global_flags"]) == bool(one["expand"]) for one in commands)
