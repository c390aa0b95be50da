"""The pages of the Console: what the server needs for one, beside the operations that the page asks.

Run with `python bench/console.py [--json] [--sessions 500] [--rounds 7] [--home FOLDER]`. A store of 10 000
sessions is what the Console promises to bear; every session is begun and reported by calls, as an agent
does it. `--home` keeps the store, or reads one that is already there. The exit status says nothing about
speed: the bounds are of a machine with two free cores.
"""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from handrail.contract.outcome import Json, Outcome
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail_serve.views import render_view
from tests.referees.console_stores import begin, open_store, report, seed_long

BOUNDS = {"/sessions": 300.0, "rail, 450 nodes": 50.0, "rail, 2500 nodes": 300.0}
"""Milliseconds of the server, warm; any filter and any order has the bound of the list."""
LISTS = (
    *("/inbox", "/sessions", "/sessions?sort=title", "/sessions?sort=silent", "/sessions?group=state"),
    *("/sessions?status=blocked", "/sessions?status=needs", "/sessions?status=stated"),
    *("/sessions?status=damaged", "/sessions?workflow=user.careful_fix", "/sessions?until=2020-01-01"),
    *("/sessions?q=Session", "/gaps"),
)
PAGES = 100
WAITS = 400
"""One session in so many waits for a person."""


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    if "--lists" in arguments:
        home = Path(_option(arguments, "--lists", ""))
        print(json.dumps(measure_lists(open_store(home), int(_option(arguments, "--rounds", "7")))))
        return 0
    sessions, rounds = (
        int(_option(arguments, name, default)) for name, default in (("--sessions", "500"), ("--rounds", "7"))
    )
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as scratch:
        many = Path(_option(arguments, "--home", str(Path(scratch, "many"))))
        if not many.exists():
            fill(open_store(many), sessions)
        command = [sys.executable, __file__, "--lists", str(many), "--rounds", str(rounds)]
        rows += json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
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
                f"{row['name']:<34} {row['ms']:7.1f} ms, {row['ratio']:.2f} x its operations "
                f"({row['operations_ms']:.1f} ms), {row['bytes']} bytes  {bound}"
            )
    return 0


def fill(runtime: Runtime, sessions: int) -> None:
    """Begin sessions and report in them; some wait for a person after a report that was not accepted."""
    for number in range(sessions):
        asked = report(runtime, begin(runtime, f"Session number {number}")["ackToken"], "It happens twice.")
        if number % WAITS == 0:
            report(runtime, asked["ackToken"], "Rounding once is better.")


def measure_lists(runtime: Runtime, rounds: int) -> list[dict[str, Any]]:
    """Each list of a process that only reads: its first page, the hundredth, and the memory at the end."""
    rows: list[dict[str, Any]] = []
    for path in LISTS:
        where, _, given = path.partition("?")
        rows.append(measure(path, runtime, where, rounds, dict(parse_qsl(given))))
    query: dict[str, str] = {}
    pages, longest = 1, 0.0
    while pages < PAGES:
        started = time.process_time()
        page = render_view(lambda name, given: perform(runtime, name, given), "/sessions", query)
        longest = max(longest, 1_000 * (time.process_time() - started))
        found = re.search(r'<a href="([^"]*)"[^>]*>Older sessions</a>', page.html.markup)
        if found is None:
            break
        query, pages = dict(parse_qsl(urlsplit(unescape(found[1])).query)), pages + 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    shown = {"ms": longest, "operations_ms": 0.0, "ratio": 0.0, "bytes": 0, "bound": 300.0}
    return [*rows, {"name": f"page {pages}, {memory} MB", **shown}]


def measure(
    name: str, runtime: Runtime, path: str, rounds: int, query: dict[str, str] | None = None
) -> dict[str, Any]:
    """One page, and the same operations without it."""
    asked: list[tuple[str, dict[str, Json]]] = []

    def call(operation: str, params: dict[str, Json]) -> Outcome:
        asked.append((operation, params))
        return perform(runtime, operation, params)

    def ask_again() -> None:
        for operation, params in calls:
            perform(runtime, operation, params)

    size = len(render_view(call, path, query or {}).html.markup)  # warms what a running server has
    calls = list(asked)
    page = _median(lambda: render_view(call, path, query or {}), rounds)
    operations = _median(ask_again, rounds)
    return {
        "name": name,
        "ms": page,
        "operations_ms": operations,
        "ratio": page / operations,
        "bytes": size,
        "bound": BOUNDS.get(name, BOUNDS.get(path)),
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
