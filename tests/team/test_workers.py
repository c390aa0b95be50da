"""`handrail serve --team --workers N`: several processes that look like one server."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.referees.console_place import WAIT_SECONDS
from tests.team.postgres import as_url
from tests.team.team_process import TeamServer

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(180)]
NOTES = {"notesMarkdown": "Looked."}
LIMIT = 40


@pytest.fixture
def server(tmp_path: Path, team_database: str) -> Iterator[TeamServer]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.json").write_text(f'{{"limits": {{"callsAMinute": {LIMIT}}}}}', encoding="utf-8")
    held = TeamServer(home, as_url(team_database), "--workers", "2")
    yield held
    if held.process.poll() is None:
        held.stop()
    else:
        held.process.communicate(timeout=WAIT_SECONDS)


@pytest.fixture
def bearer(server: TeamServer) -> str:
    return server.make_token("builder")


def workers_of(server: TeamServer) -> set[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(server.process.pid)], capture_output=True, check=False
    )
    return {int(word) for word in listed.stdout.split()}


def wait_until_gone(pids: set[int]) -> bool:
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            return True
        time.sleep(0.05)
    return False


def test_a_killed_worker_is_replaced_and_the_run_goes_on(server: TeamServer, bearer: str) -> None:
    reply = server.call("run.start", bearer, workflowId="wr.small_change", goal="Tidy.", requestId="one")
    before = workers_of(server)

    for pid in before:
        os.kill(pid, signal.SIGKILL)
    answered = server.call("run.continue", bearer, ackToken=reply["ackToken"], output=NOTES)
    after = workers_of(server)

    assert len(before) == 2
    assert answered["kind"] in ("ok", "blocked")
    assert after.isdisjoint(before)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_stops_all_workers(server: TeamServer, sent: signal.Signals) -> None:
    workers = workers_of(server)

    server.process.send_signal(sent)

    assert server.process.wait(WAIT_SECONDS) == 0
    assert wait_until_gone(workers)


def test_workers_stop_when_the_first_process_is_killed(server: TeamServer) -> None:
    workers = workers_of(server)

    server.process.kill()
    server.process.wait(WAIT_SECONDS)

    assert len(workers) == 2
    assert wait_until_gone(workers)


def test_all_workers_count_the_calls_of_an_account_together(server: TeamServer, bearer: str) -> None:
    answers = []
    for _ in range(LIMIT + 15):  # each on a connection of its own, so by any worker
        try:
            server.call("team.whoami", bearer)
            answers.append(200)
        except urllib.error.HTTPError as refused:
            answers.append(refused.code)

    assert set(answers) == {200, 429}
    assert answers.count(200) <= LIMIT + 5, "a few more come back while it takes place"
