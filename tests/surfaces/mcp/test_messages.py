"""Lines that clients, careless ones and hostile ones, send: each gets the answer that JSON-RPC has for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.messages import BATCH_MESSAGES, FRAME_BYTES, Lines
from tests.conftest import memory_runtime
from tests.surfaces.mcp.conversations import enveloped, lines, notice, opening, request, tool
from tests.surfaces.mcp.pipes import connected, piped
from tests.surfaces.mcp.test_ask import REGION, asking

PING = request("after", "ping")


def heard_after(runtime: Runtime, *sent: Any, version: str = "2025-11-25") -> list[bytes]:
    """What is answered to these lines; that a ping is still answered afterwards is checked here."""
    out = piped(lines(*opening(version), *sent, PING), Adapter(runtime)).splitlines()

    assert b'"protocolVersion"' in out[0]
    assert b'{"jsonrpc":"2.0","id":"after","result":{}}' in out
    return [line for line in out[1:] if b'"id":"after"' not in line]


IDS = [
    b"0",
    b"-7",
    b"1.5",
    b"1.50",
    b"-0.0",
    b"1e3",
    b"1E+400",
    b"9007199254740993",
    b"18446744073709551616",
    b"9" * 5_000,
    b'""',
    b'"7"',
    '"Größe 🚀"'.encode(),
    b'"' + b"x" * 10_000 + b'"',
]


@pytest.mark.parametrize("text", IDS, ids=lambda text: text[:20].decode())
def test_every_id_comes_back_as_it_was_written(runtime: Runtime, text: bytes) -> None:
    ping = b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % text
    listing = b'{"jsonrpc":"2.0","id":%b,"method":"prompts/get","params":{"name":"resume"}}' % text

    first, second = heard_after(runtime, ping, listing)

    assert b'"id":%b,"result":' % text in first
    assert b'"id":%b,"result":' % text in second


@pytest.mark.parametrize("text", [b"null", b"true", b"[]", b"{}", b'{"a":1}'])
def test_an_id_that_is_none_is_refused(runtime: Runtime, text: bytes) -> None:
    (line,) = heard_after(runtime, b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % text)

    refusal = json.loads(line)
    assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)


def test_a_notification_with_the_id_null_is_one(runtime: Runtime) -> None:
    """Some serialisers write every field."""
    assert heard_after(runtime, b'{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}') == []


HOSTILE: list[tuple[str, bytes, Any, int]] = [
    ("garbage", b"garbage", None, -32700),
    ("half a message", b'{"jsonrpc":"2.0","id":5', None, -32700),
    ("two on a line", b'{"jsonrpc":"2.0","id":5,"method":"ping"} {}', None, -32700),
    ("an empty object", b"{}", None, -32600),
    ("a number", b"7", None, -32600),
    ("text", b'"ping"', None, -32600),
    ("another version", b'{"jsonrpc":"1.0","id":5,"method":"ping"}', 5, -32600),
    ("no version", b'{"id":5,"method":"ping"}', 5, -32600),
    ("no method", b'{"jsonrpc":"2.0","id":5}', 5, -32600),
    ("a method that is no text", b'{"jsonrpc":"2.0","id":5,"method":["ping"]}', 5, -32600),
    ("params that are a list", b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}', 5, -32600),
    ("not a number", b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":NaN}}', 5, -32700),
    ("a huge number", b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":1e999}}', 5, -32602),
    (
        "a long number",
        b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":' + b"9" * 5_000 + b"}}",
        5,
        -32602,
    ),
    (
        "a depth",
        b'{"jsonrpc":"2.0","id":5,"method":"ping","params":' + b'{"a":' * 9_000 + b"1" + b"}" * 9_001,
        None,
        -32700,
    ),
    ("a depth of lists", b"[" * 100_000, None, -32700),
    ("UTF-16", '{"jsonrpc":"2.0","id":5,"method":"ping"}'.encode("utf-16"), None, -32700),
    (
        "a long cursor",
        b'{"jsonrpc":"2.0","id":5,"method":"resources/list","params":{"cursor":"' + b"x" * 100_000 + b'"}}',
        5,
        -32602,
    ),
]


@pytest.mark.parametrize(
    ("line", "number", "code"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE]
)
def test_a_hostile_line_is_refused_and_ends_nothing(
    runtime: Runtime, line: bytes, number: Any, code: int
) -> None:
    (heard,) = heard_after(runtime, line)

    refusal = json.loads(heard)
    assert (refusal["id"], refusal["error"]["code"]) == (number, code)
    assert len(heard) < 800


GOODWILL: list[tuple[str, bytes]] = [
    ("CRLF", b'{"jsonrpc":"2.0","id":5,"method":"ping"}\r'),
    ("a byte order mark", b'\xef\xbb\xbf{"jsonrpc":"2.0","id":5,"method":"ping"}'),
    ("blanks", b' \t {"jsonrpc" : "2.0", "id" : 5, "method" : "ping"}  '),
    ("empty lines", b'\n\r\n  \n{"jsonrpc":"2.0","id":5,"method":"ping"}'),
    ("unknown members", b'{"jsonrpc":"2.0","id":5,"method":"ping","x":{"y":[1]}}'),
    ("params null", b'{"jsonrpc":"2.0","id":5,"method":"ping","params":null}'),
    ("Latin-1", b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"Gr\xf6\xdfe"}}'),
    ("half of a surrogate pair", b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"\\ud83d"}}'),
    ("a bare NUL", b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"\x00"}}'),
]


@pytest.mark.parametrize("line", [row[1] for row in GOODWILL], ids=[row[0] for row in GOODWILL])
def test_a_careless_line_is_served(runtime: Runtime, line: bytes) -> None:
    assert heard_after(runtime, line) == [b'{"jsonrpc":"2.0","id":5,"result":{}}']


def test_half_a_surrogate_pair_becomes_a_replacement(runtime: Runtime) -> None:
    line = (
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":'
        b'{"name":"list_workflows","arguments":{"query":"cut \\ud83d"}}}'
    )

    (heard,) = heard_after(runtime, line)

    assert json.loads(heard)["result"]["isError"] is False


def test_what_a_client_answers_is_never_answered(runtime: Runtime) -> None:
    answers = [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "result": [1]},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "no"}},
        {"jsonrpc": "2.0", "id": {}, "error": 7},
        notice("notifications/cancelled"),
        notice("notifications/cancelled", requestId={"a": []}),
        notice("notifications/cancelled", requestId=True),
    ]

    assert heard_after(runtime, *answers) == []


def test_too_long_line_is_refused_and_the_next_one_served(runtime: Runtime) -> None:
    huge = b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"' + b"x" * FRAME_BYTES + b'"}}'

    (heard,) = heard_after(runtime, huge)

    refusal = json.loads(heard)
    assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
    assert refusal["error"]["message"].startswith("This line has more than 16 MB and was skipped;")


def test_of_a_line_over_the_limit_nothing_is_kept() -> None:
    cut = Lines(most_bytes=10)

    found = [line for chunk in (b"12345", b"67890", b"1", b"2345", b"\nnext\n") for line in cut.feed(chunk)]

    assert found == [None, b"next"]
    assert cut._parts == []
    assert list(Lines(most_bytes=10).feed(b"1234567890\n")) == [b"1234567890"]
    kept = Lines(most_bytes=10)
    assert [*kept.feed(b"x" * 6), *kept.feed(b"x" * 6)] == []
    assert kept._parts == []
    assert list(kept.end()) == [None]


@pytest.mark.thorough
def test_no_answer_overtakes_the_one_that_opens_the_connection(runtime: Runtime) -> None:
    sent = lines(*opening(), *(request(number, "prompts/get", {"name": "resume"}) for number in range(1, 20)))

    first = {piped(sent, Adapter(runtime)).partition(b"\n")[0][:24] for _ in range(20)}

    assert first == {b'{"jsonrpc":"2.0","id":0,'}


def test_batch_is_answered_by_a_batch_where_the_era_has_them(runtime: Runtime) -> None:
    messages = [
        request(1, "ping"),
        notice("notifications/x"),
        request(2, "tools/call", tool("list_workflows")),
        {"jsonrpc": "2.0", "id": 3},
        opening()[0],
    ]

    (heard,) = heard_after(runtime, messages, version="2025-03-26")

    answers = {answer["id"]: answer for answer in json.loads(heard)}
    assert set(answers) == {0, 1, 2, 3}
    assert answers[1]["result"] == {}
    assert answers[2]["result"]["structuredContent"]["count"] == 1
    assert answers[3]["error"]["code"] == -32600
    assert answers[0]["error"]["message"] == "initialize cannot be part of a list of messages."


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_a_list_of_messages_is_refused_in_the_other_revisions(runtime: Runtime, version: str) -> None:
    (heard,) = heard_after(runtime, [request(1, "ping")], version=version)

    assert json.loads(heard)["error"]["code"] == -32600


@pytest.mark.parametrize("messages", [[], [request(1, "ping")] * (BATCH_MESSAGES + 1)], ids=["none", "many"])
def test_a_list_has_a_bounded_number_of_messages(runtime: Runtime, messages: list[Any]) -> None:
    (heard,) = heard_after(runtime, messages, version="2025-03-26")

    assert json.loads(heard)["error"]["message"].startswith("A list of messages has 1 to 100 of them;")


def test_a_list_of_notifications_gets_no_answer(runtime: Runtime) -> None:
    assert heard_after(runtime, [notice("notifications/x")] * 2, version="2025-03-26") == []


def test_a_logging_level_is_accepted_in_the_era_that_has_it(runtime: Runtime) -> None:
    (heard,) = heard_after(runtime, request(1, "logging/setLevel", {"level": "debug"}))
    with connected(Adapter(runtime)) as client:
        refused = client.ask(request(1, "logging/setLevel", enveloped({"level": "debug"})))

    assert heard == b'{"jsonrpc":"2.0","id":1,"result":{}}'
    assert refused["error"]["code"] == -32601


REPEATED = [
    b'{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":2}}',
    b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"b":[{"k":1,"\\u006b":2}]}}',
    b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"tab":"\t","tab":""}}',
]


@pytest.mark.parametrize("line", REPEATED)
def test_a_key_that_stands_twice_in_one_object_is_refused(runtime: Runtime, line: bytes) -> None:
    (heard,) = heard_after(runtime, line)

    answered = json.loads(heard)
    assert (answered["id"], answered["error"]["code"]) == (7, -32600)
    assert "A key appears twice" in answered["error"]["message"]


ANSWERED_IDS: list[set[int]] = [set(), {0}, {0}, {0, 2}]
"""Which requests are answered after so many whole lines; the second line is a notification."""


@pytest.mark.thorough
def test_a_conversation_that_is_cut_at_any_byte_ends_in_order() -> None:
    whole = lines(*opening(), request(2, "tools/call", tool("list_workflows")))
    runtime = memory_runtime()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == 10]

    for cut in [*range(0, len(whole), 7), *ends, *(end - 1 for end in ends)]:
        answers = [json.loads(line) for line in piped(whole[:cut], Adapter(runtime)).splitlines()]

        # A last line without its line end counts as a line: the pipe has closed behind it.
        complete = [end for end in ends if end - 1 <= cut]
        answered = {answer["id"] for answer in answers if "result" in answer}
        assert answered == ANSWERED_IDS[len(complete)], cut
        unread = [answer for answer in answers if "error" in answer]
        is_torn = cut not in (0, *ends, *(end - 1 for end in ends))
        assert len(unread) == is_torn, cut


def test_late_question_leaves_the_blocked_reply(runtime: Runtime) -> None:
    """The client closes its end while a person is asked: the call is answered, and the server ends."""
    call = request(2, "tools/call", tool("continue_workflow", **asking(runtime, REGION)))

    heard = piped(lines(*opening(capabilities={"elicitation": {}}), call), Adapter(runtime))

    answers = [json.loads(line) for line in heard.splitlines()]
    assert [answer["id"] for answer in answers if "result" in answer] == [0, 2]
    assert answers[-1]["result"]["structuredContent"]["kind"] == "blocked"
