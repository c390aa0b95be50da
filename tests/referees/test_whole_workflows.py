"""Bundled workflows from start to end by the official client, in every mode, with what happens to agents.

On the way: outputs that are not enough, a rewind to an older step, kill -9 of the server in the middle of
a call, and a fresh process in which an agent that knows nothing resumes.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

import handrail
from tests.faults.raw_history import Heard, raw_sessions, trouble
from tests.filled_in import filled_in, in_own_words
from tests.referees.test_mcp_process import environment, place

pytestmark = pytest.mark.thorough

__all__ = ["place"]

LIMIT_SECONDS = 120
MOST_CALLS = 120
STARTS: dict[str, dict[str, Any]] = {
    "wr.bug_investigation": {},
    "wr.incident_postmortem": {"incident": "Checkout answered 500 for nine minutes."},
    "wr.small_change": {},
}
"""With loops and choices, with what only the user can give, and a short one; and their inputs."""
SERVER = """
import os, sys
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write(str(os.getpid()))
sys.argv[1:] = ["mcp"]
from handrail.main import console
console()
"""


class Agent:
    """Does what replies say, and writes down what it heard."""

    def __init__(self, place: Path, mode: str) -> None:
        self.place = place
        self.mode = mode
        self.heard: list[Heard] = []
        self.session_of: dict[str, str] = {}
        """The session of every token that a reply gave: a refusal does not name it again."""
        self.pid = place / "server.pid"

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-c", SERVER, str(self.pid)],
            env=environment(self.place),
            cwd=self.place,
        )
        async with Client(server, mode="auto") as client:
            yield client

    async def call(self, client: Client, tool: str, params: dict[str, Any]) -> dict[str, Any]:
        result = await client.call_tool(tool, params)
        assert not result.is_error, result.structured_content
        reply: dict[str, Any] = result.structured_content
        token = params.get("ackToken") or params.get("checkpointToken") or ""
        if "session" in reply or reply.get("kind") == "blocked":
            session_id = reply["session"]["sessionId"] if "session" in reply else self.session_of[token]
            self.session_of |= dict.fromkeys(tokens_of(reply), session_id)
            self.heard.append(
                {
                    "session": session_id,
                    "token": token,
                    "use": "checkpoint" if tool == "checkpoint_workflow" else "advance" if token else "read",
                    "notes": params.get("output", {}).get("notesMarkdown", ""),
                    "reply": reply,
                }
            )
        return reply

    async def start(self, client: Client, workflow_id: str) -> dict[str, Any]:
        params = {
            "workflowId": workflow_id,
            "goal": f"Walk through {workflow_id}",
            "requestId": workflow_id,
            "context": STARTS[workflow_id],
            "preferences": {"autonomy": self.mode},
        }
        return await self.call(client, "start_workflow", params)

    def answer_to(self, reply: dict[str, Any]) -> dict[str, Any]:
        """The next call: an option, the example of a refusal, or notes alone, which may be too little."""
        pending = reply["pending"]
        if pending.get("choices"):
            return {"ackToken": pending["choices"][0]["token"]}
        output: dict[str, Any] = {"notesMarkdown": f"{pending['stepId']}, call {len(self.heard)}"}
        if reply["kind"] == "blocked":
            example = in_own_words(filled_in(reply["example"]))
            if example["kind"] == "wr.loop_control":
                example["decision"] = "stop"
            return {"ackToken": reply["retryAckToken"], "output": {**output, "artifacts": [example]}}
        return {"ackToken": reply["ackToken"], "output": output}

    async def step(self, client: Client, reply: dict[str, Any]) -> dict[str, Any]:
        return await self.call(client, "continue_workflow", self.answer_to(reply))

    async def to_the_end(self, client: Client, reply: dict[str, Any]) -> dict[str, Any]:
        for _ in range(MOST_CALLS):
            if reply["isComplete"]:
                return reply
            reply = await self.step(client, reply)
        raise AssertionError(f"no end after {MOST_CALLS} calls: {reply['pending']}")

    async def resumed(self, client: Client, session_id: str) -> dict[str, Any]:
        """What an agent that knows nothing finds: it takes the candidate's next call as it stands."""
        found = await self.call(client, "resume_session", {"query": session_id})
        following = found["items"][0]["nextCall"]
        return await self.call(client, following["tool"], following["params"])


def tokens_of(reply: dict[str, Any]) -> list[str]:
    """Everything in a reply that a next call can answer with."""
    given = [reply[name] for name in ("ackToken", "retryAckToken", "checkpointToken") if reply.get(name)]
    return given + [choice["token"] for choice in (reply["pending"] or {}).get("choices", ())]


async def live_through(agent: Agent) -> dict[str, dict[str, Any]]:
    """All workflows, side by side; the last reply of each."""
    replies: dict[str, dict[str, Any]] = {}
    killed = "wr.bug_investigation"
    open_call: dict[str, Any] = {}
    try:
        async with agent.connected() as client:
            for workflow_id in STARTS:
                first = await agent.start(client, workflow_id)
                second = await agent.step(client, first)
                await agent.step(client, second)
                rewound = await agent.call(client, "continue_workflow", {"stateToken": first["stateToken"]})
                replies[workflow_id] = await agent.step(client, rewound)
            async with anyio.create_task_group() as tasks:
                open_call = agent.answer_to(replies[killed])
                tasks.start_soon(client.call_tool, "continue_workflow", open_call)
                await anyio.sleep(0)
                os.kill(int(agent.pid.read_text(encoding="utf-8")), signal.SIGKILL)
    except Exception:
        if not open_call:
            raise  # it went wrong before the server was killed
    else:
        raise AssertionError("the server was killed, and the client noticed nothing")
    async with agent.connected() as client:
        again = await agent.call(client, "continue_workflow", open_call)  # nobody heard, so it is sent again
        assert again["pending"] or again["isComplete"]
        for workflow_id, reply in replies.items():
            back = await agent.resumed(client, agent.session_of[tokens_of(reply)[0]])
            assert back["preferences"]["autonomy"] == agent.mode
            replies[workflow_id] = await agent.to_the_end(client, back)
    return replies


@pytest.mark.promise("resume.new-chat", "gaps.never-stop", "modes.stop-on-user")
@pytest.mark.parametrize("mode", ["guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"])
def test_bundled_workflows_come_to_their_end_through_rewind_kill_and_resume(place: Path, mode: str) -> None:
    agent = Agent(place, mode)
    replies: dict[str, dict[str, Any]] = {}

    async def bounded() -> None:
        with anyio.fail_after(LIMIT_SECONDS):
            replies.update(await live_through(agent))

    anyio.run(bounded)

    library = handrail.Handrail(environment=environment(place))
    for workflow_id, reply in replies.items():
        shown = library.call("session.show", {"sessionId": reply["session"]["sessionId"]})
        (run,) = shown["runs"]
        assert reply["isComplete"], workflow_id
        assert (shown["health"]["state"], run["fork_count"]) == ("healthy", 1)
        assert run["status"] == ("complete_with_gaps" if mode == "full_auto_never_stop" else "complete")
    was_blocked = {call["reply"]["kind"] for call in agent.heard if call["use"] == "advance"}
    assert was_blocked == ({"ok"} if mode == "full_auto_never_stop" else {"ok", "blocked"})
    assert trouble(raw_sessions(place / "home" / "data"), agent.heard) == []
