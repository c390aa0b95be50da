"""The server as users have it, without a socket: a store in files, a project, MCP behind it, and its log."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from handrail.surfaces.mcp.adapter import Adapter
from handrail.wiring import build_runtime
from handrail_serve.app import App, Parts
from handrail_serve.guard import loopback_identity
from handrail_serve.mcp_over_http import McpOverHttp
from tests.conftest import THREE_STEPS, KeptIncidents
from tests.surfaces.http.client import BEARER, HOST, JSON, PORT, TOKEN, Answered, Headers, asked

SECONDS = 60
_MCP = [("accept", "application/json, text/event-stream"), ("mcp-protocol-version", "2025-11-25")]


class Asking(NamedTuple):
    """One request with everything that lets it in."""

    method: str
    target: str
    body: bytes = b""
    headers: Headers = []


def api(operation: str, params: Any = None) -> Asking:
    """An operation by POST."""
    return Asking("POST", f"/api/{operation}", json.dumps(params or {}).encode(), [JSON])


def fetch(target: str) -> Asking:
    return Asking("GET", target)


def tool(name: str, arguments: Any, number: int = 1) -> Asking:
    """A tool of the MCP server."""
    return rpc("tools/call", {"name": name, "arguments": arguments}, number)


def rpc(method: str, params: Any, number: int = 1) -> Asking:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return Asking("POST", "/mcp", json.dumps(message).encode(), [JSON, *_MCP])


class WholeServer:
    """A home, a project in it, and the app on both. What a call writes to the log of requests is kept."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.lines: list[str] = []
        self.home.mkdir(mode=0o700)
        (self.project / ".handrail" / "workflows").mkdir(parents=True)
        self.add_workflow("three_steps.json", THREE_STEPS)
        (self.home / "config.json").write_text('{"startSession": true}', encoding="utf-8")
        environment = {"HANDRAIL_PROJECT": str(self.project), "HOME": str(folder), "PATH": "/usr/bin:/bin"}
        made = build_runtime(environment, home=str(self.home), is_server=True)
        self.runtime = msgspec.structs.replace(made, incidents=KeptIncidents())

    def add_workflow(self, name: str, content: bytes) -> None:
        (self.project / ".handrail" / "workflows" / name).write_bytes(content)

    def answers(self, requests: Sequence[Asking], at_once: int = 1) -> list[Answered]:
        """What the server answers, in the order of the requests; so many are in progress at a time."""

        async def talk() -> list[Answered]:
            identity, mcp = loopback_identity(PORT, TOKEN), McpOverHttp(Adapter(self.runtime)).answer
            app = App(Parts(runtime=self.runtime, identity=identity, answer_mcp=mcp, log=self.lines.append))
            room = asyncio.Semaphore(at_once)

            async def answer(one: Asking) -> Answered:
                headers = [("host", HOST), BEARER, *one.headers]
                async with room:
                    return await asked(app, one.method, one.target, headers, one.body, leaves=True)

            return await asyncio.wait_for(asyncio.gather(*map(answer, requests)), SECONDS)

        told = asyncio.run(talk())
        assert isinstance(self.runtime.incidents, KeptIncidents)
        assert self.runtime.incidents.tracebacks == []
        return told

    def answer(self, request: Asking) -> Answered:
        return self.answers([request])[0]

    def data(self, request: Asking) -> Any:
        """The payload of a call that succeeds."""
        told = self.answer(request)
        assert told.status == 200, told.body
        return told.document["data"]

    def start(self, request_id: str, **params: Any) -> Any:
        """The reply that begins a run."""
        given = {"workflowId": "project.three_steps", "goal": "Look.", "requestId": request_id, **params}
        return self.data(api("run.start", given))

    def stored(self) -> str:
        """A digest of everything that a call could have changed: names, sizes and bytes of the data."""
        return digest_of(self.home / "data")


def digest_of(folder: Path) -> str:
    """Without the caches, which anybody may write or delete."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if inside.parts[0] != "cache" and not path.is_dir():
            found.update(f"{inside}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def told_by_tool(told: Answered) -> Any:
    """The structured part of a tool's answer, and its text."""
    result = told.document["result"]
    return result["structuredContent"], "".join(part["text"] for part in result["content"])
