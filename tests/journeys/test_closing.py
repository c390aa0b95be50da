"""Closing a run: it leaves resume and hooks, stays readable, and goes on as soon as somebody continues it."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.hook import answer_hook
from handrail.surfaces.mcp.tools import offered_tools
from tests.conftest import KeptAudit
from tests.journeys.conversation import advance, answer, refusal, rehydrate, start
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.journeys.test_moving_sessions import exported, imported
from tests.surfaces.cli.here import run_here


def close(runtime: Runtime, **params: Any) -> dict[str, Any]:
    return answer(runtime, "run.close", **({"reason": "abandoned"} | params))


def status_of(runtime: Runtime, reply: dict[str, Any]) -> str:
    shown = answer(runtime, "session.show", sessionId=reply["session"]["sessionId"])
    status: str = shown["status"]
    return status


def hook(runtime: Runtime) -> str:
    return answer_hook(lambda: runtime, "SessionStart", b"", lambda _: 0).out


@pytest.mark.parametrize("named", ["sessionId", "runId", "stateToken", "ackToken", "checkpointToken"])
def test_a_run_is_closed_by_any_of_its_names(runtime: Runtime, named: str) -> None:
    first = start(runtime)
    second = advance(runtime, first)
    name = second[named] if named in second else second["session"][named]

    status, document = command(
        runtime, "run", "close", name, "--reason", "done_elsewhere", "--note", "By hand."
    )

    (event,) = of_kind(events_of(runtime, first), "run_closed")
    assert status == 0
    assert document["data"]["run_id"] == first["session"]["runId"]
    assert (document["data"]["status"], document["data"]["is_new"]) == ("closed", True)
    assert event["scope"] == {"runId": first["session"]["runId"]}
    assert (event["data"]["reason"], event["data"]["note"]) == ("done_elsewhere", "By hand.")
    assert "nodeId" in event["data"]
    assert status_of(runtime, first) == "closed"


def test_a_closed_run_is_neither_resumed_nor_told_by_a_hook(runtime: Runtime) -> None:
    reply = start(runtime, goal="mend the till")
    session_id = reply["session"]["sessionId"]
    assert session_id in hook(runtime)

    close(runtime, run=session_id)

    for query in ({}, {"query": "till"}, {"query": "zeppelin"}):
        found = tool_call(runtime, "resume_session", **query).structured
        assert found["items"] == []
        assert "1 closed run left out" in found["scope"]
    assert hook(runtime) == ""
    assert [row["id"] for row in answer(runtime, "session.list", status="closed")["items"]] == [session_id]


def test_closed_run_is_found_by_its_id_and_says_so(runtime: Runtime) -> None:
    reply = start(runtime)
    close(runtime, run=reply["stateToken"], reason="superseded", note="Begun twice.")

    found = tool_call(runtime, "resume_session", query=reply["session"]["sessionId"])
    read = tool_call(runtime, "continue_workflow", **found.structured["items"][0]["nextCall"]["params"])

    assert "Closed; to read it" in found.text
    assert read.structured["recap"]["closed"]["reason"] == "superseded"
    assert 'closed as superseded (data) "Begun twice."' in read.text


def test_no_token_is_consumed_and_continuing_opens_the_run_again(runtime: Runtime) -> None:
    first = start(runtime)
    close(runtime, run=first["stateToken"])

    second = advance(runtime, first)
    after = status_of(runtime, first)
    again = close(runtime, run=first["stateToken"])

    assert second["pending"]["title"] == "Second"
    assert after == "in_progress"
    assert again["is_new"] is True
    assert advance(runtime, first) == second


@pytest.mark.parametrize("at", ["the old node", "the tip"])
def test_checkpoint_leaves_a_closed_run_closed(runtime: Runtime, at: str) -> None:
    first = start(runtime, goal="closing time")
    second = advance(runtime, first)
    close(runtime, run=first["stateToken"])

    token = (first if at == "the old node" else second)["checkpointToken"]
    saved = tool_call(runtime, "checkpoint_workflow", checkpointToken=token, output={"notesMarkdown": "x"})
    offered = tool_call(runtime, "resume_session").structured["items"]
    ledger = answer(runtime, "ledger.show", runId=first["session"]["runId"])
    repeated = close(runtime, run=first["stateToken"])

    assert not saved.is_error
    assert status_of(runtime, first) == "closed"
    assert offered == []
    assert "in_progress" not in str(ledger["entries"][-1])
    assert repeated["is_new"] is False
    assert advance(runtime, second)["pending"]["title"] == "Third"
    assert status_of(runtime, first) == "in_progress"


def test_run_id_of_two_sessions_closes_neither(runtime: Runtime) -> None:
    first = start(runtime)
    copy = imported(runtime, exported(runtime, first["session"]["sessionId"]))["session_id"]

    failure = refusal(runtime, "run.close", run=first["session"]["runId"], reason="abandoned")
    by_session = close(runtime, run=copy)

    assert failure.kind.code == "VALIDATION_ERROR"
    assert copy in failure.message
    assert first["session"]["sessionId"] in failure.message
    assert failure.next_call is not None
    assert status_of(runtime, first) == "in_progress"
    assert (by_session["session_id"], by_session["status"]) == (copy, "closed")


def test_a_repeat_writes_nothing_and_tells_what_was_recorded(runtime: Runtime) -> None:
    first = start(runtime)
    closed = close(runtime, run=first["stateToken"], note="Nobody needs it.")
    repeated = close(runtime, run=first["session"]["runId"], reason="superseded")

    assert len(of_kind(events_of(runtime, first), "run_closed")) == 1
    assert repeated == closed | {"is_new": False}


def two_open_runs(runtime: Runtime) -> tuple[dict[str, Any], dict[str, Any]]:
    first = start(runtime)
    return first, start(runtime, session=first["session"]["sessionId"])


def test_session_with_several_open_runs_closes_none(runtime: Runtime) -> None:
    first, second = two_open_runs(runtime)
    session_id = first["session"]["sessionId"]

    failure = refusal(runtime, "run.close", run=session_id, reason="abandoned")
    status, document = command(runtime, "run", "close", session_id, "--reason", "abandoned")
    closed = close(runtime, run=first["session"]["runId"])
    human = run_here(runtime, ("run", "close", first["stateToken"], "--reason", "abandoned", "--human"))

    runs = [second["session"]["runId"], first["session"]["runId"]]
    assert failure.kind.code == "VALIDATION_ERROR"
    assert failure.details["did_you_mean"] == runs
    assert "nothing was closed" in failure.message
    assert (status != 0, runs[0] in document["error"]["message"]) == (True, True)
    assert closed["still_open"] == [second["session"]["runId"]]
    assert second["session"]["runId"] in human.out.decode()
    assert len(of_kind(events_of(runtime, first), "run_closed")) == 1


@pytest.mark.parametrize("key", [{}, {"requestId": "k-1"}])
def test_repeat_that_names_the_session_closes_no_other_run(runtime: Runtime, key: dict[str, str]) -> None:
    first = start(runtime)
    session_id = first["session"]["sessionId"]
    closed = close(runtime, run=session_id, **key)
    second = start(runtime, session=session_id)

    repeated = close(runtime, run=session_id, **key)
    other = close(runtime, run=session_id, reason="superseded")
    last = close(runtime, run=session_id, reason="superseded")

    assert repeated == closed | {"is_new": False, "still_open": [second["session"]["runId"]]}
    assert (other["run_id"], other["is_new"]) == (second["session"]["runId"], True)
    assert last == other | {"is_new": False}


def test_a_request_id_never_closes_a_run_that_was_opened_again(runtime: Runtime) -> None:
    first = start(runtime)
    close(runtime, run=first["stateToken"], requestId="k-1")
    advance(runtime, first)

    repeated = close(runtime, run=first["stateToken"], requestId="k-1")

    assert (repeated["is_new"], repeated["status"]) == (False, "in_progress")
    assert status_of(runtime, first) == "in_progress"


def test_closing_moves_no_tip_and_is_an_entry_of_the_ledger(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first, "looked")
    before = rehydrate(runtime, second)
    close(runtime, run=second["stateToken"], note="By hand.")

    after = rehydrate(runtime, second)
    ledger = answer(runtime, "ledger.show", runId=first["session"]["runId"], mode="full")
    shown = answer(runtime, "session.show", sessionId=first["session"]["sessionId"])

    assert after["pending"] == before["pending"]
    assert ledger["entries"][-1]["operation"] == "run.close"
    assert ledger["entries"][-1]["contextDelta"]["state"]["status"] == "closed"
    assert shown["runs"][0]["tips"] == [shown["runs"][0]["preferred_tip"]]
    assert shown["runs"][0]["closed"]["note"] == "By hand."


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_reports_and_pages_say_that_a_run_is_closed(runtime: Runtime, form: str) -> None:
    session_id = start(runtime)["session"]["sessionId"]
    told = run_here(runtime, ("run", "close", session_id, "--reason", "superseded", "--human")).out.decode()

    report = answer(runtime, "session.export", **{"sessionId": session_id, "as": form})["content"]
    page = run_here(runtime, ("session", "show", session_id, "--human")).out.decode()

    assert "superseded" in told
    assert "superseded by other work" in report
    assert "superseded" in page


def test_a_finished_run_and_a_call_that_names_none_are_refused(runtime: Runtime) -> None:
    reply = start(runtime)
    for _ in range(3):
        reply = advance(runtime, reply)

    finished = refusal(runtime, "run.close", run=reply["session"]["sessionId"], reason="abandoned")
    nameless = refusal(runtime, "run.close", reason="abandoned")
    unknown = refusal(runtime, "run.close", run="run_000000000000", reason="abandoned")
    reasonless = refusal(runtime, "run.close", run=reply["session"]["sessionId"])

    codes = [one.kind.code for one in (finished, nameless, unknown, reasonless)]
    assert codes == ["VALIDATION_ERROR", "CONTEXT_MISSING", "SESSION_NOT_FOUND", "VALIDATION_ERROR"]
    assert of_kind(events_of(runtime, reply), "run_closed") == []


def test_closing_is_recorded_without_a_gate_audited_and_no_tool(runtime: Runtime) -> None:
    reply = start(runtime)
    close(runtime, run=reply["stateToken"])

    assert isinstance(runtime.audit, KeptAudit)
    assert (runtime.audit.lines[-1].command, runtime.audit.lines[-1].effect) == ("run.close", "record")
    assert "run.close" not in {tool.operation for tool in offered_tools().values()}


def test_mistaken_start_says_how_to_close_it(runtime: Runtime) -> None:
    first = start(runtime, goal="twice")
    second = start(runtime, goal="twice")
    (warning,) = [one for one in second["warnings"] if one["code"] == "DUPLICATE_START"]
    several = hook(runtime)

    close(runtime, run=first["stateToken"], reason="superseded")
    close(runtime, run=second["stateToken"], reason="superseded")
    third = start(runtime, goal="twice")

    assert "handrail run close" in warning["message"]
    assert "handrail run close" in several
    assert "DUPLICATE_START" not in str(third.get("warnings", ()))


def test_a_closed_session_moves_in_a_bundle(runtime: Runtime) -> None:
    reply = start(runtime)
    close(runtime, run=reply["stateToken"], note="By hand.")
    moved = imported(runtime, exported(runtime, reply["session"]["sessionId"]), asNew=True)

    shown = answer(runtime, "session.show", sessionId=moved["session_id"])

    assert (shown["status"], shown["runs"][0]["closed"]["note"]) == ("closed", "By hand.")
