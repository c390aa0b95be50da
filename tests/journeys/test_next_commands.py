"""The next call of a reply as a command line: pasted into a shell, it does what the tool call does."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from handrail.contract.outcome import Failure
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.journeys.given_workflows import WITH_DECISION, choice, give, step
from tests.journeys.interfaces import command
from tests.surfaces.cli.here import run_here


def next_lines(document: dict[str, Any]) -> list[str]:
    return [one["command"] for one in document["meta"].get("notices", []) if one["type"] == "next_command"]


def started(runtime: Runtime, *steps: dict[str, Any], flags: tuple[str, ...] = ()) -> dict[str, Any]:
    line = ("run", "start", give(runtime, *steps), "--request-id", "one", *flags)
    return command(runtime, *line)[1]


def test_a_step_names_the_command_that_reports_it_and_it_works(runtime: Runtime) -> None:
    first = started(runtime, step("one"), step("two"))

    (line,) = next_lines(first)
    status, second = command(runtime, *shlex.split(line.replace("…", "done"))[1:])

    assert line.startswith("handrail run continue --ack " + first["data"]["ackToken"])
    assert (status, second["data"]["pending"]["stepId"]) == (0, "two")


@pytest.mark.parametrize("flags", [(), ("--mvi", "minimal")])
def test_the_text_of_a_step_shows_the_whole_call_at_every_level(
    runtime: Runtime, flags: tuple[str, ...]
) -> None:
    line = ("run", "start", give(runtime, step("one", **WITH_DECISION)), "--request-id", "one")
    frame = command(runtime, *line)[1]["data"]["nextCall"]["params"]

    shown = run_here(runtime, (*line, "--human", *flags)).out.decode()

    (told,) = [one for one in shown.splitlines() if one.startswith("When done:")]
    words = shlex.split(told.removeprefix("When done:"))
    assert words[words.index("--ack") + 1] == frame["ackToken"]
    assert json.loads(words[words.index("--artifacts") + 1]) == frame["output"]["artifacts"]


def test_text_of_a_blocked_step_shows_what_a_retry_needs(runtime: Runtime) -> None:
    first = started(runtime, step("one", **WITH_DECISION))
    line = ("run", "continue", "--ack", first["data"]["ackToken"], "--notes", "Thought about it.")

    shown = run_here(runtime, (*line, "--human")).out.decode()

    (told,) = [one for one in shown.splitlines() if one.startswith("When corrected:")]
    words = shlex.split(told.removeprefix("When corrected:"))
    assert json.loads(words[words.index("--artifacts") + 1])[0]["kind"] == "wr.decision"
    assert "--notes" not in words


def test_other_content_has_commands_to_store_and_to_go_on(
    runtime: Runtime,
) -> None:
    first = started(runtime, step("one"), step("two"), step("three"))
    _, second = command(runtime, "run", "continue", "--ack", first["data"]["ackToken"], "--notes", "done")
    _, third = command(runtime, "run", "continue", "--ack", second["data"]["ackToken"], "--notes", "done")

    _, told = command(runtime, "run", "continue", "--ack", first["data"]["ackToken"], "--notes", "other")
    storing, going_on = next_lines(told)
    _, stored = command(runtime, *shlex.split(storing)[1:])
    _, reread = command(runtime, *shlex.split(going_on)[1:])

    assert [one["message"] for one in told["meta"]["notices"] if one["type"] == "next_command"] == [
        "To store what you sent now, run the command.",
        "To go on where the run stands, run the command.",
    ]
    assert third["data"]["pending"]["stepId"] == reread["data"]["pending"]["stepId"] == "three"
    assert stored["data"]["pending"]["stepId"] == "two"
    assert stored["data"].get("warnings", []) == []


def test_a_choice_has_a_command_for_each_option(runtime: Runtime) -> None:
    options = [{"id": "left", "label": "Left"}, {"id": "right", "label": "Right"}]
    first = started(runtime, choice("way", *options), step("after"))

    lines = next_lines(first)
    status, _ = command(runtime, *shlex.split(lines[1])[1:])

    tokens = [one["params"]["ackToken"] for one in first["data"]["nextCall"]["options"]]
    assert [token in line for token, line in zip(tokens, lines, strict=True)] == [True, True]
    assert status == 0


def test_a_found_session_names_the_command_that_reads_it(runtime: Runtime) -> None:
    started(runtime, step("one"))

    _, found = command(runtime, "session", "resume")
    (line,) = next_lines(found)
    status, read = command(runtime, *shlex.split(line)[1:])

    assert (status, read["data"]["pending"]["stepId"]) == (0, "one")


def test_lafs_carries_the_command_as_an_extension(runtime: Runtime) -> None:
    told = started(runtime, step("one"), flags=("--envelope", "lafs"))
    state = told["result"]["stateToken"]
    read = ("run", "continue", "--state", state)

    bounded = json.loads(run_here(runtime, (*read, "--budget", "tokens=4000")).out)

    assert told["_extensions"]["x-next-command"].startswith("handrail run continue --ack ")
    assert next_lines(bounded) == []
    assert "command" not in told["result"]


def test_shown_command_stores_nothing_until_filled_in(runtime: Runtime) -> None:
    contract = {"contractRef": "wr.contracts.decision"}
    workflow_id = give(runtime, step("one", output=contract), step("two"))
    shown = run_here(runtime, ("run", "start", workflow_id, "--request-id", "one", "--human")).out.decode()
    line = next(held for held in shown.splitlines() if held.startswith("When done:")).partition(":")[2]

    status, refused = command(runtime, *shlex.split(line.replace(" --human", ""))[1:])

    assert "…" in line
    assert status != 0
    assert "output.notesMarkdown" in json.dumps(refused)
    assert "output.artifacts[0].chosen" in json.dumps(refused)


ACK = "ak1" + "0" * 32
STATE = "st1" + "0" * 32
MISSPELT = [
    (f"run continue --ackToken {ACK} --notes x", f"run continue --ack {ACK} --notes x"),
    (f"run continue --ack-token={ACK}", f"run continue --ack {ACK}"),
    (f"run continue {ACK} --notes x", f"run continue --ack {ACK} --notes x"),
    (f"run continue {STATE}", f"run continue --state {STATE}"),
    (f"run continue --ack {ACK} --notesMarkdown x", f"run continue --ack {ACK} --notes x"),
    (f"continue_workflow --ackToken {ACK}", f"run continue --ack {ACK}"),
    (f"continue --ack {ACK}", f"run continue --ack {ACK}"),
    ("start wr.small_change --request-id k", "run start wr.small_change --request-id k"),
    ("run start --workflowId wr.small_change --requestId k", "run start wr.small_change --request-id k"),
    ("run resume", "session resume"),
    ("resume words", "session resume words"),
    ("sesion list", "session list"),
    ("--compact sesion list", "session list --compact"),
    ("session list --staus blocked", "session list --status blocked"),
    ("session list --status blocked --qurey x", "session list --status blocked --query x"),
    ("run close run_1 --reson abandoned", "run close run_1 --reason abandoned"),
    ("session delete --id ses_1 --dangerous --dry-rn", "session delete --ids ses_1 --dangerous --dry-run"),
    ("doctr --offline", "doctor --offline"),
    ("update --chekc", "update --check"),
]


@pytest.mark.parametrize(("typed", "meant"), MISSPELT)
def test_misspelt_line_is_answered_with_the_right_one(runtime: Runtime, typed: str, meant: str) -> None:
    status, document = command(runtime, *typed.split())

    assert (status, document["error"]["code"]) == (2, "E_USAGE")
    assert document["error"]["details"]["next_command"] == f"handrail {meant}"


@pytest.mark.promise("cli.details-redacted")
@pytest.mark.parametrize(
    "typed",
    [
        "run start wr.small_change --password hunter2 --request-id k",
        "session show ses_0 --api-token hunter2",
        "--client-secret hunter2 session list",
        "nonsense --token hunter2",
    ],
)
def test_what_follows_a_flag_with_a_telling_name_is_not_shown(runtime: Runtime, typed: str) -> None:
    status, document = command(runtime, *typed.split())

    assert (status, document["error"]["code"]) == (2, "E_USAGE")
    assert "hunter2" not in str(document)


@pytest.mark.promise("cli.error")
@pytest.mark.parametrize("typed", ["-o", "--continue-on-eror", "--ouT"])
def test_only_a_flag_that_the_command_takes_is_proposed(runtime: Runtime, typed: str) -> None:
    _, document = command(runtime, "workflow", "list", typed, "json")

    assert "did_you_mean" not in document["error"]["details"]


@pytest.mark.parametrize("typed", ["list", "run continue --nonsense x", "workflow list extra words", "run"])
def test_where_a_repair_would_guess_the_help_is_named(runtime: Runtime, typed: str) -> None:
    _, document = command(runtime, *typed.split())

    assert document["error"]["details"]["next_command"].startswith("handrail help")


@pytest.mark.parametrize("typed", ["given{}", "givn{}", "project.givn{}", "wr.given{}"])
def test_near_miss_of_a_workflow_gets_the_right_start(runtime: Runtime, typed: str) -> None:
    known = give(runtime, step("one"))
    asked = typed.format(known.removeprefix("project.given"))

    _, document = command(runtime, "run", "start", asked, "--request-id", "k")

    expected = f"handrail run start {known} --request-id k --compact"
    assert document["error"]["details"]["next_command"] == expected


def test_near_miss_of_a_value_gets_the_whole_line(runtime: Runtime) -> None:
    _, document = command(runtime, "session", "list", "--status", "blockd", "--limit", "5")

    repaired = document["error"]["details"]["next_command"]
    assert repaired == "handrail session list --status blocked --limit 5"


def test_start_without_namespace_is_repaired_by_one_line(
    runtime: Runtime,
) -> None:
    known = give(runtime, step("one"))

    status, refused = command(runtime, "run", "start", known.removeprefix("project."))
    line = refused["error"]["details"]["next_command"]
    worked, reply = command(runtime, *shlex.split(line)[1:])

    assert (status, worked, reply["data"]["pending"]["stepId"]) == (3, 0, "one")


def test_no_key_is_offered_for_a_start_that_is_refused_anyway(runtime: Runtime) -> None:
    _, unknown = command(runtime, "run", "start", "project.nothing-like-it-at-all")

    assert unknown["error"]["details"]["domain_code"] == "WORKFLOW_NOT_FOUND"


@pytest.mark.promise("input.all-problems")
def test_five_faults_in_one_line_come_back_together(runtime: Runtime) -> None:
    line = "session list --limit many --status done --qurey x --since yesterday extra"

    status, document = command(runtime, *line.split())

    told = {(one["param"], one["got"]) for one in document["error"]["details"]["problems"]}
    assert status == 2
    assert {param for param, _ in told} == {"--limit", "--status", "--qurey", "--since", "argument"}
    assert ("argument", "extra") in told


@pytest.mark.promise("input.all-problems")
def test_faults_of_document_and_flags_come_together(runtime: Runtime) -> None:
    given = {"workflowId": 7, "goal": ["x"], "contxt": {}, "riskPolicy": "wild"}

    status, document = command(runtime, "run", "start", "--input", json.dumps(given), "--autonomy", "high")

    params = {one["param"] for one in document["error"]["details"]["problems"]}
    assert (status, params) == (2, {"--autonomy", "workflowId", "goal", "contxt", "riskPolicy"})


@pytest.mark.promise("input.all-problems")
def test_wrong_time_and_type_come_together_at_the_tool(runtime: Runtime) -> None:
    failure = perform(runtime, "session.list", {"since": "yesterday", "limit": "many", "until": "2026-02-30"})

    assert isinstance(failure, Failure)
    assert {one["param"] for one in failure.details["problems"]} == {"since", "limit", "until"}


@pytest.mark.promise("cli.error")
def test_hint_for_a_misspelt_workflow_names_the_next_command(
    runtime: Runtime,
) -> None:
    workflow = give(runtime, step("one"))

    _, document = command(runtime, "run", "start", workflow + "e", "--goal", "x")

    told = document["error"]["details"]
    assert told["hint"].startswith(f"Use {workflow}, ")
    assert f" {workflow} " in told["next_command"]
