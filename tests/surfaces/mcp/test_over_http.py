"""The server behind HTTP, spoken to as an ASGI app: who is let in, and that nothing is kept."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import anyio
import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.arguments import MAX_BYTES
from handrail.surfaces.mcp.over_http import HttpApp, build_server, loopback_authorities

PORT = 8765
HOST = f"127.0.0.1:{PORT}"
ACCEPT = ("accept", "application/json, text/event-stream")
JSON = ("content-type", "application/json")
Headers: TypeAlias = list[tuple[str, str]]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    headers: dict[str, str]
    body: bytes


def opened(era: str, method: str, params: dict[str, Any] | None = None) -> tuple[Headers, dict[str, Any]]:
    """A request of this era: the older one names its version in a header alone."""
    headers = [ACCEPT, JSON, ("mcp-protocol-version", era)]
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}
    if era == "2026-07-28":
        headers.append(("mcp-method", method))
        if "name" in message["params"]:
            headers.append(("mcp-name", message["params"]["name"]))
        message["params"]["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": era,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    return headers, message


async def asked(
    door: HttpApp, headers: Headers, body: bytes, method: str = "POST", kind: str = "http"
) -> Answer | None:
    """What the app answers; None when it answers nothing."""
    scope = {
        "type": kind,
        "method": method,
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    inbox = [{"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return inbox.pop(0) if len(inbox) > 1 else inbox[0]

    async def send(message: Any) -> None:
        sent.append(message)

    await door(scope, receive, send)
    if not sent:
        return None
    start, *rest = sent
    return Answer(
        status=start["status"],
        headers={name.decode(): value.decode() for name, value in start["headers"]},
        body=b"".join(part["body"] for part in rest),
    )


def with_door(runtime: Runtime, test: Callable[[HttpApp], Awaitable[None]]) -> None:
    async def bounded() -> None:
        door = HttpApp(build_server(runtime), loopback_authorities(PORT))
        with anyio.fail_after(120):
            async with door.running():
                await test(door)

    anyio.run(bounded)


PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
NO_HOST: Headers = []
GUARD: list[tuple[str, Headers, int]] = [
    ("our address", [("host", HOST)], 200),
    ("our name", [("host", f"localhost:{PORT}")], 200),
    ("our address of the other family", [("host", f"[::1]:{PORT}")], 200),
    ("no Host", NO_HOST, 421),
    ("an empty Host", [("host", "")], 421),
    ("two Hosts", [("host", HOST), ("host", HOST)], 421),
    ("no port", [("host", "127.0.0.1")], 421),
    ("another port", [("host", "127.0.0.1:8766")], 421),
    ("a foreign name", [("host", f"evil.example:{PORT}")], 421),
    ("our name as a prefix", [("host", f"localhost:{PORT}.evil.example")], 421),
    ("a trailing dot", [("host", f"localhost.:{PORT}")], 421),
    ("a user part", [("host", f"x@localhost:{PORT}")], 421),
    ("white space", [("host", f" localhost:{PORT}")], 421),
    ("our origin", [("host", HOST), ("origin", f"http://{HOST}")], 200),
    ("our other origin", [("host", HOST), ("origin", f"http://localhost:{PORT}")], 200),
    (
        "two origins of ours",
        [("host", HOST), ("origin", f"http://{HOST}"), ("origin", f"http://{HOST}")],
        403,
    ),
    ("an origin on another port", [("host", HOST), ("origin", "http://127.0.0.1:3000")], 403),
    ("an origin with another scheme", [("host", HOST), ("origin", f"https://{HOST}")], 403),
    ("an origin with a path", [("host", HOST), ("origin", f"http://{HOST}/")], 403),
    ("the null origin", [("host", HOST), ("origin", "null")], 403),
    ("an empty origin", [("host", HOST), ("origin", "")], 403),
    ("a foreign Host with our origin", [("host", "evil.example"), ("origin", f"http://{HOST}")], 421),
]


@pytest.mark.parametrize(("headers", "status"), [case[1:] for case in GUARD], ids=[case[0] for case in GUARD])
def test_only_exact_hosts_and_origins_are_let_in(runtime: Runtime, headers: Headers, status: int) -> None:
    async def test(door: HttpApp) -> None:
        answer = await asked(door, [*headers, ACCEPT, JSON], PING)
        assert answer is not None
        assert answer.status == status
        if status != 200:
            problem = json.loads(answer.body)
            assert answer.headers["content-type"] == "application/problem+json"
            assert (problem["status"], problem["code"]) == (
                status,
                {421: "HOST_REFUSED", 403: "ORIGIN_REFUSED"}[status],
            )
            assert "evil" not in answer.body.decode()

    with_door(runtime, test)


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT", "OPTIONS"])
def test_only_post_is_answered_so_nothing_is_held_open(runtime: Runtime, method: str) -> None:
    async def test(door: HttpApp) -> None:
        answer = await asked(door, [("host", HOST), ACCEPT], b"", method)
        assert answer is not None
        assert (answer.status, answer.headers["allow"]) == (405, "POST")

    with_door(runtime, test)


def test_a_websocket_is_not_answered(runtime: Runtime) -> None:
    async def test(door: HttpApp) -> None:
        assert await asked(door, [("host", HOST)], b"", "GET", "websocket") is None

    with_door(runtime, test)


@pytest.mark.parametrize("era", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_every_era_is_served_alone_as_one_json_document_without_a_session(runtime: Runtime, era: str) -> None:
    """No `initialize` came before, and no request leaves anything that a later one could name."""
    headers, message = opened(era, "tools/call", {"name": "list_workflows", "arguments": {}})

    async def test(door: HttpApp) -> None:
        bodies = set()
        for _ in range(2):
            answer = await asked(door, [("host", HOST), *headers], json.dumps(message).encode())
            assert answer is not None
            assert answer.status == 200
            assert answer.headers["content-type"] == "application/json"
            assert "mcp-session-id" not in answer.headers
            bodies.add(answer.body)
        (body,) = bodies
        document = json.loads(body)
        assert document["id"] == 7
        assert document["result"]["structuredContent"]["count"] >= 1

    with_door(runtime, test)


def test_answers_stay_with_their_requests_when_many_are_under_way(runtime: Runtime) -> None:
    async def test(door: HttpApp) -> None:
        mixed = []

        async def ask(number: int) -> None:
            name = f"project.absent_{number}"
            params = {"name": "inspect_workflow", "arguments": {"workflowId": name}}
            headers, message = opened("2026-07-28" if number % 2 else "2025-11-25", "tools/call", params)
            message["id"] = number % 5  # ids repeat between clients
            answer = await asked(door, [("host", HOST), *headers], json.dumps(message).encode())
            assert answer is not None
            document = json.loads(answer.body)
            if document["id"] != number % 5 or f'"{name}"' not in document["result"]["content"][0]["text"]:
                mixed.append(number)

        async with anyio.create_task_group() as clients:
            for number in range(200):
                clients.start_soon(ask, number)
        assert mixed == []

    with_door(runtime, test)


BODIES: list[tuple[str, bytes, int]] = [
    ("nothing", b"", 400),
    ("not JSON", b"garbage", 400),
    ("half a request", PING[: len(PING) // 2], 400),
    ("a batch", b"[" + PING + b"]", 400),
    ("no request", b"{}", 400),
    ("not UTF-8", b"\xff\xfe", 400),
    ("nested too deep", b'{"a":' * 50_000 + b"1" + b"}" * 50_000, 400),
    ("too large", b" " * (MAX_BYTES + 1), 413),
]


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(("body", "status"), [case[1:] for case in BODIES], ids=[case[0] for case in BODIES])
def test_a_malformed_body_is_refused_and_the_next_request_served(
    runtime: Runtime, era: str, body: bytes, status: int
) -> None:
    headers, message = opened(era, "tools/list")

    async def test(door: HttpApp) -> None:
        refused = await asked(door, [("host", HOST), *headers], body)
        served = await asked(door, [("host", HOST), *headers], json.dumps(message).encode())
        assert refused is not None
        assert served is not None
        assert (refused.status, served.status) == (status, 200)

    with_door(runtime, test)
