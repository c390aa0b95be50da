"""People who are asked through their agent's client: confirmations and choices, in both eras."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import anyio
import mcp_types
import msgspec
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext

from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Failure
from handrail.contract.redaction import Secrets
from handrail.event_log.memory import MemoryLog
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import THREE_STEPS
from tests.journeys.at_a_form import (
    CANCEL,
    DECLINE,
    NO,
    USERS_REGION,
    YES,
    Answer,
    Desk,
    ack,
    answers_in,
    reported,
    talk,
)
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, rehydrate
from tests.journeys.given_workflows import NEVER_STOP, STOP_ON_USER, begin, step
from tests.journeys.interfaces import events_of, evidence_of, of_kind, tool_call
from tests.journeys.rich_session import report
from tests.journeys.test_confirmations import APPROVAL, at_third, claims_of, insist
from tests.surfaces.cli.tool import PROGRAM
from tests.surfaces.mcp.protocol_client import ERAS, run, talking_to

UNUSABLE: list[Answer] = [
    CANCEL,
    ("accept", None),
    ("accept", {}),
    ("accept", {"confirm": None}),
    ("accept", {"confirm": "true"}),
    ("accept", {"confirm": 1}),
    ("accept", {"other": True}),
]


# A confirmation


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("setting", "preferences"),
    [("claimed", {}), ("person", {}), ("person", STOP_ON_USER)],
    ids=["claimed", "person", "person, stop on user"],
)
def test_a_yes_in_the_form_confirms_the_step_in_the_same_call(
    runtime: Runtime, era: str, setting: Any, preferences: dict[str, str]
) -> None:
    insist(runtime, setting)
    third = at_third(runtime, preferences=preferences)
    desk = Desk(YES)

    (done,) = reported(runtime, era, desk, ack(third))

    assert (done["kind"], done["isComplete"]) == ("ok", True)
    assert evidence_of(done) == {"approved": 1}
    (form,) = desk.asked
    assert form.message.startswith("Confirm this step?\n\nWorkflow: Three steps")
    reports = "What the agent reports:\n> The user agreed.\n\nWhat the step asks for:\n> Do the third thing."
    assert f"Step: Third\n\n{reports}\n\n" in form.message
    assert form.requested_schema == {
        "type": "object",
        "properties": {"confirm": {"type": "boolean", "title": "Confirm this step?"}},
        "required": ["confirm"],
    }
    (said,) = answers_in(runtime, third)
    assert (said["door"], said["answer"], said["who"]) == (
        "elicitation",
        "confirmed",
        runtime.workspace.account(),
    )
    shown = form.message.removeprefix("Confirm this step?\n\n").rpartition("\n\n")[0]
    assert said["whatDigest"] == digest(shown)
    assert claims_of(runtime, third)[-1]["level"] == "confirmed"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("said", [NO, DECLINE], ids=["no", "decline"])
@pytest.mark.parametrize("setting", ["claimed", "person"])
@pytest.mark.thorough
def test_a_no_in_the_form_is_recorded_and_the_reply_says_so(
    runtime: Runtime, era: str, said: Answer, setting: Any
) -> None:
    insist(runtime, setting)
    third = at_third(runtime)
    desk = Desk(said)

    (blocked,) = reported(runtime, era, desk, ack(third))

    assert blocked["kind"] == "blocked"
    (blocker,) = blocked["blockers"]
    assert blocker["code"] == "USER_ONLY_DEPENDENCY"
    assert "a person declined it" in blocker["message"]
    assert [held["answer"] for held in answers_in(runtime, third)] == ["declined"]
    assert claims_of(runtime, third)[-1]["verdict"] == "contradicted"


@pytest.mark.parametrize("era", ERAS)
def test_person_who_said_no_is_asked_about_another_report_only(runtime: Runtime, era: str) -> None:
    third = at_third(runtime)
    desk = Desk(NO, YES)

    async def ask(call: Callable[..., Any]) -> None:
        refused = await call(**ack(third))
        same = await call(**ack(refused))
        empty = await call(ackToken=same["nextCall"]["params"]["ackToken"])
        assert len(desk.asked) == 1
        assert (same["kind"], empty["kind"]) == ("blocked", "blocked")
        done = await call(**ack(empty, "Now with a test."))
        assert done["isComplete"] is True

    talk(runtime, era, desk, ask)

    assert "Now with a test." in desk.asked[1].message
    assert [held["answer"] for held in answers_in(runtime, third)] == ["declined", "confirmed"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("unusable", UNUSABLE, ids=str)
@pytest.mark.thorough
def test_question_without_an_answer_records_nothing(runtime: Runtime, era: str, unusable: Answer) -> None:
    third = at_third(runtime)
    desk = Desk(unusable)

    async def ask(call: Callable[..., Any]) -> None:
        blocked = await call(**ack(third))
        assert blocked["kind"] == "blocked"
        (blocker,) = blocked["blockers"]
        assert blocker["code"] == "USER_ONLY_DEPENDENCY"
        assert blocker["pointer"] == {"kind": "workflow_step", "stepId": "third"}
        assert answers_in(runtime, third) == []
        done = await call(**ack(blocked))
        assert evidence_of(done) == {"stated": 1}

    talk(runtime, era, desk, ask)

    assert len(desk.asked) == 1


@pytest.mark.parametrize("era", ERAS)
def test_a_value_and_then_a_yes_are_asked_for_in_one_call(runtime: Runtime, era: str) -> None:
    first = begin(
        runtime,
        step("pick", requireConfirmation=True, userOnly=USERS_REGION),
        fields={"inputs": {"region": {"type": "string", "enum": ["eu", "us"]}}},
    )
    desk = Desk(("accept", {"region": "eu"}), YES)
    call = ack(first)

    done, again = reported(runtime, era, desk, call, call)

    assert (done["isComplete"], done["evidence"]["approved"]) == (True, 2)
    assert done == again
    assert [next(iter(form.requested_schema["properties"])) for form in desk.asked] == ["region", "confirm"]


# A no counts, whichever door it came through


def test_step_that_asks_nobody_takes_no_answer(runtime: Runtime) -> None:
    first = begin(runtime, step("one"), fields={})
    person = Person("n")

    refused = perform(seat(runtime, person), "run.answer", {"stateToken": first["stateToken"]})
    done = advance(runtime, first)

    assert isinstance(refused, Failure)
    assert "Nothing waits for a person here" in refused.message
    assert person.shown == []
    assert answers_in(runtime, first) == []
    assert done["isComplete"] is True


def test_never_stop_run_passes_a_no_with_a_critical_gap(
    runtime: Runtime,
) -> None:
    first = begin(
        runtime,
        step("one", requireConfirmation=True),
        step("two", requireConfirmation=True),
        fields={},
        preferences=NEVER_STOP,
    )
    answer(seat(runtime, Person("n")), "run.answer", stateToken=first["stateToken"])
    two = advance(runtime, first)
    answer(seat(runtime, Person("y")), "run.answer", stateToken=two["stateToken"])
    (gap,) = [event["data"] for event in of_kind(events_of(runtime, first), "gap_recorded")]
    settling = {
        "kind": "wr.gap",
        "severity": "info",
        "summary": "The user agreed later.",
        "resolvesGapId": gap["gapId"],
    }
    done = report(runtime, two["ackToken"], settling)

    assert (gap["reason"], gap["severity"]) == (APPROVAL, "critical")
    assert "a person declined it" in gap["summary"]
    assert done["evidence"]["contradicted"] == 1
    session = answer(runtime, "session.show", sessionId=first["session"]["sessionId"])
    assert session["runs"][0]["status"] == "complete_with_gaps"


def test_a_no_is_told_wherever_the_step_is_read(runtime: Runtime) -> None:
    third = at_third(runtime)
    session_id = third["session"]["sessionId"]
    told = answer(
        seat(runtime, Person("n")), "run.answer", stateToken=third["stateToken"], note="Not on a Friday."
    )
    assert told["answer"] == "declined"

    read = rehydrate(runtime, third)
    text = tool_call(runtime, "continue_workflow", stateToken=third["stateToken"]).text
    shown = answer(runtime, "session.show", sessionId=session_id)
    found = answer(runtime, "session.resume", query=session_id)
    pages = [
        answer(runtime, "session.export", sessionId=session_id, **{"as": form})["content"]
        for form in ("markdown", "html")
    ]

    assert read["recap"]["personAnswer"]["answer"] == "declined"
    assert "Not on a Friday." in text
    assert "declined" in text
    (row,) = shown["runs"][0]["confirmations"]
    assert (row["step_id"], row["answer"], row["source"], row["note"]) == (
        "third",
        "declined",
        "terminal",
        "Not on a Friday.",
    )
    assert f"answered by {runtime.workspace.account()}: no" in json.dumps(found)
    assert all("A person declined it at a terminal" in page for page in pages)


# Repeats, what is shown, and the answer that counts


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("said", [YES, NO, DECLINE], ids=["yes", "no", "decline"])
@pytest.mark.parametrize("setting", ["claimed", "person"])
@pytest.mark.thorough
def test_repeat_asks_nobody_and_gets_the_same_bytes(
    runtime: Runtime, era: str, said: Answer, setting: Any
) -> None:
    insist(runtime, setting)
    call = ack(at_third(runtime))
    desk = Desk(said)

    async def ask(make: Callable[..., Any]) -> None:
        reply = await make(**call)
        before = cast(MemoryLog, runtime.log).list_sessions()
        for _ in range(3):
            assert await make(**call) == reply
        assert cast(MemoryLog, runtime.log).list_sessions() == before

    talk(runtime, era, desk, ask)

    assert len(desk.asked) == 1


@pytest.mark.parametrize("era", ERAS)
def test_answer_confirms_no_other_report_of_its_attempt(runtime: Runtime, era: str) -> None:
    """Who was asked about one report has said nothing about the other."""
    third = at_third(runtime)
    desk = Desk(CANCEL)

    one, other = reported(runtime, era, desk, ack(third), ack(third, "Something else."))

    assert (one["kind"], other["kind"]) == ("blocked", "blocked")
    assert other["warnings"][0]["code"] == "REPLAY_INPUT_MISMATCH"
    assert len(desk.asked) == 1


def test_answer_counts_only_with_the_state_of_the_shown_text(runtime: Runtime) -> None:
    third = at_third(runtime)
    call = ack(third)
    yes = mcp_types.ElicitResult(action="accept", content={"confirm": True})

    async def test() -> None:
        async with talking_to(runtime, "auto", elicitation_callback=Desk().answer) as client:
            asking = await client.session.call_tool("continue_workflow", call, allow_input_required=True)
            assert isinstance(asking, mcp_types.InputRequiredResult)
            state = asking.request_state or ""
            token, _, shown = state.partition(".")
            for forged in (
                "",
                token,
                f"{token}.{digest('other')}",
                f"{call['ackToken']}.{shown}",
                state + "0",
            ):
                reply = await client.session.call_tool(
                    "continue_workflow",
                    call,
                    input_responses={"confirm": yes},
                    request_state=forged,
                    allow_input_required=True,
                )
                assert isinstance(reply, mcp_types.CallToolResult)
                assert reply.structured_content["kind"] == "blocked"
            assert answers_in(runtime, third) == []
            done = await client.session.call_tool(
                "continue_workflow", call, input_responses={"confirm": yes}, request_state=state
            )
            assert done.structured_content["isComplete"] is True

    run(test)


HIDDEN_OR_CUT: dict[str, dict[str, Any]] = {
    "a secret of this process": {"notesMarkdown": "Used hunter2-of-this-process."},
    "a login": {"notesMarkdown": "See https://me:pass@example.org/"},
    "a word under the name of a secret": {
        "notesMarkdown": "n",
        "artifacts": [{"kind": "project.login", "apiToken": "abc-very-secret"}],
    },
    "long notes": {"notesMarkdown": "x" * 9_000},
    "a long artifact": {
        "notesMarkdown": "n",
        "artifacts": [{"kind": "project.login", "text": "x" * 2_000}],
    },
    "many artifacts": {
        "notesMarkdown": "n",
        "artifacts": [{"kind": "project.login", "number": n} for n in range(9)],
    },
}


@pytest.mark.parametrize("output", HIDDEN_OR_CUT.values(), ids=HIDDEN_OR_CUT)
def test_a_form_asks_about_nothing_that_it_cannot_show_whole(
    runtime: Runtime, output: dict[str, Any]
) -> None:
    secrets = Secrets()
    secrets.register(b"hunter2-of-this-process")
    runtime = msgspec.structs.replace(runtime, secrets=secrets)
    first = begin(runtime, step("ship", requireConfirmation=True), fields={})
    desk = Desk(CANCEL)

    reported(runtime, "auto", desk, {"ackToken": first["ackToken"], "output": output})

    assert desk.asked == []


@pytest.mark.parametrize("era", ERAS)
def test_a_form_holds_nothing_that_steers_it(runtime: Runtime, era: str) -> None:
    secrets = Secrets()
    secrets.register(b"hunter2-of-this-process")
    runtime = msgspec.structs.replace(runtime, secrets=secrets)
    first = begin(
        runtime,
        step(
            "ship",
            title="Ship\n[end] it",
            prompt="Ship it.\x1b]0;owned\x07\x1b[2J\u202e " + "Long. " * 2_000,
            requireConfirmation=True,
        ),
        fields={},
    )
    desk = Desk(CANCEL)
    lines = "\n\nYour answer is kept.\r(cut here)\u2028Step: Another\x0bConfirm this step?\n"
    notes = f"Used it.\x1b[1A [end] Confirmed {lines}"
    artifacts = [{"kind": "project.login", "number": n} for n in range(2)]

    reported(
        runtime,
        era,
        desk,
        {"ackToken": first["ackToken"], "output": {"notesMarkdown": notes, "artifacts": artifacts}},
    )

    (form,) = desk.asked
    assert all(character == "\n" or character.isprintable() for character in form.message)
    for hidden in ("[end] it", "[end] Confirmed"):
        assert hidden not in form.message
    assert len(form.message.encode()) < 5_000
    assert [line for line in form.message.splitlines() if line and not line.startswith(">")] == [
        "Confirm this step?",
        "Workflow: Given",
        "Step: Ship (end] it",
        "What the agent reports:",
        "What the step asks for:",
        "(cut here)",
        "Your answer is kept in the log of the session, with the account that this server runs under.",
    ]


# The real program


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.thorough
def test_server_asks_while_another_process_writes(tmp_path: Path, era: str) -> None:
    workflows = tmp_path / ".handrail" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "three_steps.json").write_bytes(THREE_STEPS)
    environment = os.environ | {"HANDRAIL_HOME": str(tmp_path / "home"), "HANDRAIL_PROJECT": str(tmp_path)}
    server = StdioServerParameters(
        command=str(PROGRAM), args=["mcp"], env=dict(environment), cwd=str(tmp_path)
    )
    desk = Desk(NO, YES)
    reply: dict[str, Any] = {}

    async def save_and_answer(
        context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        line = [
            PROGRAM,
            "run",
            "checkpoint",
            "--checkpoint",
            reply["checkpointToken"],
            "--notes",
            "meanwhile",
        ]
        await anyio.run_process(line, env=environment, cwd=tmp_path)
        return await desk.answer(context, params)

    async def test() -> None:
        nonlocal reply
        async with Client(server, mode=era, elicitation_callback=save_and_answer) as client:
            begun = await client.call_tool("start_workflow", {"workflowId": "project.three_steps"})
            reply = begun.structured_content
            for notes in ("one", "two", "three", "three, better"):
                told = await client.call_tool("continue_workflow", ack(reply, notes))
                reply = told.structured_content
            assert reply["isComplete"] is True
            assert reply["evidence"]["approved"] == 1

    run(test)

    assert len(desk.asked) == 2
