"""Every kind of bad input at every operation, through MCP and the command line; one table of cases."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import memory_runtime
from tests.journeys.bad_calls import BAD_CALLS, CLI, HALF, MCP, BadCall, Scene, right_call, spoiled_call
from tests.journeys.conversation import answer, commits_of, refusal, start
from tests.journeys.interfaces import TOOL_OF, command, tool_call
from tests.quick_set import all_but_thorough


def scene_of(runtime: Runtime) -> Scene:
    first = start(runtime)
    beside = start(runtime, session=first["session"]["sessionId"])
    return Scene(first=first, beside=beside, elsewhere=start(runtime))


@pytest.mark.thorough
@pytest.mark.promise("errors.corrected-call")
@pytest.mark.parametrize("bad", BAD_CALLS, ids=lambda bad: bad.id)
def test_mcp_names_code_and_place_and_the_corrected_call_works(bad: BadCall, runtime: Runtime) -> None:
    scene = scene_of(runtime)
    before = commits_of(runtime)

    told = tool_call(runtime, TOOL_OF[bad.operation], **spoiled_call(bad, scene))
    offered = told.structured["details"]["next_call"]

    assert (told.is_error, told.structured["code"]) == (True, bad.code)
    assert bad.place in json.dumps(told.structured, ensure_ascii=False)
    assert len(json.dumps(told.structured)) < 8_192
    assert commits_of(runtime) == before
    assert (offered is not None) == (MCP in bad.offers)
    if offered is not None:
        assert not tool_call(runtime, offered["tool"], **offered["params"]).is_error
    right = right_call(bad.operation, scene)
    if "requestId" in right:
        right["requestId"] = "another"  # the offered call used the first one, with its repaired content
    assert not tool_call(runtime, TOOL_OF[bad.operation], **right).is_error


@pytest.mark.promise("errors.corrected-call")
@pytest.mark.parametrize("bad", all_but_thorough(BAD_CALLS, step=4), ids=lambda bad: bad.id)
def test_command_line_names_code_place_and_a_working_command(bad: BadCall, tmp_path: Path) -> None:
    runtime = memory_runtime()
    scene = scene_of(runtime)
    before = commits_of(runtime)

    status, document = sent(runtime, tmp_path, bad.operation, spoiled_call(bad, scene))
    error = document["error"]
    next_command = error["details"]["next_command"]

    assert error["details"].get("domain_code", error["code"]) == (bad.cli_code or bad.code)
    assert status in (2, 3, 6)
    assert (bad.cli_place or bad.place) in json.dumps(error, ensure_ascii=False)
    assert len(json.dumps(error)) < 8_192
    assert "next_call" not in json.dumps(error)  # a name that only other surfaces use
    assert commits_of(runtime) == before
    assert (next_command is not None) == (CLI in bad.offers)
    if next_command is not None:
        assert command(runtime, *shlex.split(next_command)[1:])[0] == 0
    assert sent(runtime, tmp_path, bad.operation, right_call(bad.operation, scene))[0] == 0


def sent(
    runtime: Runtime, folder: Path, operation: str, params: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    """The call on the command line, its params as a JSON file."""
    (folder / "call.json").write_text(json.dumps(params), encoding="utf-8")
    return command(runtime, *operation.split("."), "--input", f"@{folder / 'call.json'}")


@pytest.mark.promise("errors.as-data")
@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", 1 + 2j, {7: "a key that is a number"}])
def test_context_that_is_not_json_is_refused_from_python_too(runtime: Runtime, value: Any) -> None:
    first = start(runtime)

    for operation, params in (
        ("run.start", {"workflowId": "project.three_steps"}),
        ("run.continue", {"ackToken": first["ackToken"]}),
    ):
        failure = refusal(runtime, operation, **params, context={"a": value})
        assert failure.kind.code == "E_VALIDATION"
        assert "/context/a" in failure.message
    assert answer(runtime, "run.continue", ackToken=first["ackToken"])["pending"]["stepId"] == "second"


@pytest.mark.promise("errors.as-data")
@pytest.mark.parametrize(
    "params",
    [
        {"goal": HALF},
        {HALF: 1},
        {"context": {HALF: 1}},
        {"context": {"a": object()}},
        {"requestId": object()},
        {"context": {"a": 10**400}},
    ],
    ids=["goal", "name", "key", "object", "request id", "integer"],
)
def test_what_no_file_can_hold_is_refused_on_disk_too(params: dict[str, Any], home: str) -> None:
    runtime = build_runtime({"USER": "tester"}, home=home)

    failure = refusal(runtime, "run.start", workflowId="wr.small_change", **params)

    assert failure.kind.exit_status == 2
    assert list(runtime.log.list_sessions()) == []


def test_the_table_covers_every_operation_that_agents_have() -> None:
    assert {bad.operation for bad in BAD_CALLS} == set(TOOL_OF) - {"session.start"}
    assert len({bad.id for bad in BAD_CALLS}) == len(BAD_CALLS)


@pytest.mark.parametrize(
    ("tool", "sent"),
    [
        ("continue_workflow", {"ackToken": None}),
        ("continue_workflow", {"ackToken": None, "stateToken": None}),
        ("continue_workflow", {"stateToken": None, "output": {"notesMarkdown": "Done."}}),
        ("checkpoint_workflow", {"checkpointToken": None, "output": {"notesMarkdown": "Half."}}),
        ("start_workflow", {"workflowId": None}),
    ],
)
def test_no_call_is_offered_that_lacks_what_it_cannot_do_without(
    runtime: Runtime, tool: str, sent: dict[str, Any]
) -> None:
    refused = tool_call(runtime, tool, **sent).structured

    offered = refused["details"]["next_call"]
    assert refused["code"] == ("CONTEXT_MISSING" if tool == "continue_workflow" else "VALIDATION_ERROR")
    if tool == "start_workflow":
        assert offered is None
    else:
        assert offered == {"tool": "resume_session", "params": {}}
