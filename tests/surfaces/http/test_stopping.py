"""How the server stops, and how long it waits for clients: without sockets, and without waiting."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import uvicorn
from uvicorn.server import ServerState

from handrail.runtime.runtime import Runtime
from handrail_serve import serving
from handrail_serve.app import App
from handrail_serve.limits import IDLE_SECONDS, Bounds
from handrail_serve.mcp_over_http import HttpAnswer
from handrail_serve.serving import DrainingServer, TimedProtocol
from tests.surfaces.http.client import BEARER, HOST, JSON, Answered, asked, make_app


def server_of(app: App) -> DrainingServer:
    return DrainingServer(uvicorn.Config(app), app, lambda: None)


def tick(server: DrainingServer) -> bool:
    return asyncio.run(server.on_tick(1))


def test_a_server_goes_on_until_it_is_told_to_stop(runtime: Runtime) -> None:
    server = server_of(make_app(runtime))

    assert (tick(server), tick(server)) == (False, False)


@pytest.mark.promise("http.serve.stops")
def test_first_signal_lets_work_finish(runtime: Runtime) -> None:
    app = make_app(runtime)
    server = server_of(app)
    app.load.requests = 1

    server._on_signal(signal.SIGTERM, None)
    while_working = tick(server)
    app.load.requests = 0
    afterwards = tick(server)

    assert app.load.is_draining
    assert (while_working, afterwards, server.is_drained, server.force_exit) == (False, True, True, False)


@pytest.mark.promise("http.serve.stops")
def test_work_that_takes_too_long_is_left_and_the_status_says_so(runtime: Runtime) -> None:
    app = make_app(runtime, Bounds(drain_seconds=0.0))
    server = server_of(app)
    app.load.requests = 1

    server._on_signal(signal.SIGTERM, None)

    assert (tick(server), server.is_drained) == (True, False)


def test_an_open_feed_is_waited_for_as_work_is(runtime: Runtime) -> None:
    app = make_app(runtime)
    server = server_of(app)
    app.load.feeds = 1

    server._on_signal(signal.SIGINT, None)

    assert (tick(server), app.feed.is_closed) == (False, True)


@pytest.mark.promise("http.serve.stops")
def test_a_second_signal_answers_running_calls_and_ends_it(runtime: Runtime) -> None:
    release = threading.Event()

    def hang(_: object, __: bytes, ___: Runtime) -> HttpAnswer:
        release.wait(120)
        return HttpAnswer(status=200, body=b"{}")

    app = make_app(runtime)
    app._parts = msgspec.structs.replace(app._parts, answer_mcp=hang)
    server = server_of(app)

    async def call_and_signal() -> tuple[Answered, list[bool]]:
        call = asyncio.ensure_future(asked(app, "POST", "/mcp", [("host", HOST), BEARER, JSON], b"{}"))
        while not app.load.requests:
            await asyncio.sleep(0)
        server._on_signal(signal.SIGTERM, None)
        server._on_signal(signal.SIGTERM, None)
        first = await server.on_tick(1)
        answered = await asyncio.wait_for(call, 60)
        release.set()
        return answered, [first, await server.on_tick(2)]

    answered, ended = asyncio.run(call_and_signal())

    assert (answered.status, answered.document["code"]) == (503, "E_INTERRUPTED")
    assert (ended, server.force_exit, server.is_drained) == ([False, True], True, False)


@pytest.mark.parametrize(("is_drained", "status"), [(True, 0), (False, 1)])
def test_the_exit_status_tells_whether_everything_was_finished(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, is_drained: bool, status: int
) -> None:
    def run(server: DrainingServer, sockets: list[Any]) -> None:
        del sockets
        server.is_drained = is_drained

    monkeypatch.setattr(DrainingServer, "run", run)
    with serving.bind("127.0.0.1", 0) as bound:
        assert serving.serve(make_app(runtime), bound, lambda: None) == status


# Clients that do not send


class Timer:
    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Task:
    """A task that nobody runs; it may stand in a set."""

    def add_done_callback(self, call: Callable[[Any], None]) -> None:
        del call


class Loop:
    """An event loop that keeps its timers for the test."""

    def __init__(self) -> None:
        self.timers: list[tuple[float, Timer]] = []

    def time(self) -> float:
        return 0.0

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        timer = Timer(call)
        self.timers.append((seconds, timer))
        return timer

    def create_task(self, work: Any) -> Any:
        work.close()
        return Task()

    def waiting(self) -> list[tuple[float, Timer]]:
        return [(seconds, timer) for seconds, timer in self.timers if not timer.is_cancelled]


class Transport:
    is_closed = False

    def get_extra_info(self, name: str) -> None:
        del name

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


class Connected(msgspec.Struct, frozen=True, kw_only=True):
    """A connection that nobody is behind."""

    protocol: TimedProtocol
    loop: Loop
    transport: Transport


@pytest.fixture
def connected(runtime: Runtime) -> Connected:
    config = uvicorn.Config(make_app(runtime), lifespan="off", log_config=None)
    config.load()
    loop, transport = Loop(), Transport()
    protocol = TimedProtocol(config, ServerState(), {}, _loop=loop)  # type: ignore[arg-type]  # a stand-in
    protocol.connection_made(transport)  # type: ignore[arg-type]  # a stand-in
    return Connected(protocol=protocol, loop=loop, transport=transport)


def test_a_connection_that_sends_nothing_is_closed(connected: Connected) -> None:
    ((seconds, timer),) = connected.loop.waiting()
    timer.call()

    assert (seconds, connected.transport.is_closed) == (IDLE_SECONDS, True)


def test_request_that_comes_in_drops_keeps_no_connection(connected: Connected) -> None:
    for letter in b"GET / HT":
        connected.protocol.data_received(bytes([letter]))
    ((_, timer),) = connected.loop.waiting()
    timer.call()

    assert connected.transport.is_closed


def test_a_whole_request_is_given_its_own_time(connected: Connected) -> None:
    connected.protocol.data_received(f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())

    assert connected.loop.waiting() == []
    assert not connected.transport.is_closed
