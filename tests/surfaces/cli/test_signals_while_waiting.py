"""A signal while a call waits, for stdin, a lock or another program: it ends with the truth."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.surfaces.cli.tool import DEADLINE_SECONDS, Ran, Tool, checked_document

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
AS_A_TERMINAL_STARTS_IT = "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
AS_NOHUP_STARTS_IT = "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
START = "os.execv(sys.argv[1], sys.argv[1:])"


def begun(
    tool: Tool, line: Sequence[str], *, started_by: str = AS_A_TERMINAL_STARTS_IT, **more: str
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", started_by + START, *tool.command, *line],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tool.project,
        env={**tool.environment, **more},
    )


def ended(running: subprocess.Popen[bytes]) -> Ran:
    out, err = running.communicate(timeout=DEADLINE_SECONDS)
    return Ran(status=running.returncode, out=out, err=err)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Look again and again, up to a bound."""
    ends_at = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < ends_at, "it never came to that"
        os.sched_yield()


def is_marked(running: subprocess.Popen[bytes], mark: Path) -> bool:
    """Whether the program that it started has written its mark."""
    assert running.poll() is None, running.communicate(timeout=DEADLINE_SECONDS)
    return mark.exists() and mark.read_text(encoding="ascii") != ""


def is_waiting(running: subprocess.Popen[bytes]) -> bool:
    """Whether it has its own answer to the signals and sleeps in the kernel."""
    status = _status(running.pid)
    assert status["State"][0] not in "XZ", running.communicate(timeout=DEADLINE_SECONDS)
    return int(status.get("SigCgt", "0"), 16) >> (signal.SIGTERM - 1) & 1 == 1 and status["State"][0] == "S"


def _status(pid: int) -> Mapping[str, str]:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return {"State": "X"}
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="without /proc nobody sees who waits")


def assert_nothing_changed(ran: Ran) -> None:
    error = checked_document(ran)["error"]
    assert (ran.status, error["code"], error["details"]["committed"]) == (130, "E_INTERRUPTED", False)


@pytest.mark.thorough
@needs_proc
@pytest.mark.parametrize("number", SIGNALS)
def test_while_stdin_is_silent(tool: Tool, number: signal.Signals) -> None:
    running = begun(tool, ["run", "continue", "--input", "-"])
    wait_until(lambda: is_waiting(running))

    running.send_signal(number)

    assert_nothing_changed(ended(running))


