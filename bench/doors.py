"""What each interface costs: start, memory, the processor time of an advance, of several installations.

Run with `python bench/doors.py [PYTHON ...]`: one interpreter per installation, this one if none is named.
The rounds go through all of them by turns, so that a busy moment of the machine meets each, and the median
counts. A start lasts until the first step is there; processor time is what the kernel says of the process
and of what it started (git). The project is a git repository with 200 files, one of them new at each call.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROUNDS = 5
CALLS = {"command": 12, "stdio": 60, "http": 60}
FILES = 200
WAIT = 60
NOTES = "Looked at the parser, found the cause in its second branch, and wrote a test that shows it. " * 4
_TICKS = os.sysconf("SC_CLK_TCK")
_OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}


def main(pythons: Sequence[str]) -> int:
    """Measure and print one line per installation and interface."""
    measured: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(ROUNDS):
        for python in pythons or [sys.executable]:
            for name, measure in DOORS.items():
                with tempfile.TemporaryDirectory() as scratch:
                    project = _make_project(Path(scratch))
                    measured.setdefault((python, name), []).append(measure(python, project))
    for (python, name), rounds in measured.items():
        row = ", ".join(f"{key} {statistics.median(one[key] for one in rounds):.2f}" for key in rounds[0])
        print(f"{python} {name}: {row}")
    return 0


def measure_command(python: str, project: Path) -> dict[str, float]:
    """`run start` and `run continue`, each as a process of its own."""
    spent: list[float] = []
    kept: list[float] = []

    def call(words: list[str]) -> dict[str, Any]:
        process = _start(python, project, "run", *words, "--compact")
        assert process.stdout is not None
        answered = process.stdout.read()
        _, process.returncode, usage = os.wait4(process.pid, 0)
        spent.append(usage.ru_utime + usage.ru_stime)
        kept.append(usage.ru_maxrss / 1024)
        answer: dict[str, Any] = json.loads(answered)["data"]
        return answer

    started = time.monotonic()
    ack = call(["start", "project.long", "--request-id", "first"])["ackToken"]
    first = time.monotonic() - started
    for number in range(CALLS["command"]):
        (project / f"new{number}.txt").write_text("new\n", encoding="utf-8")
        ack = call(["continue", "--ack", ack, "--notes", NOTES])["ackToken"]
    return {
        "start until the first step ms": first * 1000,
        "processor until then ms": spent[0] * 1000,
        "processor per advance ms": statistics.median(spent[1:]) * 1000,
        "memory MB": kept[-1],
    }


def measure_stdio(python: str, project: Path) -> dict[str, float]:
    started = time.monotonic()
    process = _start(python, project, "mcp")
    assert process.stdin is not None
    assert process.stdout is not None
    incoming, outgoing = process.stdout, process.stdin

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        outgoing.write(json.dumps(message).encode() + b"\n")
        outgoing.flush()
        result: dict[str, Any] = json.loads(incoming.readline())["result"]
        return result

    def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = ask("tools/call", {"name": tool, "arguments": arguments})[
            "structuredContent"
        ]
        return answer

    try:
        ask("initialize", _OPENING)
        return _measure_calls("stdio", process.pid, started, project, call)
    finally:
        process.communicate()


def measure_http(python: str, project: Path) -> dict[str, float]:
    started = time.monotonic()
    process = _start(python, project, "serve", "--port", "0")
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), "the server did not start"
        state = json.loads((project.parent / "home" / "run" / "server.json").read_bytes())
        port = int(state["address"].rstrip("/").rpartition(":")[2])
        headers = {
            "Authorization": f"Bearer {state['token']}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "MCP-Protocol-Version": "2025-11-25",
        }
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)

        def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            params = {"name": tool, "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            connection.request("POST", "/mcp", json.dumps(message), headers)
            answer: dict[str, Any] = json.load(connection.getresponse())["result"]["structuredContent"]
            return answer

        return _measure_calls("http", process.pid, started, project, call)
    finally:
        process.terminate()
        process.communicate()


def _measure_calls(
    door: str,
    pid: int,
    started: float,
    project: Path,
    call: Callable[[str, dict[str, Any]], dict[str, Any]],
) -> dict[str, float]:
    ack = call("start_workflow", {"workflowId": "project.long"})["ackToken"]
    first, at_first = time.monotonic() - started, _processor_seconds(pid)
    for number in range(CALLS[door]):
        (project / f"new{number}.txt").write_text("new\n", encoding="utf-8")
        report = {"ackToken": ack, "output": {"notesMarkdown": NOTES}}
        ack = call("continue_workflow", report)["ackToken"]
    return {
        "start until the first step ms": first * 1000,
        "processor until then ms": at_first * 1000,
        "processor per advance ms": (_processor_seconds(pid) - at_first) * 1000 / CALLS[door],
        "memory MB": _memory_mb(pid),
    }


def _make_project(scratch: Path) -> Path:
    project = scratch / "project"
    workflows = project / ".handrail" / "workflows"
    workflows.mkdir(parents=True)
    most = max(CALLS.values()) + 2
    steps = [{"id": f"s{number}", "title": f"Step {number}", "prompt": "Do it."} for number in range(most)]
    told = {"id": "project.long", "name": "Long", "description": "For measuring.", "steps": steps}
    (workflows / "long.json").write_text(json.dumps(told), encoding="utf-8")
    for number in range(FILES):
        (project / f"file{number}.txt").write_text(f"{number}\n", encoding="utf-8")
    owner = ("-c", "user.name=b", "-c", "user.email=b@example.org")
    for words in (("init", "-q"), ("add", "."), (*owner, "commit", "-qm", "start")):
        subprocess.run(["git", *words], cwd=project, check=True, env=_environment(project))
    return project


def _environment(project: Path) -> dict[str, str]:
    kept = {key: held for key, held in os.environ.items() if not key.startswith("HANDRAIL_")}
    return kept | {"HANDRAIL_HOME": str(project.parent / "home"), "HOME": str(project.parent)}


def _start(python: str, project: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [python, "-m", "handrail.main", *words],
        env=_environment(project),
        cwd=project,
        stdin=subprocess.PIPE if words[0] == "mcp" else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _processor_seconds(pid: int) -> float:
    """Of the process, and of the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def _memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


DOORS = {"command": measure_command, "stdio": measure_stdio, "http": measure_http}

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
