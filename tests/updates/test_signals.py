"""A signal at every stage of an update: before the manager nothing is changed, after it the truth is told."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.surfaces.cli.stages import Blocked
from tests.surfaces.cli.tool import Ran, Tool
from tests.updates.answers import data, error
from tests.updates.releases import NEW, OLD, SECONDS, Index, Installation, name_index

pytestmark = pytest.mark.thorough

Stage = tuple[str, str, int]
OURS = "handrail.host.program.updates:LocalUpdates"
FACTS: Stage = (OURS, "facts", 0)
LISTING: Stage = ("handrail.host.program.updates", "fetch_address", 0)
INDEX: Stage = ("handrail.host.program.updates", "fetch_address", 0)
MANAGER: Stage = ("handrail.program.update.update_program", "spell_install", 0)
NEW_PROCESS: Stage = (OURS, "installed", 0)
FORGET: Stage = (OURS, "keep_check", 0)
SKILL: Stage = ("handrail.host.program.updates", "sync_skill", 0)


def meet(installed: Installation, stage: Stage, number: signal.Signals, home: Path, *line: str) -> Ran:
    """The call, stopped at its stage, gets the signal there and goes on."""
    tool = Tool(str(home))
    tool.command = [str(installed.python)]
    tool.environment = {**installed.environment, "HOME": str(home), "HANDRAIL_HOME": str(home / "home")}
    name_index(home / "home", installed.index.url)
    call = Blocked(tool, stage, *line)
    call.send(number)
    return call.end()


@pytest.mark.promise("cli.update-signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("stage", "told"),
    [(FACTS, "discover"), (LISTING, "discover"), (MANAGER, "download")],
    ids=["facts", "listing", "manager"],
)
def test_before_the_manager_nothing_is_changed(
    installation: Installation, index: Index, tmp_path: Path, stage: Stage, told: str, number: signal.Signals
) -> None:
    ran = meet(installation, stage, number, tmp_path, "update")

    details = error(ran, "E_INTERRUPTED")
    assert (details["stage"], details["current_version"], details["binary_replaced"]) == (told, OLD, False)
    assert details["committed"] is False
    assert installation.version() == OLD


def test_a_check_that_was_ended_is_not_remembered(
    installation: Installation, index: Index, tmp_path: Path
) -> None:
    ran = meet(installation, INDEX, signal.SIGINT, tmp_path, "update", "--check")

    assert error(ran, "E_INTERRUPTED")["stage"] == "discover"
    assert not (tmp_path / "home/data/cache").exists()


@pytest.mark.parametrize("stage", [NEW_PROCESS, FORGET, SKILL], ids=["new process", "forget", "skill"])
def test_after_the_manager_the_true_success_is_told(venv: Installation, tmp_path: Path, stage: Stage) -> None:
    told = data(meet(venv, stage, signal.SIGINT, tmp_path, "update"))

    assert (told["status"], told["current_version"], told["binary_replaced"]) == ("updated", NEW, True)
    assert told["skill_sync_status"] == "synced"
    assert (tmp_path / ".agents/skills/handrail/SKILL.md").is_file()


@pytest.mark.promise("cli.update-signal")
@pytest.mark.parametrize("is_installed", [False, True])
def test_a_signal_reaches_the_manager_and_then_the_truth_is_read(
    venv: Installation, tmp_path: Path, is_installed: bool
) -> None:
    """A manager that was killed is an interruption, whatever it had done by then."""
    started, manager = tmp_path / "started", tmp_path / "uv"
    uv = f'PATH="{venv.environment["PATH"]}" uv "$@"'
    work = uv if is_installed else "true"
    script = f'#!/bin/sh\n{work}\ntouch "{started}"\nexec sleep 60\n'
    manager.write_text(script, encoding="utf-8")
    manager.chmod(0o755)

    with subprocess.Popen(
        venv.command("update"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**venv.environment, "PATH": f"{tmp_path}{os.pathsep}{venv.environment['PATH']}"},
        cwd=tmp_path,
    ) as child:
        _wait_for(started, child)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=SECONDS)
    ran = Ran(status=child.returncode, out=out, err=b"")

    details = error(ran, "E_INTERRUPTED")
    assert (details["stage"], details["current_version"], details["binary_replaced"]) == (
        "replace",
        NEW if is_installed else OLD,
        is_installed,
    )
    assert "a repeat is safe" in details["hint"]
    assert venv.version() == (NEW if is_installed else OLD)


def _wait_for(started: Path, child: subprocess.Popen[bytes]) -> None:
    for _ in range(SECONDS * 20):
        if started.exists():
            return
        try:
            child.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError("it ended by itself")
    raise AssertionError("the manager did not start")
