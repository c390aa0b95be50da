"""One durable step beside plain appends and other stores for agents, all in the same shuffled rounds.

Run with `python bench/peers.py [--json] [--rounds N] [--page FILE] [--workrail DIR]` in an environment that
also has `langgraph`, `langgraph-checkpoint-sqlite` and `dbos`; what is not installed is skipped and named.
DIR is a built clone of WorkRail (`bench/workrail.py`).
HANDRAIL_BENCH_DIR names a directory on the disk to measure.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypedDict

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench.floor import STEP_BYTES, floors, interleaved, spread
from bench.generated_page import rewrite
from bench.walks import BareLog, grown
from bench.workrail import WorkRail

NOTES = "x" * 500
LONG = 1_000
FLOOR = "raw append, preallocated"
NO_WORKRAIL = "WorkRail was not built here (`--workrail`)."
WITH_WORKRAIL = (
    "WorkRail is called over MCP on stdio, in the first steps of one session; the others in process."
)
_PEERS = {"langgraph.checkpoint.sqlite": "LangGraph", "dbos": "DBOS"}
Calls = dict[str, Callable[[], object]]


class _State(TypedDict):
    notes: str
    count: int


def own_calls(directory: str) -> Calls:
    """A commit of the log alone, and an advance of a short and of a long session."""
    walks = {nodes: grown(os.path.join(directory, f"nodes-{nodes}"), nodes) for nodes in (10, LONG)}

    def advance(nodes: int) -> None:
        walks[nodes].advance()
        walks[nodes].make_ready()

    for one in walks.values():
        one.make_ready()
    calls: Calls = {"append of 4 events to our log": BareLog(os.path.join(directory, "bare")).append}
    return calls | {
        f"our advance at node {nodes:,}".replace(",", " "): partial(advance, nodes) for nodes in walks
    }


def langgraph_calls(directory: str) -> Calls:
    """LangGraph on SQLite."""
    saver_module: Any = importlib.import_module("langgraph.checkpoint.sqlite")
    saver = saver_module.SqliteSaver(sqlite3.connect(f"{directory}/langgraph.db", check_same_thread=False))
    return saver_calls("LangGraph SqliteSaver", saver)


def saver_calls(name: str, saver: Any) -> Calls:
    """One checkpoint put by hand, and one turn of a graph with a single node, written synchronously."""
    checkpoints: Any = importlib.import_module("langgraph.checkpoint.base")
    graphs: Any = importlib.import_module("langgraph.graph")
    saver.setup()

    def put() -> None:
        checkpoint = checkpoints.empty_checkpoint() | {"channel_values": {"notes": NOTES}}
        place = {"configurable": {"thread_id": "put", "checkpoint_ns": ""}}
        saver.put(place, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {})

    graph = graphs.StateGraph(_State)
    graph.add_node("work", lambda state: {"count": state["count"] + 1})
    graph.add_edge(graphs.START, "work")
    graph.add_edge("work", graphs.END)
    turns = graph.compile(checkpointer=saver)
    thread = {"configurable": {"thread_id": "turn"}}
    turn = partial(turns.invoke, {"notes": NOTES, "count": 0}, thread, durability="sync")
    return {f"{name}, one put": put, f"{name}, one turn": turn}


def measured_in_dbos(name: str, url: str, calls: Calls, rounds: int) -> dict[str, list[float]]:
    """A DBOS step exists only inside a workflow, so all rounds are run inside one."""
    dbos: Any = importlib.import_module("dbos")
    dbos.DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "run_admin_server": False,
            "log_level": "ERROR",
        }
    )

    @dbos.DBOS.step()  # type: ignore[untyped-decorator]  # a package that need not be installed
    def step(notes: str) -> str:
        return notes

    @dbos.DBOS.workflow()  # type: ignore[untyped-decorator]  # a package that need not be installed
    def work() -> dict[str, list[float]]:
        return interleaved({**calls, f"{name}, one step": partial(step, NOTES)}, rounds)

    dbos.DBOS.launch()
    try:
        found: dict[str, list[float]] = work()
    finally:
        dbos.DBOS.destroy()
    return found


def measure(rounds: int, workrail: str) -> dict[str, Any]:
    """Spreads of everything that is installed, and which packages were skipped."""
    is_there = {name: is_installed(module) for module, name in _PEERS.items()}
    skipped = [f"{name} was not installed." for name, found in is_there.items() if not found]
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as directory:
        calls: Calls = {
            name: partial(append, b"x" * STEP_BYTES) for name, append in floors(directory).items()
        }
        calls |= own_calls(directory)
        if is_there["LangGraph"]:
            calls |= langgraph_calls(directory)
        server = WorkRail(workrail, directory) if workrail else None
        if server is not None:
            calls["WorkRail, one advance"] = server.advance
        skipped.append(NO_WORKRAIL if server is None else WITH_WORKRAIL)
        if is_there["DBOS"]:
            samples = measured_in_dbos("DBOS on SQLite", f"sqlite:///{directory}/dbos.db", calls, rounds)
        else:
            samples = interleaved(calls, rounds)
        if server is not None:
            server.close()
    return {"spread": {name: spread(found) for name, found in samples.items()}, "skipped": skipped}


def make_table(found: dict[str, dict[str, float]]) -> str:
    """The quickest call first, each as a multiple of the plain append of the same rounds."""
    lines = ["| call | median, ms | mean, ms | mean, times the plain append |", "|---|---|---|---|"]
    for name, one in sorted(found.items(), key=lambda row: row[1]["mean"]):
        times = one["mean"] / found[FLOOR]["mean"]
        lines.append(f"| {name} | {one['median']:.1f} | {one['mean']:.1f} | {times:.1f} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    rounds = int(arguments[list(arguments).index("--rounds") + 1]) if "--rounds" in arguments else 100
    words = list(arguments)
    workrail = words[words.index("--workrail") + 1] if "--workrail" in words else ""
    report = measure(rounds, workrail)
    rewrite(arguments, "peers.py", make_table(report["spread"]), *report["skipped"])
    if "--json" in arguments:
        print(json.dumps(report))
        return 0
    for name, found in report["spread"].items():
        print(f"{name:<46} " + "  ".join(f"{key} {value:.3f}" for key, value in found.items()))
    for line in report["skipped"]:
        print(line)
    return 0


def is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
