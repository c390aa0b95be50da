"""The scene of the demo: sends orders to its agent, keeps count, and remembers what was acknowledged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.contract.canonical import digest
from handrail.demo.evidence import LogSeen, look
from handrail.demo.orders import Moment, Order, Report
from handrail.demo.processes import AgentProcess
from handrail.demo.teller import Teller


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The document of one call, and the very bytes of its payload."""

    status: int
    arguments: list[str]
    data: dict[str, Any]
    data_bytes: bytes
    error: dict[str, Any]


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a CLI document that the demo reads."""

    data: msgspec.Raw = msgspec.Raw(b"{}")
    error: dict[str, Any] = {}


class Broken(Exception):
    """The story cannot go on: a call did not do what it always does."""


class Scene:
    """Everything the story acts with."""

    def __init__(self, teller: Teller, environment: Mapping[str, str], home: str, project: str) -> None:
        self.teller = teller
        self.home = home
        self.calls = 0
        self.kills = 0
        self.agents = 0
        self.session_id = ""
        self.acknowledged: list[str] = []
        """The notes of every step that was acknowledged; no two are the same."""
        self.delivered: list[str] = []
        """The digest of every artifact that came with one of them; no two are the same."""
        self._environment = environment
        self._project = project
        self._agent: AgentProcess | None = None

    def new_agent(self) -> None:
        """A process that knows nothing."""
        self.leave()
        self.agents += 1
        self._agent = AgentProcess(self._environment, self._project)

    def kill_agent(self) -> None:
        assert self._agent is not None, "only a running agent is killed"
        self.kills += self._agent.kill()
        self._agent = None

    def leave(self) -> None:
        """End what is still running; not counted, because nobody was interrupted."""
        if self._agent is not None:
            self._agent.kill()
            self._agent = None

    def call(self, *arguments: str, may_fail: bool = False) -> Answer:
        """Let the agent make a call and tell it.

        Raises Broken when it fails and must not.
        """
        report = self._ordered(Order(arguments=[*arguments, "--compact"]))
        self.teller.command(report.arguments)
        answer = _answer(report)
        if answer.error and not may_fail:
            raise Broken(f"{' '.join(arguments[:2])} failed: {answer.error.get('message', report.out)}")
        return answer

    def killed_call(self, *arguments: str, moment: Moment) -> Report:
        """Let the agent start a call and kill it."""
        report = self._ordered(Order(arguments=[*arguments, "--compact"], kill=moment))
        self.teller.command(report.arguments)
        self.kills += report.is_killed
        return report

    def finish(self, notes: str, artifact: dict[str, Any] | None = None, ack: str = "@ack") -> Answer:
        """Report the pending step as done, with the artifact that it asks for."""
        return self._accepted(notes, artifact, "--ack", ack, "--notes", notes)

    def correct(self, notes: str, artifact: dict[str, Any]) -> Answer:
        """Bring the artifact that a blocked attempt left out; its notes are kept and not sent again."""
        return self._accepted(notes, artifact, "--ack", "@retry")

    def _accepted(self, notes: str, artifact: dict[str, Any] | None, *arguments: str) -> Answer:
        sent = () if artifact is None else ("--input", _input_with(artifact))
        answer = self.call("run", "continue", *arguments, *sent)
        if answer.data.get("kind") == "blocked":
            raise Broken(f"the step {answer.data['pending']['title']!r} was blocked")
        self.acknowledged.append(notes)
        if artifact is not None:
            self.delivered.append(digest(artifact))
        return answer

    def log(self) -> LogSeen:
        return look(self.home, self.session_id)

    def _ordered(self, order: Order) -> Report:
        assert self._agent is not None, "somebody must be there to make the call"
        self.calls += 1
        line = self._agent.send(order)
        if not line:
            raise Broken("the agent process ended by itself")
        return msgspec.json.decode(line, type=Report)


def _input_with(artifact: dict[str, Any]) -> str:
    return msgspec.json.encode({"output": {"artifacts": [artifact]}}).decode()


def _answer(report: Report) -> Answer:
    try:
        document = msgspec.json.decode(report.out, type=_Document)
        data = msgspec.json.decode(document.data)
    except msgspec.DecodeError as trouble:
        raise Broken(
            f"the answer with status {report.status} is no document: {report.out[:200]}"
        ) from trouble
    return Answer(
        status=report.status,
        arguments=report.arguments,
        data=data,
        data_bytes=bytes(document.data),
        error=document.error,
    )
