"""The feed: every change reaches who listens, also after a gap, and nobody looks when nobody listens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

import pytest

from handrail.runtime.runtime import Runtime
from handrail_serve import feed as feed_module
from handrail_serve.feed import Feed
from handrail_serve.limits import Bounds
from tests.cases import every_case
from tests.surfaces.http.client import BEARER, HOST, ask, asked, make_app

SECONDS = 60
_T = TypeVar("_T")


class Store:
    """Marks that a test moves, and how often they were looked at."""

    def __init__(self) -> None:
        self.marks = {"ses_a": "1", "ses_b": "1"}

    def read(self) -> dict[str, str]:
        return dict(self.marks)


def feed_of(store: Store) -> Feed:
    return Feed(store.read, "epoch", look_seconds=0.005)


def within(work: Callable[[], Awaitable[_T]]) -> _T:
    async def bounded() -> _T:
        return await asyncio.wait_for(_awaited(work()), SECONDS)

    return asyncio.run(bounded())


async def _awaited(work: Awaitable[_T]) -> _T:
    return await work


async def events(stream: AsyncGenerator[bytes, None], count: int) -> list[tuple[str, dict[str, Any]]]:
    """The next so many events, without comments."""
    found: list[tuple[str, dict[str, Any]]] = []
    while len(found) < count:
        text = (await anext(stream)).decode()
        if text.startswith(":"):
            continue
        name, data = text.strip().split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_a_change_a_new_session_and_a_removed_one_are_told() -> None:
    store = Store()
    feed = feed_of(store)

    async def listen() -> list[tuple[str, dict[str, Any]]]:
        stream = feed.stream("")
        await anext(stream)
        store.marks = {"ses_a": "2", "ses_c": "1"}
        told = await events(stream, 3)
        await stream.aclose()
        return told

    told = within(listen)

    assert [(name, data["sessionId"], data["head"]) for name, data in told] == [
        ("change", "ses_a", "2"),
        ("change", "ses_b", ""),
        ("change", "ses_c", "1"),
    ]


def test_what_nobody_heard_comes_with_the_cursor() -> None:
    store = Store()
    feed = feed_of(store)
    page = feed.cursor()
    store.marks["ses_a"] = "2"

    async def listen() -> list[tuple[str, dict[str, Any]]]:
        first = feed.stream(page)
        told = await events(first, 1)
        await first.aclose()
        store.marks["ses_b"] = "2"
        second = feed.stream(told[0][1]["cursor"])
        told += await events(second, 1)
        await second.aclose()
        return told

    told = within(listen)

    assert [data["sessionId"] for _, data in told] == ["ses_a", "ses_b"]


def first_told(feed: Feed, cursor: str) -> list[tuple[str, dict[str, Any]]]:
    async def listen() -> list[tuple[str, dict[str, Any]]]:
        stream = feed.stream(cursor)
        told = await events(stream, 1)
        await stream.aclose()
        return told

    return within(listen)


@every_case("cursor", ["other-0", "epoch-99", "epoch--1", "epoch-x", "-", "epoch-" + "9" * 40])
def test_a_cursor_that_says_nothing_here_starts_anew(cursor: str) -> None:
    feed = feed_of(Store())

    assert first_told(feed, cursor) == [("reset", {"cursor": "epoch-0"})]


def test_a_listener_that_was_away_too_long_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "CHANGES_KEPT", 2)
    store = Store()
    feed = feed_of(store)
    page = feed.cursor()
    store.marks = {f"ses_{letter}": "2" for letter in "abcd"}

    assert first_told(feed, page) == [("reset", {"cursor": "epoch-4"})]


def test_feed_goes_on_from_the_place_of_a_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "CHANGES_KEPT", 2)
    store = Store()
    feed = feed_of(store)

    async def listen() -> tuple[list[tuple[str, dict[str, Any]]], list[tuple[str, dict[str, Any]]]]:
        stream = feed.stream("")
        await anext(stream)
        store.marks = {f"ses_{letter}": "2" for letter in "abcd"}
        anew = await events(stream, 3)
        store.marks |= {"ses_z": "1"}
        after = await events(stream, 1)
        store.marks |= {"ses_y": "1"}
        after += await events(stream, 1)
        await stream.aclose()
        return anew, after

    anew, after = within(listen)

    assert anew[0] == ("reset", {"cursor": "epoch-4"})
    assert [data["cursor"] for _, data in anew[1:]] == ["epoch-3", "epoch-4"]
    assert [(data["sessionId"], data["cursor"]) for _, data in after] == [
        ("ses_z", "epoch-5"),
        ("ses_y", "epoch-6"),
    ]


def test_nobody_looks_unless_somebody_listens() -> None:
    feed = feed_of(Store())

    async def listen() -> tuple[bool, bool]:
        first, second = feed.stream(""), feed.stream("")
        await anext(first)
        await anext(second)
        await first.aclose()
        with_one = feed.is_looking
        await second.aclose()
        thread = feed._thread
        assert thread is not None
        await asyncio.to_thread(thread.join, SECONDS)
        return with_one, feed.is_looking

    assert feed.is_looking is False
    assert within(listen) == (True, False)


def test_a_quiet_feed_says_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "HEARTBEAT_SECONDS", 0.001)
    feed = feed_of(Store())

    async def listen() -> bytes:
        stream = feed.stream("")
        await anext(stream)
        told = await anext(stream)
        await stream.aclose()
        return told

    assert within(listen) == b": still here\n\n"


def test_a_server_that_stops_says_goodbye_and_counts_its_feeds(runtime: Runtime) -> None:
    app = make_app(runtime, Bounds(feeds=1))

    async def talk() -> tuple[Any, int, Any]:
        first = asyncio.ensure_future(asked(app, "GET", "/api/feed", [("host", HOST), BEARER]))
        while app.load.feeds == 0:
            await asyncio.sleep(0)
        second = await asked(app, "GET", "/api/feed", [("host", HOST), BEARER])
        in_progress = app.load.requests
        app.drain()
        return await first, in_progress, second

    first, in_progress, second = within(talk)

    assert first.header("content-type") == "text/event-stream"
    assert first.body.endswith(b'event: bye\ndata: {"cursor":"' + app.feed.cursor().encode() + b'"}\n\n')
    assert (second.status, second.document["code"]) == (503, "SERVER_BUSY")
    assert (in_progress, app.load.feeds) == (0, 0)


def test_of_many_feeds_that_open_at_once_only_so_many_are_served(runtime: Runtime) -> None:
    app = make_app(runtime, Bounds(feeds=2))

    async def talk() -> list[Any]:
        opened = [
            asyncio.ensure_future(asked(app, "GET", "/api/feed", [("host", HOST), BEARER])) for _ in "12345"
        ]
        while sum(one.done() for one in opened) < 3:
            await asyncio.sleep(0)
        app.drain()
        return await asyncio.gather(*opened)

    statuses = sorted(one.status for one in within(talk))

    assert statuses == [200, 200, 503, 503, 503]
    assert app.load.feeds == 0


def test_a_page_says_where_its_feed_begins(runtime: Runtime) -> None:
    app = make_app(runtime)

    before = ask(app, "GET", "/api/view/sessions").header("x-handrail-cursor")
    body = {"workflowId": "project.three_steps", "goal": "Look.", "requestId": "one"}
    ask(app, "POST", "/api/run.start", body=body)

    async def listen() -> list[tuple[str, dict[str, Any]]]:
        stream = app.feed.stream(before or "")
        told = await events(stream, 1)
        await stream.aclose()
        return told

    ((name, data),) = within(listen)
    assert name == "change"
    assert data["sessionId"].startswith("ses_")


def test_a_client_that_leaves_is_noticed(runtime: Runtime) -> None:
    app = make_app(runtime)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/feed",
        "query_string": b"",
        "headers": [(b"host", HOST.encode()), (b"authorization", BEARER[1].encode())],
    }

    async def talk() -> None:
        left = asyncio.Event()

        async def receive() -> dict[str, str]:
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message.get("body"):
                left.set()

        await app(scope, receive, send)

    within(talk)

    assert app.load.feeds == 0
