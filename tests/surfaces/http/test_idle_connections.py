"""Silent connections: none of them keeps a caller with a request out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handrail_serve import serving
from handrail_serve.serving import TimedProtocol


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


@pytest.mark.promise("team.sign-in-flood")
def test_an_address_keeps_only_so_many_idle_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = Connections(monkeypatch)
    ends = [connections.open("10.0.0.1")[1] for _ in range(3)]
    fourth, _ = connections.open("10.0.0.1")

    assert fourth._make_room()
    assert [one.is_closed for one in ends] == [True, False, False]


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


@pytest.mark.promise("http.guard.transport-answers")
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
