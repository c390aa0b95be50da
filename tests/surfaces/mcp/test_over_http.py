"""The server behind HTTP: both eras in one POST each, held against the protocol library's own door."""

from __future__ import annotations

import base64
import json
import threading
from typing import Any, TypeAlias

import anyio
import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.messages import WORKFLOW_SET
from handrail_code.mcp.instructions import TOOL_SET as CODE_SET
from handrail_serve.mcp_over_http import HttpAnswer, McpOverHttp
from tests.surfaces.mcp.conversations import PREFIX, enveloped, request
from tests.surfaces.mcp.library_server import stateless_http

OLDER, NEWER = "2025-11-25", "2026-07-28"
ACCEPT = (b"accept", b"application/json, text/event-stream")
JSON = (b"content-type", b"application/json")
Headers: TypeAlias = list[tuple[bytes, bytes]]


def headers_for(message: dict[str, Any], era: str) -> Headers:
    """The older era names its version in a header alone."""
    headers = [ACCEPT, JSON, (b"mcp-protocol-version", era.encode())]
    if era == NEWER:
        headers.append((b"mcp-method", message["method"].encode()))
        params = message.get("params", {})
        named = params.get("name", params.get("uri"))
        headers += [] if named is None else [(b"mcp-name", named.encode())]
    return headers


def opened(era: str, method: str, params: dict[str, Any]) -> tuple[Headers, dict[str, Any]]:
    """A request of this era."""
    message = request(7, method, enveloped(params) if era == NEWER else params)
    return headers_for(message, era), message


def asked(door: McpOverHttp, headers: Headers, message: Any) -> HttpAnswer:
    return door.answer(headers, json.dumps(message).encode())


def asked_library(runtime: Runtime, requests: list[tuple[Headers, bytes]]) -> list[HttpAnswer]:
    """What the library's own door answers."""
    told = []

    async def ask(manager: Any, headers: Headers, body: bytes) -> HttpAnswer:
        scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": headers}
        inbox = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            return inbox.pop() if inbox else await anyio.sleep_forever()

        async def send(message: Any) -> None:
            sent.append(message)

        await manager.handle_request(scope, receive, send)
        return HttpAnswer(status=sent[0]["status"], body=b"".join(part["body"] for part in sent[1:]))

    async def talk() -> None:
        manager = stateless_http(runtime)
        with anyio.fail_after(120):
            async with manager.run():
                for headers, body in requests:
                    told.append(await ask(manager, headers, body))

    anyio.run(talk)
    return told


@pytest.mark.parametrize("era", ["2024-11-05", "2025-03-26", "2025-06-18", OLDER, NEWER])
def test_every_era_is_served_alone_as_one_json_document(runtime: Runtime, era: str) -> None:
    """No `initialize` came before, and no request leaves anything that a later one could name."""
    door = McpOverHttp(Adapter(runtime))
    headers, message = opened(era, "tools/call", {"name": "list_workflows", "arguments": {}})

    first, again = asked(door, headers, message), asked(door, headers, message)

    assert (first.status, first.body) == (200, again.body)
    document = json.loads(first.body)
    assert document["id"] == 7
    assert document["result"]["structuredContent"]["count"] >= 1


