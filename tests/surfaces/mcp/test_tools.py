"""The tool definitions: a closed set in a fixed order, small, and true to the registry."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from handrail.contract.catalogue import KINDS
from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.envelopes.mcp_and_http import to_mcp_error
from handrail.contract.outcome import Failure, NextCall
from handrail.surfaces.mcp.tools import OFFERED, SWITCHED_ON, offered_tools, spell_call, tool_definitions
from handrail.wiring import registry

BUDGET_TOKENS = 1_800

ARGUMENTS = {
    "list_workflows": (["query", "cursor", "project"], []),
    "inspect_workflow": (["workflowId", "part", "project"], ["workflowId"]),
    "start_workflow": (
        ["workflowId", "goal", "context", "preferences", "requestId", "session", "project"],
        ["workflowId"],
    ),
    "continue_workflow": (["ackToken", "stateToken", "context", "output", "project", "worker"], []),
    "checkpoint_workflow": (
        ["checkpointToken", "stateToken", "output", "project", "worker"],
        ["checkpointToken", "output"],
    ),
    "resume_session": (["query", "cursor", "project"], []),
}
"""Tool → arguments in order, required ones."""

FREE = ["/properties/context", "/properties/output/properties/artifacts/items"]
"""Where a caller may use names of its own."""

HINTS = {
    # readOnlyHint, idempotentHint
    "list_workflows": (True, True),
    "inspect_workflow": (True, True),
    "start_workflow": (False, False),
    "continue_workflow": (False, True),
    "checkpoint_workflow": (False, True),
    "resume_session": (True, True),
}


def objects_in(schema: Any, path: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every object schema below, with its place."""
    if isinstance(schema, list):
        return [found for part in schema for found in objects_in(part, path)]
    if not isinstance(schema, dict):
        return []
    here = [(path, schema)] if schema.get("type") == "object" else []
    return here + [found for key, part in schema.items() for found in objects_in(part, f"{path}/{key}")]


def test_tools_are_listed_in_order_with_arguments() -> None:
    listed = {
        definition["name"]: (
            list(definition["inputSchema"]["properties"]),
            definition["inputSchema"].get("required", []),
        )
        for definition in tool_definitions()
    }

    assert list(listed) == list(ARGUMENTS)
    assert listed == ARGUMENTS


def test_every_operation_with_a_tool_is_offered() -> None:
    assert {called.name for called in registry().operations() if called.tool} == {*OFFERED, *SWITCHED_ON}


@pytest.mark.parametrize("name", list(HINTS))
def test_all_four_hints_are_written_out(name: str) -> None:
    annotations = offered_tools()[name].definition["annotations"]

    is_read, is_idempotent = HINTS[name]
    assert annotations == {
        "readOnlyHint": is_read,
        "destructiveHint": False,
        "idempotentHint": is_idempotent,
        "openWorldHint": False,
    }


@pytest.mark.parametrize("name", list(ARGUMENTS))
def test_every_input_object_is_closed_except_free_ones(name: str) -> None:
    schema = offered_tools()[name].definition["inputSchema"]

    opened = [path for path, found in objects_in(schema) if found.get("additionalProperties") is not False]

    assert opened == [place for place in FREE if place.split("/")[2] in schema["properties"]]


def test_what_a_report_and_the_preferences_hold() -> None:
    report = offered_tools()["continue_workflow"].definition["inputSchema"]["properties"]["output"]
    saved = offered_tools()["checkpoint_workflow"].definition["inputSchema"]["properties"]["output"]
    preferences = offered_tools()["start_workflow"].definition["inputSchema"]["properties"]["preferences"]

    assert report == saved
    assert list(report["properties"]) == ["notesMarkdown", "artifacts"]
    assert report["properties"]["artifacts"]["items"] == {"type": "object"}
    assert {name: set(held["enum"]) for name, held in preferences["properties"].items()} == {
        "autonomy": {"guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"},
        "riskPolicy": {"conservative", "balanced", "aggressive"},
    }


@pytest.mark.parametrize("name", list(ARGUMENTS))
def test_schemas_are_valid_and_carry_no_references_or_titles(name: str) -> None:
    definition = offered_tools()[name].definition

    for key in ("inputSchema", "outputSchema"):
        Draft202012Validator.check_schema(definition[key])
        text = json.dumps(definition[key])
        assert '"$ref"' not in text
        assert '"$defs"' not in text
        assert definition[key]["type"] == "object"


@pytest.mark.parametrize("name", list(ARGUMENTS))
def test_structured_copy_of_every_error_fits_the_schema(name: str) -> None:
    """Several clients validate it, and would show their own complaint instead of the error."""
    validator = Draft202012Validator(offered_tools()[name].definition["outputSchema"])

    for kind in KINDS.values():
        failure = Failure(kind=kind, message="It went wrong.", details=dict.fromkeys(kind.details, "x"))
        _, structured = to_mcp_error(failure, tool_call=lambda call: None)
        assert validator.is_valid(structured), kind.code


def test_a_tool_may_offer_fewer_choices_than_its_operation() -> None:
    part = offered_tools()["inspect_workflow"].definition["inputSchema"]["properties"]["part"]

    assert part["enum"] == ["summary", "inputs", "steps"]
    assert part["type"] == "string"


def test_all_definitions_together_stay_within_the_budget() -> None:
    estimated = estimate_tokens(tool_definitions())

    assert estimated is not None
    assert estimated <= BUDGET_TOKENS


def test_descriptions_say_what_comes_back() -> None:
    definitions = {definition["name"]: definition for definition in tool_definitions()}

    assert all(definition["description"].endswith(".") for definition in definitions.values())
    assert "Tokens live" in definitions["start_workflow"]["description"]


@pytest.mark.thorough
def test_two_processes_list_the_same_bytes() -> None:
    script = (
        "import json, sys\n"
        "from handrail.surfaces.mcp.tools import tool_definitions\n"
        "assert 'mcp' not in sys.modules and 'pydantic' not in sys.modules\n"
        "print(json.dumps(tool_definitions()))\n"
    )
    command = [sys.executable, "-c", script]

    listings = {subprocess.run(command, capture_output=True, check=True, timeout=60).stdout for _ in range(2)}

    assert listings == {json.dumps(tool_definitions()).encode() + b"\n"}


@pytest.mark.parametrize(
    ("call", "spelled"),
    [
        (
            NextCall(operation="session.resume", params={"query": "ses_1"}),
            {"tool": "resume_session", "params": {"query": "ses_1"}},
        ),
        (NextCall(operation="workflow.list"), {"tool": "list_workflows", "params": {}}),
        (NextCall(operation="session.list"), None),
        (NextCall(operation="workflow.list", params={"kind": "routine"}), None),
    ],
)
def test_next_call_is_spelled_as_a_tool_call(call: NextCall, spelled: dict[str, Any] | None) -> None:
    assert spell_call(offered_tools(), call) == spelled
