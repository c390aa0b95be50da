"""What every answer is like: data with a code, whole in both channels, with the fields of the contract."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.wiring import registry
from tests.conftest import memory_runtime
from tests.journeys.conversation import advance, answer, refusal, rehydrate, start
from tests.journeys.interfaces import TOOLS, command, tool_call
from tests.journeys.test_on_disk import every_byte

TROUBLE: list[tuple[str, dict[str, Any]]] = [
    ("start_workflow", {"workflowId": "project.nowhere"}),
    ("start_workflow", {}),
    ("continue_workflow", {}),
    ("continue_workflow", {"ackToken": "ak1" + "0" * 53}),
    ("checkpoint_workflow", {"checkpointToken": "hello"}),
    ("inspect_workflow", {"workflowId": "project.nowhere"}),
    ("resume_session", {"query": 7}),
    ("list_workflows", {"cursor": "cu1AAAA"}),
]


@pytest.mark.promise("errors.as-data")
@pytest.mark.parametrize(("tool", "params"), TROUBLE)
def test_trouble_is_an_answer_with_a_code_and_a_next_step(
    runtime: Runtime, tool: str, params: dict[str, Any]
) -> None:
    told = tool_call(runtime, tool, **params)

    assert told.is_error
    assert list(told.structured) == ["code", "message", "retry", "suggestion", "details"]
    assert re.fullmatch(r"[A-Z_]+", told.structured["code"])
    assert told.structured["suggestion"].endswith((".", "?"))
    assert told.structured["code"] in told.text
    assert told.structured["suggestion"] in told.text


@pytest.mark.promise("errors.retry")
def test_retry_is_a_field_with_closed_values(runtime: Runtime) -> None:
    wrong = tool_call(runtime, "continue_workflow", ackToken="ak1" + "0" * 53)
    first = start(runtime)

    with runtime.log.hold(first["session"]["sessionId"], 0):
        busy = tool_call(_impatient(runtime), "continue_workflow", ackToken=first["ackToken"])

    assert wrong.structured["retry"] == {"kind": "not_retryable"}
    assert busy.structured["retry"] == {"kind": "retryable_after_ms", "afterMs": 1000}
    assert busy.structured["code"] == "TOKEN_SESSION_LOCKED"


def _impatient(runtime: Runtime) -> Runtime:
    """The same runtime on a log that does not wait for another writer."""
    import msgspec

    from handrail.event_log.memory import MemoryLog

    class Impatient:
        def __init__(self, log: Any) -> None:
            self._log = log

        def __getattr__(self, name: str) -> Any:
            return getattr(self._log, name)

        def hold_existing(self, session_id: Any, wait_ms: int, known: int | None = None) -> Any:
            return self._log.hold_existing(session_id, 0, known)

    assert isinstance(runtime.log, MemoryLog)
    return msgspec.structs.replace(runtime, log=Impatient(runtime.log))


@pytest.mark.promise("replies.both-channels")
def test_each_channel_alone_has_the_step_and_the_next_call(runtime: Runtime) -> None:
    first = tool_call(runtime, "start_workflow", workflowId="project.three_steps")
    saved = tool_call(
        runtime,
        "checkpoint_workflow",
        checkpointToken=first.structured["checkpointToken"],
        output={"notesMarkdown": "half"},
    )
    second = tool_call(runtime, "continue_workflow", ackToken=first.structured["ackToken"])

    for reply in (first, saved, second):
        call = reply.structured["nextCall"]
        assert reply.structured["pending"]["prompt"] in reply.text
        ack = call["params"]["ackToken"]
        assert re.search(call["tool"] + r' \{"ackToken":"' + ack, reply.text)


@pytest.mark.promise("replies.no-template-version")
def test_no_answer_tells_which_version_of_the_text_made_it(runtime: Runtime) -> None:
    reply = tool_call(runtime, "start_workflow", workflowId="project.three_steps")

    keys = set(_keys(reply.structured))
    definitions = json.dumps([tool.definition for tool in TOOLS.values()])

    assert [key for key in keys if "template" in key.lower() or "version" in key.lower()] == []
    assert "template version" not in definitions
    assert "render" not in reply.text.lower()


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for inner in value.values() for key in _keys(inner))]
    return [key for inner in value for key in _keys(inner)] if isinstance(value, list) else []


@pytest.mark.promise("replies.fields")
def test_a_reply_has_the_field_names_of_the_contract(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first)
    third = advance(runtime, second)

    for reply in (first, second):
        assert {"stateToken", "pending", "ackToken", "checkpointToken", "isComplete"} <= set(reply)
        assert {"stepId", "title", "prompt"} <= set(reply["pending"])
        assert reply["isComplete"] is False
    assert {"sessionId", "runId"} <= set(first["session"])  # an ordinary advance does not repeat these
    assert set(first["preferences"]) == {"autonomy", "riskPolicy"}
    assert third["pending"]["requireConfirmation"] is True


@pytest.mark.promise("flow.basic")
def test_the_basic_flow_ends_with_nothing_pending(runtime: Runtime) -> None:
    listed = tool_call(runtime, "list_workflows", query="three").structured["items"]
    looked_at = tool_call(runtime, "inspect_workflow", workflowId=listed[0]["id"]).structured
    reply = tool_call(runtime, "start_workflow", workflowId=looked_at["workflow"]["id"]).structured
    done = []

    while not reply["isComplete"]:
        done.append(reply["pending"]["stepId"])
        tokens = {"stateToken": reply["stateToken"], "ackToken": reply["ackToken"]}
        reply = tool_call(runtime, "continue_workflow", **tokens).structured

    assert done == ["first", "second", "third"]
    assert reply["pending"] is None
    assert "ackToken" not in reply


@pytest.mark.promise("workflows.inspected")
def test_a_workflow_is_looked_at_before_it_is_started(runtime: Runtime) -> None:
    told = tool_call(runtime, "inspect_workflow", workflowId="project.three_steps", part="steps")

    assert [step["id"] for step in told.structured["workflow"]["steps"]] == ["first", "second", "third"]
    assert "Do the first thing." not in json.dumps(told.structured)
    assert list(runtime.log.list_sessions()) == []


@pytest.mark.promise("workflows.read-only")
def test_listing_and_inspecting_change_no_byte_of_the_store(home: str, tmp_path: Any) -> None:
    from handrail.wiring import build_runtime

    on_disk = build_runtime({"HANDRAIL_PROJECT": str(tmp_path), "USER": "tester"}, home=home)
    start(on_disk, workflowId="wr.small_change")
    before = every_byte(home)

    answer(on_disk, "workflow.list")
    answer(on_disk, "workflow.inspect", workflowId="wr.code_review", part="steps")
    refusal(on_disk, "workflow.inspect", workflowId="wr.code_revue")

    assert {name: held[2] for name, held in every_byte(home).items() if "/cache/" not in name} == {
        name: held[2] for name, held in before.items() if "/cache/" not in name
    }


@pytest.mark.promise("agent.no-state")
@pytest.mark.parametrize("name", ["state", "completedSteps", "currentStep", "loopStack", "event", "stepId"])
def test_no_call_takes_progress_of_a_run(runtime: Runtime, name: str) -> None:
    first = start(runtime)

    failure = refusal(runtime, "run.continue", ackToken=first["ackToken"], **{name: ["first"]})

    assert failure.kind.code == "VALIDATION_ERROR"
    assert name in {problem["param"] for problem in failure.details["problems"]}
    fields = {
        field for operation in registry().operations() for field in operation.input.__struct_encode_fields__
    }
    assert name not in fields


@pytest.mark.promise("outputs.shape")
@pytest.mark.parametrize(
    "output",
    [
        {},
        {"notesMarkdown": "only notes"},
        {"artifacts": [{"kind": "project.table", "rows": [1, 2]}]},
        {"notesMarkdown": "both", "artifacts": [{"kind": "project.table"}]},
    ],
)
def test_output_is_notes_and_artifacts_each_optional(runtime: Runtime, output: dict[str, Any]) -> None:
    first = start(runtime)

    reply = answer(runtime, "run.continue", ackToken=first["ackToken"], output=output)
    other = refusal(
        runtime, "run.continue", ackToken=reply["ackToken"], output={**output, "revisionLogEntry": "x"}
    )

    assert reply["pending"]["stepId"] == "second"
    assert other.kind.code == "VALIDATION_ERROR"


@pytest.mark.promise("tools.closed-set")
def test_agents_have_the_closed_set_of_tools_only() -> None:
    core = {
        "list_workflows",
        "inspect_workflow",
        "start_workflow",
        "continue_workflow",
        "checkpoint_workflow",
        "resume_session",
    }
    by_setting = {"start_session"}

    assert core <= set(TOOLS) <= core | by_setting
    assert not {TOOLS[name].operation for name in TOOLS} & {"session.list", "session.show", "workflow.graph"}


@pytest.mark.promise("notes.per-step")
def test_notes_tell_of_one_step_and_the_recap_puts_them_together(runtime: Runtime) -> None:
    second = advance(runtime, start(runtime), "read the parser")
    third = advance(runtime, second, "fixed the parser")

    entries = rehydrate(runtime, third)["recap"]["entries"]

    assert [(entry["stepId"], entry["notes"]) for entry in entries] == [
        ("first", "read the parser"),
        ("second", "fixed the parser"),
    ]


@pytest.mark.promise("errors.as-data")
def test_command_line_has_the_same_trouble_with_its_exit() -> None:
    runtime = memory_runtime()

    status, document = command(runtime, "run", "start", "project.nowhere", "--request-id", "a-1")

    assert (status, document["ok"]) == (3, False)
    assert document["error"]["details"]["domain_code"] == "WORKFLOW_NOT_FOUND"
    assert document["error"]["retryable"] is False
