"""A person is asked only for one typed value that a blocked step waits for, and never for a secret."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys import given_workflows
from tests.journeys.at_a_form import CANCEL, DECLINE, Answer, Desk, ack, reported
from tests.journeys.conversation import start
from tests.journeys.given_workflows import rounds, step
from tests.surfaces.mcp.protocol_client import ERAS

WORKFLOW = "project.asks"
REGION = {"type": "string", "enum": ["eu", "us"], "description": "Where it runs."}
EU: Answer = ("accept", {"region": "eu"})


def give(
    runtime: Runtime,
    spec: dict[str, Any],
    name: str = "region",
    then: dict[str, Any] | None = None,
    inputs: dict[str, Any] | None = None,
    is_confirmed: bool = False,
    **user_only: Any,
) -> None:
    """A workflow whose first step waits for one input of the user."""
    needs = {"reason": "needs_user_artifact", "input": name} | user_only
    waiting = {key: held for key, held in needs.items() if held}
    pick = step("pick", userOnly=waiting, requireConfirmation=is_confirmed)
    fields = {"id": WORKFLOW, "name": "Asks", "inputs": {name: spec} | (inputs or {})}
    given_workflows.give(runtime, pick, then or step("go"), **fields)


def asking(runtime: Runtime, *given: Any, **more: Any) -> dict[str, Any]:
    """The report of its first step, as a call."""
    give(runtime, *given, **more)
    return ack(start(runtime, workflowId=WORKFLOW))


@pytest.mark.parametrize("era", ERAS)
def test_answer_of_a_person_goes_on_in_the_same_call(runtime: Runtime, era: str) -> None:
    desk = Desk(EU)

    (reply,) = reported(runtime, era, desk, asking(runtime, REGION))

    assert (reply["kind"], reply["pending"]["stepId"]) == ("ok", "go")
    (form,) = desk.asked
    assert form.message == (
        'The step "Pick" of the workflow "Asks" needs region from you: Where it runs. '
        "Do not enter secrets. Your answer is kept in the log of the session, with the account that "
        "this server runs under."
    )
    assert form.requested_schema == {
        "type": "object",
        "properties": {"region": {"type": "string", "title": "region", "enum": ["eu", "us"]}},
        "required": ["region"],
    }


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "answering",
    [
        DECLINE,
        CANCEL,
        ("accept", {}),
        ("accept", {"region": "mars"}),
        ("accept", {"region": 7}),
        ("accept", {"other": "eu"}),
    ],
    ids=["declined", "cancelled", "empty", "not offered", "wrong type", "another name"],
)
@pytest.mark.thorough
def test_unusable_answer_leaves_the_blocked_reply(runtime: Runtime, era: str, answering: Answer) -> None:
    call = asking(runtime, REGION)
    desk = Desk(answering)

    (reply,) = reported(runtime, era, desk, call)

    assert len(desk.asked) == 1
    assert reply["kind"] == "blocked"
    assert [reply] == reported(runtime, era, None, call)


@pytest.mark.parametrize("era", ERAS)
def test_what_is_left_after_a_value_has_its_own_tokens(runtime: Runtime, era: str) -> None:
    """The value was stored with the attempt, so the reply before it could not be used any more."""
    loop = rounds("each", {"forEach": {"input": "files", "as": "file"}}, step("go"))
    call = asking(runtime, REGION, then=loop, inputs={"files": {}})
    desk = Desk(EU)

    (blocked,) = reported(runtime, era, desk, call)
    done, again = reported(runtime, era, desk, ack(blocked) | {"context": {"files": ["a"]}}, call)

    assert blocked["blockers"][0]["pointer"] == {"kind": "context_key", "key": "files"}
    assert done["pending"]["stepId"] == "each@0::go"
    assert again == blocked
    assert len(desk.asked) == 1


@pytest.mark.parametrize("era", ERAS)
def test_client_that_cannot_ask_gets_a_blocked_reply(runtime: Runtime, era: str) -> None:
    (reply,) = reported(runtime, era, None, asking(runtime, REGION))
    assert (reply["kind"], reply["nextCall"]["tool"]) == ("blocked", "continue_workflow")

    fixed = reply["nextCall"]["params"] | ack(reply) | {"context": {"region": "eu"}}
    (done,) = reported(runtime, era, None, fixed)

    assert done["pending"]["stepId"] == "go"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("spec", "name", "user_only"),
    [
        ({"type": "string"}, "answer", {"reason": "needs_user_secret_or_token"}),
        ({"type": "string"}, "answer", {"reason": "needs_user_account_access"}),
        ({"type": "string"}, "apiKey", {}),
        ({"type": "string"}, "password", {}),
        ({"type": "string", "description": "Your access token."}, "answer", {}),
        ({"type": "object"}, "answer", {}),
        ({"type": "array"}, "answer", {}),
        ({"type": "any"}, "answer", {}),
        ({"type": "string"}, "unused", {"input": ""}),
    ],
    ids=[
        "a secret",
        "an account",
        "a key by name",
        "a password by name",
        "a token by description",
        "an object",
        "a list",
        "no type",
        "an artifact",
    ],
)
@pytest.mark.thorough
def test_secrets_and_compound_values_are_never_asked_for(
    runtime: Runtime, era: str, spec: dict[str, Any], name: str, user_only: dict[str, Any]
) -> None:
    desk = Desk()

    (reply,) = reported(runtime, era, desk, asking(runtime, spec, name, **user_only))

    assert reply["kind"] == "blocked"
    assert desk.asked == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("spec", "value", "field"),
    [
        ({"type": "boolean"}, True, {"type": "boolean"}),
        ({"type": "boolean"}, False, {"type": "boolean"}),
        ({"type": "integer"}, 3, {"type": "integer"}),
        ({"type": "number"}, 0.5, {"type": "number"}),
        ({"type": "integer", "enum": [1, 2]}, 2, {"type": "integer", "description": "One of 1, 2"}),
    ],
)
@pytest.mark.thorough
def test_every_single_value_can_be_asked_for(
    runtime: Runtime, era: str, spec: dict[str, Any], value: Any, field: dict[str, Any]
) -> None:
    desk = Desk(("accept", {"answer": value}))

    (reply,) = reported(runtime, era, desk, asking(runtime, spec, "answer"))

    assert reply["pending"]["stepId"] == "go"
    assert desk.asked[0].requested_schema["properties"] == {"answer": field | {"title": "answer"}}
