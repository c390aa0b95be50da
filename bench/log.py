"""The log beside the cheapest durable append, measured in the same rounds and printed as ratios.

Run with `python bench/log.py [--json] [--rounds N] [--nodes 10,1000,2860,10000] [--sessions 10,1000]`.
HANDRAIL_BENCH_DIR names a directory on the disk to measure. The exit status says nothing about speed.
"""

from __future__ import annotations

import importlib.util
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

from bench.floor import floors, interleaved, spread
from handrail.contract.cli_envelope import payload_of
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Success
from handrail.event_log.disk import Disk
from handrail.event_log.files import FileLog
from handrail.ports import Draft
from handrail.runtime.hot_sessions import HotLog
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime

NOTES = "Looked at the parser, moved the check for empty input to the front, ran the tests. " * 6
WORKFLOW = "wr.small_change"
PEERS = {"langgraph.checkpoint.sqlite": "langgraph-checkpoint-sqlite", "dbos": "dbos"}
BOUNDS = {
    "append / raw append": 1.5,
    "advance / raw append": 1.5,
    "advance, largest / smallest": 1.2,
    "rehydrate, warm, 10 000 events, ms": 5.0,
    "rehydrate, cold process, 10 000 events, ms": 150.0,
    "bytes per step beyond 1.5 x payload": 2048.0,
}


class Quiet(Disk):
    """Never waits for the disk; only to make a long session quickly."""

    def sync(self, descriptor: int) -> None:
        del descriptor

    def sync_both(self, first: int, second: int) -> None:
        del first, second

    def sync_names(self, descriptor: int) -> None:
        del descriptor


class Walk:
    """One session that is walked on and on: a run that is complete is followed by the next."""

    def __init__(self, runtime: Runtime, project: str, name: str) -> None:
        self._runtime = runtime
        self._project = project
        self.reply = self._ask("run.start", requestId=name)
        self.session_id = str(self.reply["session"]["sessionId"])
        self.nodes = 1

    def advance(self) -> None:
        """One acknowledged step. Runs that end are followed by new ones outside of what is measured."""
        notes = {"notesMarkdown": NOTES}
        self.reply = self._ask("run.continue", ackToken=self.reply["ackToken"], output=notes)
        self.nodes += 1

    def make_ready(self) -> None:
        """Something is pending."""
        if self.reply["isComplete"]:
            self.reply = self._ask("run.start", session=self.session_id)
            self.nodes += 1

    def rehydrate(self) -> None:
        self._ask("run.continue", stateToken=self.reply["stateToken"])

    def replay(self, ack_token: str) -> None:
        self._ask("run.continue", ackToken=ack_token, output={"notesMarkdown": NOTES})

    def resume(self) -> None:
        self._ask("session.resume", query=self.session_id)

    def _ask(self, operation: str, **params: Any) -> Any:
        if operation == "run.start":
            params |= {"workflowId": WORKFLOW, "project": self._project}
        outcome = perform(self._runtime, operation, params)
        assert isinstance(outcome, Success), outcome
        return payload_of(outcome)


class BareLog:
    """The file log without anything above it: what the commit path itself costs."""

    def __init__(self, data: str) -> None:
        self._log = FileLog(data)
        self._head = 0
        self.append()

    def append(self) -> None:
        body = b'{"text":"%s"}' % (b"y" * 250)
        plan = [Draft(dedupe_key=f"event:{self._head + place}", body=body) for place in range(4)]
        with self._log.hold(SessionId("ses_000000000001"), 1_000) as hold:
            hold.append(self._head, plan)
        self._head += len(plan)


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    rounds = int(_option(arguments, "--rounds", "150"))
    node_counts = [int(count) for count in _option(arguments, "--nodes", "10,1000,2860,10000").split(",")]
    session_counts = [int(count) for count in _option(arguments, "--sessions", "10,1000").split(",")]
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as scratch:
        report = {
            "python": sys.version.split()[0],
            "rounds": rounds,
            "ms": {},
            "ratios": {},
            "bounds": BOUNDS,
            "peers": peers(),
        }
        measure_nodes(report, scratch, node_counts, rounds)
        measure_sessions(report, scratch, session_counts, rounds)
    if "--json" in arguments:
        print(json.dumps(report, indent=2))
    else:
        print_table(report)
    return 0


