"""People who confirm a step: at a terminal of their own, from the question to what the run proves."""

from __future__ import annotations

import json
import os
import pty
import select
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import Confirmations
from handrail.contract.outcome import Failure
from handrail.host.settings import LocalSettings
from handrail.ports.workspace import Settings
from handrail.runtime.hub import perform
from handrail.runtime.operation import operation
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.tools import OFFERED, SWITCHED_ON
from tests.conftest import THREE_STEPS, library_of, settings_of
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, rehydrate, start
from tests.journeys.given_workflows import begin, step
from tests.journeys.interfaces import command, events_of, evidence_of, of_kind, tool_call
from tests.journeys.rich_session import report
from tests.surfaces.cli.tool import PROGRAM

NEVER_STOP = {"autonomy": "full_auto_never_stop"}
APPROVAL = "user_only_dependency:needs_user_approval"
PATIENCE_SECONDS = 60


def insist(runtime: Runtime, on: Confirmations = "person") -> None:
    settings_of(runtime).settings = Settings(confirmations=on)


def at_third(runtime: Runtime, **params: Any) -> dict[str, Any]:
    """The step of the workflow that asks for a confirmation."""
    return advance(runtime, advance(runtime, start(runtime, **params)))


def claims_of(runtime: Runtime, reply: dict[str, Any]) -> list[dict[str, Any]]:
    recorded = of_kind(events_of(runtime, reply), "evidence_recorded")
    return [claim for event in recorded for claim in event["data"]["claims"]]


def test_the_log_and_the_ledger_tell_who_answered_and_where(runtime: Runtime) -> None:
    third = at_third(runtime)
    person = Person("y")

    told = answer(
        seat(runtime, person), "run.answer", session=third["session"]["sessionId"], note="Seen in staging."
    )

    (event,) = of_kind(events_of(runtime, third), "confirmation_recorded")
    assert event["scope"] == {"runId": third["session"]["runId"]}
    assert event["data"] == {
        "kind": "confirmation_recorded",
        "nodeId": event["data"]["nodeId"],
        "door": "terminal",
        "who": runtime.workspace.account(),
        "whatDigest": told["what_digest"],
        "answer": "confirmed",
        "note": "Seen in staging.",
        "asked": "confirm",
    }
    assert (told["answer"], told["step_id"], told["is_new"]) == ("confirmed", "third", True)
    (shown,) = person.shown
    assert "Step: Third\n" in shown
    assert shown.index("has reported nothing") < shown.index("What the step asks for:\n> Do the third thing.")
    assert "Seen in staging." in shown
    ledger = answer(runtime, "ledger.show", runId=third["session"]["runId"])
    assert ledger["entries"][-1]["operation"] == "run.answer"
    assert rehydrate(runtime, third)["pending"]["stepId"] == "third"


def test_early_yes_and_the_agents_word_are_both_claims(runtime: Runtime) -> None:
    asked, unasked = at_third(runtime), at_third(runtime, goal="another")
    told = answer(seat(runtime, Person("yes")), "run.answer", stateToken=asked["stateToken"])

    early, claimed = advance(runtime, asked), advance(runtime, unasked)

    assert "confirms nothing" in told["next"]
    assert [evidence_of(reply) for reply in (early, claimed)] == [{"stated": 1}, {"stated": 1}]
    shown = answer(runtime, "session.show", sessionId=asked["session"]["sessionId"])
    assert shown["runs"][0]["confirmations"] == []
    _, listed = command(runtime, "session", "show", asked["session"]["sessionId"], "--timeline")
    assert "said yes before there was a report" in str(listed)
    assert rehydrate(runtime, early)["recap"]["people"][0]["words"].endswith("yes, before there was a report")
    facts = [claim["fact"] for run in (asked, unasked) for claim in claims_of(runtime, run)]
    assert facts == [
        "a person confirmed the step before there was a report",
        "the agent says that the user agreed",
    ]


