"""Conversations of a client with the server: each turn is what it sends, made from what it heard before."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from tests.journeys.at_a_form import REPORT
from tests.surfaces.mcp.test_ask import WORKFLOW as ASKS

Message: TypeAlias = dict[str, Any]
Turn: TypeAlias = Message | Callable[[list[Message]], Message]
"""A message, or how to make it from all answers so far, the latest last."""

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PREFIX = "io.modelcontextprotocol/"
WORKFLOW = "project.three_steps"
CHOOSES = "project.chooses"


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """What a client says, turn by turn; it waits for the answer to each request."""

    name: str
    turns: list[Turn]
    results: str = "both"
    mvi: str = "standard"


def request(number: Any, method: str, params: Any = None) -> Message:
    given = {} if params is None else {"params": params}
    return {"jsonrpc": "2.0", "id": number, "method": method, **given}


def notice(method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


def opening(version: str = "2025-11-25", capabilities: Any = None, client: str = "compare") -> list[Turn]:
    params = {
        "protocolVersion": version,
        "capabilities": capabilities or {},
        "clientInfo": {"name": client, "version": "0"},
    }
    return [request(0, "initialize", params), notice("notifications/initialized")]


def enveloped(params: Any = None, capabilities: Any = None, **more: Any) -> Message:
    meta = {
        f"{PREFIX}protocolVersion": "2026-07-28",
        f"{PREFIX}clientCapabilities": capabilities or {},
        f"{PREFIX}clientInfo": {"name": "compare", "version": "0"},
        **more,
    }
    return {**(params or {}), "_meta": meta}


def tool(name: str, **arguments: Any) -> Message:
    return {"name": name, "arguments": arguments}


def lines(*messages: Any) -> bytes:
    """Each message on a line of its own; bytes go as they are."""
    sent = (each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages)
    return b"".join(line + b"\n" for line in sent)


REFERENCES = [
    ({"type": "ref/resource", "uri": "handrail://sessions/{id}"}, {"name": "id", "value": "ses"}),
    ({"type": "ref/resource", "uri": "handrail://workflows/{id}"}, {"name": "id", "value": ""}),
    ({"type": "ref/prompt", "name": "resume"}, {"name": "query", "value": "ses"}),
    ({"type": "ref/prompt", "name": "nobody", "title": "N"}, {"name": "goal", "value": "x"}),
]
ASKED: list[tuple[str, Any]] = [
    ("tools/list", None),
    ("tools/list", {}),
    ("tools/list", {"cursor": None}),
    ("tools/list", {"cursor": "cu1nonsense"}),
    ("prompts/list", None),
    ("prompts/list", {"cursor": "cu1nonsense"}),
    ("prompts/get", {"name": "resume"}),
    ("prompts/get", {"name": "resume", "arguments": {"query": "the Größe of 🚀"}}),
    ("prompts/get", {"name": WORKFLOW, "arguments": {"goal": 'a "goal"\n\u2028\x7f\\'}}),
    ("prompts/get", {"name": WORKFLOW, "arguments": {"goal": "x" * 300, "other": ""}}),
    ("prompts/get", {"name": "nobody"}),
    ("resources/list", None),
    ("resources/list", {"cursor": "x"}),
    ("resources/templates/list", None),
    ("resources/templates/list", {"cursor": "x"}),
    ("resources/read", {"uri": "handrail://workflows"}),
    ("resources/read", {"uri": f"handrail://workflows/{WORKFLOW}"}),
    ("resources/read", {"uri": "handrail://sessions/ses_000000000000"}),
    ("resources/read", {"uri": "nothing at all " * 60}),
    *(("completion/complete", {"ref": ref, "argument": argument}) for ref, argument in REFERENCES),
    (
        "completion/complete",
        {"ref": REFERENCES[0][0], "argument": REFERENCES[0][1], "context": {"arguments": {"a": "b"}}},
    ),
    ("tools/call", tool("list_workflows")),
    ("tools/call", {"name": "list_workflows"}),
    ("tools/call", {"name": "list_workflows", "arguments": None}),
    ("tools/call", tool("list_workflows", query="Größe 🚀")),
    ("tools/call", tool("inspect_workflow", workflowId=WORKFLOW, part="steps")),
    ("tools/call", tool("inspect_workflow", workflowId="nobody")),
    ("tools/call", tool("continue_workflw")),
    ("tools/call", tool("rm\x1b\u202e" * 40)),
    ("tools/call", tool("continue_workflow", notes="done")),
    ("tools/call", tool("continue_workflow", ackToken="ak1" + "0" * 53)),
    ("tools/call", tool("resume_session", query="nothing like this")),
    (
        "tools/call",
        tool("start_workflow", workflowId=WORKFLOW, context={"a": [1, 2.5, 1e16, True, None, -0.0]}),
    ),
    ("nobody/knows\u202e" * 20, None),
    ("tasks/list", None),
    ("sampling/createMessage", None),
]
"""What both eras have, with and without flaws that are the product's business."""

