"""What each door costs: its start, its memory, and the processor time of a call, of several installations.

Run with `python bench/doors.py [PYTHON ...]`: one interpreter per installation, this one if none is named.
The rounds go through all of them by turns, so that a busy moment of the machine meets each, and the median
counts. A start lasts until the first answer; processor time is what the kernel says of the process.
"""

from __future__ import annotations

import http.client
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROUNDS = 3
CALLS = 100
WAIT = 60
_TICKS = os.sysconf("SC_CLK_TCK")
_CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "resume_session"}}
_OPENING = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def main(pythons: Sequence[str]) -> int:
    """Measure and print one line per installation and door."""
    measured: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(ROUNDS):
        for python in pythons or [sys.executable]:
            for name, measure in DOORS.items():
                with tempfile.TemporaryDirectory() as home:
                    measured.setdefault((python, name), []).append(measure(python, Path(home)))
    for (python, name), rounds in measured.items():
        row = ", ".join(f"{key} {statistics.median(one[key] for one in rounds):.2f}" for key in rounds[0])
        print(f"{python} {name}: {row}")
    return 0


def measure_command(python: str, home: Path) -> dict[str, float]:
    """`workflow list` as a process of its own."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = _start(python, home, "workflow", "list", "--format=json")
    process.communicate()
    took, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"start and call ms": took * 1000, "processor ms": spent * 1000}


def measure_stdio(python: str, home: Path) -> dict[str, float]:
    started = time.monotonic()
    process = _start(python, home, "mcp")
    assert process.stdin is not None
    assert process.stdout is not None
    incoming, outgoing = process.stdout, process.stdin

    def ask(message: dict[str, Any]) -> None:
        outgoing.write(json.dumps(message).encode() + b"\n")
        outgoing.flush()
        assert b'"result"' in incoming.readline(), "the server refused"

    try:
        ask(_OPENING)
        return _measure_calls(process.pid, started, lambda: ask(_CALL))
    finally:
        process.communicate()


def measure_http(python: str, home: Path) -> dict[str, float]:
    started = time.monotonic()
    process = _start(python, home, "serve", "--port", "0")
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), "the server did not start"
        state = json.loads((home / "run" / "server.json").read_bytes())
        port = int(state["address"].rstrip("/").rpartition(":")[2])
        headers = {
            "Authorization": f"Bearer {state['token']}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "MCP-Protocol-Version": "2025-11-25",
        }
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)

        def ask() -> None:
            connection.request("POST", "/mcp", json.dumps(_CALL), headers)
            assert b'"result"' in connection.getresponse().read(), "the server refused"

        return _measure_calls(process.pid, started, ask)
    finally:
        process.terminate()
        process.communicate()


def _measure_calls(pid: int, started: float, ask: Callable[[], None]) -> dict[str, float]:
    ask()
    first, at_first = time.monotonic() - started, _processor_seconds(pid)
    for _ in range(CALLS):
        ask()
    return {
        "start until the first call is answered ms": first * 1000,
        "processor until then ms": at_first * 1000,
        "processor per call ms": (_processor_seconds(pid) - at_first) * 1000 / CALLS,
        "memory MB": _memory_mb(pid),
    }


def _start(python: str, home: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [python, "-m", "handrail.main", *words],
        env={**os.environ, "HANDRAIL_HOME": str(home)},
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


DOORS = {"command": measure_command, "stdio": measure_stdio, "http": measure_http}

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
