"""The server at work: the feed beside 20 appends a second, 64 requests at once, clients that must not mix.

Run with `python bench/server.py [--json] [--home DIR] [--sessions 2000] [--seconds 20] [--calls 10000]`; a
home that is named is kept for another run. A listener does what the page of sessions does: it hears of
changes, fetches the page, and then waits as long as `static/live.js` says. Processor time is that of the
server's process, from the kernel. The exit status is 1 when an answer was wrong, whatever the speed.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from handrail.contract.tokens.workflow import mint, purpose_key, verify
from handrail.runtime.hub import perform
from handrail_serve.limits import REQUESTS_AT_ONCE
from tests.journeys.conversation import answer
from tests.referees.console_stores import begin, open_store, report

APPENDS_PER_SECOND = 20
WAIT = 60
_LIVE = Path(__file__).parent.parent / "src/handrail_serve/static/live.js"
_TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """`handrail serve` on a home, and what the kernel says of its process."""

    def __init__(self, process: subprocess.Popen[bytes], state: dict[str, Any]) -> None:
        self.process = process
        self.token = state["token"]
        self.port = int(state["address"].rstrip("/").rpartition(":")[2])
        self.headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def children(self) -> bool:
        """Whether it has children now, or had any that have ended."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return bool(int(fields[13]) + int(fields[14])) or any(one.read_bytes() for one in tasks)


@contextmanager
def served(home: Path) -> Iterator[Server]:
    environment = {**os.environ, "HANDRAIL_HOME": str(home)}
    process = subprocess.Popen(
        [sys.executable, "-m", "handrail.main", "serve", "--port", "0"],
        env=environment,
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), "the server did not start"
        yield Server(process, json.loads((home / "run" / "server.json").read_bytes()))
    finally:
        process.terminate()
        process.wait(WAIT)


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    kept = _option(arguments, "--home", "")
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as scratch:
        home = Path(kept or scratch)
        replies = _seed(home, int(_option(arguments, "--sessions", "2000")))
        with served(home) as server:
            told = {
                "idle": measure_idle(server),
                "feed": measure_feed(server, home, replies, float(_option(arguments, "--seconds", "20"))),
                "at once": measure_crowd(server),
                "one more": measure_one_more(server),
                "apart": measure_apart(server, home, int(_option(arguments, "--calls", "10000"))),
            }
        told["forged"] = measure_forged(home, replies[0])
    if "--json" in arguments:
        print(json.dumps(told, indent=2))
    else:
        for name, row in told.items():
            print(f"{name:<9} " + ", ".join(f"{key} {value}" for key, value in row.items()))
    return 0 if told["apart"]["wrong"] == 0 and told["one more"]["status"] == 503 else 1


def _seed(home: Path, sessions: int) -> list[dict[str, Any]]:
    """As many sessions, a tenth of them with a gap; and the replies of twenty that go on."""
    runtime = open_store(home)
    folder = home / "data" / "sessions"
    count = len(os.listdir(folder)) if folder.exists() else 0
    for number in range(count, sessions):
        first = begin(runtime, f"Session number {number}", autonomy="full_auto_never_stop")
        if number % 10 == 0:
            gap = {"kind": "wr.gap", "severity": "warning", "summary": f"Gap {number}."}
            report(runtime, first["ackToken"], "Looked.", gap)
    return [begin(runtime, f"Goes on {number}") for number in range(APPENDS_PER_SECOND)]


def measure_idle(server: Server, seconds: float = 3.0) -> dict[str, Any]:
    """Nobody listens: the watcher is off, and the process rests."""
    before = server.processor_seconds()
    time.sleep(seconds)
    return {"% of a core": _percent(server.processor_seconds() - before, seconds)}


