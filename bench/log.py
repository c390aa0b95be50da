"""The log beside the cheapest durable append, measured in the same rounds and printed as ratios.

Run with `python bench/log.py [--json] [--rounds N] [--nodes 10,1000,10000] [--page FILE]`.
HANDRAIL_BENCH_DIR names a directory on the disk to measure. The exit status says nothing about speed;
`bench/peers.py` has other stores beside the log.
"""

from __future__ import annotations

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

from bench.floor import STEP_BYTES, floors, interleaved, spread
from bench.generated_page import rewrite
from bench.walks import NOTES, BareLog, Walk, grown

FLOOR = "raw append, preallocated"
BARE = "append of 4 events to the log alone"
EVENTS_PER_NODE = 5
BOUNDS = {
    "advance / raw append": 1.5,
    "advance, largest / smallest": 1.2,
    "rehydrate, warm, 10 000 events, ms": 5.0,
    "rehydrate, cold process, 10 000 events, ms": 150.0,
    "bytes per step beyond 1.5 x payload": 2048.0,
}


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    rounds = int(_option(arguments, "--rounds", "150"))
    node_counts = [int(count) for count in _option(arguments, "--nodes", "10,1000,2000,10000").split(",")]
    report: dict[str, Any] = {"python": sys.version.split()[0], "rounds": rounds, "ms": {}, "bounds": BOUNDS}
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as scratch:
        measure_nodes(report, scratch, node_counts, rounds)
    rewrite(arguments, "log.py", make_table(report, node_counts))
    if "--json" in arguments:
        print(json.dumps(report, indent=2))
    else:
        print_table(report)
    return 0


