"""Many clients of one session at once beside the same clients one after the other, in the same run.

Run with `python bench/crowd.py [--json] [--clients 200] [--commits 1] [--rounds 2]`. Each client is a process
that commits four events some times. What waiting costs is the difference: processor time per commit, alone
and in the crowd. Nothing above the log is measured, so that the price of waiting is not hidden by other work.
HANDRAIL_BENCH_DIR names a directory on the disk to measure. The exit status says nothing about speed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.engine.folding import fold
from handrail.event_log.files.log import FileLog
from handrail.ports.log import Draft
from handrail.runtime.runtime import NeverInterrupted
from handrail.runtime.sessions import wait_for_hold
from handrail.surfaces.mcp.calls_in_progress import CALL_SECONDS

SESSION = SessionId("ses_000000000001")
BODY = b'{"text":"%s"}' % (b"y" * 250)

BOUND = 3.0
"""Processor time per commit in the crowd, as a multiple of that of a client alone."""


class OfACall(NeverInterrupted):
    """The time that a call over MCP has."""

    def ms_left(self) -> int:
        return 1000 * CALL_SECONDS


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    clients, commits, rounds = (
        int(_option(arguments, *option))
        for option in (("--clients", "200"), ("--commits", "1"), ("--rounds", "2"))
    )
    report: dict[str, Any] = {"clients": clients, "rounds": rounds, "time-out, ms": 1000 * CALL_SECONDS}
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as scratch:
        for name, at_once in (("alone", 1), ("crowd", clients)):
            report[name] = summed(
                [measured(f"{scratch}/{name}-{one}", clients, commits, at_once) for one in range(rounds)]
            )
    own = "processor time per commit, ms"
    report["ratio"] = round(report["crowd"][own] / report["alone"][own], 2)
    report["bound"] = BOUND
    print(json.dumps(report, indent=2) if "--json" in arguments else _table(report))
    return 0


def summed(found: Sequence[dict[str, float]]) -> dict[str, float]:
    commits = sum(one["commits"] for one in found)
    return {
        "processor time per commit, ms": round(sum(one["cpu_ms"] for one in found) / commits, 3),
        "longest call, ms": round(max(one["longest_ms"] for one in found), 1),
        "not served": sum(one["not_served"] for one in found),
        "commits": commits,
    }


def measured(data: str, clients: int, commits: int, at_once: int) -> dict[str, float]:
    """So many processes with so many commits each, some of them at the same time."""
    log = FileLog(data)
    _commit(log, "first", 0)
    cpu_ms, calls, waiting = 0.0, list[float](), clients
    while waiting:
        batch = min(at_once, waiting)
        ready, begin = os.pipe()
        readers = [_client(log, ready, waiting - one, commits) for one in range(batch)]
        os.write(begin, b"x" * batch)
        for reader in readers:
            told = _told(reader)
            cpu_ms += told[0]
            calls += told[1:]
        for descriptor in (ready, begin):
            os.close(descriptor)
        for _ in range(batch):
            os.wait()
        waiting -= batch
    served = [call for call in calls if call >= 0]
    return {
        "cpu_ms": cpu_ms,
        "longest_ms": max(served),
        "not_served": len(calls) - len(served),
        "commits": len(served),
    }


def _commit(log: FileLog, name: str, known: int) -> int:
    """Bring what is known up to date and add to it, as an advance does; the head after it."""
    with wait_for_hold(log, fold(SESSION, ()), OfACall()) as hold:
        loaded = hold.load_since(known)
        head = 0 if loaded is None else loaded.head
        hold.append(head, [Draft(dedupe_key=f"{name}:{place}", body=BODY) for place in range(4)])
        return head + 4


def _client(log: FileLog, ready: int, number: int, commits: int) -> int:
    """Start one; the end of the pipe on which it tells its processor time and how long each call took."""
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        return reader
    os.read(ready, 1)
    used = time.process_time()
    took = []
    known = 4
    for commit in range(commits):
        started = time.perf_counter()
        try:
            known = _commit(log, f"client:{number}:{commit}", known)
            took.append(1000 * (time.perf_counter() - started))
        except Fault:
            took.append(-1.0)
    os.write(writer, " ".join(map(str, [1000 * (time.process_time() - used), *took])).encode())
    os._exit(0)


def _told(reader: int) -> list[float]:
    told = os.read(reader, 4096)
    os.close(reader)
    return [float(part) for part in told.split()]


def _table(report: dict[str, Any]) -> str:
    lines = [f"{report['clients']} clients of one session, {report['rounds']} rounds"]
    for name in ("alone", "crowd"):
        lines.append(f"{name}: " + ", ".join(f"{key} {value}" for key, value in report[name].items()))
    lines.append(f"crowd / alone: {report['ratio']}  bound {report['bound']}")
    return "\n".join(lines)


def _option(arguments: Sequence[str], name: str, default: str) -> str:
    return arguments[list(arguments).index(name) + 1] if name in arguments else default


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
