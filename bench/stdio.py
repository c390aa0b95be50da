"""The server on stdin and stdout beside the protocol library's own, in the same rounds: start, calls, memory.

Run with `python bench/stdio.py [--rounds N] [--calls N] [--page FILE] [--json]`. HANDRAIL_BENCH_DIR names
a directory to work in; one in memory makes the rounds short. All times are processor time of the whole
process. `library` is the same adapter on the library's transport, started by `bench/library_stdio.py`. The
project is no git repository, so no call looks at a working tree. The exit status says nothing about speed.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO, Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench.generated_page import rewrite

ROUNDS = 15
CALLS = 10_000
BLOCK = 50
"""Advances between two looks at the clock of a process; the servers take turns."""
BOUNDS = {"first answer, s": 0.2, "advance, ms": 1.5, "after the calls, MB": 40.0}
STEPS = 100
_HERE = os.path.dirname(os.path.abspath(__file__))
COMMANDS = {
    "ours": [sys.executable, "-m", "handrail.main", "mcp"],
    "library": [sys.executable, os.path.join(_HERE, "library_stdio.py")],
}
OPENING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "0"},
}
NOTES = "Looked at the parser, found the cause in its second branch, and wrote a test that shows it. " * 4


class Server:
    """One server process, and a run that is walked through it."""

    def __init__(self, name: str, scratch: str) -> None:
        project = os.path.join(scratch, "project")
        workflows = os.path.join(project, ".handrail", "workflows")
        os.makedirs(workflows, exist_ok=True)
        with open(os.path.join(workflows, "long.json"), "w", encoding="utf-8") as file:
            json.dump(_workflow(), file)
        kept = {key: held for key, held in os.environ.items() if not key.startswith(("PYTHON", "HANDRAIL_"))}
        environment = kept | {
            "HANDRAIL_HOME": os.path.join(scratch, name),
            "HANDRAIL_PROJECT": project,
            "PYTHONPYCACHEPREFIX": os.path.join(scratch, "bytecode"),
        }
        self._process = subprocess.Popen(
            COMMANDS[name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=project,
        )
        self._number = 0
        self._ack = ""
        self.ask("initialize", OPENING)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.send(method, params)
        return self.receive()

    def send(self, method: str, params: dict[str, Any]) -> None:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.answers.readline())
        result: dict[str, Any] = answer["result"]
        return result

    @property
    def answers(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def advance(self) -> None:
        """The next step of the run; at its end another one is begun."""
        if not self._ack:
            self.start()
        report = {"ackToken": self._ack, "output": {"notesMarkdown": NOTES}}
        self._ack = self._reply("continue_workflow", report).get("ackToken", "")

    def start(self) -> dict[str, Any]:
        reply = self._reply("start_workflow", {"workflowId": "project.long"})
        self._ack = reply["ackToken"]
        return reply

    def _reply(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        content: dict[str, Any] = self.ask("tools/call", {"name": tool, "arguments": arguments})[
            "structuredContent"
        ]
        return content

    def processor_seconds(self) -> float:
        """Of the whole process; the number of its clock is made as the kernel makes it."""
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def resident_mb(self) -> float:
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["VmRSS"].split()[0]) / 1024

    def close(self) -> None:
        self._process.communicate()


def measure(rounds: int, calls: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as scratch:
        for name in COMMANDS:
            Server(name, scratch).close()  # writes the bytecode
        starts = first_answers(scratch, rounds)
        servers = {name: Server(name, scratch) for name in COMMANDS}
        advances = walked(servers, calls)
        resident = {name: server.resident_mb() for name, server in servers.items()}
        for server in servers.values():
            server.close()
    return {
        "first answer, s": {name: round(statistics.median(found), 3) for name, found in starts.items()},
        "advance, ms": {name: round(statistics.median(found), 3) for name, found in advances.items()},
        "after the calls, MB": {name: round(found, 1) for name, found in resident.items()},
    }


def first_answers(scratch: str, rounds: int) -> dict[str, list[float]]:
    """Processor seconds from the start of the process to its first answer."""
    found: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name in random.sample(list(COMMANDS), len(COMMANDS)):
            server = Server(name, scratch)
            found[name].append(server.processor_seconds())
            server.close()
    return found


def walked(servers: dict[str, Server], calls: int) -> dict[str, list[float]]:
    """Processor milliseconds per advance, one value per block."""
    found: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(max(1, calls // BLOCK)):
        for name in random.sample(list(servers), len(servers)):
            server = servers[name]
            server.start()
            before = server.processor_seconds()
            for _ in range(BLOCK):
                server.advance()
            found[name].append(1000 * (server.processor_seconds() - before) / BLOCK)
    return found


def _workflow() -> dict[str, Any]:
    steps = [{"id": f"s{number}", "title": f"Step {number}", "prompt": "Do it."} for number in range(STEPS)]
    return {"id": "project.long", "name": "Long", "description": "For measuring.", "steps": steps}


def _option(arguments: Sequence[str], name: str, default: int) -> int:
    return int(arguments[list(arguments).index(name) + 1]) if name in arguments else default


def make_table(report: dict[str, Any]) -> str:
    lines = ["| server on stdin and stdout | ours | the protocol library | bound |", "|---|---|---|---|"]
    for what, found in report.items():
        lines.append(f"| {what} | {found['ours']} | {found['library']} | {BOUNDS[what]:g} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    calls = _option(arguments, "--calls", CALLS)
    report = measure(_option(arguments, "--rounds", ROUNDS), calls)
    rewrite(arguments, "stdio.py", make_table(report))
    if "--json" in arguments:
        print(json.dumps(report, indent=2))
        return 0
    print(f"Python {sys.version.split()[0]}, {calls} calls each, medians of processor time.")
    for what, found in report.items():
        told = "  ".join(f"{name} {value}" for name, value in found.items())
        ratio = found["library"] / found["ours"]
        print(f"{what:<22} {told}  ({ratio:.1f} x)  bound {BOUNDS[what]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
