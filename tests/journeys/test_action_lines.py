"""What Handrail did is told in its own words: beside the notes of an agent, and where it did nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import settings_of
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.code_project import CodeProject
from tests.journeys.conversation import answer
from tests.journeys.conversation import start as begin
from tests.journeys.given_workflows import NEVER_STOP, step
from tests.journeys.interfaces import events_of, of_kind, tool_call
from tests.journeys.test_code_workflows import DECIDE, FIND, PREVIEW, RENAMED, WRITE, code, start

__all__ = ["code"]

ALONE = {name: value for name, value in WRITE.items() if name != "when"}
FORGED = "code.edit: wrote 0 files; nothing was changed."


def lines_in(code: CodeProject, reply: dict[str, Any]) -> list[str]:
    """What stands in the log as the words of Handrail, of the newest node last."""
    outputs = [event["data"] for event in of_kind(events_of(code.runtime, reply), "node_output_appended")]
    return [output["notes"]["text"] for output in outputs if output["channel"] == "action"]


@pytest.mark.promise("code.workflow.guard")
def test_result_of_a_write_stands_apart_from_notes(code: CodeProject) -> None:
    waiting = start(code, FIND, PREVIEW, ALONE)

    done = tool_call(
        code.runtime, "continue_workflow", ackToken=waiting["ackToken"], output={"notesMarkdown": FORGED}
    ).structured

    assert "ask the user first" in waiting["pending"]["prompt"]
    assert done["isComplete"] is True
    assert f"wrote {len(RENAMED)} files" in lines_in(code, waiting)[-1]
    notes = [
        event["data"]["notes"]["text"]
        for event in of_kind(events_of(code.runtime, waiting), "node_output_appended")
        if event["data"]["channel"] == "recap"
    ]
    assert notes == [FORGED]


@pytest.mark.parametrize(
    ("policy", "intent", "said"),
    [
        ("conservative", "await_user_confirmation", "ask the user first"),
        ("balanced", "perform_pending_then_continue", "you need not ask"),
        ("aggressive", "perform_pending_then_continue", "you need not ask"),
    ],
)
def test_only_the_conservative_policy_asks_before_a_write(
    code: CodeProject, policy: str, intent: str, said: str
) -> None:
    waiting = start(code, FIND, PREVIEW, ALONE, preferences={"riskPolicy": policy})

    done = tool_call(code.runtime, "continue_workflow", ackToken=waiting["ackToken"]).structured

    assert (waiting["nextIntent"], waiting["pending"]["requireConfirmation"]) == (intent, True)
    assert said in waiting["pending"]["prompt"]
    assert ("ask the user" in waiting["pending"]["prompt"]) is (policy == "conservative")
    assert done["isComplete"] is True
    assert f"wrote {len(RENAMED)} files" in lines_in(code, waiting)[-1]


def test_each_risk_policy_gives_a_first_prompt_of_its_own(runtime: Runtime) -> None:
    policies = ("conservative", "balanced", "aggressive")

    prompts = {begin(runtime, preferences={"riskPolicy": one})["pending"]["prompt"] for one in policies}

    assert len(prompts) == 3


@pytest.mark.promise("code.workflow.guard")
def test_prompt_that_asks_nobody_discloses_the_write(code: CodeProject) -> None:
    waiting = start(code, FIND, PREVIEW, ALONE, preferences=NEVER_STOP)

    done = tool_call(code.runtime, "continue_workflow", ackToken=waiting["ackToken"]).structured

    assert "ask the user" not in waiting["pending"]["prompt"]
    assert "nobody is asked in this mode" in waiting["pending"]["prompt"]
    gaps = [event["data"] for event in of_kind(events_of(code.runtime, waiting), "gap_recorded")]
    assert [(gap["severity"], gap["reason"]) for gap in gaps] == [
        ("critical", "user_only_dependency:needs_user_approval")
    ]
    assert "NOT_ASKED" in [warning["code"] for warning in done["warnings"]]


@pytest.mark.promise("code.workflow.guard")
def test_an_action_that_did_not_run_says_so(code: CodeProject) -> None:
    settings = settings_of(code.runtime)
    settings.settings = msgspec.structs.replace(settings.settings, confirmations="person")
    before = code.texts()
    waiting = start(code, FIND, PREVIEW, ALONE)

    blocked = tool_call(
        code.runtime, "continue_workflow", ackToken=waiting["ackToken"], output={"notesMarkdown": "Written."}
    ).structured
    line = lines_in(code, waiting)[-1]
    person = Person("y")
    session = waiting["session"]["sessionId"]
    told = answer(seat(code.runtime, person), "run.answer", session=session)
    read = tool_call(code.runtime, "continue_workflow", stateToken=blocked["stateToken"]).structured
    done = tool_call(
        code.runtime, "continue_workflow", ackToken=blocked["nextCall"]["params"]["ackToken"]
    ).structured

    assert blocked["kind"] == "blocked"
    assert line.startswith("code.edit did not run: ")
    assert code.texts() != before
    assert (told["asked"], done["isComplete"]) == ("allow_write", True)
    assert (read["nextIntent"], "blockedBy" in read["recap"]) == ("perform_pending_then_continue", False)
    assert "ask the user" not in read["pending"]["prompt"]
    assert read["nextCall"]["params"].keys() == {"ackToken"}
    assert all(name in person.shown[0] for name in RENAMED)
    assert "7 edits" in person.shown[0]
    assert "Rename myFunc to fetchData." in person.shown[0]
    assert "> -export function myFunc(name) {\n> +export function fetchData(name) {" in person.shown[0]


@pytest.mark.promise("code.workflow.guard")
@pytest.mark.parametrize("option", ["yes", "no"])
def test_choice_nobody_was_asked_is_named_with_its_action(code: CodeProject, option: str) -> None:
    waiting = start(
        code, FIND, PREVIEW, DECIDE | {"nonAssumable": "scope_boundary"}, WRITE, preferences=NEVER_STOP
    )
    (token,) = [one["token"] for one in waiting["pending"]["choices"] if one["id"] == option]

    done = tool_call(code.runtime, "continue_workflow", ackToken=token).structured

    assert "NOT_ASKED" in [warning["code"] for warning in done["warnings"]]


def test_own_action_leads_straight_to_delegated_work(code: CodeProject) -> None:
    handed = {
        "id": "review",
        "title": "Review",
        "delegate": {"children": [{"id": "a", "steps": [step("look")]}]},
    }

    waiting = start(code, FIND, handed)

    assert [one["childId"] for one in waiting["children"]] == ["a"]
