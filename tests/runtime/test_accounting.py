"""Every change and every refused change leaves one audit line that tells no secret and no content."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import msgspec
import pytest

from handrail.contract.catalogue import E_CONFIG, E_VALIDATION
from handrail.contract.outcome import Fault
from handrail.event_log.memory import MemoryLog
from handrail.ports.process import AuditLine
from handrail.ports.workspace import Settings
from handrail.runtime.hub import perform
from handrail.runtime.permission import Caller, write_server_start_line
from handrail.runtime.runtime import Runtime
from tests.conftest import GivenSettings, KeptAudit, settings_of
from tests.operations.asked import answered, refused

START: dict[str, Any] = {"workflowId": "project.three_steps"}


def lines(rt: Runtime) -> list[AuditLine]:
    assert isinstance(rt.audit, KeptAudit)
    return rt.audit.lines


def told(rt: Runtime) -> str:
    return msgspec.json.encode(lines(rt)).decode()


def measured(text: str) -> dict[str, Any]:
    return {"bytes": len(text.encode()), "sha256": sha256(text.encode()).hexdigest()}


@pytest.mark.promise("cli.audit")
def test_a_start_is_one_line_with_who_and_what(runtime: Runtime) -> None:
    caller = Caller(tool="handrail cli", command="run start")

    perform(runtime, "run.start", {**START, "requestId": "pr-7", "goal": "Fix it"}, caller=caller)

    (line,) = lines(runtime)
    assert (line.tool, line.command, line.effect, line.account) == (
        "handrail cli",
        "run start",
        "create",
        "tester",
    )
    assert (line.code, line.exit, line.dry_run, line.targets_count) == (None, 0, False, 1)
    assert (line.request_id, line.workspace, line.at) == ("pr-7", "/project", "2027-01-15T08:00:00.000Z")
    assert line.args == {**START, "requestId": "pr-7", "goal": measured("Fix it")}


def test_what_an_agent_wrote_is_told_by_size_and_digest_only(runtime: Runtime) -> None:
    reply = answered(runtime, "run.start", **START, context={"colour": "mauve"})
    notes = "the mauve notes"

    answered(
        runtime,
        "run.continue",
        ackToken=reply["ackToken"],
        output={"notesMarkdown": notes, "artifacts": [{"kind": "x.y", "body": "mauve"}]},
    )

    line = lines(runtime)[-1]
    assert line.args["output"]["notesMarkdown"] == measured(notes)
    assert set(line.args["output"]["artifacts"]) == {"bytes", "sha256"}
    assert line.args["ackToken"] == "[redacted]"
    assert line.token_fingerprint == sha256(reply["ackToken"].encode()).hexdigest()[:16]
    assert "mauve" not in told(runtime)
    assert reply["ackToken"] not in told(runtime)


@pytest.mark.promise("cli.audit")
def test_refusals_are_kept_with_their_code_and_exit(runtime: Runtime) -> None:
    refused(runtime, "workflow.new", workflowId="project.fresh")
    refused(runtime, "workflow.new", workflowId="project.fresh", confirm="ct_made_up")
    refused(runtime, "run.continue", ackToken="ak1nonsense")
    refused(runtime, "run.start", workflowId=7)

    assert [(line.code, line.exit) for line in lines(runtime)] == [
        ("E_CONFIRMATION_REQUIRED", 5),
        ("E_CONFLICT", 6),
        ("TOKEN_INVALID_FORMAT", 6),
        ("VALIDATION_ERROR", 2),
    ]
    assert "ct_made_up" not in told(runtime)


def test_a_dry_run_is_kept_as_one(runtime: Runtime) -> None:
    answered(runtime, "workflow.new", workflowId="project.fresh", dryRun=True)

    (line,) = lines(runtime)
    assert (line.dry_run, line.effect, line.targets_count) == (True, "gated", 1)


def test_reads_leave_no_line(runtime: Runtime) -> None:
    reply = answered(runtime, "run.start", **START)
    before = len(lines(runtime))

    answered(runtime, "session.list")
    answered(runtime, "run.continue", stateToken=reply["stateToken"])
    refused(runtime, "session.show", sessionId="ses_000000000000")

    assert len(lines(runtime)) == before


def test_reads_leave_lines_where_a_setting_asks_for_them(runtime: Runtime) -> None:
    settings_of(runtime).settings = Settings(audit_reads=True)

    answered(runtime, "session.list")

    assert [(line.command, line.effect) for line in lines(runtime)] == [("session.list", "read")]


def test_broken_settings_refuse_a_change_and_keep_the_line(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object, project: str = "") -> Settings:
        raise Fault(E_CONFIG, "The settings cannot be used.")

    monkeypatch.setattr(GivenSettings, "of", broken)

    assert refused(runtime, "run.start", **START).kind.code == "E_CONFIG"
    assert [line.code for line in lines(runtime)] == ["E_CONFIG"]
    assert answered(runtime, "session.list")["items"] == []


def test_a_context_under_a_telling_name_is_not_told_back(runtime: Runtime) -> None:
    failure = perform(
        runtime,
        "run.start",
        {**START, "context": {"password": "hunter2"}},
        caller=Caller(tool="shell", needs_key=True),
    )

    shown = json.dumps(msgspec.to_builtins(failure))
    assert "hunter2" not in shown
    assert "hunter2" not in told(runtime)


def test_a_server_that_starts_is_kept(runtime: Runtime) -> None:
    write_server_start_line(runtime, Caller(tool="handrail mcp", command="mcp"))

    (line,) = lines(runtime)
    assert (line.tool, line.command, line.effect, line.exit) == ("handrail mcp", "mcp", "server", 0)


@pytest.mark.promise("cli.details-redacted")
def test_details_of_a_failure_tell_nothing_under_a_telling_name(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise Fault(E_VALIDATION, "This does not fit.", details={"got": {"apiKey": "hunter2", "id": "seven"}})

    monkeypatch.setattr(MemoryLog, "list_sessions", broken)

    assert refused(runtime, "session.list").details == {"got": {"apiKey": "[redacted]", "id": "seven"}}