def measure_nodes(report: dict[str, Any], scratch: str, node_counts: Sequence[int], rounds: int) -> None:
    """Advance, rehydrate, replay and resume of sessions of these lengths, beside the floor."""
    walks = {count: grown(os.path.join(scratch, f"nodes-{count}"), count) for count in node_counts}
    before = {count: log_bytes(walk, scratch, count) for count, walk in walks.items()}
    nodes_before = {count: walk.nodes for count, walk in walks.items()}
    calls: dict[str, Callable[[], object]] = {
        name: partial(append, b"x" * STEP_BYTES) for name, append in floors(scratch).items()
    }
    calls[BARE] = BareLog(os.path.join(scratch, "bare")).append
    calls |= {f"advance, {count} nodes": walk.advance for count, walk in walks.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for walk in walks.values():
            walk.make_ready()
        for name, found in interleaved(calls, 1).items():
            samples[name] += found
    steps = {
        count: (log_bytes(walk, scratch, count) - before[count]) / (walk.nodes - nodes_before[count])
        for count, walk in walks.items()
    }
    report["spread"] = {name: spread(found) for name, found in samples.items()}
    report["ms"] |= {name: found["median"] for name, found in report["spread"].items()}
    report["ms"]["advance, CPU of this process"] = cpu_of_advance(walks[node_counts[-1]], min(rounds, 100))
    report["bytes per step"] = {
        "payload": len(NOTES),
        **{f"stored at {count} nodes": round(size) for count, size in steps.items()},
        "cache": round(cache_bytes(scratch, node_counts[-1]) / walks[node_counts[-1]].nodes),
    }
    measure_reads(report, walks, rounds)
    for count in node_counts:
        home = os.path.join(scratch, f"nodes-{count}")
        report["ms"] |= cold_process(home, walks[count].reply["stateToken"], count)
    report["ratios"] = ratios(report, node_counts)


def cpu_of_advance(walk: Walk, rounds: int) -> float:
    """What is left of an advance on a disk that answers at once."""
    samples = []
    for _ in range(rounds):
        walk.make_ready()
        started = time.process_time()
        walk.advance()
        samples.append(1000 * (time.process_time() - started))
    return round(statistics.median(samples), 3)


def measure_reads(report: dict[str, Any], walks: dict[int, Walk], rounds: int) -> None:
    for count, walk in walks.items():
        walk.make_ready()
        ack = walk.reply["ackToken"]
        walk.advance()
        calls: dict[str, Callable[[], object]] = {
            f"rehydrate, warm, {count} nodes": walk.rehydrate,
            f"replay, warm, {count} nodes": partial(walk.replay, ack),
            f"resume, warm, {count} nodes": walk.resume,
        }
        for name, found in interleaved(calls, min(rounds, 50)).items():
            report["ms"][name] = round(statistics.median(found), 3)


def cold_process(home: str, state_token: str, count: int) -> dict[str, float]:
    """A rehydrate in a process of its own: from the first import to the answer, with and without cache."""
    script = (
        "import sys,time; started=time.perf_counter()\n"
        "from handrail.wiring import build_runtime; from handrail.runtime.hub import perform\n"
        "runtime=build_runtime({},home=sys.argv[1]); loaded=time.perf_counter()\n"
        "outcome=perform(runtime,'run.continue',{'stateToken':sys.argv[2]}); ended=time.perf_counter()\n"
        "assert outcome.data['kind'] == 'ok'\n"
        "print(1000*(ended-started), 1000*(ended-loaded), 1000*time.process_time())\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = os.path.join(home, "bytecode")
    found: dict[str, float] = {}
    cache = os.path.join(home, "data", "cache")
    for label in ("with cache", "without cache"):
        if label == "without cache" and os.path.isdir(cache):
            os.rename(cache, cache + ".away")
        samples = []
        for _ in range(6):
            command = [sys.executable, "-c", script, home, state_token]
            done = subprocess.run(command, capture_output=True, check=True, env=environment)
            samples.append([float(part) for part in done.stdout.split()])
        name = f"rehydrate, cold process, {label}, {count} nodes"
        for place, what in enumerate(("", ", without imports", ", CPU with the start of Python")):
            found[name + what] = round(statistics.median(sample[place] for sample in samples[1:]), 1)
    return found


def log_bytes(walk: Walk, scratch: str, count: int) -> int:
    place = os.path.join(scratch, f"nodes-{count}", "data", "sessions", walk.session_id)
    return sum(os.path.getsize(os.path.join(place, name)) for name in os.listdir(place))


def cache_bytes(scratch: str, count: int) -> int:
    place = os.path.join(scratch, f"nodes-{count}", "data", "cache")
    names = os.listdir(place) if os.path.isdir(place) else []
    return sum(os.path.getsize(os.path.join(place, name)) for name in names)


def ratios(report: dict[str, Any], node_counts: Sequence[int]) -> dict[str, float]:
    """Everything that has a bound, and how it compares with the floor: of the medians and of the means."""
    measured, spreads = report["ms"], report["spread"]
    smallest, largest = (f"advance, {count} nodes" for count in (node_counts[0], node_counts[-1]))
    usual = min(node_counts, key=lambda count: abs(EVENTS_PER_NODE * count - 10_000))
    stored = max(size for name, size in report["bytes per step"].items() if name.startswith("stored"))
    found: dict[str, float] = {}
    for name, of_what in (("append", BARE), ("advance", largest)):
        for label, value in (("", "median"), (", of the means", "mean")):
            found[f"{name} / raw append{label}"] = spreads[of_what][value] / spreads[FLOOR][value]
    found["advance / SQLite, of the means"] = spreads[largest]["mean"] / spreads["SQLite, WAL, FULL"]["mean"]
    found["advance beyond raw append, ms, of the means"] = spreads[largest]["mean"] - spreads[FLOOR]["mean"]
    found["advance, largest / smallest"] = spreads[largest]["median"] / spreads[smallest]["median"]
    found["rehydrate, warm, 10 000 events, ms"] = measured[f"rehydrate, warm, {usual} nodes"]
    cold = f"rehydrate, cold process, with cache, {usual} nodes"
    found["rehydrate, cold process, 10 000 events, ms"] = measured[cold]
    found["bytes per step beyond 1.5 x payload"] = stored - 1.5 * report["bytes per step"]["payload"]
    return {name: round(value, 2) for name, value in found.items()}


def make_table(report: dict[str, Any], node_counts: Sequence[int]) -> str:
    """What grows with a session, and what does not."""
    rows = {
        "advance, median, ms": ("ms", "advance, {} nodes"),
        "read the step again in a server, median, ms": ("ms", "rehydrate, warm, {} nodes"),
        "the same in a new process, processor ms": (
            "ms",
            "rehydrate, cold process, with cache, {} nodes, CPU with the start of Python",
        ),
        "bytes on disk per step": ("bytes per step", "stored at {} nodes"),
    }
    lines = [
        f"| what | {' | '.join(f'{count:,} nodes'.replace(',', ' ') for count in node_counts)} |",
        "|---|" + "---|" * len(node_counts),
    ]
    for name, (part, key) in rows.items():
        values = (report[part][key.format(count)] for count in node_counts)
        lines.append(f"| {name} | {' | '.join(f'{value:,}'.replace(',', ' ') for value in values)} |")
    return "\n".join(lines) + "\n"


def print_table(report: dict[str, Any]) -> None:
    floor = report["ms"][FLOOR]
    print(f"Python {report['python']}, {report['rounds']} shuffled rounds; medians; x is times raw append.")
    for name, value in report["ms"].items():
        print(f"{name:<66} {value:10.3f} ms {value / floor:9.2f} x")
    for name, found in report["spread"].items():
        print(f"{name:<66} " + "  ".join(f"{key} {value:.3f}" for key, value in found.items()))
    for name, value in report["ratios"].items():
        bound = f"  bound {BOUNDS[name]}" if name in BOUNDS else ""
        print(f"{name:<66} {value:10.2f}{bound}")
    for name, values in report.items():
        if name.startswith("bytes"):
            print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in values.items()))


def _option(arguments: Sequence[str], name: str, default: str) -> str:
    return arguments[list(arguments).index(name) + 1] if name in arguments else default


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
