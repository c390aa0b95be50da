"""Every message is made in one place, for its reader: what it says to whom, and what it never says."""

from __future__ import annotations

import re
from itertools import product
from typing import Any, get_args

import msgspec
import pytest

from handrail.engine.events import GapRecorded
from handrail.engine.messages import (
    PURPOSES,
    Reader,
    ShownBlocker,
    explain,
    explain_all,
    explain_gap,
    join_parts,
    judged_words,
    write_fix,
)
from handrail.engine.reasons import AskKind, Issue, WaitKind, WaitsFor, WaitState
from handrail.projections.needs import ASKED
from handrail_serve.pages.items import EARLY, EFFECTS, QUESTIONS, RECORDED, WITHOUT_FORM
from tests.cases import every_case
from tests.engine.person_messages import PersonMessage, Refusal, list_person_messages, list_refusals

NOT_FOR_PEOPLE = {
    "a JSON pointer": re.compile(r"(?<![\w.])/[A-Za-z0-9_]+(/|\b)"),
    "a step path": re.compile(r"\w@\w|::"),
    "a token": re.compile(r"\b(st1|ak1|ck1|ch1)|[tT]oken\b"),
    "a fence": re.compile(r"```|~~~|⟦"),
    "the protocol": re.compile(r"nextCall|output\.|context\.|--[a-z]|stateToken|continue_workflow"),
    "a digest": re.compile(r"sha256|\b[0-9a-f]{16,}\b"),
    "an id": re.compile(r"\b(ses|run|nod|gap|usr)_\w+|wr\.\w+"),
}


def told(waits: WaitsFor, **more: object) -> ShownBlocker:
    shown = {"code": "MISSING_REQUIRED_OUTPUT", "pointer": {}, "message": "as recorded", **more}
    return msgspec.structs.replace(msgspec.convert(shown, ShownBlocker), waits_for=waits)


@every_case("message", list_person_messages())
def test_no_message_for_a_person_has_a_part_of_the_protocol(message: PersonMessage) -> None:
    said = f"{join_parts(message.parts)} {message.parts.fix}"

    assert [name for name, pattern in NOT_FOR_PEOPLE.items() if pattern.search(said)] == []
    assert "{" not in said
    assert said.startswith(message.parts.why)
    assert message.parts.why.endswith((".", ":"))


A_COMMAND = re.compile(
    r"`[^`]*`|\bhandrail( [\w-]+)+( --?[\w-]+( [A-Z]+)?)*|--[a-z-]+( [A-Z]+)?|/api\b|\S+://\S+|ssh -L \S+ \S+"
)
"""What a person may type, and an address that they may open."""
OF_AN_AGENT = ("a JSON pointer", "a step path", "a fence", "the protocol", "a digest", "an id")


@every_case("refusal", list_refusals())
def test_no_refusal_for_people_shows_the_protocol(refusal: Refusal) -> None:
    """No refusal of a server or the team client has a part of the protocol."""
    said = A_COMMAND.sub("", f"{refusal.message} {refusal.hint}")

    assert [name for name in OF_AN_AGENT if NOT_FOR_PEOPLE[name].search(said)] == []
    assert not re.search(r"\b(st1|ak1|ck1|ch1)", said)


def test_no_question_of_the_console_has_a_part_of_the_protocol() -> None:
    texts = [*QUESTIONS.values(), *EFFECTS.values(), *ASKED.values(), *WITHOUT_FORM.values(), EARLY, RECORDED]

    for said in texts:
        assert [name for name, pattern in NOT_FOR_PEOPLE.items() if pattern.search(said)] == [], said
    assert set(QUESTIONS) == set(EFFECTS) == set(ASKED) == set(get_args(AskKind))


def test_every_kind_of_reason_has_words_for_a_person() -> None:
    kinds = {kind for part in get_args(WaitKind) for kind in (get_args(part) or (part,))}

    assert {one.kind for one in list_person_messages()} == kinds - {"check"}  # of logs of earlier versions


def test_a_reason_of_a_newer_log_still_has_words_for_a_person() -> None:
    for kind, state in product(("check", "assessment", "action"), get_args(WaitState)):
        waits = msgspec.convert({"kind": kind, "state": state}, WaitsFor)
        assert explain(told(waits), (), "person", "Review").why.startswith(("The step", "What the agent"))


@pytest.mark.parametrize(
    ("reader", "fix"), [("agent", "Add it to output.artifacts."), ("shell", "Add it to --artifacts.")]
)
def test_a_fix_has_the_verbs_of_its_reader(reader: Reader, fix: str) -> None:
    assert write_fix(WaitsFor(kind="output", values={"artifact": "wr.x"}), reader) == fix


def test_an_agent_reads_the_fix_that_was_recorded() -> None:
    waits = WaitsFor(kind="output", values={"artifact": "wr.x"})

    assert explain(told(waits, suggestedFix="As it was."), (), "agent").fix == "As it was."
    assert explain(told(waits, suggestedFix="As it was."), (), "shell").fix == "Add it to --artifacts."


def test_each_fault_of_a_report_stands_once_at_its_blocker() -> None:
    waits = {"kind": "output", "state": "invalid", "values": {"artifact": "wr.changed_files"}}
    blocker: dict[str, Any] = {
        "code": "INVALID_REQUIRED_OUTPUT",
        "pointer": {"kind": "output_contract", "contractRef": "wr.contracts.changed_files"},
        "message": "The artifact does not fit: /files/0/why: it is missing",
        "waitsFor": waits,
    }
    own = {
        "contractRef": "wr.contracts.changed_files",
        "pointer": "/files/0/why",
        "message": "It is missing.",
    }
    other = {"contractRef": "wr.contracts.plan", "message": "Another one."}

    ((_, parts),), rest = explain_all([blocker], [own, other], "agent")

    assert parts.faults == ("/files/0/why It is missing.",)
    assert rest == ["Another one."]


def test_a_person_reads_the_place_of_a_fault_in_words() -> None:
    waits = WaitsFor(kind="output", state="invalid", values={"artifact": "wr.changed_files"})
    fault = Issue(
        contract_ref="wr.contracts.changed_files", pointer="/files/0/exitCode", message="It is missing."
    )
    blocker = told(waits, pointer={"contractRef": "wr.contracts.changed_files"})

    parts = explain(blocker, [fault], "person", "Make the change")

    assert parts.why.startswith("What the agent delivered for the step “Make the change” is not right yet")
    assert parts.faults == ("files, entry 1, exit code: It is missing.",)


def test_a_gap_is_told_from_what_it_waits_for() -> None:
    gap = GapRecorded(
        gap_id="gap_1_1",
        severity="critical",
        reason="contract_violation:missing_required_output",
        summary="This step must deliver the artifact wr.plan; none came.",
        waits_for=WaitsFor(kind="output", values={"artifact": "wr.plan"}),
    )

    assert explain_gap(gap, "Plan") == "The agent has not delivered what the step “Plan” asks for: plan."
    assert explain_gap(msgspec.structs.replace(gap, waits_for=None)) == gap.summary


def test_each_reader_reads_a_refused_report_in_own_words() -> None:
    for reader in ("agent", "shell"):
        assert "Fix the report and send it with " in judged_words(reader)
        assert "until that has changed" in judged_words(reader, is_retryable=False)
    assert "nextCall" not in judged_words("shell")


def test_every_purpose_ends_the_same_sentence() -> None:
    assert all(words[0].islower() and not words.endswith(".") for words in PURPOSES.values())
