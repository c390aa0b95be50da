"""Eight processes and one token: one winner, every time. Eight tokens: eight winners."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.faults.confirmer import beside
from tests.operations.asked import answered

pytestmark = pytest.mark.thorough

PROCESSES = 8
TRIALS = 30
DEADLINE_SECONDS = 120


def token_of(rt: Runtime, home: str, workflow_id: str) -> list[str]:
    shown = answered(rt, "workflow.new", workflowId=workflow_id, to=beside(home), dryRun=True)
    return [workflow_id, shown["confirm_token"]]


@contextmanager
def confirmers(home: str, orders: list[list[list[str]]]) -> Iterator[list[subprocess.Popen[str]]]:
    """One process per list of orders; each waits for a line before each of its trials."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.confirmer", home, json.dumps(own)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=environment,
        )
        for own in orders
    ]
    try:
        yield running
    finally:
        for one in running:
            one.kill()
            one.communicate(timeout=DEADLINE_SECONDS)


def trial(running: list[subprocess.Popen[str]]) -> Counter[str]:
    """Let all of them go at once, and count what they say."""
    for one in running:
        assert one.stdin is not None
        one.stdin.write("now\n")
        one.stdin.flush()
    return Counter(one.stdout.readline().strip() for one in running if one.stdout is not None)


@pytest.mark.promise("cli.single-use")
def test_of_eight_processes_with_one_token_exactly_one_wins(home: str) -> None:
    rt = build_runtime({}, home=home)
    os.makedirs(beside(home), exist_ok=True)
    orders = [token_of(rt, home, f"project.trial{number}") for number in range(TRIALS)]

    with confirmers(home, [orders] * PROCESSES) as running:
        results = [trial(running) for _ in range(TRIALS)]

    assert results == [Counter({"done": 1, "already_used": PROCESSES - 1})] * TRIALS
    assert len(os.listdir(os.path.join(home, "confirm-consumed"))) == TRIALS


def test_of_eight_processes_with_eight_tokens_every_one_wins(home: str) -> None:
    rt = build_runtime({}, home=home)
    os.makedirs(beside(home), exist_ok=True)
    own = [[token_of(rt, home, f"project.own{number}")] for number in range(PROCESSES)]

    with confirmers(home, own) as running:
        result = trial(running)

    assert result == Counter({"done": PROCESSES})
    assert len(os.listdir(os.path.join(home, "confirm-consumed"))) == PROCESSES
