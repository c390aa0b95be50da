"""The official Python client drives `handrail mcp` over stdin and stdout, in both protocol eras."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError, StdioServerParameters

import handrail
from handrail import __version__
from handrail.surfaces.mcp.code.tool_set import code_tool_definitions
from handrail.surfaces.mcp.tools import tool_definitions
from tests.filled_in import make_named_files

COMMAND = [sys.executable, "-m", "handrail.main", "mcp"]
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
"""How the client opens → the protocol that is spoken then."""
LIMIT_SECONDS = 120

THREE_STEPS = {
    "id": "project.three_steps",
    "name": "Three steps",
    "description": "A linear workflow for referees.",
    "steps": [
        {"id": "first", "title": "First", "prompt": "Do the first thing."},
        {"id": "second", "title": "Second", "prompt": "Do the second thing.\nAll of it."},
        {"id": "third", "title": "Third", "prompt": "Ask: may I?", "requireConfirmation": True},
    ],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project with one workflow, beside an empty home."""
    workflows = tmp_path / "project" / ".handrail" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "three_steps.json").write_text(json.dumps(THREE_STEPS), encoding="utf-8")
    make_named_files(tmp_path / "project")
    return tmp_path


def environment(place: Path) -> dict[str, str]:
    return {
        "HOME": str(place),
        "HANDRAIL_HOME": str(place / "home"),
        "HANDRAIL_PROJECT": str(place / "project"),
        "PATH": os.environ["PATH"],
        "USER": "referee",
    }


@asynccontextmanager
async def connected(place: Path, era: str, *flags: str) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *flags], env=environment(place), cwd=place
    )
    async with Client(server, mode=era) as client:
        yield client


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(LIMIT_SECONDS):
            await test()

    anyio.run(bounded)


