"""`handrail serve` as a process: where it listens, where its token is, how it stops, and a second one."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Fault
from handrail.host.http_client import LocalHttpClient
from handrail_serve.guard import ALWAYS
from handrail_serve.serving import bind
from tests.conformance.recorder import record
from tests.surfaces.cli.tool import Tool
from tests.surfaces.mcp.conversations import opening

SECONDS = 120


class ServedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A running server, and what its runtime file says."""

    tool: Tool
    process: subprocess.Popen[bytes]
    state: dict[str, Any]

    @property
    def port(self) -> int:
        return int(self.state["address"].rstrip("/").rpartition(":")[2])

    def ask(self, method: str, path: str, body: Any = None, *, token: bool = True) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {self.state['token']}"} if token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@contextmanager
def served(tool: Tool, *flags: str) -> Iterator[ServedTool]:
    arguments = ["serve", "--port", "0", *flags]
    process = subprocess.Popen(
        [*tool.command, *arguments],
        cwd=tool.project,
        env=tool.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    watchdog = threading.Timer(SECONDS, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        assert address, process.stderr and process.stderr.read()
        state = json.loads(Path(tool.home, "run", "server.json").read_bytes())
        assert state["address"] == address
        yield ServedTool(tool=tool, process=process, state=state)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=SECONDS)
        record(arguments, process.returncode, out, err)
    finally:
        watchdog.cancel()
        process.kill()
        process.wait(timeout=SECONDS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedTool]:
    with served(Tool(str(tmp_path_factory.mktemp("served"))), "--access-log") as running:
        yield running


@pytest.mark.thorough
def test_it_listens_on_loopback_alone(server: ServedTool) -> None:
    """The kernel's own list of listening sockets, of this process."""
    held = {os.readlink(f"/proc/{server.process.pid}/fd/{fd}") for fd in _descriptors(server.process.pid)}
    listening = []
    for table, loopback in (("tcp", "0100007F"), ("tcp6", "00000000000000000000000001000000")):
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in held:
                listening.append((local, loopback))

    assert listening == [(f"0100007F:{server.port:04X}", "0100007F")]


def _descriptors(pid: int) -> list[str]:
    return os.listdir(f"/proc/{pid}/fd")


def test_answer_does_not_wait_for_an_acknowledged_head() -> None:
    """asyncio switches the delay of small packets off for sockets that say they are TCP."""
    with bind("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "handrail.example", "127.0.0.2", ""])
def test_any_other_address_is_refused_before_it_is_bound(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("a socket was made"))

    with pytest.raises(Fault, match="loopback alone") as refused:
        bind(host, 0)

    assert refused.value.kind.code == "E_FORBIDDEN"
    assert "ssh -L" in refused.value.hint


@pytest.mark.thorough
def test_the_command_refuses_another_address_too(server: ServedTool) -> None:
    ran = server.tool.run("serve", "--host", "0.0.0.0", "--port", "0")

    assert (ran.status, json.loads(ran.out)["error"]["code"]) == (4, "E_FORBIDDEN")


def test_the_runtime_files_are_private(server: ServedTool) -> None:
    folder = Path(server.tool.home, "run")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_it_serves_the_shell_the_operations_and_mcp(server: ServedTool) -> None:
    assert server.ask("GET", "/", token=False)[0] == 200
    assert server.ask("GET", "/health/live", token=False) == (200, b"pass\n")
    assert json.loads(server.ask("GET", "/api/session.list")[1])["data"]["count"] == 0
    assert server.ask("GET", "/api/session.list", token=False)[0] == 401
    assert server.ask("POST", "/mcp", opening()[0], token=False)[0] == 401


def send_raw(server: ServedTool, content: bytes) -> tuple[int, dict[str, str], bytes]:
    """The answer to exactly these bytes."""
    with socket.create_connection(("127.0.0.1", server.port), SECONDS) as connection:
        connection.sendall(content)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def is_guarded(headers: dict[str, str]) -> bool:
    has_all = all(headers.get(name.decode()) == value.decode() for name, value in ALWAYS)
    return has_all and headers["cache-control"] == "no-store" and "server" not in headers


def test_what_is_no_http_is_refused_with_the_usual_headers(server: ServedTool) -> None:
    for content in (b"\x16\x03\x01 hello\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"a" * 40_000):
        status, headers, body = send_raw(server, content)

        assert status == 400
        assert json.loads(body)["native_code"] == "E_VALIDATION"
        assert headers["content-type"] == "application/problem+json"
        assert is_guarded(headers)


def test_silent_connections_keep_nobody_out(server: ServedTool) -> None:
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), SECONDS))

        status, _ = server.ask("GET", "/health/live", token=False)

    assert status == 200


