"""The pages of the Console: what the server needs for one, beside the operations that the page asks.

Run with `python bench/console.py [--json] [--sessions 500] [--rounds 7]`. The exit status says nothing about
speed: the bounds are of a machine with two free cores.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from handrail.contract.outcome import Json, Outcome
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail_serve.views import render_view
from tests.referees.console_stores import begin, open_store, seed_long

BOUNDS = {"sessions, 500": 150.0, "rail, 450 nodes": 50.0, "rail, 2500 nodes": 300.0}
"""Milliseconds of the server, warm."""


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    sessions, rounds = (
        int(_option(arguments, name, default)) for name, default in (("--sessions", "500"), ("--rounds", "7"))
    )
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as scratch:
        many = Path(scratch, "many")
        runtime = open_store(many)
        for number in range(sessions):
            begin(runtime, f"Session number {number}")
        rows.append(measure(f"sessions, {sessions}", runtime, "/sessions", rounds))
        for nodes in (450, 2_500):
            home = Path(scratch, str(nodes))
            session_id = seed_long(home, nodes)
            rows.append(measure(f"rail, {nodes} nodes", open_store(home), f"/sessions/{session_id}", rounds))
    if "--json" in arguments:
        print(json.dumps({"python": sys.version.split()[0], "rows": rows}, indent=2))
    else:
        for row in rows:
            bound = f"bound {row['bound']:.0f} ms" if row["bound"] else ""
            print(
                f"{row['name']:<20} {row['ms']:7.1f} ms, {row['ratio']:.2f} x its operations "
                f"({row['operations_ms']:.1f} ms), {row['bytes']} bytes  {bound}"
            )
    return 0


def measure(name: str, runtime: Runtime, path: str, rounds: int) -> dict[str, Any]:
    """One page, and the same operations without it."""
    asked: list[tuple[str, dict[str, Json]]] = []

    def call(operation: str, params: dict[str, Json]) -> Outcome:
        asked.append((operation, params))
        return perform(runtime, operation, params)

    def ask_again() -> None:
        for operation, params in calls:
            perform(runtime, operation, params)

    size = len(render_view(call, path, {}).html.markup)  # warms what a running server has
    calls = list(asked)
    page = _median(lambda: render_view(call, path, {}), rounds)
    operations = _median(ask_again, rounds)
    return {
        "name": name,
        "ms": page,
        "operations_ms": operations,
        "ratio": page / operations,
        "bytes": size,
        "bound": BOUNDS.get(name),
    }


def _median(work: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        taken.append(1_000 * (time.process_time() - started))
    return statistics.median(taken)


def _option(arguments: Sequence[str], name: str, default: str) -> str:
    return arguments[arguments.index(name) + 1] if name in arguments else default


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
