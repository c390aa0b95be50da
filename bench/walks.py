"""Sessions to measure: made quickly, without waiting for the disk, then handed to a real runtime."""

from __future__ import annotations

import json
import os
from typing import Any

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Success
from handrail.event_log.files.disk import Disk
from handrail.event_log.files.log import FileLog
from handrail.ports.log import Draft
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import memory_of
from handrail.wiring import build_runtime

NOTES = "Looked at the parser, moved the check for empty input to the front, ran the tests. " * 6
WORKFLOW = "bench.twelve_steps"
_AUTHORED = {
    "id": WORKFLOW,
    "name": "Twelve steps",
    "description": "Work to measure.",
    "steps": [
        {"id": f"step_{n}", "title": f"Step {n}", "prompt": f"Do part {n} of the work and write down what."}
        for n in range(12)
    ],
}


class Quiet(Disk):
    """Never waits for the disk."""

    def sync(self, descriptor: int) -> None:
        del descriptor

    def sync_names(self, descriptor: int) -> None:
        del descriptor


class Walk:
    """One session that is walked on and on: a run that is complete is followed by the next."""

    def __init__(self, runtime: Runtime, project: str, name: str) -> None:
        self._runtime = runtime
        self._project = project
        self.reply = self._ask("run.start", requestId=name)
        self.session_id = str(self.reply["session"]["sessionId"])
        self.nodes = 1

    def advance(self) -> None:
        """One acknowledged step; something must be pending."""
        notes = {"notesMarkdown": NOTES}
        self.reply = self._ask("run.continue", ackToken=self.reply["ackToken"], output=notes)
        self.nodes += 1

    def make_ready(self) -> None:
        """Something is pending."""
        if self.reply["isComplete"]:
            self.reply = self._ask("run.start", session=self.session_id)
            self.nodes += 1

    def rehydrate(self) -> None:
        self._ask("run.continue", stateToken=self.reply["stateToken"])

    def replay(self, ack_token: str) -> None:
        self._ask("run.continue", ackToken=ack_token, output={"notesMarkdown": NOTES})

    def resume(self) -> None:
        self._ask("session.resume", query=self.session_id)

    def _ask(self, operation: str, **params: Any) -> Any:
        if operation == "run.start":
            params |= {"workflowId": WORKFLOW, "project": self._project}
        outcome = perform(self._runtime, operation, params)
        assert isinstance(outcome, Success), outcome
        return payload_of(outcome)


class BareLog:
    """The file log without anything above it: what the commit path itself costs."""

    def __init__(self, data: str) -> None:
        self._log = FileLog(data)
        self._head = 0
        self.append()

    def append(self) -> None:
        body = b'{"text":"%s"}' % (b"y" * 250)
        plan = [Draft(dedupe_key=f"event:{self._head + place}", body=body) for place in range(4)]
        with self._log.hold(SessionId("ses_000000000001"), 1_000) as hold:
            hold.append(self._head, plan)
        self._head += len(plan)


def write_workflow(project: str) -> None:
    """The workflow of every walk, among those of the project."""
    folder = os.path.join(project, ".handrail", "workflows")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "twelve_steps.json"), "w", encoding="utf-8") as file:
        json.dump(_AUTHORED, file)


def grown(home: str, nodes: int, name: str = "walk") -> Walk:
    """A session of this many nodes in the store of this home, which is made if need be."""
    project = f"{os.path.abspath(home)}-project"
    write_workflow(project)
    runtime = build_runtime({}, home=home)
    files = memory_of(runtime.log).log
    assert isinstance(files, FileLog), "the local runtime is on files"
    real, files.disk = files.disk, Quiet()
    walk = Walk(runtime, project, name)
    while walk.nodes < nodes:
        walk.make_ready()
        walk.advance()
    files.disk = real
    return walk
