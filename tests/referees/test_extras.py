"""The optional companions beside their real libraries: A2A clients, and a collector of OpenTelemetry.

Runs in the job `referees` (`HANDRAIL_TEST_EXTRAS=1`); the libraries come pinned from their registry. Each
test says why it did not run.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from handrail.contract.conformance.check import check
from tests.referees.console_place import WAIT_SECONDS, next_line
from tests.referees.equipment import HERE, ROOT, NotAvailable, python_party

pytestmark = pytest.mark.thorough


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A server with the extras beside it."""

    python: str
    address: str
    token: str


class Collector(BaseHTTPRequestHandler):
    """Keeps what exporters send, by its path."""

    heard: ClassVar[dict[str, bytes]] = {}

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.heard[self.path] = self.heard.get(self.path, b"") + body
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def find_libraries() -> str:
    """The interpreter that has the extras; skips with the reason."""
    if not os.environ.get("HANDRAIL_TEST_EXTRAS"):
        pytest.skip("HANDRAIL_TEST_EXTRAS is not set; the job `referees` sets it")
    try:
        return python_party("extras")
    except NotAvailable as trouble:
        pytest.skip(str(trouble))


def packages_of(python: str) -> str:
    """Where the extras lie, to be seen by the server beside its own packages."""
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run(
        [python, "-c", script], capture_output=True, check=True, encoding="utf-8", timeout=WAIT_SECONDS
    ).stdout.strip()


@contextmanager
def served(home: Path, python: str, **more: str) -> Iterator[Place]:
    """`handrail serve` beside the extras; it says one line and no more."""
    environment = {
        "HANDRAIL_HOME": str(home / "home"),
        "HANDRAIL_PROJECT": str(home),
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join((os.path.join(ROOT, "src"), packages_of(python))),
        **more,
    }
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "handrail.main", "serve", "--port", "0"),
            *("--token-file", str(home / "token")),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
    )
    try:
        address = next_line(process).strip()
        yield Place(
            python=python, address=address, token=(home / "token").read_text(encoding="utf-8").strip()
        )
    finally:
        process.terminate()
        try:
            _, said = process.communicate(timeout=WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
    assert len(said.splitlines()) == 1, f"a library wrote to the terminal of the server: {said}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with served(tmp_path_factory.mktemp("extras"), find_libraries()) as found:
        yield found


def call_server(place: Place, calls: list[dict[str, Any]]) -> dict[str, Any]:
    asked = json.dumps({"url": place.address, "token": place.token, "calls": calls})
    script = os.path.join(HERE, "clients", "a2a_client.py")
    done = subprocess.run(
        [place.python, script, asked], capture_output=True, encoding="utf-8", timeout=WAIT_SECONDS
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def envelope(task: dict[str, Any]) -> dict[str, Any]:
    (artifact,) = task["artifacts"]
    assert artifact["name"] == "lafs_response"
    document: dict[str, Any] = artifact["parts"][0]["data"]
    return document


def test_an_a2a_client_reads_the_card_and_calls_operations(place: Place) -> None:
    notes = {"output": {"notesMarkdown": "Looked at it."}}
    start = {"workflowId": "wr.small_change", "goal": "Try A2A", "requestId": "a2a-1"}

    seen = call_server(
        place,
        [
            {"data": {"operation": "session.list", "input": {"limit": 5}}},
            {"data": {"operation": "run.start", "input": start}},
            {"data": {"operation": "run.continue", "input": notes}, "next": True},
            {"data": {"operation": "run.continue", "input": notes}, "next": True},
            {"data": {"operation": "session.list"}, "again": True},
            {"data": {"operation": "session.list"}, "again": True},
            {"data": {"operation": "session.lits"}},
            {"data": {"operation": "check.run", "input": {}}},
            {"data": {"operation": "session.list", "input": {"limit": 0}}},
            {"data": {"input": {}}},
        ],
    )

    states = [told["status"]["state"] if "status" in told else told["error"] for told in seen["told"]]
    assert states == [
        "TASK_STATE_COMPLETED",
        "TASK_STATE_COMPLETED",
        "TASK_STATE_COMPLETED",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_COMPLETED",
        "UnsupportedOperationError",
        "TASK_STATE_REJECTED",
        "TASK_STATE_REJECTED",
        "TASK_STATE_FAILED",
        "InvalidParamsError",
    ]
    tasks = [told for told in seen["told"] if "id" in told]
    for task in tasks:
        report = check(envelope(task), kind="lafs", tier="complete")
        assert report.ok, report
    assert tasks[3]["id"] == tasks[4]["id"]
    assert tasks[3]["contextId"] == tasks[4]["contextId"]
    assert seen["kept"] == tasks[0]
    assert seen["listed"] == 7
    assert seen["refused"] == "TaskNotCancelableError"
    assert seen["card"]["supportedInterfaces"] == [
        {"url": place.address + "a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]
    assert seen["card"]["securitySchemes"] == {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}


def test_collector_gets_spans_and_measures_without_content(tmp_path: Path) -> None:
    python = find_libraries()
    Collector.heard.clear()
    collector = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    endpoint = f"http://127.0.0.1:{collector.server_address[1]}"
    try:
        with served(tmp_path, python, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint) as place:
            body = {"workflowId": "wr.small_change", "goal": "Hidden title", "requestId": "hidden-key"}
            call = urllib.request.Request(
                place.address + "api/run.start",
                json.dumps(body).encode(),
                {"Authorization": f"Bearer {place.token}", "Content-Type": "application/json"},
            )
            with urllib.request.urlopen(call, timeout=WAIT_SECONDS) as answer:
                assert answer.status == 200
    finally:
        collector.shutdown()
        collector.server_close()
        thread.join(WAIT_SECONDS)

    assert set(Collector.heard) == {"/v1/traces", "/v1/metrics"}
    everything = b"".join(Collector.heard.values())
    assert b"run.start" in Collector.heard["/v1/traces"]
    for name in (b"handrail.calls", b"handrail.call.duration", b"run.start"):
        assert name in Collector.heard["/v1/metrics"]
    for hidden in (b"Hidden title", b"hidden-key", b"wr.small_change", place.token.encode(), b"ak1"):
        assert hidden not in everything