def measure_nodes(report: dict[str, Any], scratch: str, node_counts: Sequence[int], rounds: int) -> None:
    """Advance, rehydrate, replay and resume of sessions of these lengths, beside the floor."""
    walks = {count: grown(os.path.join(scratch, f"nodes-{count}"), count) for count in node_counts}
    before = {count: log_bytes(walk, scratch, count) for count, walk in walks.items()}
    content = b"x" * 1_600
    calls: dict[str, Callable[[], object]] = {}
    for name, append in floors(scratch).items():
        calls[name] = partial(append, content)
    calls["append of 4 events to the log alone"] = BareLog(os.path.join(scratch, "bare")).append
    for count, walk in walks.items():
        calls[f"advance, {count} nodes"] = walk.advance
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for walk in walks.values():
            walk.make_ready()
        for name, found in interleaved(calls, 1).items():
            samples[name] += found
    after = {count: log_bytes(walk, scratch, count) for count, walk in walks.items()}
    report["ms"] |= {name: round(statistics.median(found), 3) for name, found in samples.items()}
    report["spread"] = {name: spread(found) for name, found in samples.items()}
    report["ms"]["advance, CPU of this process"] = cpu_of_advance(walks[node_counts[-1]], min(rounds, 100))
    report["bytes per step"] = {
        "payload": len(NOTES),
        "stored": round(max(after[count] - before[count] for count in node_counts) / rounds),
        "cache": round(cache_bytes(scratch, node_counts[-1]) / walks[node_counts[-1]].nodes),
    }
    measure_reads(report, walks, rounds)
    for count in node_counts:
        home = os.path.join(scratch, f"nodes-{count}")
        report["ms"] |= cold_process(home, walks[count].reply["stateToken"], count)
    add_ratios(report, node_counts)


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
        "print(1000*(ended-started), 1000*(ended-loaded))\n"
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
        found[name] = round(statistics.median(total for total, _ in samples[1:]), 1)
        found[name + ", without imports"] = round(statistics.median(call for _, call in samples[1:]), 1)
    return found


def measure_sessions(
    report: dict[str, Any], scratch: str, session_counts: Sequence[int], rounds: int
) -> None:
    """Listing and resuming in stores of these sizes, and what it takes to keep all of them hot."""
    for count in session_counts:
        home = os.path.join(scratch, f"sessions-{count}")
        for number in range(count):
            grown(home, 10, f"walk-{number}")
        report[f"hot, {count} sessions of 10 nodes"] = hot_process(home)
        runtime = build_runtime({}, home=home)
        calls: dict[str, Callable[[], object]] = {
            f"list 20 of {count} sessions": partial(perform, runtime, "session.list", {}),
            f"resume in {count} sessions": partial(perform, runtime, "session.resume", {}),
        }
        for name, found in interleaved(calls, min(rounds, 20)).items():
            report["ms"][name] = round(statistics.median(found), 3)


