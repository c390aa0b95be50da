"""The server of a team without a socket, and what a person or an agent sends to it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from handrail.surfaces.mcp.adapter import Adapter
from handrail.wiring import build_runtime
from handrail_serve.app import App, Parts
from handrail_serve.guard import team_identity
from handrail_serve.mcp_over_http import McpOverHttp
from handrail_team.accounts import credentials
from handrail_team.operations.team_scope import OPERATOR
from handrail_team.service import TeamService
from tests.conftest import KeptIncidents
from tests.surfaces.http.client import Answered, asked, write_call
from tests.surfaces.mcp.conversations import request, tool

ORIGIN = "https://handrail.example.com"
HOST = "handrail.example.com"
PASSPHRASE = "three blue words"
COST_OF_A_GUESS = credentials._COST
"""The tests of this folder pay less."""
PAGE = ("sec-fetch-site", "same-origin")
MCP = [("accept", "application/json, text/event-stream"), ("mcp-protocol-version", "2025-11-25")]


class Server:
    """One server process of a team; several of them may share a database."""

    def __init__(self, address: str, home: Path, **more: Any) -> None:
        made = build_runtime(
            {"HANDRAIL_PROJECT": str(home), "PATH": "/usr/bin:/bin"}, home=str(home / "home")
        )
        self.runtime = msgspec.structs.replace(made, incidents=KeptIncidents(), origin=ORIGIN)
        self.accounts = TeamService(address, self.runtime, **more)
        self.app = App(
            Parts(
                runtime=self.runtime,
                identity=team_identity(ORIGIN, 7245),
                answer_mcp=McpOverHttp(Adapter(self.runtime)).answer,
                accounts=self.accounts,
            )
        )

    def ask(
        self, method: str, target: str, token: str, *extra: tuple[str, str], body: Any = None
    ) -> Answered:
        headers, content = write_call(token, extra, body)
        told = asyncio.run(asked(self.app, method, target, headers, content, leaves=True))
        assert isinstance(self.runtime.incidents, KeptIncidents)
        assert self.runtime.incidents.tracebacks == []
        return told

    def sign_in(self, way: str, token: str = "", **given: str) -> Answered:
        return self.ask("POST", f"/sign-in/{way}", token, PAGE, ("origin", ORIGIN), body=given)

    def workspace(self, name: str) -> str:
        return self.accounts.directory.make_workspace(name, f"make-{name}").id

    def invite(self, workspace: str, role: Any = "member") -> str:
        return self.accounts.directory.invite(workspace, role, "somebody", OPERATOR).secret

    def join(self, workspace: str, name: str, role: Any = "member") -> Caller:
        """A person who accepted an invitation, signed in at a page."""
        told = self.sign_in(
            "invitation", invitation=self.invite(workspace, role), name=name, passphrase=PASSPHRASE
        )
        assert told.status == 200, told.body
        return Caller(self, told.document["token"], is_page=True)


class Caller:
    """Whoever has a token, at a page or as a program."""

    def __init__(self, server: Server, token: str, *, is_page: bool) -> None:
        self.server = server
        self.token = token
        self.is_page = is_page

    def call(self, operation: str, **params: Any) -> Answered:
        extra = [PAGE, ("origin", ORIGIN)] if self.is_page else []
        return self.server.ask("POST", f"/api/{operation}", self.token, *extra, body=params)

    def data(self, operation: str, **params: Any) -> Any:
        told = self.call(operation, **params)
        assert told.status == 200, told.body
        return told.document["data"]

    def gated(self, operation: str, **params: Any) -> Any:
        shown = self.data(operation, **params, dryRun=True)
        return self.data(operation, **params, confirm=shown["confirm_token"])

    def tool(self, name: str, **arguments: Any) -> Answered:
        message = request(1, "tools/call", tool(name, **arguments))
        extra = [PAGE] if self.is_page else []
        return self.server.ask("POST", "/mcp", self.token, *extra, *MCP, body=message)

    def agent(self, name: str, **more: Any) -> Caller:
        """An agent of this person, with a token of its own."""
        made = self.data("team.new_token", name=name, requestId=f"token-{name}", **more)
        return Caller(self.server, made["bearer"], is_page=False)

    def start(self, **more: Any) -> Any:
        given = {"workflowId": "wr.small_change", "goal": "Tidy.", "requestId": "start", **more}
        return self.data("run.start", **given)
