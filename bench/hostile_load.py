"""An agent's work on the server of a team, alone and beside 40 callers without a credential.

Run with `python bench/hostile_load.py [--json] [--seconds N] [--one-address]`. The hostile callers sign in
with wrong passphrases, show credentials that are none, and hold connections in silence. Each has an address
of its own, which is harder than one for all; with `--one-address` they share that of the agent. The goals are
a p99 of at most 1.5 times the quiet one and at most 64 MiB more memory; the exit status says whether both
hold.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests.conftest import THREE_STEPS
from tests.team.postgres import as_url, fresh_database, role_of_its_own, running_server
from tests.team.team_process import TeamServer

HOSTILE = 40
ROUNDS = 4
WAIT = 60
AGENTS_ADDRESS = "127.0.0.1"
MOST_RATIO, MOST_BYTES = 1.5, 64 * 1024 * 1024
_PAGE = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
_PASSPHRASE = "three blue words"


class Client:
    """One caller with a connection that is made again where the server closed it."""

    def __init__(self, address: str, comes_from: str = AGENTS_ADDRESS) -> None:
        self._origin = address.rstrip("/")
        source = (comes_from, 0)
        self._link = http.client.HTTPConnection(
            "127.0.0.1", _port_of(address), timeout=WAIT, source_address=source
        )

    def ask(self, path: str, body: Any, token: str = "") -> tuple[int, Any]:
        headers = _PAGE | {"Origin": self._origin} | ({"Authorization": f"Bearer {token}"} if token else {})
        try:
            self._link.request("POST", path, json.dumps(body), headers)
            told = self._link.getresponse()
            return told.status, json.loads(told.read() or b"{}")
        except (OSError, ValueError, http.client.HTTPException):
            self._link.close()
            return 0, {}


def measure(server: TeamServer, token: str, seconds: float, name: str) -> list[float]:
    """How long each advance of an agent took, in milliseconds."""
    client, took = Client(server.address), []
    ends_at, number = time.monotonic() + seconds, 0
    while time.monotonic() < ends_at:
        number += 1
        start = {"workflowId": "user.three_steps", "goal": "Look.", "requestId": f"{name}-{number}"}
        _, reply = client.ask("/api/run.start", start, token)
        while (ack := reply.get("data", {}).get("ackToken")) is not None:
            report = {"ackToken": ack, "output": {"notesMarkdown": "Looked."}}
            began = time.perf_counter()
            status, reply = client.ask("/api/run.continue", report, token)
            took.append((time.perf_counter() - began) * 1000)
            assert status == 200, (status, reply)
    return took


def be_hostile(address: str, number: int, go: Any, stop: Any, told: list[int]) -> None:
    client = Client(address, AGENTS_ADDRESS if "--one-address" in sys.argv else f"127.0.1.{number}")
    while not stop.is_set():
        go.wait()
        match number % 4:
            case 0:
                given = {"name": f"name {number}", "passphrase": "wrong in every way"}
                status, _ = client.ask("/sign-in/passphrase", given)
            case 1:
                given = {"name": "Ana", "passphrase": "wrong in every way"}
                status, _ = client.ask("/sign-in/passphrase", given)
            case 2:
                status, _ = client.ask("/api/session.list", {}, "hra_" + "A" * 43)
            case _:
                given = {"invitation": "hri_" + "A" * 43, "name": "Eve", "passphrase": _PASSPHRASE}
                status, _ = client.ask("/sign-in/invitation", given)
        told.append(status)


def attack(address: str, go: Any, stop: Any, told: Any) -> None:
    """The crowd, in a process of its own, which stands for other machines: it takes no time of this one."""
    os.nice(19)
    silent = [http.client.HTTPConnection("127.0.0.1", _port_of(address), timeout=WAIT) for _ in range(200)]
    for link in silent:
        link.connect()
    answers: list[int] = []
    crowd = [
        threading.Thread(target=be_hostile, args=(address, number, go, stop, answers), daemon=True)
        for number in range(HOSTILE)
    ]
    for one in crowd:
        one.start()
    stop.wait()
    go.set()
    for one in crowd:
        one.join(WAIT)
    told.put(answers)


def _port_of(address: str) -> int:
    return int(address.rstrip("/").rpartition(":")[2])


def memory_of(server: TeamServer) -> int:
    lines = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def find_p99(took: list[float]) -> float:
    return statistics.quantiles(took, n=100)[98]


def measure_both(server: TeamServer, seconds: float) -> dict[str, Any]:
    visitor = Client(server.address)
    invitation = server.invitation.partition("#")[2].partition("=")[2] or server.invitation.partition("#")[2]
    given = {"invitation": invitation, "name": "Ana", "passphrase": _PASSPHRASE}
    status, page = visitor.ask("/sign-in/invitation", given)
    assert status == 200, page
    status, made = visitor.ask("/api/team.new_token", {"name": "builder", "requestId": "b"}, page["token"])
    assert status == 200, made
    token = made["data"]["bearer"]
    measure(server, token, 2, "warm")
    apart = multiprocessing.get_context("spawn")
    go, stop, answers = apart.Event(), apart.Event(), apart.Queue()
    crowd = apart.Process(target=attack, args=(server.address, go, stop, answers), daemon=True)
    crowd.start()
    before = after = memory_of(server)
    quiet, beside = list[float](), list[float]()
    for number in range(ROUNDS):  # in turn, so that whatever else the machine does counts for both
        go.clear()
        time.sleep(0.5)
        quiet += measure(server, token, seconds / ROUNDS, f"quiet-{number}")
        go.set()
        time.sleep(0.5)
        beside += measure(server, token, seconds / ROUNDS, f"beside-{number}")
        after = max(after, memory_of(server))
    stop.set()
    told = answers.get(timeout=WAIT)
    crowd.join(WAIT)
    return {
        "quiet_p50_ms": round(statistics.median(quiet), 1),
        "quiet_p99_ms": round(find_p99(quiet), 1),
        "beside_p50_ms": round(statistics.median(beside), 1),
        "beside_p99_ms": round(find_p99(beside), 1),
        "p99_ratio": round(find_p99(beside) / find_p99(quiet), 2),
        "more_memory_mib": round((after - before) / 2**20, 1),
        "advances": [len(quiet), len(beside)],
        "hostile_answers": {str(status): told.count(status) for status in sorted(set(told))},
        "holds": find_p99(beside) <= MOST_RATIO * find_p99(quiet) and after - before <= MOST_BYTES,
    }


def main() -> int:
    words = sys.argv[1:]
    seconds = float(words[words.index("--seconds") + 1]) if "--seconds" in words else 12.0
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server() as postgres,
        fresh_database(postgres) as database,
        role_of_its_own(postgres, database) as address,
    ):
        flows = Path(folder, "flows")
        flows.mkdir()
        content = THREE_STEPS.replace(b"project.three_steps", b"user.three_steps")
        (flows / "three_steps.json").write_bytes(content)
        home = Path(folder, "home")
        home.mkdir(mode=0o700)
        limits = {"limits": {"callsAMinute": 1_000_000}}  # of the agent, which does nothing else than work
        (home / "config.json").write_text(json.dumps(limits), encoding="utf-8")
        server = TeamServer(home, as_url(address), "--workflows", str(flows))
        try:
            found = measure_both(server, seconds)
        finally:
            server.stop()
    print(json.dumps(found, indent=None if "--json" in words else 2))
    return 0 if found["holds"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
