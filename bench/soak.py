"""Many agents for a long time: 200 servers on one home, 2 000 sessions, 100 000 calls, and what is left then.

Run with `python bench/soak.py [--json] [--clients 200] [--runs 10] [--steps 32] [--shared 3]`. Each client is
an agent with a `handrail mcp` of its own: it starts runs, repeats its starts, advances, repeats every fifth
advance, rehydrates, saves, looks for its work, and takes its first steps in one session that all share. Every
repeated call must get the same answer. At the end each acknowledged note is looked for in the raw files and
the store is verified. The reference is one such client alone, on a home of its own, in the same run.
HANDRAIL_BENCH_DIR names a directory on the disk to measure. The exit status says nothing about speed.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench.sessions import BOUNDS, new_process
from bench.stdio import NOTES, Server

Reply = dict[str, Any]
Script = Generator[tuple[str, dict[str, Any]], Reply, None]
NOT_SERVED = {"SESSION_LOCKED", "TOKEN_SESSION_LOCKED", "TIMEOUT"}
"""Answers that ask for the same call again: the client is counted and repeats it."""


class Client:
    """One server and the agent that speaks with it: its next call goes out when the answer is in."""

    def __init__(self, scratch: str, script: Script) -> None:
        self.server = Server("ours", scratch)
        self._script = script
        self._call = next(script)
        self.calls, self.not_served, self.longest = 0, 0, 0.0
        self._sent = 0.0
        self._used_before = self.server.processor_seconds()

    def send(self) -> None:
        tool, arguments = self._call
        self._sent = time.perf_counter()
        self.server.send("tools/call", {"name": tool, "arguments": arguments})

    def take(self) -> bool:
        """Take the answer and send the next call; whether there was one."""
        reply = self.server.receive()["structuredContent"]
        self.calls += 1
        self.longest = max(self.longest, time.perf_counter() - self._sent)
        if reply.get("code") in NOT_SERVED:
            self.not_served += 1
        else:
            try:
                self._call = self._script.send(reply)
            except StopIteration:
                return False
        self.send()
        return True

    def used(self) -> float:
        """Processor seconds of its calls, the start of the server left out."""
        return self.server.processor_seconds() - self._used_before


def agent(name: str, runs: int, steps: int, shared: str, shared_steps: int) -> Script:
    """What one agent does; it believes nothing that it can ask for twice."""
    if shared:
        yield from walk(f"{name}-shared", shared_steps, {"session": shared})
    for run in range(runs):
        yield from walk(f"{name}-{run}", steps, {})
        yield "resume_session", {"query": f"{name}-{run}"}


def walk(name: str, steps: int, where: dict[str, str]) -> Script:
    start = "start_workflow", {"workflowId": "project.long", "requestId": name, "goal": name} | where
    reply = yield start
    again = yield start
    assert again == reply, f"{name}: a repeated start is another one: {reply} {again}"
    for step in range(steps):
        notes = {"notesMarkdown": f"{NOTES}soak:{name}:{step};"}
        advance = "continue_workflow", {"ackToken": reply["ackToken"], "output": notes}
        if step % 11 == 0:
            yield (
                "checkpoint_workflow",
                {"checkpointToken": reply["checkpointToken"], "output": {"notesMarkdown": "Halfway."}},
            )
        reply = yield advance
        assert reply.get("kind") == "ok", reply
        if step % 5 == 0:
            again = yield advance
            assert again == reply, f"{name}: a repeated advance is another one: {reply} {again}"
        if step % 7 == 0:
            shown = yield "continue_workflow", {"stateToken": reply["stateToken"]}
            assert shown["pending"] == reply["pending"], f"{name}: rehydrated to another step"


def soak(scratch: str, clients: int, runs: int, steps: int, shared_steps: int) -> Reply:
    """All clients at once; figures of their calls and of what they left."""
    opener = Server("ours", scratch)
    shared = opener.start()["session"]["sessionId"] if clients > 1 else ""
    opener.close()
    crowd = [Client(scratch, agent(f"c{one}", runs, steps, shared, shared_steps)) for one in range(clients)]
    started = time.perf_counter()
    with selectors.DefaultSelector() as ready:
        for client in crowd:
            ready.register(client.server.answers, selectors.EVENT_READ, client)
            client.send()
        while ready.get_map():
            for key, _ in ready.select():
                if not key.data.take():
                    ready.unregister(key.fileobj)
    took = time.perf_counter() - started
    calls = sum(client.calls for client in crowd)
    resident = [client.server.resident_mb() for client in crowd]
    used = sum(client.used() for client in crowd)
    for client in crowd:
        client.server.close()
    return {
        "clients": clients,
        "calls": calls,
        "not served": sum(client.not_served for client in crowd),
        "calls per second": round(calls / took),
        "processor time per call, ms": round(1000 * used / calls, 2),
        "longest call, ms": round(1000 * max(client.longest for client in crowd)),
        "memory per server at the end, MB": round(statistics.median(resident), 1),
        "largest server, MB": round(max(resident), 1),
        "acknowledged notes": clients * runs * steps + (clients * shared_steps if shared else 0),
        "notes found in the files": len(set(notes_in(os.path.join(scratch, "ours", "data", "sessions")))),
    }


def notes_in(sessions: str) -> Iterator[bytes]:
    for folder, _, names in os.walk(sessions):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                yield from re.findall(rb"soak:[^;]+;", file.read())


def verdict(home: str) -> Reply:
    """What the product itself says of the home that was left."""
    command = [sys.executable, "-m", "handrail.main", "store", "verify", "--compact"]
    ran = subprocess.run(command, capture_output=True, env=os.environ | {"HANDRAIL_HOME": home}, check=False)
    return {"verify": ran.returncode, "sessions": len(os.listdir(os.path.join(home, "data", "sessions")))}


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    clients, runs, steps, shared = (
        int(arguments[arguments.index(name) + 1]) if name in arguments else default
        for name, default in (("--clients", 200), ("--runs", 10), ("--steps", 32), ("--shared", 3))
    )
    report: Reply = {"python": sys.version.split()[0]}
    with tempfile.TemporaryDirectory(
        dir=os.environ.get("HANDRAIL_BENCH_DIR"), ignore_cleanup_errors=True
    ) as scratch:
        report["alone"] = soak(os.path.join(scratch, "alone"), 1, runs, steps, shared)
        report["all"] = soak(os.path.join(scratch, "all"), clients, runs, steps, shared)
        home = os.path.join(scratch, "all", "ours")
        report["left"] = verdict(home)
        report["ms"] = new_process("list", home, "session.list", {}, 5)
        report["ms"] |= new_process("word search", home, "session.resume", {"query": "parser branch"}, 5)
    if "--json" in arguments:
        print(json.dumps(report, indent=2))
        return 0
    for part in ("alone", "all", "left"):
        print(f"{part}: " + ", ".join(f"{name} {value}" for name, value in report[part].items()))
    for name, value in report["ms"].items():
        print(f"{name}: {value}" + (f"  bound {BOUNDS[name]:.0f}" if name in BOUNDS else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
