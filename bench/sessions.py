"""Finding work in a full store, and one very long session, each beside its reference of the same run.

Run with `python bench/sessions.py [--json] [--sessions 2000] [--nodes 4] [--steps 12000] [--rounds 7]`.
`--steps 0` leaves the long session out. The exit status says nothing about speed.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from msgspec.structs import replace

from bench.walks import grown
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime

BOUNDS = {
    "list, new process": 150.0,
    "list, running server": 150.0,
    "word search, new process": 300.0,
    "word search, running server": 300.0,
    "export of the long session": 3_000.0,
    "rehydrate of the long session, new process": 400.0,
}
"""Milliseconds."""
RARE, NOWHERE = "walk-17", "zeppelin"
_PROCESS = (
    "import json,sys,time; started=time.perf_counter()\n"
    "from handrail.wiring import build_runtime; from handrail.runtime.hub import perform\n"
    "runtime=build_runtime({},home=sys.argv[1])\n"
    "outcome=perform(runtime,sys.argv[2],json.loads(sys.argv[3])); ended=time.perf_counter()\n"
    "assert outcome.page is not None or outcome.data['kind'] == 'ok', outcome\n"
    "print(1000*(ended-started), 1000*time.process_time())\n"
)


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    sessions, nodes, steps, rounds = (
        int(_option(arguments, name, default))
        for name, default in (
            ("--sessions", "2000"),
            ("--nodes", "4"),
            ("--steps", "12000"),
            ("--rounds", "7"),
        )
    )
    report: dict[str, Any] = {
        "python": sys.version.split()[0],
        "sessions": sessions,
        "steps": steps,
        "ms": {},
    }
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as scratch:
        measure_finding(report, os.path.join(scratch, "many"), sessions, nodes, rounds)
        if steps:
            measure_long(report, os.path.join(scratch, "long"), steps, rounds)
    if "--json" in arguments:
        print(json.dumps(report, indent=2))
    else:
        print_table(report)
    return 0


def measure_finding(report: dict[str, Any], home: str, sessions: int, nodes: int, rounds: int) -> None:
    """Lists and searches with the index and without it, in this process and in new ones."""
    for number in range(sessions):
        grown(home, nodes, f"walk-{number}")
    runtime = build_runtime({}, home=home)
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "list": ("session.list", {}),
        "filtered list": ("session.list", {"query": RARE}),
        "resume without a question": ("session.resume", {}),
        "word search": ("session.resume", {"query": "parser empty input"}),
        "word search, nothing matches": ("session.resume", {"query": NOWHERE}),
    }
    report["ms"]["building the index"] = _once(partial(ask, runtime, "session.resume", {"query": NOWHERE}))
    report["ms"] |= _both("reference: a stat of every file of every session", partial(stat_all, home), rounds)
    unindexed = replace(build_runtime({}, home=home), index=lambda: None)
    for name, (operation, params) in calls.items():
        report["ms"] |= _both(f"{name}, running server", partial(ask, runtime, operation, params), rounds)
        report["ms"] |= new_process(name, home, operation, params, rounds)
        same = partial(ask, unindexed, operation, params)
        report["ms"] |= _both(f"reference: {name} without the index", same, 2)
    report["index bytes per session"] = round(
        sum(map(os.path.getsize, glob.glob(os.path.join(home, "data/cache/index/*.sqlite")))) / sessions
    )


def measure_long(report: dict[str, Any], home: str, steps: int, rounds: int) -> None:
    """One session of many steps: exported, and read again by a process that knows nothing."""
    walk = grown(home, steps)
    walk.make_ready()
    times, report["most memory, MB"] = moved(home, walk.session_id, min(rounds, 3))
    report["ms"] |= times
    place = os.path.join(home, "data", "sessions", walk.session_id)
    report["ms"] |= _both("reference: its files read and hashed", partial(read_all, place), rounds)
    token = {"stateToken": walk.reply["stateToken"]}
    report["ms"] |= new_process("rehydrate of the long session", home, "run.continue", token, rounds)
    report["ms"]["reference: python -c pass"] = _median(
        partial(subprocess.run, [sys.executable, "-c", "pass"], check=True), rounds
    )


def ask(runtime: Runtime, operation: str, params: dict[str, Any]) -> Any:
    outcome = perform(runtime, operation, params)
    assert isinstance(outcome, Success), outcome
    return payload_of(outcome)


def new_process(
    name: str, home: str, operation: str, params: dict[str, Any], rounds: int
) -> dict[str, float]:
    """From the first import to the answer, bytecode compiled; and processor time with Python's start."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = os.path.join(home, "bytecode")
    command = [sys.executable, "-c", _PROCESS, home, operation, json.dumps(params)]
    samples = []
    for _ in range(rounds + 1):
        done = subprocess.run(command, capture_output=True, check=True, env=environment)
        samples.append([float(part) for part in done.stdout.split()])
    kept = samples[1:]
    return {
        f"{name}, new process": round(statistics.median(sample[0] for sample in kept), 1),
        f"{name}, new process, processor time": round(statistics.median(sample[1] for sample in kept), 1),
    }


