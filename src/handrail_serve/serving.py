"""The server on a socket: bound to loopback, stopped by signals, drained before it ends.

The first signal stops new work and lets what runs finish; a second one ends the server at once.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, TypeAlias

import uvicorn
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol, RequestResponseCycle

from handrail.contract.catalogue import (
    E_CONFLICT,
    E_FORBIDDEN,
    E_IO,
    E_UNKNOWN,
    SERVER_BUSY,
    VALIDATION_ERROR,
)
from handrail.contract.outcome import Failure, Fault
from handrail_serve.exchange import IS_LET_IN, Receive, Scope, Send, problem
from handrail_serve.guard import finish_response
from handrail_serve.limits import (
    CONNECTIONS_AT_ONCE,
    CUT_SECONDS,
    IDLE_OF_AN_ADDRESS,
    IDLE_SECONDS,
    MOST_HEADER_BYTES,
    MOST_URL_BYTES,
    Load,
)

BoundSocket: TypeAlias = socket.socket
ADDRESSES = {"127.0.0.1": socket.AF_INET, "localhost": socket.AF_INET, "::1": socket.AF_INET6}
DEFAULT_PORT = 7245
_BACKLOG = 128
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ServedApp(Protocol):
    """An ASGI app that can be asked to stop, and that knows what it is doing."""

    @property
    def load(self) -> Load: ...

    def drain(self) -> None: ...

    def cut_off(self) -> None: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


def require_loopback(host: str) -> None:
    """Refuse any address that other machines can reach, before anything is bound.

    Raises Fault E_FORBIDDEN.
    """
    if host in ADDRESSES:
        return
    raise Fault(
        E_FORBIDDEN,
        "This server answers on loopback alone: it knows one user, and has no accounts and no encryption.",
        hint="Leave --host out, and reach it from another machine through an SSH tunnel: "
        "ssh -L 7245:127.0.0.1:7245 USER@HOST.",
    )


def bind(host: str, port: int, *, is_open: bool = False) -> socket.socket:
    """Return a bound socket that does not listen yet. Port 0 takes a free port; `is_open` accepts other
    machines.

    Raise Fault E_CONFLICT if the port is taken, and E_IO for other failures.
    """
    if not is_open:
        require_loopback(host)
    family = ADDRESSES.get(host, socket.AF_INET6 if ":" in host else socket.AF_INET)
    # Named TCP: only then asyncio sends at once, and not when the client has acknowledged, 40 ms later.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        loopback = "127.0.0.1" if family == socket.AF_INET else "::1"
        bound.bind((loopback if host in ADDRESSES else host, port))
    except OSError as trouble:
        bound.close()
        if trouble.errno == errno.EADDRINUSE:
            raise Fault(
                E_CONFLICT,
                f"Port {port} is taken by another program.",
                details={"reason": "port_taken"},
                hint="Choose another with --port N; --port 0 takes a free one.",
            ) from trouble
        raise Fault(
            E_IO,
            f"Port {port} could not be opened: {trouble.strerror}.",
            hint="Choose a port above 1023 with --port N.",
        ) from trouble
    return bound


class SharedSocket(socket.socket):
    """A socket that already listens. A worker accepts one connection at a time, and the queue keeps its
    length.
    """

    def listen(self, backlog: int = 0, /) -> None:
        del backlog


def share(bound: socket.socket) -> SharedSocket:
    """Return the listening socket for the workers that are forked from now on."""
    bound.listen(_BACKLOG)
    return SharedSocket(bound.family, bound.type, bound.proto, bound.detach())


def serve(
    app: ServedApp,
    bound: socket.socket,
    when_ready: Callable[[], None],
    certificate: tuple[str, str] | None = None,
    orders: int | None = None,
) -> int:
    """Serve until a signal, or as a worker until an order. Returns the exit status: 0 when all work was
    finished, else 1.
    """
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="error",
        server_header=False,
        date_header=True,
        proxy_headers=False,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES + MOST_URL_BYTES + 4096,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=1,
        backlog=1 if orders is not None else _BACKLOG,
        ssl_certfile=certificate[0] if certificate else None,
        ssl_keyfile=certificate[1] if certificate else None,
    )
    server = DrainingServer(config, app, when_ready, orders)
    bound.listen(_BACKLOG)
    server.run(sockets=[bound])
    return 0 if server.is_drained else E_UNKNOWN.exit_status


_NOT_HTTP = Failure(
    kind=VALIDATION_ERROR,
    message="This is not a request of HTTP/1.1 within the limits of this server.",
    details={"problems": [{"param": "", "problem": "not a readable HTTP request"}]},
    hint="Send a request line, one Host and headers of at most 16 KiB.",
)


_TOO_MANY = Failure(kind=SERVER_BUSY, message="As many connections are open as there may be.")


class TimedProtocol(H11Protocol):
    """Closes a connection whose request does not come in time; the library would wait for ever.

    What it refuses before the app sees it, it refuses as the app does.
    """

    _waiting: asyncio.TimerHandle | None = None
    _is_too_many = False
    _is_let_in = False
    _idle_since = 0.0

    # The library narrows it the same way.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._is_too_many = not self._make_room()
        self._waiting = self.loop.call_later(IDLE_SECONDS, self._give_up)

    def _make_room(self) -> bool:
        """Return whether there is room for this connection, after closing an idle one if there are too
        many.

        The oldest connection of the address with the most connections is closed: no caller can keep others
        out by staying silent. Connections of callers with a valid credential are closed last, so unknown
        callers never interrupt them.
        """
        unknown: dict[str, list[TimedProtocol]] = {}
        let_in: dict[str, list[TimedProtocol]] = {}
        for one in self.connections:
            if isinstance(one, TimedProtocol) and one is not self and one._is_idle():
                (let_in if one._is_let_in else unknown).setdefault(one._peer(), []).append(one)
        mine = unknown.get(self._peer(), [])
        is_full = len(self.connections) > CONNECTIONS_AT_ONCE
        if not is_full and len(mine) < IDLE_OF_AN_ADDRESS:
            return True
        most = max((unknown or let_in).values(), key=len, default=[]) if is_full else mine
        if not most:
            return False
        min(most, key=lambda one: one._idle_since).transport.close()
        return True

    def _peer(self) -> str:
        return str((self.client or ("",))[0])

    def _is_idle(self) -> bool:
        return self._has_no_request() and not self.transport.is_closing()

    def data_received(self, data: bytes) -> None:
        if self._is_too_many:
            return self._refuse(_TOO_MANY)
        super().data_received(data)
        if not self._has_no_request():
            self._stop_waiting()
        elif self._waiting is None:  # a part of the next request
            self._waiting = self.loop.call_later(IDLE_SECONDS, self._give_up)
        return None

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        self._is_let_in = self._is_let_in or bool(self.cycle.scope.get(IS_LET_IN))
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP. The library's own answer has neither our headers nor our words."""
        del msg
        self._refuse(_NOT_HTTP)

    def _refuse(self, failure: Failure) -> None:
        """Answer without the app, with the headers of every other answer, and close."""
        if self.transport.is_closing():
            return
        refused = finish_response(problem(failure, "req_unread", ((b"connection", b"close"),)))
        assert isinstance(refused.body, bytes), "a problem is sent as a whole"
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            first = b"HTTP/1.1 %d %s\r\n" % (refused.status, STATUS_PHRASES[refused.status])
            lines = b"".join(name + b": " + value + b"\r\n" for name, value in refused.headers)
            self.transport.write(first + lines + b"\r\n" + refused.body)
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _has_no_request(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self._has_no_request():
            self.transport.close()


class DrainingServer(uvicorn.Server):
    """A server that still answers while it drains, so that clients learn that it stops, and when to come
    back.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        app: ServedApp,
        when_ready: Callable[[], None],
        orders: int | None = None,
    ) -> None:
        """`orders` is the pipe of a worker, which a signal stops once, however many come."""
        super().__init__(config)
        self._orders = orders
        self._app = app
        self._when_ready = when_ready
        self._signals = 0
        self._ends_at = 0.0
        self._cut_until = 0.0
        self.is_drained = False

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install our signal handlers alone; those of the library would end the process by the signal once
        everything is closed.
        """
        before = {number: signal.signal(number, self._on_signal) for number in _STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._orders is not None:
            asyncio.get_running_loop().add_reader(self._orders, self._on_order, self._orders)
        if self.started:
            self._when_ready()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._signals = self._signals + 1 if self._orders is None else max(1, self._signals)
        self._app.drain()

    def _on_order(self, orders: int) -> None:
        given = os.read(orders, 16)
        if not given:  # nobody is left to give one
            asyncio.get_running_loop().remove_reader(orders)
        self._signals = max(1, self._signals + len(given))
        self._app.drain()

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: stop listening once everything is finished, or its time is over.

        After a second signal every call in progress is answered first, which takes a moment.
        """
        load = self._app.load
        if self._signals > 1 and not self._cut_until:
            self._app.cut_off()
            self._cut_until = time.monotonic() + CUT_SECONDS
        elif self._cut_until:
            self.force_exit = self.should_exit = load.requests == 0 or time.monotonic() >= self._cut_until
        elif load.is_draining:
            self._ends_at = self._ends_at or time.monotonic() + load.bounds.drain_seconds
            self.is_drained = load.requests == 0 and load.feeds == 0
            self.should_exit = self.should_exit or self.is_drained or time.monotonic() >= self._ends_at
        return bool(await super().on_tick(counter))


def address_of(bound: socket.socket) -> tuple[str, int]:
    """Return the host as addresses write it, and the port."""
    name: Any = bound.getsockname()
    return (f"[{name[0]}]" if bound.family == socket.AF_INET6 else name[0]), int(name[1])
