"""Bundles that are sent to do harm: over HTTP each is refused, and the store stays byte for byte the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from handrail_serve.limits import MOST_BUNDLE_BYTES
from tests.conftest import KeptIncidents
from tests.engine.bundles.made import rechained, rich_bundle
from tests.surfaces.http.client import BEARER, HOST, JSON, make_app
from tests.surfaces.http.filled_calls import begin_work
from tests.surfaces.http.whole_server import WholeServer, api

CHUNK = 1024 * 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> WholeServer:
    made = WholeServer(tmp_path_factory.mktemp("imports"))
    begin_work(made)
    return made


def imported(text: str, **params: Any) -> dict[str, Any]:
    return {"bundle": {"source": "b.json", "text": text}, **params}


def test_preview_stores_nothing_and_a_changed_bundle_is_refused(
    server: WholeServer,
) -> None:
    text = json.dumps(rich_bundle())
    before = server.stored()

    shown = server.data(api("session.import", imported(text, dryRun=True)))
    swapped = rechained(lambda document: document["session"].update(sessionId="ses_111111111111"))
    other = server.answer(api("session.import", imported(swapped, confirm=shown["confirm_token"])))
    unchanged = server.stored()
    made = server.answer(api("session.import", imported(text, confirm=shown["confirm_token"])))
    again = server.answer(api("session.import", imported(text, confirm=shown["confirm_token"])))

    assert unchanged == before
    assert 400 <= other.status < 500
    assert made.status == 200
    assert again.status == 200 or again.document["code"] == "E_CONFLICT"
    assert server.stored() != before
    label = server.data(api("session.show", {"sessionId": made.document["data"]["session_id"]}))["imported"]
    assert label["source_session_id"] == rich_bundle()["session"]["sessionId"]


BODIES: dict[str, bytes] = {
    "deep": b'{"bundle":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001,
    "wide": b'{"bundle":[' + b"[]," * 100_001 + b"1]}",
    "a number without end": b'{"bundle":' + b"9" * 100_000 + b"}",
    "doubled keys": b'{"dryRun":true,"dryRun":false,"bundle":{}}',
    "not a number": b'{"dryRun":true,"bundle":{"text":NaN}}',
    "half a pair": b'{"dryRun":true,"bundle":{"source":"\\ud800","text":"\\udc00"}}',
    "no UTF-8": b'{"dryRun":true,"bundle":{"text":"\xff"}}',
    "a list": b"[]",
    "nothing": b"",
}


def test_a_body_that_is_a_trap_is_refused_before_it_is_a_bundle(server: WholeServer) -> None:
    before = server.stored()

    told = server.answers([api("session.import")._replace(body=body) for body in BODIES.values()])

    for name, answer in zip(BODIES, told, strict=True):
        assert 400 <= answer.status < 500, (name, answer.body[:200])
        assert b'"E_UNKNOWN"' not in answer.body, name
    assert server.stored() == before


class Streamed(NamedTuple):
    status: int
    read: int
    """Chunks that the server took."""


def test_long_or_cut_stream_does_nothing(
    server: WholeServer,
) -> None:
    before = server.stored()
    opening = b'{"dryRun":true,"bundle":{"source":"b.json","text":"'

    too_long = stream(server, opening, chunks=10_000)
    cut = stream(server, opening, chunks=3, is_cut=True)

    assert too_long.status == 413
    assert too_long.read <= MOST_BUNDLE_BYTES // CHUNK + 2
    assert 400 <= cut.status < 600
    assert server.stored() == before
    assert isinstance(server.runtime.incidents, KeptIncidents)
    assert server.runtime.incidents.tracebacks == []


def stream(server: WholeServer, opening: bytes, *, chunks: int, is_cut: bool = False) -> Streamed:
    """A body in pieces, as many as the server asks for; a client that leaves does so in the middle."""
    app = make_app(server.runtime)
    headers = [("host", HOST), BEARER, JSON]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/session.import",
        "raw_path": b"/api/session.import",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    piece = b"x" * CHUNK
    taken: list[int] = []
    sent: list[Any] = []

    def pieces() -> Iterator[dict[str, Any]]:
        yield {"type": "http.request", "body": opening, "more_body": True}
        for _ in range(chunks):
            yield {"type": "http.request", "body": piece, "more_body": True}
        if is_cut:
            yield {"type": "http.disconnect"}
        yield {"type": "http.request", "body": b'"}}', "more_body": False}

    coming = pieces()

    async def receive() -> Any:
        taken.append(1)
        return next(coming)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return Streamed(sent[0]["status"], len(taken))