def text_of(result: mcp_types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


async def tell_run(client: Client) -> list[str]:
    """One run from listing to completion; every structured answer as its bytes."""
    told = []

    async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, text_of(result)
        told.append(json.dumps([result.structured_content, text_of(result)], ensure_ascii=False))
        structured: dict[str, Any] = result.structured_content
        return structured

    await call("list_workflows", {"query": "three"})
    await call("inspect_workflow", {"workflowId": "project.three_steps", "part": "steps"})
    start = {"workflowId": "project.three_steps", "goal": "be refereed", "requestId": "referee-1"}
    reply = await call("start_workflow", start)
    saved = {"checkpointToken": reply["checkpointToken"], "output": {"notesMarkdown": "half"}}
    reply = await call("checkpoint_workflow", saved)
    while reply["nextCall"] is not None:
        params = {**reply["nextCall"]["params"], "output": {"notesMarkdown": f"did {len(told)}"}}
        reply = await call(reply["nextCall"]["tool"], params)
    assert reply["isComplete"] is True
    return told


def test_a_run_gets_the_same_bytes_in_every_era(place: Path) -> None:
    """The first client makes the run, the others repeat every call: replays, so nothing may differ."""
    told: dict[str, list[str]] = {}

    async def test() -> None:
        for era, version in ERAS.items():
            async with connected(place, era) as client:
                assert client.protocol_version == version
                told[era] = await tell_run(client)

    run(test)

    assert len(told["legacy"]) == 7
    assert told["legacy"] == told["auto"] == told["2026-07-28"]


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_tools_are_listed_as_defined_with_instructions(place: Path, era: str) -> None:
    async def test() -> None:
        async with connected(place, era) as client:
            listing = await client.list_tools()
            assert client.instructions is not None
            assert client.server_info is not None
            assert client.server_info.version == __version__
            declared = client.server_capabilities.model_dump(exclude_none=True)
            assert declared.keys() == {"tools", "prompts", "resources", "completions"}
            sent = [tool.model_dump(by_alias=True, exclude_none=True) for tool in listing.tools]
            assert sent == tool_definitions()

    run(test)


def test_the_code_set_is_served_alone_in_both_eras(place: Path) -> None:
    (place / "project" / "a.js").write_text("export function a() {}\na();\n", encoding="utf-8")
    told: dict[str, Any] = {}

    async def test() -> None:
        for era in ("legacy", "auto"):
            async with connected(place, era, "--set", "code") as client:
                listing = await client.list_tools()
                sent = [tool.model_dump(by_alias=True, exclude_none=True) for tool in listing.tools]
                assert sent == code_tool_definitions()
                assert client.server_capabilities.model_dump(exclude_none=True).keys() == {"tools"}
                with pytest.raises(MCPError):
                    await client.list_prompts()
                found = await client.call_tool("code_search", {"search": "a"})
                following = found.structured_content["continuation_tokens"]["trace:0"]
                traced = await client.call_tool("code_trace", {"continuation": following})
                told[era] = [traced.structured_content["tree"], text_of(traced).partition("Next calls:")[0]]

    run(test)

    assert told["legacy"] == told["auto"]


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_an_agent_that_lost_its_context_comes_back(place: Path, era: str) -> None:
    async def test() -> None:
        async with connected(place, era) as client:
            first = await client.call_tool("start_workflow", {"workflowId": "project.three_steps"})
            done = {
                **first.structured_content["nextCall"]["params"],
                "output": {"notesMarkdown": "looked at a.py"},
            }
            await client.call_tool("continue_workflow", done)

        async with connected(place, era) as client:
            found = await client.call_tool("resume_session", {})
            following = found.structured_content["items"][0]["nextCall"]
            again = await client.call_tool(following["tool"], following["params"])
            assert again.structured_content["pending"]["stepId"] == "second"
            entry = again.structured_content["recap"]["entries"][0]
            assert (entry["notes"], entry["_untrusted"]) == ("looked at a.py", ["notes"])
            assert re.search(r"\[untrusted [0-9a-f]{12}: .*\]\nlooked at a\.py\n\[end ", text_of(again))

    run(test)


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_prompts_resources_and_completion_reach_a_client(place: Path, era: str) -> None:
    async def test() -> None:
        async with connected(place, era) as client:
            names = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert names[0] == "resume"
            assert {"project.three_steps", "wr.small_change"} < set(names)
            (message,) = (await client.get_prompt("wr.small_change", {"goal": "Mend it"})).messages
            assert isinstance(message.content, mcp_types.TextContent)
            assert 'start_workflow {"workflowId":"wr.small_change","goal":"Mend it"}' in message.content.text
            listed = (await client.list_resources()).resources
            assert listed[0].uri == "handrail://workflows"
            for resource in listed:
                (held,) = (await client.read_resource(resource.uri)).contents
                assert isinstance(held, mcp_types.TextResourceContents)
                assert resource.size == len(held.text.encode())
            reference = mcp_types.ResourceTemplateReference(uri="handrail://workflows/{id}")
            completed = await client.complete(reference, {"name": "id", "value": "wr.small"})
            assert completed.completion.values == ["wr.small_change"]

    run(test)


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_trouble_is_told_as_a_result_and_an_unknown_tool_as_a_protocol_error(place: Path, era: str) -> None:
    async def test() -> None:
        async with connected(place, era) as client:
            first = await client.call_tool("start_workflow", {"workflowId": "project.three_steps"})
            ack = first.structured_content["ackToken"]

            forged = await client.call_tool("continue_workflow", {"ackToken": "ak1" + "0" * 53})
            assert forged.is_error
            assert text_of(forged).startswith("TOKEN_BAD_SIGNATURE: ")

            misnamed = await client.call_tool("continue_workflow", {"ackToken": ack, "notes": "done"})
            assert misnamed.is_error
            offered = misnamed.structured_content["details"]["next_call"]
            assert offered == {
                "tool": "continue_workflow",
                "params": {"ackToken": ack, "output": {"notesMarkdown": "done"}},
            }
            assert not (await client.call_tool(offered["tool"], offered["params"])).is_error

            huge = await client.call_tool("continue_workflow", {"ackToken": "x" * 10_000_000})
            assert huge.structured_content["code"] == "REQUEST_TOO_LARGE"

            with pytest.raises(MCPError) as caught:
                await client.call_tool("continue", {})
            assert caught.value.code == mcp_types.INVALID_PARAMS

    run(test)


def test_results_can_be_text_alone(place: Path) -> None:
    async def test() -> None:
        async with connected(place, "auto", "--results", "text") as client:
            listing = await client.list_tools()
            result = await client.call_tool("list_workflows", {})
            assert all(tool.output_schema is None for tool in listing.tools)
            assert result.structured_content is None
            assert "project.three_steps" in text_of(result)

    run(test)


# What no client library lets one send: raw lines, closed ends, signals.

OPENING: list[dict[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "referee", "version": "0"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


def tool_call(number: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def lines_of(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def piped(
    place: Path, sent: bytes, command: list[str] = COMMAND, stdout: int | IO[bytes] = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command,
        input=sent,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(place),
        cwd=place,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def answers_in(stdout: bytes) -> dict[int | None, dict[str, Any]]:
    """Every line by its id; a line that is not JSON-RPC fails here."""
    answers = {}
    for line in stdout.splitlines():
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        assert "result" in message or "error" in message
        answers[message["id"]] = message
    return answers


def test_piped_requests_are_all_answered_though_stdin_ends_at_once(place: Path) -> None:
    calls = [
        tool_call(number, "start_workflow", {"workflowId": "project.three_steps"}) for number in range(2, 7)
    ]

    finished = piped(place, lines_of(*OPENING, *calls))

    answers = answers_in(finished.stdout)
    assert set(answers) == {1, 2, 3, 4, 5, 6}
    assert all("result" in answer for answer in answers.values())
    assert finished.returncode == 0


def test_the_first_line_on_stderr_names_version_project_store_and_eras(place: Path) -> None:
    finished = piped(place, b"")

    assert finished.stdout == b""
    assert finished.returncode == 0
    assert finished.stderr.decode().splitlines() == [
        f"handrail {__version__} mcp: project {place / 'project'}; store {place / 'home'}; "
        "protocol 2026-07-28, 2025-11-25 and older"
    ]


STRAY = """
import os, sys, warnings
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.stdio import serve_stdio
from handrail.surfaces.mcp.calls_in_progress import ServerParts
from handrail.wiring import build_runtime
import handrail.host.workflow_library as library

early = sys.stdout
quiet = library.DirectoryLibrary.files

def loud(self, project):
    print("STRAY print")
    early.write("STRAY buffered")
    os.write(1, b"STRAY descriptor\\n")
    os.system("echo STRAY child")
    warnings.warn("STRAY warning")
    return quiet(self, project)

library.DirectoryLibrary.files = loud
runtime = build_runtime(os.environ)
serve_stdio(runtime, ServerParts(offer=lambda: Adapter(runtime), give_back_memory=print))
"""


def test_stdout_carries_protocol_only_whatever_a_plugin_prints(place: Path) -> None:
    command = [sys.executable, "-X", "dev", "-W", "default", "-c", STRAY]

    finished = piped(place, lines_of(*OPENING, tool_call(2, "list_workflows", {})), command)

    assert set(answers_in(finished.stdout)) == {1, 2}
    assert b"STRAY" not in finished.stdout
    for stray in (b"STRAY print", b"STRAY buffered", b"STRAY descriptor", b"STRAY child", b"STRAY warning"):
        assert stray in finished.stderr


MALFORMED = {
    b"garbage": mcp_types.PARSE_ERROR,
    b"{}": mcp_types.INVALID_REQUEST,
    b"[]": mcp_types.INVALID_REQUEST,
    b"null": mcp_types.INVALID_REQUEST,
    b"\xff\xfe": mcp_types.PARSE_ERROR,
    b'{"jsonrpc":"2.0","id":5': mcp_types.PARSE_ERROR,
    b'{"a":' * 5_000 + b"}" * 5_000: mcp_types.PARSE_ERROR,
}
"""Lines with the code that JSON-RPC has for them: not JSON, or no message."""


def test_malformed_lines_are_answered_and_end_nothing(place: Path) -> None:
    last = lines_of(tool_call(2, "list_workflows", {}))

    finished = piped(place, lines_of(*OPENING) + b"\n".join([*MALFORMED, last]))

    messages = [json.loads(line) for line in finished.stdout.splitlines()]
    refusals = [message["error"]["code"] for message in messages if message["id"] is None]
    assert refusals == list(MALFORMED.values())
    assert {message["id"] for message in messages} == {None, 1, 2}
    assert finished.returncode == 0


def test_answers_never_mix_between_two_clients_on_one_store(place: Path) -> None:
    """Each client asks for its own session, hundreds of times, while the other does the same."""
    library = handrail.Handrail(environment=environment(place))
    own = [
        library.call("run.start", {"workflowId": "project.three_steps", "goal": f"goal {number}"})["session"]
        for number in range(2)
    ]
    calls = [
        [tool_call(number, "resume_session", {"query": session["sessionId"]}) for number in range(2, 102)]
        for session in own
    ]

    servers = [open_pipes(place) for _ in own]
    for server, sent in zip(servers, calls, strict=True):
        assert server.stdin is not None
        server.stdin.write(lines_of(*OPENING, *sent))
        server.stdin.flush()
    heard = [answers_in(server.communicate(timeout=LIMIT_SECONDS)[0]) for server in servers]

    for session, answers in zip(own, heard, strict=True):
        assert set(answers) == set(range(1, 102))
        found = [
            item["sessionId"]
            for number in range(2, 102)
            for item in answers[number]["result"]["structuredContent"]["items"]
        ]
        assert found == [session["sessionId"]] * 100


def open_pipes(place: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(place),
        cwd=place,
    )


def test_a_full_disk_behind_stdout_ends_the_server_with_one_line(place: Path) -> None:
    with open("/dev/full", "wb") as full:
        finished = piped(place, lines_of(*OPENING), stdout=full)

    assert finished.returncode == 1
    assert finished.stderr.decode().splitlines()[1:] == [
        "handrail mcp: stdout could not be written; free space there and start again."
    ]


def started(place: Path) -> subprocess.Popen[bytes]:
    """A server that has answered once, so that it is past its start."""
    server = open_pipes(place)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(lines_of(*OPENING))
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["id"] == 1
    return server


def check_ends(server: subprocess.Popen[bytes], status: int) -> None:
    """It ends within the bound, and says nothing beyond its first line."""
    _, errors = server.communicate(timeout=LIMIT_SECONDS)

    assert server.returncode == status
    assert len(errors.splitlines()) == 1


def test_a_person_in_a_terminal_is_told_what_this_is_and_how_to_leave(place: Path) -> None:
    keyboard, terminal = os.openpty()
    with subprocess.Popen(
        COMMAND,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(place),
        cwd=place,
    ) as server:
        os.close(terminal)
        assert server.stderr is not None
        told = [server.stderr.readline().decode() for _ in range(2)]
        os.write(keyboard, b"\x04")  # Ctrl-D
        assert server.wait(timeout=LIMIT_SECONDS) == 0
    os.close(keyboard)

    assert told[0].startswith(f"handrail {__version__} mcp: ")
    assert told[1].endswith("or press Ctrl-D to leave.\n")


def test_the_server_ends_when_stdin_closes(place: Path) -> None:
    check_ends(started(place), 0)


def test_a_client_that_stops_listening_ends_the_server_in_silence(place: Path) -> None:
    """Though its other end stays open and nothing is sent: it would run for ever."""
    server = started(place)
    assert server.stdout is not None
    server.stdout.close()
    server.stdout = None

    assert server.wait(timeout=LIMIT_SECONDS) == 0
    check_ends(server, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_at_once_though_stdin_is_open(place: Path, number: signal.Signals) -> None:
    server = started(place)
    server.send_signal(number)

    assert server.wait(timeout=LIMIT_SECONDS) == -number
    check_ends(server, -number)
