"""`workflow.graph` and `workflow.inspect`: the compiled workflow in each form, by id or from a file."""

from __future__ import annotations

import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.tools import offered_tools
from tests.operations.asked import answered, refused, text, workflow


@pytest.mark.parametrize(
    ("drawn_as", "beginning"),
    [("mermaid", "flowchart TD\n"), ("svg", "<svg xmlns="), ("text", "project.three_steps: Three steps\n")],
)
def test_a_workflow_is_drawn_as_asked(runtime: Runtime, drawn_as: str, beginning: str) -> None:
    data = answered(runtime, "workflow.graph", workflowId="project.three_steps", **{"as": drawn_as})

    assert list(data) == ["workflow_id", "workflow_hash", "as", "drawing", "_untrusted"]
    assert data["as"] == drawn_as
    assert data["drawing"].startswith(beginning)


def test_mermaid_is_what_is_drawn_unless_asked(runtime: Runtime) -> None:
    assert answered(runtime, "workflow.graph", workflowId="project.three_steps")["as"] == "mermaid"


def test_json_gives_the_graph_itself(runtime: Runtime) -> None:
    data = answered(runtime, "workflow.graph", document=text(workflow()), **{"as": "json"})

    assert [node["id"] for node in data["drawing"]["nodes"]] == [":start", "work", ":end"]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "VALIDATION_ERROR"),
        ({"workflowId": "project.three_steps", "document": text(workflow())}, "VALIDATION_ERROR"),
        ({"workflowId": "project.none"}, "WORKFLOW_NOT_FOUND"),
        ({"document": text(workflow(steps=[]))}, "WORKFLOW_INVALID"),
        ({"workflowId": "project.three_steps", "as": "oil"}, "VALIDATION_ERROR"),
    ],
)
def test_what_cannot_be_drawn_is_refused(runtime: Runtime, params: dict[str, object], code: str) -> None:
    failure = refused(runtime, "workflow.graph", **params)

    assert failure.kind.code == code
    if "as" not in params:
        assert refused(runtime, "workflow.inspect", **params).kind.code == code


def test_a_file_is_inspected_like_a_workflow_of_the_library(runtime: Runtime) -> None:
    checked = {"id": "prove", "title": "Prove", "prompt": "Prove it.", "evidence": {"check": "tests"}}

    [summary, steps, source] = [
        answered(runtime, "workflow.inspect", document=text(workflow(steps=[checked])), part=part)["workflow"]
        for part in ("summary", "steps", "source")
    ]

    assert (summary["id"], summary["name"], summary["stepCount"]) == ("project.given", "Given", 1)
    assert [(one["id"], one["check"]) for one in steps["steps"]] == [("prove", "tests")]
    assert source["source"] == text(workflow(steps=[checked]))["text"]
    assert offered_tools()["inspect_workflow"].definition["inputSchema"]["required"] == ["workflowId"]


def test_a_broken_file_is_refused_with_its_problems(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.graph", document=text(workflow(stepz=[])))

    assert failure.details["problems"][0]["code"] == "unknown_key"
    assert failure.details["problems"][0]["line"] == 12