def hot_process(home: str) -> dict[str, float]:
    """A process of its own that folds every session of a store and then waits for a second."""
    script = (
        "import json,os,resource,sys,time\n"
        "from handrail.wiring import build_runtime; from handrail.runtime.sessions import read_session\n"
        "def kb(): return int(open('/proc/self/statm').read().split()[1])*resource.getpagesize()//1024\n"
        "log=build_runtime({},home=sys.argv[1]).log; stamps=log.list_sessions()\n"
        "read_session(log,stamps[0].session_id); memory,cpu=kb(),time.process_time()\n"
        "for stamp in stamps: read_session(log,stamp.session_id)\n"
        "cost={'memory_kb_per_session':(kb()-memory)/len(stamps),'kept':len(log),\n"
        " 'cpu_ms_per_session':1000*(time.process_time()-cpu)/len(stamps),'memory_mb_of_process':kb()/1024}\n"
        "idle=time.process_time(); time.sleep(1)\n"
        "cost['idle_cpu_ms_per_second']=1000*(time.process_time()-idle)\n"
        "print(json.dumps({name:round(value,2) for name,value in cost.items()}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, home], capture_output=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def grown(home: str, nodes: int, name: str = "walk") -> Walk:
    """A session of this many nodes, made without waiting for the disk, handed to a real runtime."""
    os.makedirs(home, exist_ok=True)
    runtime = build_runtime({}, home=home)
    log = runtime.log
    assert isinstance(log, HotLog), "the local runtime keeps sessions hot"
    files = log.log
    assert isinstance(files, FileLog), "the local runtime is on files"
    real, files.disk = files.disk, Quiet()
    walk = Walk(runtime, home, name)
    while walk.nodes < nodes:
        walk.make_ready()
        walk.advance()
    files.disk = real
    return walk


def log_bytes(walk: Walk, scratch: str, count: int) -> int:
    place = os.path.join(scratch, f"nodes-{count}", "data", "sessions", walk.session_id)
    return sum(os.path.getsize(os.path.join(place, name)) for name in os.listdir(place))


def cache_bytes(scratch: str, count: int) -> int:
    place = os.path.join(scratch, f"nodes-{count}", "data", "cache")
    names = os.listdir(place) if os.path.isdir(place) else []
    return sum(os.path.getsize(os.path.join(place, name)) for name in names)


def add_ratios(report: dict[str, Any], node_counts: Sequence[int]) -> None:
    measured = report["ms"]
    floor = measured["raw append, preallocated"]
    sqlite = measured["SQLite, WAL, FULL"]
    advances = [measured[f"advance, {count} nodes"] for count in node_counts]
    stored = report["bytes per step"]
    means = {name: found["mean"] for name, found in report["spread"].items()}
    usual = min(node_counts, key=lambda count: abs(3.5 * count - 10_000))  # 3.5 events a node
    report["ratios"] = {
        "append / raw append": round(measured["append of 4 events to the log alone"] / floor, 2),
        "append / raw append, of the means": round(
            means["append of 4 events to the log alone"] / means["raw append, preallocated"], 2
        ),
        "advance / raw append": round(advances[-1] / floor, 2),
        "advance / raw append, of the means": round(
            means[f"advance, {node_counts[-1]} nodes"] / means["raw append, preallocated"], 2
        ),
        "advance / SQLite": round(advances[-1] / sqlite, 2),
        "advance, largest / smallest": round(advances[-1] / advances[0], 2),
        "rehydrate, warm, 10 000 events, ms": measured[f"rehydrate, warm, {usual} nodes"],
        "rehydrate, cold process, 10 000 events, ms": measured[
            f"rehydrate, cold process, with cache, {usual} nodes"
        ],
        "bytes per step beyond 1.5 x payload": round(stored["stored"] - 1.5 * stored["payload"]),
    }


def peers() -> dict[str, str]:
    """Other stores that could be measured here."""
    found = {}
    for module, package in PEERS.items():
        is_there = importlib.util.find_spec(module.split(".", maxsplit=1)[0]) is not None
        found[package] = "installed; not measured by this version" if is_there else "skipped: not installed"
    return found


def print_table(report: dict[str, Any]) -> None:
    floor = report["ms"]["raw append, preallocated"]
    print(
        f"Python {report['python']}, {report['rounds']} interleaved rounds, medians; x is times raw append."
    )
    for name, value in report["ms"].items():
        print(f"{name:<66} {value:10.3f} ms {value / floor:9.2f} x")
    for name, found in report["spread"].items():
        print(f"{name:<66} " + "  ".join(f"{key} {value:.3f}" for key, value in found.items()))
    for name, value in report["ratios"].items():
        bound = f"  bound {BOUNDS[name]}" if name in BOUNDS else ""
        print(f"{name:<66} {value:10.2f}{bound}")
    for name, values in report.items():
        if name.startswith(("hot,", "bytes", "peers")):
            print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in values.items()))


def _option(arguments: Sequence[str], name: str, default: str) -> str:
    return arguments[list(arguments).index(name) + 1] if name in arguments else default


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
