"""A signal, the deadline or a full disk that a process meets after the commit: the change is told as made."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.surfaces.cli.stages import Blocked
from tests.surfaces.cli.test_streams import in_shell
from tests.surfaces.cli.tool import Tool, checked_document, strict_json

AUDIT = ("handrail.host.process:AuditFiles", "record", 0)
DISCLOSE = ("handrail.runtime.hub", "disclose", 0)
RENDER = ("handrail.surfaces.cli.run", "render", 0)
STAGES = {"disclosure": DISCLOSE, "audit": AUDIT, "rendering": RENDER}


def started(tool: Tool) -> Any:
    return tool.data("run", "start", "wr.small_change", "--request-id", "k")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGALRM])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.thorough
def test_signal_or_deadline_after_the_commit_changes_nothing(
    fresh_tool: Tool, stage: str, number: signal.Signals
) -> None:
    call = ("run", "continue", "--ack", started(fresh_tool)["ackToken"], "--notes", "x")

    blocked = Blocked(fresh_tool, STAGES[stage], *call)
    blocked.send(number)
    ran = blocked.end()

    assert checked_document(ran)["data"] == fresh_tool.data(*call)


@pytest.mark.thorough
@pytest.mark.parametrize("envelope", ["cli", "lafs"])
def test_a_second_signal_after_the_commit_tells_that_it_is_made(fresh_tool: Tool, envelope: str) -> None:
    reply = started(fresh_tool)
    call = ("run", "continue", "--ack", reply["ackToken"], "--notes", "x", "--envelope", envelope)

    blocked = Blocked(fresh_tool, AUDIT, *call)
    blocked.send(signal.SIGTERM)
    blocked.send(signal.SIGINT)
    ran = blocked.end()

    document = strict_json(ran.out)
    told = document["data"] if envelope == "cli" else document["result"]
    assert (ran.status, told["committed"]) == (0, True)
    assert told["read"]["call"] == f"handrail session resume {reply['session']['sessionId']} --compact"


@pytest.mark.thorough
def test_a_change_whose_answer_stdout_refuses_is_told_on_stderr(fresh_tool: Tool) -> None:
    reply = started(fresh_tool)
    call = ("run", "continue", "--ack", reply["ackToken"], "--notes", "x")

    ran = in_shell(fresh_tool, ">/dev/full", *call)

    assert ran.status == 0
    refused, made = ran.err.decode().splitlines()
    assert refused == "handrail: stdout could not be written: No space left on device."
    assert made.endswith(f"handrail session resume {reply['session']['sessionId']} --compact")
    assert fresh_tool.data(*call)["kind"] == "ok"
