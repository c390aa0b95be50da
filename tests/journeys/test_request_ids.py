"""A request id is a promise of one store in one project; no bundle and no other project answers it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import older_session_id_for_request
from handrail.contract.outcome import Success
from handrail.library import Handrail
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import GivenWorkspace
from tests.journeys.doors import command, tool_call
from tests.journeys.given_workflows import give, step


def started(runtime: Runtime, workflow: str, request_id: str = "one", **more: Any) -> dict[str, Any]:
    found = tool_call(runtime, "start_workflow", workflowId=workflow, requestId=request_id, **more)
    return found.structured


@pytest.mark.promise("truth.request-project")
def test_the_same_request_id_in_another_project_is_another_run(runtime: Runtime) -> None:
    workflow = give(runtime, step("one"))

    here = started(runtime, workflow, project="/here")
    there = started(runtime, workflow, project="/there")
    again = started(runtime, workflow, project="/here")

    assert here["session"] != there["session"]
    assert again["session"] == here["session"]
    assert again["ackToken"] == here["ackToken"]


@pytest.mark.promise("truth.request-project")
def test_on_the_command_line_too(runtime: Runtime) -> None:
    workflow = give(runtime, step("one"))
    line = ("run", "start", workflow, "--request-id", "one", "--project")

    sessions = [command(runtime, *line, place)[1]["data"]["session"]["sessionId"] for place in ("/a", "/b", "/a")]

    assert sessions[0] == sessions[2] != sessions[1]


@pytest.mark.promise("truth.request-imported")
@pytest.mark.parametrize("as_new", [False, True])
def test_a_request_id_never_answers_with_an_imported_run(runtime: Runtime, as_new: bool) -> None:
    workflow = give(runtime, step("one"))
    first = started(runtime, workflow)
    session_id = first["session"]["sessionId"]
    bundle = _exported(runtime, session_id)
    if not as_new:
        _deleted(runtime, session_id)
    _imported(runtime, bundle, as_new=as_new)

    again = started(runtime, workflow)

    assert (again["session"]["sessionId"] == session_id) is as_new
    assert "SESSION_IMPORTED" not in {one["code"] for one in again.get("warnings", [])}


@pytest.mark.promise("truth.request-imported")
def test_a_forged_bundle_under_the_name_that_older_versions_gave_is_not_met(runtime: Runtime) -> None:
    workflow = give(runtime, step("one"))
    session_id = older_session_id_for_request("tester", "one")
    forged = _exported(runtime, started(runtime, workflow, "other")["session"]["sessionId"], session_id)
    _imported(runtime, forged, as_new=False)

    met = started(runtime, workflow)

    assert met["session"]["sessionId"] != session_id


def _exported(runtime: Runtime, session_id: str, renamed: str = "") -> str:
    outcome = perform(runtime, "session.export", {"session": session_id})
    assert isinstance(outcome, Success)
    raise NotImplementedError(renamed)


def _deleted(runtime: Runtime, session_id: str) -> None:
    shown = command(runtime, "session", "delete", "--ids", session_id, "--dangerous", "--dry-run")[1]["data"]
    token = shown["confirm_token"]
    command(runtime, "session", "delete", "--ids", session_id, "--dangerous", "--confirm", token)


def _imported(runtime: Runtime, bundle: str, *, as_new: bool) -> None:
    params: dict[str, Any] = {"bundle": {"source": "b.json", "text": bundle}, "asNew": as_new}
    shown = perform(runtime, "session.import", params | {"dryRun": True})
    assert isinstance(shown, Success)
    data: Any = shown.data
    assert isinstance(perform(runtime, "session.import", params | {"confirm": data["confirm_token"]}), Success)
