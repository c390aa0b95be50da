"""Requests over HTTP that are cut or dropped at every byte never end a server."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.referees.judged_place import Place, make_place, served_over_http

pytestmark = pytest.mark.thorough

LIMIT_SECONDS = 60
CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "list_workflows", "arguments": {"query": "Größe"}},
    },
    ensure_ascii=False,
).encode()
MOST_TRIES = 1_000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder: Path = tmp_path_factory.mktemp("frames")
    return make_place(str(folder))


@pytest.fixture(scope="module")
def address(place: Place) -> Iterator[tuple[str, int]]:
    with served_over_http(place) as url:
        yield "127.0.0.1", int(url.rsplit(":", 1)[1])


def head(length: int) -> bytes:
    lines = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2025-11-25",
        "Connection: close",
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def sent_raw(address: tuple[str, int], request: bytes, *, hang_up: bool) -> bytes:
    """What comes back; with `hang_up` the connection is dropped at once and nothing is read."""
    request = request.replace(b"{port}", str(address[1]).encode())
    with socket.create_connection(address, timeout=LIMIT_SECONDS) as connection:
        connection.sendall(request)
        if hang_up:
            return b""
        parts = []
        while part := connection.recv(65_536):
            parts.append(part)
        return b"".join(parts)


def test_dropped_connection_leaves_the_server_serving(address: tuple[str, int]) -> None:
    whole = head(len(CALL)) + CALL

    for length in range(1, len(whole)):
        sent_raw(address, whole[:length], hang_up=True)
    for _ in range(MOST_TRIES):  # after a burst of dropped ones the server may say that it is busy
        answer = sent_raw(address, whole, hang_up=False)
        if not answer.startswith(b"HTTP/1.1 503 "):
            break

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert json.loads(answer.split(b"\r\n\r\n", 1)[1])["result"]["structuredContent"]["count"] == 0


def test_a_body_cut_at_any_byte_is_refused(address: tuple[str, int]) -> None:
    statuses = {
        sent_raw(address, head(length) + CALL[:length], hang_up=False).split(b" ", 2)[1]
        for length in range(1, len(CALL))
    }

    assert statuses == {b"400"}