@needs_proc
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.thorough
def test_while_somebody_else_holds_the_session(fresh_tool: Tool, number: signal.Signals) -> None:
    tool = fresh_tool
    started = tool.data("run", "start", "wr.small_change", "--request-id", "k")
    session_id = started["session"]["sessionId"]
    lock = os.open(os.path.join(tool.home, "data", "sessions", session_id, "lock"), os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        running = begun(tool, ["run", "continue", "--ack", started["ackToken"], "--notes", "x"])
        wait_until(lambda: is_waiting(running))

        running.send_signal(number)

        assert_nothing_changed(ended(running))
    finally:
        os.close(lock)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.thorough
def test_while_another_program_works_for_it(fresh_tool: Tool, tmp_path: Path, number: signal.Signals) -> None:
    """The target that is under way is finished, and the answer says which ones are done."""
    programs, at_work, go_on = tmp_path / "programs", tmp_path / "at-work", tmp_path / "go-on"
    programs.mkdir()
    script = programs / "claude"
    script.write_text(
        f"#!/bin/sh\ntouch '{at_work}'\nwhile [ ! -e '{go_on}' ]; do sleep 0.05; done\n", encoding="utf-8"
    )
    script.chmod(0o755)
    path = f"{programs}:{fresh_tool.environment['PATH']}"
    fresh_tool.environment["PATH"] = path
    line = ["setup", "--clients", "claude-code,cursor"]
    token = fresh_tool.data(*line, "--dry-run")["confirm_token"]
    running = begun(fresh_tool, [*line, "--confirm", token])
    wait_until(at_work.exists)

    running.send_signal(number)
    go_on.touch()
    ran = ended(running)

    details = checked_document(ran)["error"]["details"]
    assert (ran.status, details["committed"]) == (130, True)
    assert [item["target"] for item in details["items"]] == ["claude-code"]
    assert details["skipped"] == ["cursor", "claude-code worker", "cursor worker", "skill"]
    assert not (tmp_path / ".cursor").exists()


@pytest.mark.thorough
@needs_proc
def test_two_signals_while_a_program_works_for_it_end_it_at_once(fresh_tool: Tool, tmp_path: Path) -> None:
    programs, at_work = tmp_path / "programs", tmp_path / "at-work"
    programs.mkdir()
    script = programs / "claude"
    script.write_text(f"#!/bin/sh\ntouch '{at_work}'\nexec sleep 600\n", encoding="utf-8")
    script.chmod(0o755)
    fresh_tool.environment["PATH"] = f"{programs}:{fresh_tool.environment['PATH']}"
    token = fresh_tool.data("setup", "--clients", "claude-code", "--dry-run")["confirm_token"]
    running = begun(fresh_tool, ["setup", "--clients", "claude-code", "--confirm", token])
    wait_until(at_work.exists)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text(encoding="utf-8").split()

    running.send_signal(signal.SIGTERM)
    wait_until(lambda: int(_status(running.pid).get("SigPnd", "0"), 16) == 0)
    running.send_signal(signal.SIGINT)
    out = running.stdout.readline() if running.stdout is not None else b""
    status = running.wait(timeout=DEADLINE_SECONDS)
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    running.communicate(timeout=DEADLINE_SECONDS)

    assert status == 130
    assert out.startswith(b"{")


@needs_proc
def test_what_nohup_starts_outlives_its_terminal(tool: Tool) -> None:
    running = begun(tool, ["run", "continue", "--input", "-"], started_by=AS_NOHUP_STARTS_IT)
    wait_until(lambda: int(_status(running.pid).get("SigCgt", "0"), 16) >> (signal.SIGTERM - 1) & 1 == 1)

    running.send_signal(signal.SIGHUP)
    assert running.stdin is not None
    running.stdin.write(b"{")
    ran = ended(running)

    assert checked_document(ran)["error"]["code"] == "E_VALIDATION"


@pytest.mark.thorough
@needs_proc
@pytest.mark.parametrize("number", SIGNALS)
def test_signal_during_a_check_ends_and_records_the_program(
    fresh_tool: Tool, number: signal.Signals, tmp_path: Path
) -> None:
    started = fresh_tool.run("run", "start", "wr.small_change", "--request-id", "check", "--goal", "Check it")
    session = checked_document(started)["data"]["session"]["sessionId"]
    mark = tmp_path / "pid"
    code = f"import os, signal\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\nsignal.pause()"
    running = begun(fresh_tool, ["check", "run", "--quiet", "--", sys.executable, "-c", code])
    wait_until(lambda: is_marked(running, mark))
    pid = int(mark.read_text(encoding="ascii"))

    running.send_signal(number)
    ran = ended(running)

    error = checked_document(ran)["error"]
    assert (ran.status, error["code"], error["details"]["committed"]) == (130, "E_INTERRUPTED", True)
    assert _status(pid)["State"][0] in "XZ"
    events = checked_document(
        fresh_tool.run("session", "events", session, "--input", '{"kinds": ["receipt_recorded"]}')
    )
    recorded = events["data"]["items"][-1]["data"]
    assert recorded["receiptId"] == error["details"]["check_result_id"]
    assert recorded["outcome"] == {"kind": "signalled", "signal": "SIGINT"}


@pytest.mark.thorough
@needs_proc
def test_a_second_signal_leaves_no_program_behind(fresh_tool: Tool, tmp_path: Path) -> None:
    fresh_tool.run("run", "start", "wr.small_change", "--request-id", "check", "--goal", "Check it")
    mark = tmp_path / "pid"
    code = (
        "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"open({str(mark)!r}, 'w').write(str(os.getpid()))\nwhile True: signal.pause()"
    )
    running = begun(fresh_tool, ["check", "run", "--quiet", "--", sys.executable, "-c", code])
    wait_until(lambda: is_marked(running, mark))
    pid = int(mark.read_text(encoding="ascii"))

    running.send_signal(signal.SIGINT)
    wait_until(lambda: running.poll() is not None or is_waiting(running))
    running.send_signal(signal.SIGINT)

    assert ended(running).status != 0
    wait_until(lambda: _status(pid)["State"][0] in "XZ")
