"""What an honest run costs an agent: calls and tokens, by who tells that its check passed; now, and before.

A run of `wr.small_change` in a repository that declares a check: all text read and all arguments written.
The check is run by the agent with `handrail check run`, or by its own shell with a hook that tells Handrail,
or by Handrail itself after the user approved it; or nothing is declared, and the agent's word stands alone.
Run: `python -m bench.honest_run`. It exits 1 where a run has more calls than `BEFORE`, or more tokens than
those and what the closing line may cost. `BEFORE` keeps the figures of the edition before, measured by this
file in a checkout of `BEFORE_AT`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

from bench.run_costs import BEFORE_AT, GOAL
from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.outcome import Success
from handrail.operations.checks.note_command import NoteCommand, note_command
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.results import answer_call
from handrail.surfaces.mcp.tools import offered_tools
from handrail.wiring import build_runtime
from tests.journeys.at_a_terminal import Person, seat


class Cost(NamedTuple):
    calls: int
    tokens: int


BEFORE: dict[str, Cost] = {
    "nothing declared": Cost(calls=4, tokens=1_718),
    "check run": Cost(calls=5, tokens=1_933),
    "hook": Cost(calls=4, tokens=1_726),
    "approved check": Cost(calls=4, tokens=1_715),
}
CLOSING_BOUND = 120
"""What the closing line of this edition may add."""
CHECK = ("grep", "-q", "round", "bill.py")
NAME = "tests"


def main() -> int:
    """Print both editions beside each other; 1 where this one costs more than it may."""
    is_over = False
    print(f"{'':<20}{'now':>14}{'at ' + BEFORE_AT:>16}\n{'':<20}{'calls tokens':>14}{'calls tokens':>16}")
    for way, before in BEFORE.items():
        now = measure(way)
        said = "within" if is_within(now, before) else "OVER"
        print(f"{way:<20}{now.calls:>7}{now.tokens:>7}{before.calls:>9}{before.tokens:>7}  {said}")
        is_over = is_over or not is_within(now, before)
    return 1 if is_over else 0


def is_within(now: Cost, before: Cost) -> bool:
    return now.calls <= before.calls and now.tokens <= before.tokens + CLOSING_BOUND


def measure(way: str) -> Cost:
    """The cost of one run, in a scratch repository."""
    with tempfile.TemporaryDirectory() as folder:
        return HonestRun(folder, way).play()


class HonestRun:
    """An agent, its repository, and what it read and wrote."""

    def __init__(self, folder: str, way: str) -> None:
        self.way, self.project = way, os.path.join(folder, "project")
        self.home = os.path.join(folder, "store")
        subprocess.run(["git", "init", "-q", self.project], check=True)
        if way != "nothing declared":
            self._write(".handrail/config.json", json.dumps({"checks": {NAME: {"command": CHECK}}}))
        surroundings = {**os.environ, "HANDRAIL_PROJECT": self.project, "AI_NATIVE_CLI_SECRET": "b" * 32}
        self.runtime: Runtime = build_runtime(surroundings, home=self.home)
        self.texts: list[Any] = []
        self.calls = 0
        self.tools = offered_tools()

    def play(self) -> Cost:
        command = " ".join(CHECK)
        place = {"source": "file", "ref": "bill.py:1", "result": "It rounds once, at the end."}
        claim = {"claim": "The total is rounded once.", "status": "confirmed", "evidence": [place]}
        files = [{"path": "bill.py", "change": "added", "why": "Rounds the sum."}]
        checks = [{"command": command, "exitCode": 0, "summary": "It ended with exit status 0."}]
        changed = {"kind": "wr.changed_files", "files": files, "checks": checks}
        verified = {
            "kind": "wr.verification_report",
            "verdict": "passed",
            "claims": [claim],
            "notChecked": [],
        }
        if self.way == "approved check":
            self._approve()
        reply = self._call(
            "start_workflow", {"workflowId": "wr.small_change", "goal": GOAL, "requestId": "b"}
        )
        reply = self._go_on(reply)
        self._write("bill.py", "total = round(sum(rows), 2)\n")
        self._check(reply)
        reply = self._go_on(reply, changed)
        # The step wants a proof: one command at a shell, beside the calls that are compared here.
        perform(self.runtime, "check.prove", {"run": reply["session"]["runId"]})
        reply = self._go_on(reply, verified)
        assert reply["isComplete"], reply
        return Cost(self.calls, sum(estimate_tokens(text) or 0 for text in self.texts))

    def _call(self, tool: str, params: dict[str, Any]) -> dict[str, Any]:
        answered = answer_call(self.runtime, self.tools, self.tools[tool], params, "standard")
        assert not answered.is_error, answered.text
        assert answered.structured["kind"] == "ok", answered.text
        self.texts += [params, answered.text]
        self.calls += 1
        return answered.structured

    def _go_on(self, reply: dict[str, Any], *artifacts: dict[str, Any]) -> dict[str, Any]:
        following = reply["nextCall"]
        output = {"notesMarkdown": "done"} | ({"artifacts": list(artifacts)} if artifacts else {})
        offered = {name: value for name, value in following["params"].items() if name != "context"}
        return self._call(following["tool"], {**offered, "output": output})

    def _check(self, reply: dict[str, Any]) -> None:
        """What makes known that the check passed; a run in the agent's own shell is no call of Handrail."""
        if self.way == "check run":
            told = perform(self.runtime, "check.run", {"name": NAME, "stateToken": reply["stateToken"]})
            assert isinstance(told, Success), told
            self.texts += [f"handrail check run {NAME} --quiet", dict(told.data)]
            self.calls += 1
        elif self.way == "hook":
            note_command(self.runtime, NoteCommand(argv=[" ".join(CHECK)], status=0, directory=self.project))

    def _approve(self) -> None:
        """As a person does once, in an earlier run that showed how long the check takes."""
        told = perform(self.runtime, "run.start", {"workflowId": "wr.small_change", "goal": "g"})
        assert isinstance(told, Success), told
        token = dict(told.data)["stateToken"]
        assert isinstance(perform(self.runtime, "check.run", {"name": NAME, "stateToken": token}), Success)
        told = perform(seat(self.runtime, Person("y")), "check.approve", {"name": NAME})
        assert isinstance(told, Success), told
        closed = perform(self.runtime, "run.close", {"stateToken": token, "reason": "abandoned"})
        assert isinstance(closed, Success), closed

    def _write(self, name: str, text: str) -> None:
        path = os.path.join(self.project, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main())