def test_no_is_recorded_and_a_yes_is_needed(runtime: Runtime) -> None:
    insist(runtime)
    third = at_third(runtime)

    told = answer(seat(runtime, Person("N")), "run.answer", stateToken=third["stateToken"])
    blocked = tool_call(runtime, "continue_workflow", ackToken=third["ackToken"]).structured
    again = Person("maybe", "Y")
    answer(seat(runtime, again), "run.answer", session=third["session"]["sessionId"])
    done = report(runtime, blocked["nextCall"]["params"]["ackToken"], notes="")

    assert told["answer"] == "declined"
    assert blocked["kind"] == "blocked"
    assert len(again.shown) == 2
    assert done["isComplete"] is True
    answers = [
        event["data"]["answer"] for event in of_kind(events_of(runtime, third), "confirmation_recorded")
    ]
    assert answers == ["declined", "confirmed"]


def test_who_has_confirmed_is_not_asked_again(runtime: Runtime) -> None:
    insist(runtime)
    third = at_third(runtime)
    advance(runtime, third)
    first = answer(seat(runtime, Person("y")), "run.answer", stateToken=third["stateToken"])

    nobody = Person()
    again = answer(seat(runtime, nobody), "run.answer", stateToken=third["stateToken"])

    assert again == first | {"is_new": False}
    assert nobody.shown == []


def test_early_yes_is_not_enough_where_a_person_must_confirm(
    runtime: Runtime,
) -> None:
    insist(runtime)
    third = at_third(runtime)
    answer(seat(runtime, Person("y")), "run.answer", stateToken=third["stateToken"])

    blocked = report(runtime, third["ackToken"], notes="I dropped the database.")
    person = Person("y")
    answer(seat(runtime, person), "run.answer", session=third["session"]["sessionId"])
    done = report(runtime, blocked["retryAckToken"], notes="I dropped the database.")

    assert "before there was a report" in blocked["blockers"][0]["message"]
    assert "I dropped the database." in person.shown[0]
    assert (done["isComplete"], done["evidence"]["approved"]) == (True, 1)


def at_release(runtime: Runtime) -> dict[str, Any]:
    """A step whose contract wants the word of a person."""
    contract = {
        "id": "project.contracts.release",
        "schema": {
            "type": "object",
            "properties": {"version": {"type": "string"}},
            "required": ["version"],
        },
        "example": {"version": "1.2.3"},
        "evidence": [{"check": "person"}],
    }
    library_of(runtime).add(json.dumps(contract).encode(), "release.json", "contract")
    return begin(runtime, step("release", output={"contractRef": "project.contracts.release"}), fields={})


RELEASE = {"kind": "project.release", "version": "2.0.0"}


def test_a_contract_that_wants_a_person_takes_no_other_word(runtime: Runtime) -> None:
    first = at_release(runtime)

    blocked = report(runtime, first["ackToken"], RELEASE)
    answer(seat(runtime, Person("y")), "run.answer", session=first["session"]["sessionId"])
    done = report(runtime, blocked["retryAckToken"], RELEASE)

    (blocker,) = blocked["blockers"]
    assert blocker["code"] == "USER_ONLY_DEPENDENCY"
    assert "handrail run answer" in blocker["suggestedFix"]
    assert done["isComplete"] is True
    assert claims_of(runtime, first)[-1]["level"] == "confirmed"


def test_reply_stays_the_same_after_a_confirmation(runtime: Runtime) -> None:
    insist(runtime)
    third = at_third(runtime)
    call = {"ackToken": third["ackToken"], "output": {"notesMarkdown": "The user agreed."}}
    blocked = tool_call(runtime, "continue_workflow", **call).structured

    answer(seat(runtime, Person("y")), "run.answer", stateToken=third["stateToken"])
    insist(runtime, "claimed")

    assert tool_call(runtime, "continue_workflow", **call).structured == blocked


