"""A signal at any moment of a write: an interruption that changed nothing, or the true success."""

from __future__ import annotations

import random
import signal
import subprocess

import pytest

from tests.surfaces.cli.tool import DEADLINE_SECONDS, Ran, Tool, checked_document

SEED = 20_261_115
LONGEST_MS = 160


def signalled(tool: Tool, after_ms: int, *arguments: str) -> Ran:
    """Run, and send SIGTERM after so many milliseconds unless the call was faster."""
    running = subprocess.Popen(
        [*tool.command, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tool.project,
        env=tool.environment,
    )
    try:
        running.wait(after_ms / 1000)
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=DEADLINE_SECONDS)
    return Ran(status=running.returncode, out=out, err=err)


@pytest.mark.promise("cli.interrupted")
@pytest.mark.parametrize("number", range(14))
def test_a_signal_tells_the_truth(fresh_tool: Tool, number: int) -> None:
    after_ms = random.Random(SEED + number).randrange(20, LONGEST_MS)
    print(f"signal after {after_ms} ms")
    reply = fresh_tool.data("run", "start", "wr.small_change", "--request-id", "k")
    show = ["session", "show", reply["session"]["sessionId"]]
    before = fresh_tool.data(*show)["event_count"]
    line = ["run", "continue", "--ack", reply["ackToken"], "--notes", "once"]

    ran = signalled(fresh_tool, after_ms, *line)

    after = fresh_tool.data(*show)
    repeated = checked_document(fresh_tool.run(*line))
    assert after["health"]["state"] == "healthy"
    if ran.status == 0:
        assert checked_document(ran)["data"] == repeated["data"]
        assert after["event_count"] > before
    elif ran.status == 130:
        assert checked_document(ran)["error"]["details"]["committed"] is False
        assert after["event_count"] == before
    else:
        assert (ran.status, ran.out) == (-signal.SIGTERM, b""), "only before the front door has opened"
        assert after["event_count"] == before
    assert fresh_tool.data(*show)["runs"][0]["node_count"] == 2
