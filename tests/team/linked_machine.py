"""A laptop with a linked project, and the wire between it and a server in the same process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from handrail.contract.catalogue import E_NETWORK
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Fault, Outcome, Success
from handrail.ports.server import Exchange
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from handrail_team.client.link import TeamLink
from tests.hostile.repository.checkout import run_git
from tests.team.team_server import ORIGIN, Caller, Server
from tests.worktree.project import commit, write


class Stopped(BaseException):
    """The wire was cut after an answer."""


class Wire:
    """`ports.HttpClient` into a server without a socket; what goes over it is kept."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.sent: list[bytes] = []
        self.told: list[bytes] = []
        self.is_cut = False
        self.keep: Callable[[bytes], bool] = lambda _: True
        """Whether an answer reaches the machine."""

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"{}",
        seconds: float = 0,
        most_bytes: int = 0,
    ) -> Exchange:
        del seconds, most_bytes
        if self.is_cut:
            raise Fault(E_NETWORK, "There is no answer at the server.")
        self.sent.append(body)
        token = headers.get("authorization", "").removeprefix("Bearer ")
        told = self.server.ask(
            method, url.removeprefix(ORIGIN), token, body=body if method == "POST" else None
        )
        self.told.append(told.body)
        if not self.keep(told.body):
            raise Stopped
        return Exchange(method=method, url=url, status=told.status, headers={}, body=told.body)


def data_of(outcome: Outcome) -> Any:
    assert isinstance(outcome, Success), outcome
    return payload_of(outcome)


class Machine:
    """A laptop with a project, whose agent has a token of the team."""

    def __init__(
        self, folder: Path, server: Server, agent: Caller, name: str = "laptop", clone: Path | None = None
    ) -> None:
        self.token = agent.token
        self.project = folder / name / "project"
        self.home = folder / name / "home"
        self.project.mkdir(parents=True)
        if clone is not None:
            run_git(folder, "clone", "-q", str(clone), str(self.project))
        else:
            run_git(self.project, "init", "-q", ".")
            write(self.project, "a.py", "a = 1\n")
            commit(self.project)
        self.wire = Wire(server)
        self.environment = {
            "HANDRAIL_PROJECT": str(self.project),
            "HANDRAIL_SERVER": ORIGIN,
            "HANDRAIL_TOKEN": agent.token,
            "PATH": "/usr/bin:/bin",
        }
        self.runtime = self.reopen()
        self.name = self.link.machine

    def reopen(self, *, is_server: bool = False) -> Runtime:
        """Another process of this machine."""
        local = build_runtime(self.environment, home=str(self.home), is_server=is_server)
        local = msgspec.structs.replace(local, http_client=lambda: self.wire, team=None)
        self.link = link = TeamLink(str(self.home), self.environment, local)
        return msgspec.structs.replace(local, team=lambda: link)

    def sign_out(self) -> Runtime:
        """The same machine without the variables of a team."""
        self.environment = {
            name: value
            for name, value in self.environment.items()
            if name not in ("HANDRAIL_SERVER", "HANDRAIL_TOKEN")
        }
        return self.reopen()

    def call(self, operation: str, **params: Any) -> Outcome:
        return perform(self.runtime, operation, params)

    def data(self, operation: str, **params: Any) -> Any:
        return data_of(self.call(operation, **params))

    def start(self, **more: Any) -> Any:
        return self.data("run.start", workflowId="wr.small_change", goal="Tidy.", **more)
