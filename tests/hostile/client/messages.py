"""The hostile client: what a program at the other end of the pipe could send, each with what it tries.

The server may refuse, ignore or end; it may not fall silent, break, or write what nobody asked for.
`tests/hostile/client/test_client.py` sends each to the server on stdin and stdout.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from handrail.runtime.hub import perform
from handrail.surfaces.mcp.messages import FRAME_BYTES
from tests.conftest import FixedKeys, memory_runtime
from tests.surfaces.mcp.conversations import enveloped, lines, notice, opening, request, tool

STEERING = "\x1b]0;owned\x07\x1b[2J\u202egnihton"
START = tool("start_workflow", workflowId="project.three_steps")


class ClientAttack(NamedTuple):
    """One thing to send after the opening, or in its place."""

    name: str
    tries: str
    sent: Callable[[], bytes]
    is_opened: bool = True
    """Whether the client has introduced itself before."""


def client_attacks() -> list[ClientAttack]:
    """All of them."""
    return [*_FRAMES, *_IDS, *_METHODS, *_STRAYS, *_LISTS, *_BYTES, *_NUMBERS, *_ERAS, *_TOKENS]


def _row(name: str, tries: str, *messages: Any) -> ClientAttack:
    return ClientAttack(name, tries, lambda: lines(*messages))


def _unopened(name: str, tries: str, *messages: Any) -> ClientAttack:
    return ClientAttack(name, tries, lambda: lines(*messages), is_opened=False)


def _made(name: str, tries: str, make: Callable[[], bytes]) -> ClientAttack:
    return ClientAttack(name, tries, make)


def _ping(number: bytes, more: bytes = b"") -> bytes:
    return b'{"jsonrpc":"2.0","id":' + number + b',"method":"ping"' + more + b"}"


def _foreign_token(kind: str) -> str:
    """A token that another server, with keys of its own, minted for a run of the same workflow."""
    other = msgspec.structs.replace(memory_runtime(), keys=FixedKeys(b"o" * 32))
    begun = perform(other, "run.start", {"workflowId": "project.three_steps"})
    data = getattr(begun, "data", None)
    assert isinstance(data, dict)
    return str(data[kind])


def _continued(**arguments: Any) -> bytes:
    return lines(request(5, "tools/call", tool("continue_workflow", **arguments)))


_FRAMES = [
    _made(
        "oversized-frame",
        "to be read into memory whole",
        lambda: _ping(b"5", b',"x":"' + b"a" * (FRAME_BYTES + 1) + b'"') + b"\n",
    ),
    _row("deep-lists", "to exhaust the stack", b"[" * 200_000),
    _row("deep-objects", "the same with objects", b'{"a":' * 100_000),
    _row(
        "deep-params",
        "the same inside a request",
        _ping(b"5", b',"params":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000),
    ),
    _row(
        "wide-params", "many values in few bytes", _ping(b"5", b',"params":{"a":[' + b"0," * 500_000 + b"0]}")
    ),
    _row("half", "a message without its end", b'{"jsonrpc":"2.0","id":5'),
    _row("two-on-a-line", "a second message behind the first", _ping(b"5") + _ping(b"6")),
    _row("blank-lines", "many lines that say nothing", b"\n" * 50_000),
    _row("doubled-keys", "two readers who choose differently", _ping(b"4", b',"id":5,"method":"nobody"')),
    _row(
        "doubled-arguments",
        "the same inside the arguments",
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"list_workflows","name":"nobody",'
        b'"arguments":{"query":"a","query":[]}}}',
    ),
]
_IDS = [
    _row("id-" + name, "an id of another kind", _ping(text))
    for name, text in (
        ("zero", b"0"),
        ("negative", b"-7"),
        ("fraction", b"1.50"),
        ("endless", b"1E+400"),
        ("digits", b"9" * 5_000),
        ("empty", b'""'),
        ("long", b'"' + b"x" * 1_000_000 + b'"'),
        ("steering", json.dumps(STEERING).encode()),
        ("null", b"null"),
        ("true", b"true"),
        ("list", b"[]"),
        ("object", b'{"a":1}'),
    )
] + [_row("same-id", "one id for many requests", *(_ping(b"5") for _ in range(50)))]
_METHODS = [
    _row("method-" + name, "a method that nobody has", b'{"jsonrpc":"2.0","id":5,"method":' + text + b"}")
    for name, text in (
        ("unknown", b'"nobody/knows"'),
        ("empty", b'""'),
        ("number", b"7"),
        ("list", b'["ping"]'),
        ("prototype", b'"__proto__"'),
        ("path", b'"../../tools/call"'),
        ("steering", json.dumps(STEERING).encode()),
        ("long", b'"' + b"m" * 1_000_000 + b'"'),
        ("null-byte", b'"ping\\u0000"'),
    )
] + [
    _row("tool-unknown", "a tool that nobody has", request(5, "tools/call", tool("rm -rf /"))),
    _row("tool-no-text", "a tool that has no name", request(5, "tools/call", {"name": {"a": 1}})),
    _row("params-list", "params that are a list", request(5, "tools/call", [START])),
    _row("arguments-list", "arguments that are a list", request(5, "tools/call", {**START, "arguments": []})),
    _row(
        "resource-path", "a file of the machine", request(5, "resources/read", {"uri": "file:///etc/passwd"})
    ),
    _row(
        "resource-escape",
        "a file beside the store",
        request(5, "resources/read", {"uri": "handrail://sessions/../../keys/keyring.json"}),
    ),
]
_STRAYS = [
    _row("call-without-id", "work that nobody hears of", notice("tools/call", **START)),
    _row("call-with-null-id", "the same with an id that is none", request(None, "tools/call", START)),
    _row("notice-with-id", "a notification that wants an answer", request(5, "notifications/initialized")),
    _row(
        "cancel-with-id",
        "a cancellation that cancels itself",
        request(5, "notifications/cancelled", {"requestId": 5}),
    ),
    *(
        _row(
            f"cancel-{name}",
            "the end of a call that is not there",
            notice("notifications/cancelled", **params),
        )
        for name, params in (
            ("unknown", {"requestId": 77}),
            ("text", {"requestId": "no\nsuch"}),
            ("list", {"requestId": []}),
            ("object", {"requestId": {"a": [1]}}),
            ("nothing", {}),
        )
    ),
    _row(
        "cancel-flood",
        "many of them",
        *(notice("notifications/cancelled", requestId=n) for n in range(2_000)),
    ),
    _row("answer-unasked", "an answer to a question nobody asked", {"jsonrpc": "2.0", "id": 1, "result": {}}),
    _row(
        "error-unasked",
        "a refusal of one",
        {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": STEERING}},
    ),
    _row("answer-and-call", "both at once", {**request(5, "ping"), "result": {}, "error": {"code": 1}}),
    _row(
        "progress-unasked",
        "progress of nothing",
        notice("notifications/progress", progressToken=[], progress="x"),
    ),
]
_LISTS = [
    _row("list-empty", "a list of nothing", []),
    _row("list-of-calls", "work in a list", [request(5, "tools/call", START)] * 3),
    _row("list-in-list", "lists inside lists", [[[request(5, "ping")]]]),
    _row("list-long", "more than one line may ask", [request(n, "ping") for n in range(101)]),
    _row("list-of-anything", "things that are no messages", [1, "a", None, [], {}]),
]
_BYTES = [
    _row("no-utf8", "bytes that are no text", _ping(b"5", b',"params":{"a":"\xff\xfe\xc0\x80"}')),
    _row("utf16", "another encoding", '{"jsonrpc":"2.0","id":5,"method":"ping"}'.encode("utf-16")),
    _row("null-bytes", "the end of a text for some readers", b"\x00" * 1_000),
    _row("null-in-text", "the same inside a text", _ping(b"5", b',"params":{"a":"\x00"}')),
    _row("byte-order-mark", "a mark before the message", b"\xef\xbb\xbf" + _ping(b"5")),
    _row("half-pair", "half of a character", _ping(b"5", b',"params":{"a":"\\ud83d"}')),
    _row("carriage-return", "lines that end otherwise", _ping(b"5") + b"\r" + _ping(b"6") + b"\r"),
    _row("random", "what is no message at all", bytes(range(256)).replace(b"\n", b"") * 64),
]
_NUMBERS = [
    _row(
        "number-endless",
        "a number that takes long to read",
        _ping(b"5", b',"params":{"a":' + b"9" * 200_000 + b"}"),
    ),
    _row("number-overflow", "a number that is none", _ping(b"5", b',"params":{"a":1e999}')),
    _row("not-a-number", "a word that some readers take", _ping(b"5", b',"params":{"a":NaN}')),
    _row(
        "number-in-call",
        "a number beyond every limit",
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"list_workflows","arguments":{"limit":1'
        + b"0" * 400
        + b"}}}",
    ),
]
_OPENING: Any = opening()[0]
_ERAS = [
    _unopened("before-opening", "work before anything was agreed", request(5, "tools/call", START)),
    _unopened("listing-before-opening", "a look before it", request(5, "tools/list")),
    _row("opening-twice", "to begin again in the middle", {**_OPENING, "id": 5}, {**_OPENING, "id": 6}),
    _unopened("opening-without-version", "to agree on nothing", request(5, "initialize", {})),
    _unopened(
        "opening-of-no-shape",
        "a client that is a list",
        request(5, "initialize", {"protocolVersion": [], "capabilities": 7, "clientInfo": []}),
    ),
    _unopened(
        "opening-with-steering",
        "to steer from the name of the client",
        request(
            5,
            "initialize",
            {
                "protocolVersion": "9999-99-99",
                "capabilities": {"a" * 10_000: {}},
                "clientInfo": {"name": STEERING, "version": "v" * 100_000},
            },
        ),
    ),
    _row(
        "other-era", "a call of the later era in the earlier one", request(5, "tools/call", enveloped(START))
    ),
    _row(
        "discover",
        "the opening of the later era in the earlier one",
        request(5, "server/discover", enveloped()),
    ),
    _unopened(
        "both-eras",
        "to begin in one era and go on in the other",
        request(5, "server/discover", enveloped()),
        {**_OPENING, "id": 6},
        request(7, "tools/call", START),
    ),
    _unopened(
        "envelope-of-no-shape",
        "an envelope that is none",
        request(5, "tools/call", {**START, "_meta": {"io.modelcontextprotocol/protocolVersion": 7}}),
        request(6, "tools/call", {**START, "_meta": []}),
    ),
]
_TOKENS = [
    _made(
        "foreign-ack", "the ack of another server", lambda: _continued(ackToken=_foreign_token("ackToken"))
    ),
    _made("foreign-state", "its state token", lambda: _continued(stateToken=_foreign_token("stateToken"))),
    _made(
        "foreign-checkpoint",
        "its checkpoint token",
        lambda: lines(
            request(
                5,
                "tools/call",
                tool("checkpoint_workflow", checkpointToken=_foreign_token("checkpointToken")),
            )
        ),
    ),
    _made(
        "token-of-megabytes", "a token without an end", lambda: _continued(ackToken="ak1" + "a" * 1_000_000)
    ),
    _made("token-of-no-kind", "a token that is an object", lambda: _continued(ackToken={"a": 1})),
]
