"""Commands that are not one operation get the process to themselves, with signals as they expect them."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.surfaces.cli.tool import DEADLINE_SECONDS, Tool, strict_json


@pytest.fixture
def server(tool: Tool) -> subprocess.Popen[bytes]:
    """A running `handrail mcp` that has said on stderr what it is."""
    running = subprocess.Popen(
        [*tool.command, "mcp", "--results", "text"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tool.project,
        env=tool.environment,
    )
    assert running.stderr is not None
    assert b"handrail" in running.stderr.readline()
    return running


def test_a_server_ends_when_its_input_closes(server: subprocess.Popen[bytes]) -> None:
    out, err = server.communicate(timeout=DEADLINE_SECONDS)

    assert (server.returncode, out) == (0, b"")
    assert b"Traceback" not in err


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_dies_of_a_signal_without_a_word(
    server: subprocess.Popen[bytes], number: signal.Signals
) -> None:
    server.send_signal(number)

    out, err = server.communicate(timeout=DEADLINE_SECONDS)
    assert (server.returncode, out, err) == (-number, b"", b"")


def test_the_project_of_a_server_is_a_fact_of_its_environment(tool: Tool) -> None:
    ran = tool.run("mcp", "--project", "elsewhere")

    assert ran.status == 0
    assert b"elsewhere" in ran.err.splitlines()[0]


@pytest.mark.thorough
def test_the_demo_answers_with_a_document_when_asked(tool: Tool) -> None:
    ran = tool.run("demo", "--json")

    document = strict_json(ran.out)
    assert (ran.status, document["ok"]) == (0, True)
    assert all(check["passed"] for check in document["data"]["checks"])
