"""A context key that is nearly a declared one is named, because nothing else would ever tell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.given_workflows import give, step
from tests.journeys.interfaces import command, tool_call

INPUTS = {"severity": {"type": "string", "enum": ["low", "high"], "default": "low"}, "id": {"type": "string"}}


def nearly(reply: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        warning["details"]
        for warning in reply.get("warnings", ())
        if warning["code"] == "INPUT_NEARLY_DECLARED"
    ]


@pytest.fixture
def workflow(runtime: Runtime) -> str:
    """The id of a workflow with declared inputs."""
    return give(runtime, step("one"), step("two"), step("three"), inputs=INPUTS)


@pytest.mark.parametrize("key", ["severty", "Severity", "sever_ity", "seveirty"])
def test_mistyped_key_is_named_at_start_and_in_replays(runtime: Runtime, workflow: str, key: str) -> None:
    call = {"workflowId": workflow, "context": {key: "high"}, "requestId": "k"}

    first = tool_call(runtime, "start_workflow", **call)
    again = tool_call(runtime, "start_workflow", **call)

    assert nearly(first.structured) == [{"key": key, "suggestion": "severity"}]
    assert "did you mean severity?" in first.text
    assert again == first


HIGH = {"kind": "compare", "input": "severity", "op": "equals", "value": "high"}


def test_what_is_advised_after_a_step_was_passed_by_makes_it_run(runtime: Runtime) -> None:
    careful = give(runtime, step("one"), step("careful", when=HIGH), step("end"), inputs=INPUTS)
    first = tool_call(runtime, "start_workflow", workflowId=careful).structured
    passed = tool_call(
        runtime, "continue_workflow", ackToken=first["ackToken"], context={"severty": "high"}
    ).structured
    read = tool_call(runtime, "continue_workflow", stateToken=first["stateToken"]).structured
    context = {"severity": "high"}
    followed = tool_call(runtime, "continue_workflow", ackToken=read["ackToken"], context=context).structured

    told = {warning["code"]: warning["message"] for warning in passed["warnings"]}
    advice = "read the step before again with its stateToken and report it"
    assert passed["pending"]["stepId"] == "end"
    assert advice in told["INPUT_NEARLY_DECLARED"]
    assert advice in told["STEPS_SKIPPED"]
    assert followed["pending"]["stepId"] == "careful"


def test_start_that_passed_a_step_by_advises_a_new_start(runtime: Runtime) -> None:
    careful = give(runtime, step("careful", when=HIGH), step("end"), inputs=INPUTS)

    begun = tool_call(runtime, "start_workflow", workflowId=careful, context={"severty": "high"}).structured

    told = {warning["code"]: warning["message"] for warning in begun["warnings"]}
    assert "start again with that name" in told["INPUT_NEARLY_DECLARED"]
    assert "start again with the value in context" in told["STEPS_SKIPPED"]
    assert "stateToken" not in told["STEPS_SKIPPED"]


def test_a_mistyped_key_is_named_when_it_comes_with_a_report(runtime: Runtime, workflow: str) -> None:
    first = tool_call(runtime, "start_workflow", workflowId=workflow, context={"severity": "low"}).structured

    _, printed = command(
        runtime,
        *("run", "continue", "--ack", first["ackToken"], "--notes", "x"),
        *("--context", json.dumps({"sevrity": "high"})),
    )
    after = tool_call(runtime, "continue_workflow", ackToken=printed["data"]["ackToken"]).structured

    assert nearly(printed["data"]) == [{"key": "sevrity", "suggestion": "severity"}]
    assert nearly(after) == []


@pytest.mark.parametrize(
    "context",
    [{"severty": None}, {"if": 1, "ida": 2}, {"server": "x"}, {"severity": "low", "severitys": []}],
)
def test_keys_that_mean_something_else_are_left_alone(
    runtime: Runtime, workflow: str, context: dict[str, Any]
) -> None:
    reply = tool_call(runtime, "start_workflow", workflowId=workflow, context=context).structured

    assert nearly(reply) == []