def measure_feed(server: Server, home: Path, replies: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """A page is open, and another process appends: the watcher alone, then with the page that follows."""
    alone = _listen(server, home, replies, seconds, follows=False)
    whole = _listen(server, home, replies, seconds, follows=True)
    return {
        "watching, % of a core": alone["percent"],
        "with its page, % of a core": whole["percent"],
        "appends": whole["appends"],
        "changes heard": whole["heard"],
        "pages": whole["pages"],
        "a page, ms": whole["page_ms"],
        "children": server.children(),
        "bound": 15,
    }


class _Listener(threading.Thread):
    """The page of sessions, without a browser."""

    def __init__(self, server: Server, *, follows: bool) -> None:
        super().__init__(daemon=True)
        self._server, self._follows = server, follows
        self._share = int(re.findall(r"const SHARE = (\d+)", _LIVE.read_text(encoding="utf-8"))[0])
        self.heard = 0
        self.pages: list[float] = []
        self._line = server.connect()
        self._line.request("GET", "/api/feed", headers=server.headers)
        self._stream = self._line.getresponse()
        self._changed, self._ended = threading.Event(), threading.Event()

    def run(self) -> None:
        follower = threading.Thread(target=self._follow, daemon=True)
        if self._follows:
            follower.start()
        while not self._ended.is_set():
            try:
                line = self._stream.readline()
            except (OSError, ValueError, AttributeError):  # how the library says that we have left
                return
            if line.startswith(b"event: change"):
                self.heard += 1
                self._changed.set()

    def _follow(self) -> None:
        line = self._server.connect()
        while not self._ended.is_set():
            if not self._changed.wait(0.1):
                continue
            self._changed.clear()
            began = time.perf_counter()
            line.request("GET", "/api/view/sessions", headers=self._server.headers)
            line.getresponse().read()
            self.pages.append(time.perf_counter() - began)
            self._ended.wait(max(0.12, self._share * self.pages[-1]))

    def leave(self) -> None:
        self._ended.set()
        if self._line.sock is not None:
            self._line.sock.shutdown(socket.SHUT_RDWR)
        self._line.close()


def _listen(
    server: Server, home: Path, replies: list[dict[str, Any]], seconds: float, *, follows: bool
) -> dict[str, Any]:
    runtime = open_store(home)
    listener = _Listener(server, follows=follows)
    listener.start()
    began, used, appends = time.perf_counter(), server.processor_seconds(), 0
    while (now := time.perf_counter()) < began + seconds:
        at = appends % len(replies)
        params = {"checkpointToken": replies[at]["checkpointToken"], "output": {"notesMarkdown": "Saved."}}
        replies[at] = answer(runtime, "run.checkpoint", **params)
        appends += 1
        time.sleep(max(0.0, began + appends / APPENDS_PER_SECOND - now))
    took = time.perf_counter() - began
    percent = _percent(server.processor_seconds() - used, took)
    listener.leave()
    page = round(1000 * statistics.median(listener.pages), 1) if listener.pages else 0
    return {
        "percent": percent,
        "appends": appends,
        "heard": listener.heard,
        "pages": len(listener.pages),
        "page_ms": page,
    }


def measure_crowd(server: Server, rounds: int = 8) -> dict[str, Any]:
    """As many clients as the server takes on, each with one call after the other."""
    told_to_wait: list[bool] = []

    def visit(_: int) -> list[float]:
        line, taken = server.connect(), []
        for _ in range(rounds):
            began = time.perf_counter()
            line.request("GET", "/api/preferences.show", headers=server.headers)
            heard = line.getresponse()
            heard.read()
            assert heard.status in (200, 503), heard.status
            told_to_wait.append(heard.status == 503)  # the listener before may still be leaving
            taken.append(time.perf_counter() - began)
        return taken

    alone = sorted(visit(0) + visit(0))
    used, began = server.processor_seconds(), time.perf_counter()
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as crowd:
        taken = sorted(one for part in crowd.map(visit, range(REQUESTS_AT_ONCE)) for one in part)
    wall = time.perf_counter() - began
    return {
        "requests": len(taken),
        "per second": round(len(taken) / wall),
        "processor ms each": round(1000 * (server.processor_seconds() - used) / len(taken), 2),
        "median ms": round(1000 * statistics.median(taken), 1),
        "95 % ms": round(1000 * taken[len(taken) * 95 // 100], 1),
        "longest ms": round(1000 * taken[-1], 1),
        "alone ms": round(1000 * statistics.median(alone), 1),
        "told to wait": sum(told_to_wait),
    }


def measure_one_more(server: Server) -> dict[str, Any]:
    """The server holds as many requests as it takes on, each still sending, and asks the next one to wait."""
    head = (
        f"POST /api/session.list HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 2\r\n"
        f"Content-Type: application/json\r\nAuthorization: Bearer {server.token}\r\n\r\n{{"
    ).encode()
    lines = [socket.create_connection(("127.0.0.1", server.port), WAIT) for _ in range(REQUESTS_AT_ONCE)]
    try:
        for line in lines:
            line.sendall(head)
        ends = time.perf_counter() + WAIT
        while True:  # a request counts when its head was read, which is a moment after it was sent
            began = time.perf_counter()
            one = server.connect()
            one.request("GET", "/api/session.list", headers=server.headers)
            heard = one.getresponse()
            heard.read()
            if heard.status == 503 or began > ends:
                break
        took = time.perf_counter() - began
        for line in lines:
            line.sendall(b"}")
        finished = [line.recv(12) for line in lines]
    finally:
        for line in lines:
            line.close()
    return {
        "status": heard.status,
        "retry-after": heard.getheader("Retry-After"),
        "refused in ms": round(1000 * took, 1),
        "the others": f"{finished.count(b'HTTP/1.1 200')} of {REQUESTS_AT_ONCE} answered",
    }


def measure_apart(server: Server, home: Path, calls: int) -> dict[str, Any]:
    """Two clients on eight connections each, interleaved: every answer is about the caller's own session."""
    runtime = open_store(home)
    replies = [begin(runtime, f"Only client {number}") for number in range(2)]
    own = [reply["session"]["sessionId"] for reply in replies]

    def visit(number: int) -> int:
        client, wrong, line = number % 2, 0, server.connect()
        for at in range(calls // 16):
            target, body = _call(replies[client], own[client], at)
            headers = {**server.headers, "Accept": "application/json, text/event-stream"}
            line.request("POST" if body else "GET", target, body, headers)
            text = line.getresponse().read().decode()
            is_numbered = not body or f'"id":{at}' in text
            wrong += own[client] not in text or own[1 - client] in text or not is_numbered
        return wrong

    began = time.perf_counter()
    with ThreadPoolExecutor(16) as crowd:
        wrong = sum(crowd.map(visit, range(16)))
    return {"calls": calls // 16 * 16, "wrong": wrong, "seconds": round(time.perf_counter() - began, 1)}


def _call(reply: dict[str, Any], session: str, number: int) -> tuple[str, str]:
    if number % 2:
        return f"/api/session.timeline?sessionId={session}", ""
    arguments = {"stateToken": reply["stateToken"]}
    params = {"name": "continue_workflow", "arguments": arguments}
    return "/mcp", json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


def measure_forged(home: Path, reply: dict[str, Any], tries: int = 10_000) -> dict[str, Any]:
    """How long a refusal takes where the named session is there, and where it never was."""
    runtime = open_store(home)
    found = verify(runtime.keys.verifying_keys("workflow"), reply["stateToken"])
    assert found is not None
    there = mint(purpose_key(b"x" * 32, "workflow"), found)
    never = there[:3] + there[14:2:-1] + there[15:]
    taken: dict[str, list[int]] = {there: [], never: []}
    for number in range(tries):
        token = (there, never)[number % 2]
        began = time.thread_time_ns()
        perform(runtime, "run.continue", {"stateToken": token})
        taken[token].append(time.thread_time_ns() - began)
    middle = [statistics.median(one) / 1000 for one in taken.values()]
    return {
        "there, us": round(middle[0], 1),
        "never, us": round(middle[1], 1),
        "ratio": round(middle[0] / middle[1], 3),
    }


def _percent(used: float, seconds: float) -> float:
    return round(100 * used / seconds, 1)


def _option(arguments: Sequence[str], name: str, default: str) -> str:
    return arguments[arguments.index(name) + 1] if name in arguments else default


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
