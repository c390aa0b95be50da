"""What a team client saw counts once, however often it is sent."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.team.linked_machine import Machine
from tests.team.team_server import Server
from tests.team.test_team_client import REVIEW, give, review, server_events
from tests.worktree.project import write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.thorough
def test_a_look_that_is_used_again_changes_nothing(team_database: str, tmp_path: Path) -> None:
    server = Server(team_database, tmp_path)
    machine = Machine(tmp_path, server, server.join(server.workspace("main"), "Ana").agent("builder"))
    begun = machine.data("run.start", workflowId=give(machine, REVIEW), goal="Go.")
    write(machine.project, "a.py", "a = 2\n")

    def use_again(operation: str, **params: Any) -> tuple[Any, Any, Any]:
        """What came of it, of the very same call, and of one that says to have seen something else."""
        first = machine.data(operation, **params)
        used = msgspec.json.decode(machine.wire.sent[-1])
        assert used["requestState"], "the server asked for a look"
        before = server_events(server, begun)
        told = [server.ask("POST", "/api/team-client", machine.token, body=used).document]
        for row in used["facts"].get("programs", ()):
            row["end"]["status"] = 1
        used["facts"]["places"] = []
        told.append(server.ask("POST", "/api/team-client", machine.token, body=used).document)
        assert server_events(server, begun) == before, "a look counts once"
        return first, *(one["outcome"]["success"]["data"] for one in told)

    for told in (
        use_again("check.run", argv=["python3", "-c", "print(6 * 7)"]),
        use_again("run.continue", ackToken=begun["ackToken"], output=review("b.py")),
    ):
        assert told[0] == told[1] == told[2]
