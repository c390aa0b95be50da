"""How a trial ends, and that nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from handrail.ports.trials import StopReason, TrialCheck
from tests.trials.rooms import Workshop, shell

pytestmark = pytest.mark.thorough

PATIENCE_SECONDS = 240
"""For a machine with much else to do."""
_LEAVER = (
    "sh -c 'trap \"\" INT TERM; echo $$ >> {pids}; exec sleep 300' & "
    "setsid sh -c 'echo $$ >> {pids}; exec sleep 300' & "
    'while [ "$(cat {pids} 2> /dev/null | wc -l)" != 2 ]; do :; done;'
)


def _wait_for(path: Path, rows: int) -> list[int]:
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends_at:
        found = path.read_text(encoding="utf-8").split() if path.exists() else []
        if len(found) >= rows:
            return [int(number) for number in found]
        time.sleep(0.02)
    raise AssertionError("nothing was started")


def _is_alive(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _wait_for_end(numbers: list[int]) -> None:
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while any(map(_is_alive, numbers)):
        assert time.monotonic() < ends_at, "a process goes on"
        time.sleep(0.02)


def test_slow_check_is_ended_with_all_that_it_started(workshop: Workshop, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    result = workshop.run(shell(_LEAVER.format(pids=pids) + " sleep 300", timeout_seconds=1))

    assert (result.state, result.exit_status) == ("timed_out", None)
    assert result.reason == "it did not end within 1 seconds"
    if sys.platform == "linux":
        _wait_for_end(_wait_for(pids, 2))


def test_time_limit_of_a_trial_replaces_that_of_its_check(linked: Workshop) -> None:
    result = linked.run(shell("sleep 300"), timeout_seconds=1)

    assert result.state == "timed_out"


def test_what_a_check_leaves_running_is_killed(workshop: Workshop, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    result = workshop.run(shell(_LEAVER.format(pids=pids) + " exit 3"))

    assert (result.state, result.exit_status) == ("failed", 3)
    if sys.platform == "linux":
        _wait_for_end(_wait_for(pids, 2))


def test_signal_to_the_caller_interrupts_a_trial(linked: Workshop) -> None:
    asked: list[StopReason] = []

    def stop_reason() -> StopReason:
        asked.append("signal")
        return "signal" if len(asked) > 1 else ""

    with linked.trials.open(str(linked.root), shell("sleep 300"), stop_reason=stop_reason) as room:
        result = room.run(linked.take())

    assert (result.state, result.reason) == ("interrupted", "it was interrupted")


def test_check_that_a_signal_ends_says_which(linked: Workshop) -> None:
    result = linked.run(shell("kill -s KILL $$"))

    assert (result.state, result.exit_status, result.reason) == ("failed", None, "it was ended by SIGKILL")


def test_killed_caller_leaves_no_process_and_no_lock(linked: Workshop, tmp_path: Path) -> None:
    pids, script = tmp_path / "pids", tmp_path / "prove.py"
    check = TrialCheck(command=("/bin/sh", "-c", f"echo $$ > {pids}; exec sleep 300"))
    script.write_text(
        "from handrail.ports.trials import TrialCheck\n"
        "from handrail.trials.local_trials import LocalTrials\n"
        "from handrail.worktree.git_trees import GitTrees\n"
        f"environment = {linked.trials._environment!r}\n"
        f"home = {str(tmp_path / 'home')!r}\n"
        "trials = LocalTrials(home, environment, GitTrees(home, environment))\n"
        f"with trials.open({str(linked.root)!r}, TrialCheck(command={check.command!r})) as room:\n"
        f"    room.run({linked.take()!r})\n",
        encoding="utf-8",
    )
    child = subprocess.Popen([sys.executable, str(script)], env=dict(os.environ))
    numbers = _wait_for(pids, 1)
    child.send_signal(signal.SIGKILL)
    child.wait()

    if sys.platform == "linux":
        _wait_for_end(numbers)
    assert linked.run(shell("pwd")).tail.endswith("/0/files\n"), "the first folder is free again"


def test_processor_time_of_a_check_is_measured(linked: Workshop) -> None:
    result = linked.run(TrialCheck(command=(sys.executable, "-S", "-c", "for _ in range(3000000): pass")))

    assert result.processor_ms > 10
    assert result.duration_ms > 0