def moved(home: str, session_id: str, rounds: int) -> tuple[dict[str, float], dict[str, int]]:
    """Out and in as people do it, from the start of Python to the durable file, or to the preview.

    Milliseconds, and the most memory of each command in megabytes.
    """
    bundle = os.path.join(home, "bundle.json")
    elsewhere = os.path.join(home, "elsewhere")
    lines = {
        "export of the long session": (home, ["export", session_id, "--out", bundle]),
        "preview of its import elsewhere": (elsewhere, ["import", bundle, "--dry-run", "--timeout", "300"]),
    }
    times: dict[str, float] = {}
    memory: dict[str, int] = {}
    for name, (store, words) in lines.items():
        samples = []
        for _ in range(rounds + 1):
            if "--out" in words and os.path.exists(bundle):
                os.unlink(bundle)
            samples.append(command_line(store, ["session", *words], os.path.join(home, "bytecode")))
        walls, used, peaks = zip(*samples[1:], strict=True)
        times[name] = round(statistics.median(walls), 1)
        times[f"{name}, processor time"] = round(statistics.median(used), 1)
        memory[name] = round(statistics.median(peaks))
    times |= _both("reference: the bundle read, decoded and hashed", partial(decode_all, bundle), rounds)
    return times, memory


def command_line(home: str, words: Sequence[str], bytecode: str) -> tuple[float, float, float]:
    """One command: wall clock and processor time in milliseconds, the most memory in megabytes."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"HANDRAIL_HOME": home, "PYTHONPYCACHEPREFIX": bytecode}
    started = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "handrail.main", *words], stdout=subprocess.DEVNULL, env=environment
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, words
    wall = 1000 * (time.perf_counter() - started)
    return wall, 1000 * (used.ru_utime + used.ru_stime), used.ru_maxrss / 1024


def decode_all(path: str) -> str:
    """The least that a reader who takes a bundle as one tree must do."""
    with open(path, "rb") as file:
        content = file.read()
    json.loads(content)
    return hashlib.sha256(content).hexdigest()


def stat_all(home: str) -> int:
    """The least that a listing which believes no cache must do."""
    total = 0
    with os.scandir(os.path.join(home, "data", "sessions")) as sessions:
        for session in sessions:
            with os.scandir(session.path) as files:
                total += sum(file.stat(follow_symlinks=False).st_size for file in files)
    return total


def read_all(place: str) -> str:
    total = hashlib.sha256()
    for name in sorted(os.listdir(place)):
        with open(os.path.join(place, name), "rb") as file:
            total.update(file.read())
    return total.hexdigest()


def print_table(report: dict[str, Any]) -> None:
    print(f"Python {report['python']}, {report['sessions']} sessions, {report['steps']} steps; medians, ms.")
    for name, value in report["ms"].items():
        bound = f"  bound {BOUNDS[name]:.0f}" if name in BOUNDS else ""
        print(f"{name:<66} {value:10.1f}{bound}")
    for name, megabytes in report.get("most memory, MB", {}).items():
        print(f"most memory, MB: {name:<49} {megabytes:10}")
    print(f"index bytes per session: {report['index bytes per session']}")


def _option(arguments: Sequence[str], name: str, default: str) -> str:
    return arguments[arguments.index(name) + 1] if name in arguments else default


def _once(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return round(1000 * (time.perf_counter() - started), 1)


def _median(call: Callable[[], object], rounds: int) -> float:
    return round(statistics.median(_once(call) for _ in range(rounds)), 1)


def _both(name: str, call: Callable[[], object], rounds: int) -> dict[str, float]:
    """Wall clock and processor time: on a busy machine only the second says something."""
    walls, used = [], []
    for _ in range(rounds):
        started = time.process_time()
        walls.append(_once(call))
        used.append(1000 * (time.process_time() - started))
    return {
        name: round(statistics.median(walls), 1),
        f"{name}, processor time": round(statistics.median(used), 1),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
