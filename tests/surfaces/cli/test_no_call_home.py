"""Only `update` and `doctor` ask an index; every other command answers without a word to anybody."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.cli.tool import Tool
from tests.updates.releases import name_index


class Listening:
    """A port that counts who calls and hangs up."""

    def __init__(self) -> None:
        self.door = socket.create_server(("127.0.0.1", 0))
        self.calls = 0
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                caller, _ = self.door.accept()
            except OSError:
                return  # closed: the test is over
            self.calls += 1
            caller.close()


@pytest.fixture
def index() -> Iterator[Listening]:
    listening = Listening()
    yield listening
    listening.door.close()


@pytest.mark.thorough
@pytest.mark.promise("cli.no-call-home")
def test_only_update_and_doctor_ask_the_index(fresh_tool: Tool, index: Listening) -> None:
    url = f"http://127.0.0.1:{index.door.getsockname()[1]}/simple"
    name_index(Path(fresh_tool.home), url)

    for line in (
        ["context"],
        ["--help"],
        ["update", "--help"],
        ["doctor", "--offline"],
        ["reference"],
        ["changelog"],
        ["workflow", "list"],
        ["run", "start", "wr.small_change", "--request-id", "k"],
        ["session", "resume"],
    ):
        assert fresh_tool.run(*line).status == 0, line
    quiet = index.calls
    asked = fresh_tool.error("update", "--check")

    assert quiet == 0
    assert (asked["code"], index.calls > 0) == ("E_NETWORK", True)