MISSHAPEN: list[tuple[str, Any]] = [
    ("tools/call", None),
    ("tools/call", {}),
    ("tools/call", {"name": 7}),
    ("tools/call", {"name": None}),
    ("tools/call", {"name": "list_workflows", "arguments": []}),
    ("tools/call", {"name": "list_workflows", "arguments": "{}"}),
    ("prompts/get", {}),
    ("prompts/get", {"name": "resume", "arguments": {"query": 7}}),
    ("prompts/get", {"name": "resume", "arguments": {"query": None}}),
    ("prompts/list", {"cursor": 7}),
    ("tools/list", {"cursor": []}),
    ("resources/read", {}),
    ("resources/read", {"uri": None}),
    ("resources/list", {"cursor": {}}),
    ("completion/complete", {}),
    ("completion/complete", {"ref": {"type": "ref/nothing"}, "argument": {}}),
    ("completion/complete", {"ref": {"type": "ref/prompt"}, "argument": {"name": "a", "value": "b"}}),
    ("completion/complete", {"ref": REFERENCES[0][0], "argument": {"name": "code"}}),
    ("completion/complete", {"ref": REFERENCES[0][0], "argument": REFERENCES[0][1], "context": []}),
    ("resources/subscribe", {}),
    ("resources/subscribe", {"uri": "handrail://workflows"}),
    ("resources/unsubscribe", {"uri": 7}),
    ("logging/setLevel", {}),
    ("logging/setLevel", {"level": "loud"}),
    ("subscriptions/listen", {}),
]


def walk(wrap: Callable[[Message], Message]) -> list[Turn]:
    """A run from start to end, with a repeat, a checkpoint and a rehydrate; `wrap` makes the params."""

    def call(number: int, name: str, arguments: Callable[[list[Message]], Message]) -> Turn:
        return lambda heard: request(number, "tools/call", wrap(tool(name, **arguments(heard))))

    def last(heard: list[Message]) -> Message:
        content: Message = heard[-1]["result"]["structuredContent"]
        return content

    def following(heard: list[Message]) -> Message:
        return {**last(heard)["nextCall"]["params"], "output": {"notesMarkdown": "did it, Größe 🚀"}}

    def saved(heard: list[Message]) -> Message:
        return {"checkpointToken": last(heard)["checkpointToken"], "output": {"notesMarkdown": "half"}}

    start = {"workflowId": WORKFLOW, "goal": "compare", "requestId": "r-1"}
    return [
        call(10, "start_workflow", lambda _: start),
        call(11, "start_workflow", lambda _: start),
        call(12, "checkpoint_workflow", saved),
        call(13, "continue_workflow", lambda heard: {"stateToken": last(heard)["stateToken"]}),
        call(14, "continue_workflow", following),
        call(15, "continue_workflow", following),
        call(16, "continue_workflow", following),
        call(17, "resume_session", lambda _: {}),
    ]


