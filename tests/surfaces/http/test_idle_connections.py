"""Silent connections: none of them keeps a caller with a request out."""

from __future__ import annotations

import asyncio
import http.client
import socket
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from handrail_serve import serving
from handrail_serve.limits import IDLE_OF_AN_ADDRESS
from handrail_serve.serving import TimedProtocol
from tests.surfaces.cli.tool import Tool
from tests.surfaces.http.test_serving import SECONDS, served


class Transport(asyncio.Transport):
    """One end of a connection that is never sent anywhere."""

    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 1), "sockname": ("127.0.0.1", 2)})
        self.is_closed = False
        self.written = b""

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def write(self, data: Any) -> None:
        self.written += data


class Connections:
    """A server's connections, opened one after the other; each is a second younger."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(serving, "CONNECTIONS_AT_ONCE", 6)
        monkeypatch.setattr(serving, "IDLE_OF_AN_ADDRESS", 3)
        self.all: set[TimedProtocol] = set()
        self.now = 0.0

    def open(self, address: str) -> tuple[TimedProtocol, Transport]:
        one = object.__new__(TimedProtocol)
        transport = Transport(address)
        self.now += 1
        one.client, one.transport, one.cycle = (address, 1), transport, None  # type: ignore[assignment]
        one.connections = self.all  # type: ignore[assignment]
        one._idle_since = self.now
        self.all.add(one)
        return one, transport


def test_an_address_keeps_only_so_many_idle_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connections(monkeypatch)
    ends = [connections.open("10.0.0.1")[1] for _ in range(3)]
    fourth, _ = connections.open("10.0.0.1")

    assert fourth._make_room()
    assert [one.is_closed for one in ends] == [True, False, False]


def test_unknown_callers_close_no_connection_of_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connections(monkeypatch)
    agents = [connections.open("10.0.0.1") for _ in range(3)]
    for agent, _ in agents:
        agent._is_let_in = True
    silent = [connections.open("10.0.0.1") for _ in range(3)]
    filling, _ = silent[-1]
    assert filling._make_room()
    another, _ = connections.open("10.0.0.2")

    assert another._make_room()
    assert [end.is_closed for _, end in agents] == [False] * 3
    assert [end.is_closed for _, end in silent] == [True, False, False]


def test_a_server_full_of_agents_closes_the_oldest_idle_one(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connections(monkeypatch)
    agents = [connections.open("10.0.0.1") for _ in range(6)]
    for agent, _ in agents:
        agent._is_let_in = True
    newest, _ = connections.open("10.0.0.2")

    assert newest._make_room()
    assert [end.is_closed for _, end in agents] == [True] + [False] * 5


@pytest.mark.thorough
def test_a_connection_is_let_in_by_a_good_token_alone(tmp_path: Path) -> None:
    """A crowd of silent callers at one address: of those before them, the one with a token stays."""
    with served(Tool(str(tmp_path))) as server, ExitStack() as stack:
        mine, refused = (
            stack.enter_context(
                closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS))
            )
            for _ in range(2)
        )
        token = {"Authorization": f"Bearer {server.state['token']}"}
        for connection, headers, status in ((mine, token, 200), (refused, {}, 401)):
            connection.request("GET", "/api", headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
        used, given_up = mine.sock, refused.sock
        for _ in range(IDLE_OF_AN_ADDRESS):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS))

        assert given_up is not None
        assert given_up.recv(1) == b""
        mine.request("GET", "/api", headers=token)
        answer = mine.getresponse()
        answer.read()
        assert answer.status == 200
        assert mine.sock is used


def test_a_full_server_closes_the_oldest_of_who_has_most(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connections(monkeypatch)
    quiet = connections.open("10.0.0.9")[1]
    loud = [connections.open("10.0.0.1")[1] for _ in range(2)]
    busy, working = connections.open("10.0.0.2")
    monkeypatch.setattr(TimedProtocol, "_has_no_request", lambda one: one is not busy)
    more = [connections.open("10.0.0.3")[1] for _ in range(2)]
    newest, _ = connections.open("10.0.0.4")

    assert newest._make_room()
    assert not quiet.is_closed
    assert not working.is_closed
    assert [one.is_closed for one in (*loud, *more)].count(True) == 1


def test_a_server_at_work_on_every_connection_refuses_more(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connections(monkeypatch)
    for number in range(6):
        connections.open(f"10.0.0.{number}")
    monkeypatch.setattr(TimedProtocol, "_has_no_request", lambda _: False)
    newest, end = connections.open("10.0.0.9")

    assert not newest._make_room()
    newest._is_too_many = True
    newest.data_received(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = end.written.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1" in head
    assert b"content-security-policy" in head
    assert b"As many connections are open as there may be." in body
    assert end.is_closed
