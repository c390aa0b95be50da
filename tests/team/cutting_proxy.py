"""Between the store and its database: counts trips, and cuts the connection at a chosen moment."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

from psycopg import conninfo

Cut = Literal["before", "torn", "inside", "after"]
"""Of the next trip nothing arrives, or half of it, or all; or the answer was made and did not arrive."""
_SYNC = b"S\x00\x00\x00\x04"
"""The message that ends what a client sends in one trip."""
_ENDS = (_SYNC, _SYNC + b"H\x00\x00\x00\x04")
"""A request to flush may come in the same packet."""


class CuttingProxy:
    """Listens on loopback and passes everything on, until it is told otherwise."""

    def __init__(self, server: str) -> None:
        self._server = conninfo.conninfo_to_dict(server)
        self.trips = 0
        """How often a client asked for an answer to all that it had sent."""
        self._cut: Cut | None = None
        self._is_silent = False
        self._open: list[socket.socket] = []
        self._listener = self._listen(0)
        self.port: int = self._listener.getsockname()[1]

    @property
    def address(self) -> str:
        known = {name: str(value) for name, value in self._server.items()}
        return conninfo.make_conninfo(**known | {"host": "127.0.0.1", "port": str(self.port)})

    def cut_next(self, how: Cut) -> None:
        self._cut = how

    def go_away(self) -> None:
        _close(self._listener)
        self.drop_all()

    def come_back(self) -> None:
        self._listener = self._listen(self.port)

    def fall_silent(self) -> None:
        self._is_silent = True

    def speak_again(self) -> None:
        self._is_silent = False
        self.drop_all()

    def drop_all(self) -> None:
        while self._open:
            _close(self._open.pop())

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = self._connect()
                self._open += [client, server]
                state = _Turn()
                threading.Thread(target=self._to_server, args=(client, server, state), daemon=True).start()
                threading.Thread(target=self._to_client, args=(server, client, state), daemon=True).start()

    def _connect(self) -> socket.socket:
        host, port = str(self._server.get("host", "localhost")), int(self._server.get("port") or 5432)
        if host.startswith("/"):
            link = socket.socket(socket.AF_UNIX)
            link.connect(f"{host}/.s.PGSQL.{port}")
            return link
        return socket.create_connection((host, port))

    def _to_server(self, client: socket.socket, server: socket.socket, turn: _Turn) -> None:
        with suppress(OSError):
            while content := client.recv(1 << 20):
                self.trips += content.count(_SYNC)
                if self._is_silent:
                    continue
                if self._cut is None:
                    server.sendall(content)
                    continue
                how, self._cut = self._cut, None
                turn.is_cut = True
                while not content.endswith(_ENDS):
                    content += client.recv(1 << 20)
                if how != "before":
                    server.sendall(content[: len(content) // 2] if how == "torn" else content)
                if how == "after":
                    turn.was_answered.wait(10)
                break
        _close(client)
        _close(server)

    def _to_client(self, server: socket.socket, client: socket.socket, turn: _Turn) -> None:
        with suppress(OSError):
            while content := server.recv(1 << 20):
                if turn.is_cut:
                    turn.was_answered.set()
                elif not self._is_silent:
                    client.sendall(content)
        _close(client)
        _close(server)


class _Turn:
    def __init__(self) -> None:
        self.is_cut = False
        self.was_answered = threading.Event()


def _close(link: socket.socket) -> None:
    with suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)
    link.close()


@contextmanager
def cutting_proxy(server: str) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(server)
    try:
        yield proxy
    finally:
        proxy.go_away()