def asking(wrap: Callable[[Message], Message], *answers: Callable[[list[Message]], Message]) -> list[Turn]:
    """A report that waits for the user, and what the client says then."""

    def report(heard: list[Message]) -> Message:
        token = heard[-1]["result"]["structuredContent"]["ackToken"]
        return request(21, "tools/call", wrap(tool("continue_workflow", ackToken=token, output=REPORT)))

    return [request(20, "tools/call", wrap(tool("start_workflow", workflowId=ASKS))), report, *answers]


Arguments: TypeAlias = Callable[[list[Message]], Message]
"""The arguments of a call, from what was heard."""


def shown(heard: list[Message], step_id: str) -> Message:
    """The reply that showed this step first."""
    told = [one["result"].get("structuredContent") or {} for one in heard if "result" in one]
    content: Message = next(one for one in told if (one.get("pending") or {}).get("stepId") == step_id)
    return content


def report_on(step_id: str) -> Arguments:
    return lambda heard: {"ackToken": shown(heard, step_id)["ackToken"], "output": REPORT}


def choose_first(heard: list[Message]) -> Message:
    call: Message = shown(heard, "way")["nextCall"]["options"][0]["params"]
    return call


def asked_about(
    wrap: Callable[[Message], Message],
    workflow_id: str,
    before: list[Arguments],
    arguments: Arguments,
    *answers: Turn,
) -> list[Turn]:
    """Reports up to one that a person is asked about, what the client says then, and the same again."""

    def report(number: int, told: Arguments) -> Turn:
        return lambda heard: request(number, "tools/call", wrap(tool("continue_workflow", **told(heard))))

    begin = request(20, "tools/call", wrap(tool("start_workflow", workflowId=workflow_id)))
    reports = [report(30 + number, told) for number, told in enumerate([*before, arguments])]
    return [begin, *reports, *answers, report(40, arguments)]


def confirming(wrap: Callable[[Message], Message], *answers: Turn) -> list[Turn]:
    before = [report_on("first"), report_on("second")]
    return asked_about(wrap, WORKFLOW, before, report_on("third"), *answers)


def choosing(wrap: Callable[[Message], Message], *answers: Turn) -> list[Turn]:
    return asked_about(wrap, CHOOSES, [], choose_first, *answers)


def form(action: str, content: Any = None) -> Message:
    return {"action": action, **({} if content is None else {"content": content})}


def answered(result: Message) -> Callable[[list[Message]], Message]:
    """The client's answer to the question that it heard last."""
    return lambda heard: {"jsonrpc": "2.0", "id": heard[-1]["id"], "result": result}


def brought_with(arguments: Arguments, name: str, result: Message) -> Callable[[list[Message]], Message]:
    """Any other call again, with the answer to the question about it."""

    def turn(heard: list[Message]) -> Message:
        call = tool("continue_workflow", **arguments(heard))
        state = heard[-1]["result"]["requestState"]
        call |= {"requestState": state, "inputResponses": {name: result}}
        return request(24, "tools/call", enveloped(call, {"elicitation": {}}))

    return turn


def brought(result: Message, state: str | None = None) -> Callable[[list[Message]], Message]:
    """The call again, as the stateless era answers a question."""

    def turn(heard: list[Message]) -> Message:
        told = heard[-1]["result"]
        token = heard[0]["result"]["structuredContent"]["ackToken"]
        call = tool("continue_workflow", ackToken=token, output=REPORT)
        call |= {"requestState": state or told["requestState"], "inputResponses": {"region": result}}
        return request(22, "tools/call", enveloped(call, {"elicitation": {}}))

    return turn


def numbered(asked: list[tuple[str, Any]], wrap: Callable[[Any], Any] = lambda params: params) -> list[Turn]:
    return [request(100 + number, method, wrap(params)) for number, (method, params) in enumerate(asked)]