@pytest.mark.thorough
def test_a_second_server_and_a_taken_port_get_a_clear_answer(server: ServedTool, tmp_path: Path) -> None:
    second = server.tool.run("serve", "--port", "0")
    taken = Tool(str(tmp_path)).run("serve", "--port", str(server.port))

    assert (second.status, taken.status) == (6, 6)
    assert server.state["address"] in json.loads(second.out)["error"]["message"]
    assert f"Port {server.port} is taken" in json.loads(taken.out)["error"]["message"]


@pytest.mark.parametrize(
    "url",
    ["ftp://127.0.0.1/", "http://", "http://127.0.0.1:99999/", "http://user:secret@127.0.0.1:7245/"],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(Fault) as caught:
        LocalHttpClient().ask("GET", url, {})

    assert caught.value.kind.native == "E_VALIDATION"
    assert "secret" not in caught.value.message


FRAMES: dict[str, bytes] = {
    "nothing": b"",
    "no request": b"\x16\x03\x01\x02\x00" + bytes(range(256)),
    "half a line": b"GET /api/session.li",
    "no version": b"GET /health/live\r\n\r\n",
    "half of the headers": b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1",
    "a line without end": b"GET /" + b"a" * 200_000,
    "headers without end": b"GET / HTTP/1.1\r\n" + b"X-A: " + b"a" * 200_000,
    "many headers": b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n",
    "two lengths": b"POST /mcp HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "both lengths": b"POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a length that is none": b"POST /mcp HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "a chunk that is none": b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "less than was said": b"POST /api/session.list HTTP/1.1\r\nContent-Length: 100\r\n\r\n{",
    "a WebSocket": b"GET /mcp HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "null bytes": b"GET /\x00 HTTP/1.1\r\nHost: \x00\r\n\r\n",
}


def test_no_frame_ends_the_server(server: ServedTool) -> None:
    """Each is sent, half of each too, and its sender leaves; whoever comes next is answered."""
    for name, frame in FRAMES.items():
        for content in (frame, frame[: len(frame) // 2]):
            with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as line:
                try:
                    line.sendall(content)
                    line.shutdown(socket.SHUT_WR)
                    said = line.recv(64)
                except OSError:  # refused before the end of the frame
                    said = b""
            assert not said.startswith(b"HTTP/1.1 2"), name

    assert server.ask("GET", "/health/live", token=False) == (200, b"pass\n")
    assert server.process.poll() is None


@pytest.mark.thorough
def test_console_finds_the_server_that_runs(server: ServedTool) -> None:
    ran = server.tool.run("console")

    assert ran.status == 0
    assert server.state["address"].encode() in ran.err
    assert server.state["token"].encode() not in ran.err + ran.out


@pytest.mark.promise("http.serve.stops")
@pytest.mark.thorough
def test_signal_ends_it_with_0_and_its_token_stays_in_its_file(tmp_path: Path) -> None:
    tool = Tool(str(tmp_path))
    kept = tmp_path / "token"
    with served(tool, "--access-log", "--token-file", str(kept)) as running:
        started = {"workflowId": "wr.small_change", "goal": "Look.", "requestId": "one"}
        token = running.state["token"]
        answers = [
            running.ask("POST", "/api/run.start", started)[1],
            running.ask("GET", f"/api/session.list?query={token}")[1],
            running.ask("GET", f"/api/view/{token}")[1],
            running.ask("POST", "/api/run.continue", {"ackToken": token})[1],
            running.ask("GET", "/", token=False)[1],
        ]
        process = running.process
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=SECONDS)

        assert process.returncode == 0
        assert b"POST /api/run.start 200" in err
        assert not [text for text in (out, err, *answers) if token.encode() in text]
    left = [
        path for path in Path(tool.home).rglob("*") if path.is_file() and token.encode() in path.read_bytes()
    ]
    assert left == []
    assert os.listdir(Path(tool.home, "run")) == ["server.lock"]
    assert kept.read_text(encoding="ascii").strip() == token