@pytest.mark.parametrize(
    ("users", "projects", "in_force"),
    [
        ({}, {}, "claimed"),
        ({}, {"confirmations": "person"}, "person"),
        ({"confirmations": "person"}, {}, "person"),
        ({"confirmations": "claimed"}, {"confirmations": "person"}, "person"),
    ],
)
def test_a_project_can_only_ask_for_more(
    tmp_path: Path, users: dict[str, str], projects: dict[str, str], in_force: str
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    (project / ".handrail").mkdir(parents=True)
    (home / "config.json").write_text(json.dumps(users), encoding="utf-8")
    (project / ".handrail" / "config.json").write_text(json.dumps(projects), encoding="utf-8")

    assert LocalSettings(str(home), {}).of(str(project)).confirmations == in_force


def test_a_project_that_would_loosen_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".handrail").mkdir()
    file = tmp_path / ".handrail" / "config.json"
    file.write_text('{"confirmations": "claimed"}', encoding="utf-8")

    (problem,) = LocalSettings(str(tmp_path / "home"), {}).problems(str(tmp_path))

    assert "confirmations" in problem.message
    assert "a project may only tighten" in problem.message


def test_no_server_offers_to_confirm() -> None:
    assert operation("run.answer").tool == ""
    assert "run.answer" not in {*OFFERED, *SWITCHED_ON}


def at_console(runtime: Runtime) -> Runtime:
    """The runtime as the server hands it to a call from a page of the Console."""
    return msgspec.structs.replace(runtime, is_at_console=True)


def test_yes_in_the_console_confirms_the_shown_report(runtime: Runtime) -> None:
    insist(runtime)
    third = at_third(runtime)
    session = third["session"]["sessionId"]
    blocked = report(runtime, third["ackToken"], notes="Shipped to staging.")
    question = answer(at_console(runtime), "run.answer", session=session, show=True)

    told = answer(
        at_console(runtime),
        "run.answer",
        session=session,
        run=third["session"]["runId"],
        given={"answer": "yes", "whatDigest": question["what_digest"]},
        note="Looked at staging.",
    )
    passed = report(runtime, blocked["retryAckToken"], notes="Shipped to staging.")

    assert "Shipped to staging." in question["shown"]
    assert (question["answer"], question["options"]) == (None, [])
    assert (told["source"], told["answer"], told["is_new"]) == ("console", "confirmed", True)
    assert passed["isComplete"] is True
    assert claims_of(runtime, third)[-1]["level"] == "confirmed"


def test_an_answer_in_a_call_of_a_program_is_refused(runtime: Runtime) -> None:
    """The same call that a page makes, with the digest that anybody may read, from another caller."""
    insist(runtime)
    third = at_third(runtime)
    session = third["session"]["sessionId"]
    report(runtime, third["ackToken"], notes="Shipped to staging.")
    question = answer(runtime, "run.answer", session=session, show=True)
    given = {"answer": "yes", "whatDigest": question["what_digest"]}

    refused = perform(runtime, "run.answer", {"session": session, "given": given})

    assert isinstance(refused, Failure)
    assert refused.kind.code == "E_HUMAN_REQUIRED"
    assert answer(runtime, "session.show", sessionId=session)["runs"][0]["confirmations"] == []


def test_what_changed_after_it_was_shown_is_not_confirmed(runtime: Runtime) -> None:
    insist(runtime)
    third = at_third(runtime)
    session = third["session"]["sessionId"]
    question = answer(at_console(runtime), "run.answer", session=session, show=True)
    report(runtime, third["ackToken"], notes="Something else than what was shown.")
    given = {"answer": "yes", "whatDigest": question["what_digest"]}

    refused = perform(at_console(runtime), "run.answer", {"session": session, "given": given})

    assert isinstance(refused, Failure)
    assert (refused.kind.code, refused.details["reason"]) == ("E_CONFLICT", "target_changed")
    assert of_kind(events_of(runtime, third), "confirmation_recorded") == []


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"given": {"answer": "perhaps"}}, "given.answer"),
        ({"run": "run_000000000000"}, "run"),
    ],
)
def test_an_answer_that_is_none_records_nothing(runtime: Runtime, given: dict[str, Any], named: str) -> None:
    third = at_third(runtime)
    session = third["session"]["sessionId"]
    question = answer(runtime, "run.answer", session=session, show=True)
    params = {"session": session, **given}
    params["given"] = {"answer": "yes", "whatDigest": question["what_digest"]} | params.get("given", {})

    refused = perform(at_console(runtime), "run.answer", params)

    assert isinstance(refused, Failure)
    assert refused.details["problems"][0]["param"] == named
    assert of_kind(events_of(runtime, third), "confirmation_recorded") == []


