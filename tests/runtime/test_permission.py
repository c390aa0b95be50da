"""What a caller may do at all: the ceiling at every effect, and the key of a creation."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handrail.contract.ids import MaxEffect
from handrail.contract.outcome import Failure, Success
from handrail.ports.workspace import Settings
from handrail.runtime.hub import perform
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime
from tests.conftest import settings_of
from tests.operations.asked import answered, refused

START = {"workflowId": "project.three_steps"}
SHELL = Caller(tool="shell", command="run start", needs_key=True)


def allow(rt: Runtime, ceiling: MaxEffect) -> None:
    settings_of(rt).settings = Settings(max_effect=ceiling)


def sessions(rt: Runtime) -> int:
    return len(rt.log.list_sessions())


@pytest.mark.promise("cli.ceiling")
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("run.start", {**START, "requestId": "k"}),
        ("run.start", {**START, "dryRun": True}),
        ("run.continue", {"ackToken": "ak1x"}),
        ("run.checkpoint", {"checkpointToken": "ck1x", "output": {}}),
        ("run.close", {"run": "st1x", "reason": "abandoned"}),
        ("workflow.new", {"workflowId": "project.fresh", "dryRun": True}),
    ],
)
def test_ceiling_of_reading_allows_nothing_else(runtime: Runtime, name: str, params: dict[str, Any]) -> None:
    allow(runtime, "read")

    failure = refused(runtime, name, **params)

    assert (failure.kind.code, failure.kind.exit_status) == ("E_FORBIDDEN", 4)
    assert failure.details == {"setting": "max_effect", "needed": "write", "given": "read"}
    assert sessions(runtime) == 0


def test_reading_again_needs_no_permission(runtime: Runtime) -> None:
    reply = answered(runtime, "run.start", **START)
    allow(runtime, "read")

    again = answered(runtime, "run.continue", stateToken=reply["stateToken"])

    assert again["pending"]["stepId"] == "first"
    assert answered(runtime, "session.list")["items"][0]["id"] == reply["session"]["sessionId"]


def test_wrong_arguments_are_told_before_a_missing_permission(runtime: Runtime) -> None:
    allow(runtime, "read")

    assert refused(runtime, "run.start", workflowId=7).kind.code == "VALIDATION_ERROR"


def test_caller_that_may_repeat_needs_a_key_to_create(runtime: Runtime) -> None:
    failure = perform(runtime, "run.start", dict(START), caller=SHELL)

    assert isinstance(failure, Failure)
    assert (failure.kind.code, failure.details["missing"]) == ("E_CONFIRMATION_REQUIRED", "request_id")
    assert failure.next_call is not None
    assert failure.next_call.params["requestId"].startswith("auto-")
    assert sessions(runtime) == 0


def test_the_offered_key_is_the_same_for_the_same_call_and_works(runtime: Runtime) -> None:
    offers = [perform(runtime, "run.start", dict(START), caller=SHELL) for _ in range(2)]

    params = [offer.next_call.params for offer in offers if isinstance(offer, Failure) and offer.next_call]
    assert params[0] == params[1]
    assert isinstance(perform(runtime, "run.start", params[0], caller=SHELL), Success)


def test_a_dry_run_and_its_token_stand_in_for_the_key(runtime: Runtime) -> None:
    shown = perform(runtime, "run.start", {**START, "dryRun": True}, caller=SHELL)
    assert isinstance(shown, Success)
    assert isinstance(shown.data, dict)
    assert sessions(runtime) == 0

    made = perform(runtime, "run.start", {**START, "confirm": shown.data["confirm_token"]}, caller=SHELL)
    again = perform(runtime, "run.start", {**START, "confirm": shown.data["confirm_token"]}, caller=SHELL)

    assert isinstance(made, Success)
    assert isinstance(again, Failure)
    assert again.details["reason"] == "already_used"
    assert sessions(runtime) == 1


def test_the_ceiling_is_part_of_what_a_token_is_bound_to(runtime: Runtime) -> None:
    token = answered(runtime, "run.start", **START, dryRun=True)["confirm_token"]
    allow(runtime, "write")

    assert refused(runtime, "run.start", **START, confirm=token).details["reason"] == "arguments_changed"


@pytest.mark.promise("cli.key-in-scope")
def test_a_request_id_is_part_of_what_a_token_is_bound_to(runtime: Runtime) -> None:
    token = answered(runtime, "run.start", **START, requestId="one", dryRun=True)["confirm_token"]

    other = refused(runtime, "run.start", **START, requestId="two", confirm=token)

    assert other.details["reason"] == "arguments_changed"


def test_preview_of_a_start_names_what_a_key_makes(runtime: Runtime) -> None:
    call = {**START, "requestId": "k"}

    before = answered(runtime, "run.start", **call, dryRun=True)["preview"]
    reply = answered(runtime, "run.start", **call)
    after = answered(runtime, "run.start", **call, dryRun=True)["preview"]

    assert [(change["action"], change["resource"]) for change in before["changes"]] == [
        ("create", "session"),
        ("create", "run"),
    ]
    assert [change["id"] for change in before["changes"]] == [
        reply["session"]["sessionId"],
        reply["session"]["runId"],
    ]
    assert (before["unchanged"], after["unchanged"]) == (False, True)


def test_start_of_a_changed_workflow_is_refused_after_a_preview(runtime: Runtime) -> None:
    token = answered(runtime, "run.start", **START, dryRun=True)["confirm_token"]
    held: Any = runtime.library
    held.held[0] = msgspec.structs.replace(
        held.held[0], content=held.held[0].content.replace(b"Do the", b"Do a")
    )

    assert refused(runtime, "run.start", **START, confirm=token).details["reason"] == "target_changed"


def test_under_a_ceiling_of_writing_a_dangerous_call_is_refused(runtime: Runtime) -> None:
    session_id = answered(runtime, "run.start", **START)["session"]["sessionId"]
    allow(runtime, "write")

    failure = refused(runtime, "session.delete", ids=[session_id], dangerous=True, dryRun=True)

    assert (failure.kind.code, failure.details["needed"]) == ("E_FORBIDDEN", "dangerous")
    assert answered(runtime, "run.start", **START)["pending"]["stepId"] == "first"
