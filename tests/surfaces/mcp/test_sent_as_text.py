"""Objects and lists sent as JSON text are read where one belongs, named, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

from handrail.surfaces.mcp.arguments import read_texts
from handrail.surfaces.mcp.tools import fields_of, offered_tools
from tests.cases import every_case

TOOLS = offered_tools()
ARTIFACT = {"kind": "a.b", "text": "{}"}


def check(tool: str, given: dict[str, Any], read: dict[str, Any], named: dict[str, str]) -> None:
    before = json.dumps(given)

    assert read_texts(fields_of(TOOLS[tool]), given) == (read, named)
    assert json.dumps(given) == before


@every_case(
    ("given", "named"),
    [
        ({"output": json.dumps({"artifacts": [ARTIFACT]})}, {"output": "an object"}),
        ({"output": {"artifacts": json.dumps([ARTIFACT])}}, {"output.artifacts": "a list of objects"}),
        ({"output": {"artifacts": [json.dumps(ARTIFACT)]}}, {"output.artifacts": "a list of objects"}),
        ({"output": {"artifacts": " " + json.dumps(ARTIFACT)}}, {"output.artifacts": "a list of objects"}),
        (
            {"output": json.dumps({"artifacts": json.dumps([ARTIFACT])})},
            {"output": "an object", "output.artifacts": "a list of objects"},
        ),
        ({"output": {"artifacts": [ARTIFACT]}}, {}),
    ],
)
def test_artifacts_are_read_from_text_and_named(given: dict[str, Any], named: dict[str, str]) -> None:
    check("continue_workflow", given, {"output": {"artifacts": [ARTIFACT]}}, named)


@every_case(
    "given",
    [
        {"goal": '{"a": 1}'},
        {"context": {"a": '{"b": 1}'}},
        {"context": "[1]"},
        {"context": '{"a": 1'},
        {"context": 7},
        {"other": "{}"},
    ],
)
def test_other_text_stays_text(given: dict[str, Any]) -> None:
    check("start_workflow", given, given, {})
