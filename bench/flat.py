"""What calls of a running server cost beside one session, in a full store, and with many sessions in turn.

Run with `python bench/flat.py [--sessions 2000] [--rounds 15] [--page docs/explanation/speed.md]`. The
servers take turns in one process; processor time, medians. With `--page` that page's table is written again.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import pytest

from bench.generated_page import rewrite
from tests.journeys.conversation import advance, answer
from tests.journeys.test_flat_operations import Server, filled

TOGETHER, STEPS = 8, 300
Calls = dict[str, Callable[[], object]]


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    sessions, rounds = (
        int(_option(arguments, "--sessions", "2000")),
        int(_option(arguments, "--rounds", "15")),
    )
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as patch:
        alone = calls_of(filled(Path(scratch, "alone"), 1, patch))
        full = calls_of(filled(Path(scratch, "full"), sessions, patch))
        measured = measure({"alone": alone, "full": full}, rounds)
        walks = {
            "alone": {"advance": walk(Server(Path(scratch, "one")), 1)},
            "together": {"advance": walk(Server(Path(scratch, "eight")), TOGETHER)},
        }
        long = measure(walks, rounds)
    table = make_table(measured, long, sessions)
    print(table)
    rewrite(arguments, "flat.py", table)
    return 0


def calls_of(server: Server) -> Calls:
    """The calls that are measured, each made once so that nothing is loaded later."""
    runtime, project = server.runtime, server.project
    first = server.start(goal="Measured")
    second = advance(runtime, first, "one")
    calls: Calls = {
        "start without a request id": lambda: server.start(goal="Again"),
        "start and advance": lambda: advance(runtime, server.start(goal="Advance"), "one"),
        "rehydrate": partial(
            answer, runtime, "run.continue", stateToken=second["stateToken"], project=project
        ),
        "replay": partial(advance, runtime, first, "one"),
        "resume one session": partial(answer, runtime, "session.resume", query=first["session"]["sessionId"]),
        "list of five sessions": partial(answer, runtime, "session.list", limit=5),
        "list of workflows": partial(answer, runtime, "workflow.list", project=project),
    }
    for call in calls.values():
        call()
    return calls


def walk(server: Server, count: int) -> Callable[[], object]:
    """One advance of so many sessions in turn, after 300 steps of each."""
    replies: list[Any] = [server.start(goal=f"Walk {number}") for number in range(count)]
    turn = 0

    def step() -> None:
        nonlocal turn
        place, turn = turn % count, turn + 1
        if replies[place]["isComplete"]:
            joined = replies[place]["session"]["sessionId"]
            replies[place] = server.start(goal="More", session=joined)
        replies[place] = advance(server.runtime, replies[place], "Done, and written down.")

    for _ in range(count * (STEPS + 1)):  # the last runs are not complete
        step()
    return step


def measure(servers: dict[str, Calls], rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of processor time of each call on each server, the median of shuffled rounds."""
    pairs = [(name, call) for name, calls in servers.items() for call in calls]
    samples: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}
    for _ in range(rounds):
        for name, call in random.sample(pairs, len(pairs)):
            started = time.process_time()
            servers[name][call]()
            samples[name, call].append(1_000 * (time.process_time() - started))
    medians = {pair: statistics.median(kept) for pair, kept in samples.items()}
    calls = {call for _, call in pairs}
    return {call: {name: medians[name, call] for name in servers} for call in sorted(calls)}


def make_table(
    measured: dict[str, dict[str, float]], long: dict[str, dict[str, float]], sessions: int
) -> str:
    stored = f"{sessions:,}".replace(",", " ")
    lines = [
        f"| call | one session, ms | {stored} sessions, ms | ratio |",
        "|---|---|---|---|",
    ]
    for name, found in measured.items():
        one, many = found["alone"], found["full"]
        lines.append(f"| {name} | {one:.1f} | {many:.1f} | {many / one:.2f} |")
    one, many = long["advance"]["alone"], long["advance"]["together"]
    lines.append(
        f"| advance of {TOGETHER} sessions of {STEPS} steps in turn | {one:.1f} | {many:.1f} |"
        f" {many / one:.2f} |"
    )
    return "\n".join(lines) + "\n"


def _option(arguments: Sequence[str], name: str, default: str) -> str:
    return arguments[arguments.index(name) + 1] if name in arguments else default


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
