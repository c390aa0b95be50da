"""A served Console with its seeded stores, and the browser that visits it."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest

from tests.referees.equipment import HERE, ROOT, NotAvailable, node_modules, python_party

WAIT_SECONDS = 60
VISIT_SECONDS = 540


def find_equipment() -> tuple[str, str, str]:
    """Chromium, an interpreter with playwright, and the source of axe; skips with the reason."""
    if not os.environ.get("HANDRAIL_TEST_CONSOLE"):
        pytest.skip("HANDRAIL_TEST_CONSOLE is not set; `.ci/run browser` sets it")
    chromium = os.environ.get("HANDRAIL_TEST_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        pytest.skip("no chromium on PATH, and HANDRAIL_TEST_CHROMIUM is not set")
    try:
        return chromium, python_party("browser"), os.path.join(node_modules(), "axe-core", "axe.min.js")
    except NotAvailable as trouble:
        pytest.skip(str(trouble))


class Server:
    """`handrail serve` on a home; ended by `stop`."""

    def __init__(self, home: Path, port: int = 0) -> None:
        project = home.with_name(f"{home.name}-project")  # nobody works in Handrail's own home
        project.mkdir(exist_ok=True)
        environment = {
            "HANDRAIL_HOME": str(home),
            "HANDRAIL_PROJECT": str(project),
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join((os.path.join(ROOT, "src"), ROOT)),
        }
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "handrail.main", "serve", "--port", str(port)),
                *("--token-file", str(home / "token")),
            ],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self.address = next_line(self.process).strip()
        assert self.address.startswith("http://"), self.address
        self.port = int(self.address.rstrip("/").rpartition(":")[2])
        self.token = (home / "token").read_text(encoding="utf-8").strip()
        state = json.loads((home / "run" / "server.json").read_text(encoding="utf-8"))
        self.console_token: str = state["consoleToken"]

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.communicate(timeout=WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()

    def children(self) -> list[str]:
        """The processes that this one has started and that still run, where the system tells."""
        told = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return told.read_text(encoding="utf-8").split() if told.exists() else []


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A served store, and the sessions in it by name."""

    home: Path
    server: Server
    sessions: dict[str, str]

    def json(self, operation: str, params: dict[str, Any]) -> Any:
        """What the operation answers over HTTP, as a program asks."""
        request = urllib.request.Request(
            f"{self.server.address.rstrip('/')}/api/{operation}",
            data=json.dumps(params).encode(),
            headers={"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answered:
            return json.load(answered)["data"]

    def graph(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.json("run.graph", {"sessionId": self.sessions[name]})
        return found

    def run(self, name: str) -> str:
        return f"/sessions/{self.sessions[name]}/runs/{self.graph(name)['run_id']}"


class Opened(Protocol):
    """A server whose pages a browser opens."""

    address: str
    token: str


class Chromium:
    """The browser, in a process of its own; one visit after the other."""

    def __init__(self) -> None:
        chromium, python, axe = find_equipment()
        script = os.path.join(HERE, "clients", "browser.py")
        self._command = [python, script, chromium, axe]
        self._start()

    def _start(self) -> None:
        self.is_visiting = False
        self.process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def visit(self, server: Opened, name: str, **more: Any) -> dict[str, Any]:
        """A whole visit, and what it found."""
        self.begin(server, name, **more)
        return self.next()

    def begin(self, server: Opened, name: str, **more: Any) -> None:
        if self.is_visiting:  # a test has ended before its visit: what that one says is nobody's answer
            self.end()
            self._start()
        self.is_visiting = True
        self._write({"visit": name, "address": server.address, "token": server.token, **more})

    def meets(self, where: str) -> None:
        """Wait until the visit is there."""
        assert self.next() == {"at": where}

    def tell(self, said: str = "") -> None:
        self._write(said)

    def next(self) -> dict[str, Any]:
        line = next_line(self.process)
        assert line, "the browser has ended"
        told: dict[str, Any] = json.loads(line)
        self.is_visiting = "at" in told
        assert "trouble" not in told, f"{told['trouble']}\n{told['complaints']}"
        return told

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()

    def _write(self, value: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    browser = Chromium()
    try:
        yield browser
    finally:
        browser.end()


def next_line(process: subprocess.Popen[str]) -> str:
    """The next line of stdout, within the time of the longest visit."""
    lines: queue.Queue[str] = queue.Queue()
    stdout = process.stdout
    assert stdout is not None
    reading = threading.Thread(target=lambda: lines.put(stdout.readline()), daemon=True)
    reading.start()
    try:
        return lines.get(timeout=VISIT_SECONDS)
    except queue.Empty:
        raise AssertionError("nothing was said in time") from None
