"""The dry run of an ack says what would happen, and nothing happens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.event_log.memory import MemoryLog
from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.operations.asked import answered, refused

STRICT = {
    "id": "project.strict",
    "name": "Strict",
    "description": "For tests.",
    "steps": [
        {
            "id": "count",
            "title": "Count",
            "prompt": "Count the files and report the number.",
            "output": {"contractRef": "wr.contracts.review_findings"},
        },
        {"id": "end", "title": "End", "prompt": "Say what you saw."},
    ],
}
VERDICT_KEYS = ["verdict", "step_id", "blockers", "issues", "gaps", "example"]


def started(rt: Runtime, workflow_id: str = "project.three_steps", **more: Any) -> Any:
    return answered(rt, "run.start", workflowId=workflow_id, **more)


def events(rt: Runtime) -> int:
    assert isinstance(rt.log, MemoryLog)
    return sum(len(rt.log.records(stamp.session_id)) for stamp in rt.log.list_sessions())


def test_acceptable_ack_says_so_and_writes_nothing(runtime: Runtime) -> None:
    reply = started(runtime)
    before = events(runtime)

    told = answered(runtime, "run.continue", ackToken=reply["ackToken"], dryRun=True)

    assert list(told) == VERDICT_KEYS
    assert (told["verdict"], told["step_id"], told["blockers"]) == ("would_advance", "first", [])
    assert events(runtime) == before


def test_the_verdict_holds_no_token_and_no_prompt(runtime: Runtime) -> None:
    reply = started(runtime)

    told = json.dumps(answered(runtime, "run.continue", ackToken=reply["ackToken"], dryRun=True))

    assert "second thing" not in told
    assert not any(prefix in told for prefix in ("ak1", "st1", "ck1"))


def test_the_real_call_after_a_dry_run_advances(runtime: Runtime) -> None:
    reply = started(runtime)
    call = {"ackToken": reply["ackToken"], "output": {"notesMarkdown": "done"}}
    answered(runtime, "run.continue", **call, dryRun=True)

    moved = answered(runtime, "run.continue", **call)
    told = answered(runtime, "run.continue", **call, dryRun=True)

    assert moved["pending"]["stepId"] == "second"
    assert told["verdict"] == "already_answered"


def test_a_report_that_would_block_is_told_why(runtime: Runtime) -> None:
    library_of(runtime).add(json.dumps(STRICT).encode(), "strict.json")
    reply = started(runtime, "project.strict")
    before = events(runtime)

    told = answered(runtime, "run.continue", ackToken=reply["ackToken"], dryRun=True)
    real = answered(runtime, "run.continue", ackToken=reply["ackToken"])

    assert told["verdict"] == "would_block"
    assert told["blockers"] == real["blockers"]
    assert told["example"] == real.get("example")
    assert before < events(runtime)


def test_a_checkpoint_that_would_be_saved_says_so(runtime: Runtime) -> None:
    reply = started(runtime)
    before = events(runtime)
    call = {"checkpointToken": reply["checkpointToken"], "output": {"notesMarkdown": "half"}}

    told = answered(runtime, "run.checkpoint", **call, dryRun=True)

    assert (told["verdict"], told["step_id"]) == ("would_save", "first")
    assert events(runtime) == before


def test_without_an_ack_there_is_nothing_to_try(runtime: Runtime) -> None:
    reply = started(runtime)

    failure = refused(runtime, "run.continue", stateToken=reply["stateToken"], dryRun=True)

    assert failure.kind.code == "E_USAGE"


@pytest.mark.parametrize("token", ["ak1nonsense", "STATE"])
def test_a_wrong_token_is_refused_as_by_the_real_call(runtime: Runtime, token: str) -> None:
    reply = started(runtime)
    ack = reply["stateToken"] if token == "STATE" else token

    tried = refused(runtime, "run.continue", ackToken=ack, dryRun=True)
    real = refused(runtime, "run.continue", ackToken=ack)

    assert tried.kind.code == real.kind.code
