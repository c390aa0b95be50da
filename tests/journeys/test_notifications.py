"""A person who does not look at a screen is told: by a command of their settings, after the answer."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.conformance.forked import ForkedTool, ForkServer
from tests.worktree.project import write

pytestmark = pytest.mark.skipif(
    shutil.which("sh") is None, reason="there is no shell to write the script for"
)


def test_a_blocked_attempt_starts_the_command_with_the_notice(
    tmp_path: Path, fork_server: ForkServer
) -> None:
    tool = ForkedTool(str(tmp_path), fork_server)
    heard = tmp_path / "heard"
    script = write(tmp_path, "tell", f'#!/bin/sh\nprintf "%s\\n" "$2" >> {shlex.quote(str(heard))}\n')
    script.chmod(0o755)
    write(Path(tool.home), "config.json", json.dumps({"notify": {"command": [str(script), "a b"]}}))
    begun = tool.data("run", "start", "wr.small_change", "--goal", "A secret goal", "--request-id", "k")
    assert not heard.exists(), "a start has nothing to tell"

    blocked = tool.data("run", "continue", "--ack", begun["ackToken"], "--notes", "")

    assert blocked["kind"] == "blocked"
    (line,) = heard.read_text(encoding="utf-8").splitlines()
    told = json.loads(line)
    assert (told["kind"], told["session_id"]) == ("blocked", begun["session"]["sessionId"])
    assert "secret goal" not in line


def test_command_that_cannot_start_changes_nothing(tmp_path: Path, fork_server: ForkServer) -> None:
    tool = ForkedTool(str(tmp_path), fork_server)
    write(Path(tool.home), "config.json", json.dumps({"notify": {"command": ["no-such-program"]}}))
    begun = tool.data("run", "start", "wr.small_change", "--goal", "g", "--request-id", "k")

    ran = tool.run("run", "continue", "--ack", begun["ackToken"], "--notes", "")

    assert ran.status == 0
    assert b"notify: there is no program no-such-program" in ran.err