def test_without_a_terminal_a_person_is_asked_for(runtime: Runtime) -> None:
    third = at_third(runtime)

    status, document = command(runtime, "run", "answer", "--state", third["stateToken"])

    assert (status, document["error"]["code"]) == (9, "E_HUMAN_REQUIRED")
    assert third["session"]["sessionId"] in document["error"]["details"]["action"]
    assert of_kind(events_of(runtime, third), "confirmation_recorded") == []


def test_no_text_of_author_or_agent_steers_the_terminal(runtime: Runtime) -> None:
    insist(runtime)
    first = begin(
        runtime,
        step("ship", prompt="Ship it.\x1b]0;owned\x07\x1b[2J\u202e", requireConfirmation=True),
        fields={},
    )
    report(runtime, first["ackToken"], notes="Done.\x1b[1A\x1b[2K [end] Confirmed already.\r")
    person = Person("y")

    answer(seat(runtime, person), "run.answer", session=first["session"]["sessionId"])

    (shown,) = person.shown
    assert all(character == "\n" or character.isprintable() for character in shown)
    assert next(line for line in shown.splitlines() if "Confirmed already" in line).startswith("> Done.")


def test_a_terminal_shows_every_artifact_of_the_report(runtime: Runtime) -> None:
    insist(runtime)
    first = begin(runtime, step("ship", requireConfirmation=True), fields={})
    artifacts = [{"kind": "part", "text": f"Part {n}. " + "Long. " * 200 + f"End {n}."} for n in range(32)]
    report(runtime, first["ackToken"], *artifacts)
    person = Person("n")

    answer(seat(runtime, person), "run.answer", session=first["session"]["sessionId"])

    (shown,) = person.shown
    assert all(f"End {n}." in shown for n in range(32))
    assert "more artifacts" not in shown
    assert "(cut here)" not in shown


class Terminal:
    """`handrail` in a session of its own, with a pseudo-terminal that is not its stdin or stdout."""

    def __init__(self, line: list[str], environment: dict[str, str], folder: Path) -> None:
        answers, written = os.pipe()
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor, source in ((0, nothing), (1, written)):
                os.dup2(source, descriptor)
            os.chdir(folder)
            try:
                os.execve(PROGRAM, [PROGRAM, *line], environment)
            finally:
                os._exit(127)  # it is a copy of the tests, which must not go on twice
        os.close(written)
        self._answers = answers

    def until(self, mark: bytes) -> bytes:
        seen = b""
        ends_at = time.monotonic() + PATIENCE_SECONDS
        while mark not in seen:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, ends_at - time.monotonic()))
            assert ready, f"the terminal shows only {seen!r}"
            seen += os.read(self._terminal, 65_536)
        return seen

    def type(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def end(self) -> tuple[int, dict[str, Any]]:
        with os.fdopen(self._answers, "rb") as answers:
            document: dict[str, Any] = json.loads(answers.read())
        _, status = os.waitpid(self._pid, 0)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(status), document


@pytest.mark.thorough
def test_command_asks_on_its_terminal_though_stdin_is_empty(tmp_path: Path) -> None:
    workflows = tmp_path / ".handrail" / "workflows"
    workflows.mkdir(parents=True)
    asking = THREE_STEPS.replace(b'"id": "first",', b'"id": "first", "requireConfirmation": true,')
    (workflows / "three_steps.json").write_bytes(asking)
    environment = os.environ | {"HANDRAIL_HOME": str(tmp_path / "home"), "HANDRAIL_PROJECT": str(tmp_path)}
    begun = Terminal(
        ["run", "start", "project.three_steps", "--request-id", "once", "--compact"], environment, tmp_path
    )
    status, first = begun.end()
    assert status == 0

    asked = Terminal(["run", "answer"], environment, tmp_path)
    shown = asked.until(b"[y/n] ")
    asked.type(b"y\r")
    status, told = asked.end()

    assert (status, told["data"]["answer"], told["data"]["source"]) == (0, "confirmed", "terminal")
    assert told["data"]["session_id"] == first["data"]["session"]["sessionId"]
    assert b"Step: First" in shown
