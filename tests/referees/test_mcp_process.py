"""What no client library lets one send to `handrail mcp`: raw lines, closed ends, a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from handrail import __version__
from tests.conftest import THREE_STEPS
from tests.filled_in import make_named_files
from tests.surfaces.mcp.conversations import WORKFLOW, lines, opening, request, tool

pytestmark = pytest.mark.thorough

COMMAND = [sys.executable, "-m", "handrail.main", "mcp"]
LIMIT_SECONDS = 120


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project with one workflow, beside an empty home."""
    workflows = tmp_path / "project" / ".handrail" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "three_steps.json").write_bytes(THREE_STEPS)
    make_named_files(tmp_path / "project")
    return tmp_path


def environment(place: Path) -> dict[str, str]:
    return {
        "HOME": str(place),
        "HANDRAIL_HOME": str(place / "home"),
        "HANDRAIL_PROJECT": str(place / "project"),
        "PATH": os.environ["PATH"],
        "USER": "referee",
    }


def piped(
    place: Path, sent: bytes, command: list[str] = COMMAND, stdout: int | IO[bytes] = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command,
        input=sent,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(place),
        cwd=place,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def answers_in(stdout: bytes) -> dict[int | None, dict[str, Any]]:
    """Every line by its id; a line that is not JSON-RPC fails here."""
    answers = {}
    for line in stdout.splitlines():
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        assert "result" in message or "error" in message
        answers[message["id"]] = message
    return answers


def test_piped_requests_are_answered_though_stdin_ends(place: Path) -> None:
    start = tool("start_workflow", workflowId=WORKFLOW)
    calls = [request(number, "tools/call", start) for number in range(2, 7)]

    finished = piped(place, lines(*opening(), *calls))

    answers = answers_in(finished.stdout)
    assert set(answers) == {0, 2, 3, 4, 5, 6}
    assert all("result" in answer for answer in answers.values())
    assert finished.returncode == 0


def test_first_line_on_stderr_names_version_store_and_eras(place: Path) -> None:
    finished = piped(place, b"")

    assert finished.stdout == b""
    assert finished.returncode == 0
    assert finished.stderr.decode().splitlines() == [
        f"handrail {__version__} mcp: project {place / 'project'}; store {place / 'home'}; "
        "protocol 2026-07-28, 2025-11-25 and older"
    ]


STRAY = """
import os, sys, warnings
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.stdio import serve_stdio
from handrail.surfaces.mcp.calls_in_progress import ServerParts
from handrail.wiring import build_runtime
import handrail.host.workflow_library as library

early = sys.stdout
quiet = library.DirectoryLibrary.files

def loud(self, project):
    print("STRAY print")
    early.write("STRAY buffered")
    os.write(1, b"STRAY descriptor\\n")
    os.system("echo STRAY child")
    warnings.warn("STRAY warning")
    return quiet(self, project)

library.DirectoryLibrary.files = loud
runtime = build_runtime(os.environ)
serve_stdio(runtime, ServerParts(offer=lambda: Adapter(runtime), give_back_memory=print))
"""


def test_stdout_carries_protocol_only_whatever_a_plugin_prints(place: Path) -> None:
    command = [sys.executable, "-X", "dev", "-W", "default", "-c", STRAY]

    finished = piped(place, lines(*opening(), request(2, "tools/call", tool("list_workflows"))), command)

    assert set(answers_in(finished.stdout)) == {0, 2}
    assert b"STRAY" not in finished.stdout
    for stray in (b"STRAY print", b"STRAY buffered", b"STRAY descriptor", b"STRAY child", b"STRAY warning"):
        assert stray in finished.stderr


def open_pipes(place: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(place),
        cwd=place,
    )


def test_a_full_disk_behind_stdout_ends_the_server_with_one_line(place: Path) -> None:
    with open("/dev/full", "wb") as full:
        finished = piped(place, lines(*opening()), stdout=full)

    assert finished.returncode == 1
    assert finished.stderr.decode().splitlines()[1:] == [
        "handrail mcp: stdout could not be written; free space there and start again."
    ]


def started(place: Path) -> subprocess.Popen[bytes]:
    """A server that has answered once, so that it is past its start."""
    server = open_pipes(place)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(lines(*opening()))
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["id"] == 0
    return server


def check_ends(server: subprocess.Popen[bytes], status: int) -> None:
    """It ends within the bound, and says nothing beyond its first line."""
    _, errors = server.communicate(timeout=LIMIT_SECONDS)

    assert server.returncode == status
    assert len(errors.splitlines()) == 1


def test_person_in_a_terminal_reads_what_this_is(place: Path) -> None:
    keyboard, terminal = os.openpty()
    with subprocess.Popen(
        COMMAND,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(place),
        cwd=place,
    ) as server:
        os.close(terminal)
        assert server.stderr is not None
        told = [server.stderr.readline().decode() for _ in range(2)]
        os.write(keyboard, b"\x04")  # Ctrl-D
        assert server.wait(timeout=LIMIT_SECONDS) == 0
    os.close(keyboard)

    assert told[0].startswith(f"handrail {__version__} mcp: ")
    assert told[1].endswith("or press Ctrl-D to leave.\n")


def test_client_that_stops_listening_ends_the_server(place: Path) -> None:
    """Though its other end stays open and nothing is sent: it would run for ever."""
    server = started(place)
    assert server.stdout is not None
    server.stdout.close()
    server.stdout = None

    assert server.wait(timeout=LIMIT_SECONDS) == 0
    check_ends(server, 0)