def test_answers_stay_with_their_requests(runtime: Runtime) -> None:
    door, mixed = McpOverHttp(Adapter(runtime)), []

    def ask(number: int) -> None:
        name = f"project.absent_{number}"
        params = {"name": "inspect_workflow", "arguments": {"workflowId": name}}
        headers, message = opened(NEWER if number % 2 else OLDER, "tools/call", params)
        message["id"] = number % 5  # ids repeat between clients
        document = json.loads(asked(door, headers, message).body)
        if document["id"] != number % 5 or f'"{name}"' not in document["result"]["content"][0]["text"]:
            mixed.append(number)

    clients = [threading.Thread(target=ask, args=(number,)) for number in range(100)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert mixed == []


PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
HEARD = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
ANSWERED = b'{"jsonrpc":"2.0","id":1,"result":{}}'
BODIES = {
    "nothing": b"",
    "not JSON": b"garbage",
    "half a request": PING[:20],
    "a batch": b"[" + PING + b"]",
    "no request": b"{}",
    "not UTF-8": b"\xff\xfe",
    "nested too deep": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "an id of no kind": b'{"jsonrpc":"2.0","id":[],"method":"ping"}',
    "another version of JSON-RPC": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "a notification": HEARD,
    "an answer": ANSWERED,
}


def written(method: str, **params: Any) -> bytes:
    return json.dumps(request(3, method, params)).encode()


def headers(*more: tuple[bytes, bytes], version: str | None = NEWER, accept: bytes = ACCEPT[1]) -> Headers:
    named = [] if version is None else [(b"mcp-protocol-version", version.encode())]
    return [(b"accept", accept), JSON, *named, *more]


LIST, CALL = (b"mcp-method", b"tools/list"), (b"mcp-method", b"tools/call")
CALLED = written("tools/call", name="x\u00e9", **enveloped())
ENCODED = b"=?base64?" + base64.b64encode("x\u00e9".encode()) + b"?="
REQUESTS: dict[str, tuple[Headers, bytes]] = {
    **{f"{name}, older": (headers(version=OLDER), body) for name, body in BODIES.items()},
    **{f"{name}, newer": (headers((b"mcp-method", b"ping")), body) for name, body in BODIES.items()},
    "no version": (headers(version=None), PING),
    "the first revision": (headers(version="2024-11-05"), PING),
    "an opening": (
        headers(version=None),
        written(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "a", "version": "1"},
        ),
    ),
    "an unknown revision": (headers(version="1999-01-01"), written("tools/list")),
    "an unknown revision, said twice": (
        headers(LIST, version="1999-01-01"),
        written("tools/list", **enveloped(**{f"{PREFIX}protocolVersion": "1999-01-01"})),
    ),
    "a notification of an unknown revision": (headers(version="1999-01-01"), HEARD),
    "no envelope": (headers(LIST), written("tools/list")),
    "half an envelope": (
        headers(LIST),
        written("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": NEWER}),
    ),
    "a whole request": (headers(LIST), written("tools/list", **enveloped())),
    "another revision in the body": (
        headers(LIST),
        written("tools/list", **enveloped(**{f"{PREFIX}protocolVersion": OLDER})),
    ),
    "a revision that is no text": (
        headers(LIST),
        written("tools/list", **enveloped(**{f"{PREFIX}protocolVersion": None})),
    ),
    "no method in a header": (headers(), written("tools/list", **enveloped())),
    "another method in the header": (headers(CALL), written("tools/list", **enveloped())),
    "two headers with the method": (headers(LIST, LIST), written("tools/list", **enveloped())),
    "two headers with the name": (headers(CALL, (b"mcp-name", b"x"), (b"mcp-name", b"x")), CALLED),
    "no name in a header": (headers(CALL), CALLED),
    "another name in the header": (headers(CALL, (b"mcp-name", b"y")), CALLED),
    "the name, encoded": (headers(CALL, (b"mcp-name", ENCODED)), CALLED),
    "the name, encoded badly": (headers(CALL, (b"mcp-name", b"=?base64?eA?=")), CALLED),
    "the name, encoded loosely": (
        headers(CALL, (b"mcp-name", b"=?base64?eB==?=")),
        written("tools/call", name="x", **enveloped()),
    ),
    "an address that is not there": (
        headers((b"mcp-method", b"resources/read"), (b"mcp-name", b"handrail://nothing")),
        written("resources/read", uri="handrail://nothing", **enveloped()),
    ),
    "an unknown method": (headers((b"mcp-method", b"no/such")), written("no/such", **enveloped())),
    "an unknown method, older": (headers(version=OLDER), written("no/such")),
    "an opening that this era lacks": (
        headers((b"mcp-method", b"initialize")),
        written("initialize", **enveloped()),
    ),
    "an unserved method": (
        headers((b"mcp-method", b"subscriptions/listen")),
        written("subscriptions/listen", notifications={}, **enveloped()),
    ),
    "params of the wrong kind": (headers(CALL), written("tools/call", name=1, **enveloped())),
    "no accept": ([JSON], PING),
    "only streams, older": (headers(version=OLDER, accept=b"text/event-stream"), PING),
    "only streams, newer": (headers(LIST, accept=b"text/event-stream"), written("tools/list", **enveloped())),
    "JSON alone": (headers(LIST, accept=b"application/json;q=0.5"), written("tools/list", **enveloped())),
    "anything": (headers(version=OLDER, accept=b"text/html, */*"), PING),
    "a session that nobody gave": (headers((b"mcp-session-id", b"made-up"), version=OLDER), PING),
}


def seen(answer: HttpAnswer) -> tuple[int, Any]:
    """The status, and whether there is a result or which error; whose words are its own."""
    document = json.loads(answer.body) if answer.body else {}
    return answer.status, document.get("result", document.get("error", {}).get("code"))


DIFFERENT = {
    "no request, older": ((400, -32600), (400, -32602)),
    "a batch, older": ((400, -32600), (400, -32602)),
    "another version of JSON-RPC, older": ((400, -32600), (400, -32602)),
    "an id of no kind, older": ((400, -32600), (202, None)),
    "only streams, newer": ((406, -32600), (406, None)),
}
"""Ours, then the library's: what is no request is one to JSON-RPC's own code, never left without an answer,
and a refusal says why."""


def test_every_request_is_answered_as_the_library_answers_it(runtime: Runtime) -> None:
    door = McpOverHttp(Adapter(runtime))

    ours = {name: seen(door.answer(*request)) for name, request in REQUESTS.items()}
    answers = asked_library(runtime, list(REQUESTS.values()))
    theirs = {name: seen(answer) for name, answer in zip(REQUESTS, answers, strict=True)}

    differing = {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}
    assert differing == DIFFERENT


def test_json_with_quality_zero_is_a_no(runtime: Runtime) -> None:
    no_json = headers(version=OLDER, accept=b"application/json;q=0, */*")

    assert McpOverHttp(Adapter(runtime)).answer(no_json, PING).status == 406


def test_no_tool_wants_an_argument_repeated_in_a_header(runtime: Runtime) -> None:
    """Then the door would have to compare it."""
    for tool_set in (WORKFLOW_SET, CODE_SET):
        listed = Adapter(runtime, tool_set=tool_set).list_tools(None)
        assert "x-mcp-header" not in json.dumps(listed)