ODD_IDS = ["text", "7", "", 'Größe 🚀 "\\\n', 0, -5, 2**53, 2**64, 10**30]
CAPABLE = [
    {"elicitation": {"form": {}}},
    {"elicitation": {"url": {}}},
    {"elicitation": None, "roots": {"listChanged": True}, "sampling": {}, "experimental": {"x": {}}},
    {"elicitation": 5},
    {"roots": []},
    {"sampling": "yes"},
    {"experimental": {"x": 1}},
]
FLAWED_ENVELOPES: list[Any] = [
    {"_meta": {f"{PREFIX}protocolVersion": "2026-07-28"}},
    {"_meta": {f"{PREFIX}protocolVersion": "2025-11-25", f"{PREFIX}clientCapabilities": {}}},
    {"_meta": {f"{PREFIX}protocolVersion": 7, f"{PREFIX}clientCapabilities": {}}},
    {"_meta": {f"{PREFIX}protocolVersion": "2026-07-28", f"{PREFIX}clientCapabilities": []}},
    {"_meta": {f"{PREFIX}clientCapabilities": {}}},
    {"_meta": []},
    {"_meta": None},
    {},
    enveloped({}, **{f"{PREFIX}logLevel": "loud"}),
    enveloped({}, **{f"{PREFIX}logLevel": "debug"}),
    enveloped({}, **{f"{PREFIX}clientInfo": {"name": 7}}),
    enveloped({}, **{f"{PREFIX}clientInfo": None}),
    enveloped({}, progressToken="p"),
    enveloped({}, progressToken=[]),
    *(enveloped({}, capabilities) for capabilities in CAPABLE),
]
NOISE: list[Turn] = [
    notice("notifications/nobody", x=[None]),
    notice("notifications/cancelled", requestId=99),
    notice("notifications/cancelled", requestId=[]),
    notice("notifications/roots/list_changed"),
    notice("notifications/progress", progressToken=1, progress=1),
    {"jsonrpc": "2.0", "id": 99, "result": {}},
    {"jsonrpc": "2.0", "id": "99", "error": {"code": 1, "message": "no"}},
]
FORMS: list[Any] = [{"elicitation": {}}, {"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}]


WORDS = [form("accept", {"confirm": True}), form("accept", {"confirm": False}), form("decline")]
NO_WORDS = [form("cancel"), form("accept", {"confirm": "yes"})]
OPTIONS = [form("accept", {"choice": "right"})]
NO_OPTIONS = [form("decline"), form("accept", {"choice": "up"})]


def _plain(params: Any) -> Any:
    return params


def _asking_envelope(params: Any) -> Any:
    return enveloped(params, {"elicitation": {}})


def conversations() -> list[Conversation]:
    """All of them, in both eras."""
    return [*handshakes(), *stateless()]


def _talk(name: str, *parts: list[Turn], **options: str) -> Conversation:
    return Conversation(name=name, turns=[turn for part in parts for turn in part], **options)


def handshakes() -> Iterator[Conversation]:
    for version in (*VERSIONS, "2026-07-28", "zzz"):
        yield _talk(f"handshake {version}", opening(version), [request(1, "ping")], numbered(ASKED))
    yield _talk("handshake, misshapen", opening(), numbered(MISSHAPEN))
    yield _talk("handshake, a run", opening(), walk(_plain))
    yield _talk("handshake, odd ids", opening(), [request(each, "ping") for each in ODD_IDS])
    yield _talk(
        "handshake, noise", NOISE, opening(), NOISE, [request(1, "ping", {"_meta": {"progressToken": 1}})]
    )
    yield _talk("handshake, twice", opening(), opening("2024-11-05"), [request(1, "ping", {})])
    yield _talk("handshake, misshapen meta", opening(), [request(1, "tools/list", {"_meta": 7})])
    yield _talk("handshake, enveloped later", opening(), [request(1, "tools/list", enveloped())])
    yield _talk("handshake, server/discover", opening(), [request(1, "server/discover", {})])
    yield _talk(
        "before the handshake", [request(1, "ping")], numbered([*ASKED[:3], *MISSHAPEN[:3]]), opening()
    )
    yield _talk("initialized alone", [notice("notifications/initialized"), request(1, "tools/list")])
    for each in CAPABLE:
        yield _talk(
            f"handshake of a client with {each}", opening(capabilities=each), [request(1, "tools/list")]
        )
    yield _talk("misshapen handshake", [request(1, "initialize", {}), request(2, "initialize"), *opening()])
    for capabilities in FORMS:
        yield _talk(
            f"asked by handshake, {capabilities}",
            opening(capabilities=capabilities),
            asking(
                _plain,
                *([answered(form("accept", {"region": "eu"}))] if "url" not in str(capabilities) else []),
            ),
        )
    for result in (form("decline"), form("cancel"), form("accept", {}), form("accept", {"region": "mars"})):
        yield _talk(
            f"asked by handshake, {result}", opening(capabilities=FORMS[0]), asking(_plain, answered(result))
        )
    for result in [*WORDS, *NO_WORDS]:
        talk = confirming(_plain, answered(result))  # without an answer, the repeat would ask again
        said = talk if result in WORDS else talk[:-1]
        yield _talk(f"confirmed by handshake, {result}", opening(capabilities=FORMS[0]), said)
    for result in [*OPTIONS, *NO_OPTIONS]:
        talk = choosing(_plain, answered(result))
        said = talk if result in OPTIONS else talk[:-1]
        yield _talk(f"chosen by handshake, {result}", opening(capabilities=FORMS[0]), said)
    for results in ("text", "structured"):
        yield _talk(
            f"handshake, {results}",
            opening(),
            [request(1, "tools/list")],
            numbered(ASKED[-14:]),
            results=results,
        )


def stateless() -> Iterator[Conversation]:
    yield _talk("stateless", numbered([("server/discover", None), *ASKED], enveloped))
    yield _talk("stateless, misshapen", numbered(MISSHAPEN, enveloped))
    yield _talk("stateless, a run", walk(enveloped))
    yield _talk("stateless, odd ids", [request(each, "tools/list", enveloped()) for each in ODD_IDS])
    yield _talk(
        "stateless, noise",
        NOISE,
        [request(1, "tools/list", enveloped())],
        NOISE,
        [request(2, "ping", enveloped())],
    )
    yield _talk(
        "stateless, flawed envelopes",
        [request(0, "tools/list", enveloped())],
        [request(50 + number, "tools/list", each) for number, each in enumerate(FLAWED_ENVELOPES)],
        [request(90, "server/discover", {"_meta": {}}), request(91, "nobody", {})],
    )
    yield _talk("stateless, half an envelope first", [request(0, "tools/list", FLAWED_ENVELOPES[0])])
    yield _talk(
        "stateless, initialize later",
        [request(0, "tools/list", enveloped())],
        opening(),
        [request(9, "initialize")],
    )
    for result in (form("accept", {"region": "eu"}), form("decline"), form("accept", {"region": 7})):
        yield _talk(f"asked statelessly, {result}", asking(_asking_envelope, brought(result)))
    for result in [*WORDS, *NO_WORDS]:
        told = brought_with(report_on("third"), "confirm", result)
        yield _talk(f"confirmed statelessly, {result}", confirming(_asking_envelope, told))
    for result in [*OPTIONS, *NO_OPTIONS]:
        told = brought_with(choose_first, "choice", result)
        yield _talk(f"chosen statelessly, {result}", choosing(_asking_envelope, told))
    yield _talk(
        "asked statelessly, a foreign state",
        asking(_asking_envelope, brought(form("accept"), "ak1" + "0" * 53)),
    )
    for results in ("text", "structured"):
        yield _talk(f"stateless, {results}", numbered(ASKED[-14:], enveloped), results=results)
    yield _talk("stateless, minimal", walk(enveloped)[:2], mvi="minimal")
