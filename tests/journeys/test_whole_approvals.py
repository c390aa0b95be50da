"""A person sees what they approve: all of it, without a secret, or they can only decline."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import MaxEffect
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Failure
from handrail.contract.redaction import Secrets
from handrail.host import terminal
from handrail.host.terminal import LONGEST_TEXT
from handrail.ports.workspace import Settings
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import settings_of
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import begin, step
from tests.journeys.interfaces import events_of, of_kind
from tests.journeys.test_confirmations import at_console, insist

OWN = "hunter2-of-this-process"


def block(runtime: Runtime, **output: Any) -> tuple[Runtime, dict[str, Any]]:
    """A run whose report waits for a person."""
    secrets = Secrets()
    secrets.register(OWN.encode())
    runtime = msgspec.structs.replace(runtime, secrets=secrets)
    insist(runtime)
    first = begin(runtime, step("ship", requireConfirmation=True), fields={})
    given = {"notesMarkdown": output.pop("notes", "n"), **output}
    reply = answer(runtime, "run.continue", ackToken=first["ackToken"], output=given)
    assert reply["kind"] == "blocked"
    return runtime, {**reply, "session": first["session"]}


def question(runtime: Runtime, reply: dict[str, Any]) -> dict[str, Any]:
    return answer(runtime, "run.answer", session=reply["session"]["sessionId"], show=True)


def give(runtime: Runtime, reply: dict[str, Any], text: str) -> Any:
    asked = question(runtime, reply)
    given = {"answer": text, "whatDigest": asked["what_digest"]}
    session = reply["session"]["sessionId"]
    return perform(at_console(runtime), "run.answer", {"session": session, "given": given})


WITH_SECRETS: dict[str, tuple[dict[str, Any], str]] = {
    "of this process": ({"notes": f"Used {OWN}."}, "the notes"),
    "a login": ({"notes": "See https://me:pass@example.org/x"}, "the notes"),
    "by its name": (
        {"artifacts": [{"kind": "project.login", "deep": [{"password": "correct-horse"}]}]},
        "“password” of the project login",
    ),
}


@pytest.mark.parametrize(("output", "place"), WITH_SECRETS.values(), ids=WITH_SECRETS)
def test_a_text_with_a_secret_is_only_declined(runtime: Runtime, output: dict[str, Any], place: str) -> None:
    runtime, reply = block(runtime, **output)
    session = reply["session"]["sessionId"]

    refused = give(runtime, reply, "yes")
    person = Person("y", "y", "n")
    told = answer(seat(runtime, person), "run.answer", session=session)

    assert isinstance(refused, Failure)
    assert f"A secret was found in {place}, so this cannot be approved." in refused.message
    assert place in question(runtime, reply)["closed"]
    assert len(person.shown) == 3, "a yes is no answer here"
    assert told["answer"] == "declined"
    assert place in told["note"], "the agent reads what to leave out"
    assert OWN not in json.dumps(events_of(runtime, reply))


def test_sentences_under_the_name_of_a_secret_are_shown(runtime: Runtime) -> None:
    artifact = {"kind": "project.plan", "tokenStrategy": "Rotate them every week.", "secrets": 3}
    runtime, reply = block(runtime, artifacts=[artifact])

    asked = question(runtime, reply)

    assert (asked["closed"], "Rotate them every week." in asked["shown"]) == ("", True)


def test_a_long_report_is_shown_whole_and_its_digest_is_kept(runtime: Runtime) -> None:
    deep: Any = "the innermost word"
    for _ in range(12):
        deep = {"inner": deep}
    notes = "x " * 20_000 + "the last word"
    artifacts = [{"kind": f"project.kind_{n}", "deep": deep} for n in range(8)]
    runtime, reply = block(runtime, notes=notes, artifacts=artifacts)
    person = Person("y")

    answer(seat(runtime, person), "run.answer", session=reply["session"]["sessionId"])

    (event,) = of_kind(events_of(runtime, reply), "confirmation_recorded")
    shown = question(runtime, reply)["shown"]
    assert event["data"]["whatDigest"] == digest(shown)
    assert shown in person.shown[0]
    assert "the last word" in shown
    assert shown.count("the innermost word") == 8
    assert "cut here" not in shown


def test_a_text_that_no_terminal_keeps_is_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    monkeypatch.setattr(terminal, "PLACE", os.ttyname(theirs))
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
    written = bytearray()
    monkeypatch.setattr(terminal, "write_all", lambda _, content: written.extend(content))
    found: list[str] = []

    def read(*_: object) -> str:
        place = written.decode().partition("Read it in ")[2].partition(" (")[0]
        found.append(Path(place).read_text(encoding="utf-8"))
        return "y"

    monkeypatch.setattr(terminal, "_read_line", read)
    text = "Step: Ship\n\n" + "word " * LONGEST_TEXT + "\n\nConfirm this step? [y/n] "

    assert terminal.LocalTerminal().ask(text, lambda: False) == "y"
    assert found == [text]
    assert written.decode().endswith("Confirm this step? [y/n] ")
    assert len(written) < 2 * LONGEST_TEXT
    os.close(ours)
    os.close(theirs)


# A limit that a program may tighten locks no person out


def forbid(runtime: Runtime, most: MaxEffect = "read") -> None:
    settings_of(runtime).settings = Settings(confirmations="person", max_effect=most)


def test_a_limit_does_not_bind_a_person(runtime: Runtime) -> None:
    runtime, reply = block(runtime)
    forbid(runtime)

    told = answer(seat(runtime, Person("y")), "run.answer", session=reply["session"]["sessionId"])

    assert told["answer"] == "confirmed"


def test_a_limit_binds_what_a_program_may_do_alone(runtime: Runtime) -> None:
    forbid(runtime)
    for operation, params in (
        ("check.approve", {"withdraw": True}),
        ("session.start", {"goal": "g", "requestId": "r"}),
    ):
        told = perform(runtime, operation, params)
        assert isinstance(told, Failure)
        assert told.kind.code == "E_FORBIDDEN", operation
