"""What happens to stdin, stdout and stderr when the world is not as expected."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import tty
from typing import Any

import pytest

from tests.surfaces.cli.tool import DEADLINE_SECONDS, Ran, Tool, checked_document, strict_json

DURATION = re.compile(rb'"duration_ms": ?[0-9]+')


def steady(content: bytes) -> bytes:
    """The document without the one number that differs between equal runs."""
    return DURATION.sub(b'"duration_ms":0', content)


def in_shell(tool: Tool, redirection: str, *arguments: str) -> Ran:
    """Run with descriptors as only a shell can leave them."""
    finished = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *tool.command, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tool.project,
        env=tool.environment,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    return Ran(status=finished.returncode, out=finished.stdout, err=finished.stderr)


def on_terminal(tool: Tool, *arguments: str) -> bytes:
    """What the command writes when stdin, stdout and stderr are a terminal."""
    primary, terminal = os.openpty()
    tty.setraw(terminal)
    running = subprocess.Popen(
        [*tool.command, *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=tool.project,
        env=tool.environment,
    )
    os.close(terminal)
    content = b""
    try:
        while chunk := os.read(primary, 65_536):
            content += chunk
    except OSError:
        pass  # EIO: the other side is closed
    finally:
        os.close(primary)
        running.wait(DEADLINE_SECONDS)
    return content


def sessions(tool: Tool) -> int:
    count: int = tool.data("session", "list")["count"]
    return count


@pytest.mark.thorough
@pytest.mark.promise("cli.disk")
@pytest.mark.parametrize("redirection", [">&-", "<&- >&-", ">&- 2>&-"])
def test_a_change_whose_reply_nobody_can_read_is_not_made(fresh_tool: Tool, redirection: str) -> None:
    ran = in_shell(fresh_tool, redirection, "run", "start", "wr.small_change", "--request-id", "k")

    assert (ran.status, ran.out) == (1, b"")
    assert ran.err.count(b"\n") == (0 if "2>&-" in redirection else 1)
    assert sessions(fresh_tool) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("redirection", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_a_read_bears_closed_descriptors(tool: Tool, redirection: str) -> None:
    ran = in_shell(tool, redirection, "workflow", "list")

    assert (ran.status, ran.err) == (0, b"")


@pytest.mark.promise("cli.disk")
def test_a_full_disk_is_told_on_stderr_and_by_the_exit_status(tool: Tool) -> None:
    ran = in_shell(tool, ">/dev/full", "workflow", "list")

    assert ran.status == 1
    assert ran.err == b"handrail: stdout could not be written: No space left on device.\n"


def test_a_failure_keeps_its_own_exit_status_on_a_full_disk(tool: Tool) -> None:
    ran = in_shell(tool, ">/dev/full", "nope")

    assert ran.status == 2
    assert b"Traceback" not in ran.err


def test_the_version_tells_a_full_disk_too(tool: Tool) -> None:
    ran = in_shell(tool, ">/dev/full", "--version")

    assert ran.status == 1
    assert ran.err.count(b"\n") == 1


@pytest.mark.thorough
@pytest.mark.parametrize(("arguments", "status"), [(["workflow", "list"], 0), (["nope"], 2)])
def test_a_reader_that_went_away_is_no_trouble(tool: Tool, arguments: list[str], status: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    finished = subprocess.run(
        [*tool.command, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        cwd=tool.project,
        env=tool.environment,
        timeout=DEADLINE_SECONDS,
        check=False,
    )

    os.close(writer)
    assert (finished.returncode, finished.stderr) == (status, b"")


@pytest.mark.thorough
@pytest.mark.promise("cli.json-default")
@pytest.mark.parametrize("arguments", [["session", "list"], ["nope"], ["session", "list", "--human"]])
def test_a_terminal_and_a_pipe_get_the_same_bytes(tool: Tool, started: Any, arguments: list[str]) -> None:
    piped = tool.run(*arguments)

    shown = on_terminal(tool, *arguments)

    assert started["session"]["sessionId"].encode() in shown or arguments == ["nope"]
    assert steady(shown) == steady(piped.out + piped.err)


@pytest.mark.thorough
@pytest.mark.skipif(not __file__.isascii(), reason="Python itself does not start there in the C locale")
@pytest.mark.promise("cli.utf8")
@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii:strict"},
    ],
)
def test_the_locale_changes_no_byte(tool: Tool, started: Any, environment: dict[str, str]) -> None:
    line = ["session", "resume", started["session"]["sessionId"], "--fields", "goal"]

    here, there = tool.run(*line), tool.run(*line, environment=environment)

    assert "Höhe prüfen".encode() in here.out
    assert steady(here.out) == steady(there.out)
    assert there.err == b""


@pytest.mark.thorough
@pytest.mark.skipif(not __file__.isascii(), reason="Python itself does not start there in the C locale")
@pytest.mark.promise("cli.utf8")
def test_arguments_are_utf8_under_any_locale(fresh_tool: Tool) -> None:
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    line = ["run", "start", "wr.small_change", "--request-id", "k", "--goal", "größer 漢字"]

    checked_document(fresh_tool.run(*line, environment=environment))

    assert fresh_tool.data("session", "list")["items"][0]["goal"] == "größer 漢字"


@pytest.mark.promise("cli.timeout")
@pytest.mark.thorough
def test_a_silent_stdin_ends_with_the_timeout(tool: Tool) -> None:
    reader, writer = os.pipe()

    finished = subprocess.run(
        [*tool.command, "run", "continue", "--input", "-", "--timeout", "1"],
        stdin=reader,
        capture_output=True,
        cwd=tool.project,
        env=tool.environment,
        timeout=DEADLINE_SECONDS,
        check=False,
    )

    os.close(reader)
    os.close(writer)
    assert (finished.returncode, strict_json(finished.stdout)["error"]["code"]) == (8, "E_TIMEOUT")


@pytest.mark.promise("cli.never-waits")
def test_a_terminal_on_stdin_is_refused_at_once(tool: Tool) -> None:
    document = strict_json(on_terminal(tool, "run", "continue", "--notes-file", "-"))

    assert document["error"]["code"] == "E_USAGE"


@pytest.mark.promise("cli.timeout")
@pytest.mark.thorough
def test_the_timeout_covers_waiting_for_a_lock(fresh_tool: Tool) -> None:
    reply = fresh_tool.data("run", "start", "wr.small_change", "--request-id", "k")
    lock = os.path.join(fresh_tool.home, "data", "sessions", reply["session"]["sessionId"], "lock")
    with open(lock, "rb+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        error = fresh_tool.error("run", "continue", "--ack", reply["ackToken"], "--timeout", "1")

    assert error["code"] == "E_TIMEOUT"
