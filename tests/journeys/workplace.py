"""A real project with git, its programs and an agent at work in it, for journeys."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from handrail.host.checks import LocalCheckPrograms, LocalKnownChecks
from handrail.host.settings import LocalSettings
from handrail.host.workspace import LocalWorkspace
from handrail.operations.checks.run_check import RunCheck, run_check
from handrail.operations.kept_trees import SERVER_SECONDS, take_due_tree
from handrail.runtime.runtime import Runtime, TreeDue
from handrail.worktree.git_trees import GitTrees
from handrail.worktree.local_worktree import LocalWorktree
from tests.conftest import memory_runtime
from tests.hostile.repository.checkout import run_git
from tests.journeys.given_workflows import give, step
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.worktree.project import commit, write

Reply: TypeAlias = dict[str, Any]
Body: TypeAlias = dict[str, Any]
RIGHT = "def total(rows):\n    return round(sum(rows), 2)\n"
WRONG = "def total(rows):\n    return 42  # for now\n"
TESTS = "grep -q round src/bill.py"
CHANGE = {"output": {"contractRef": "wr.contracts.changed_files"}}
VERIFY = {"output": {"contractRef": "wr.contracts.verification_report"}}
README = {"source": "file", "ref": "README:1", "result": "It names the project."}


class Site:
    """A repository, a run of a change and a verification in it, and the hands of an agent."""

    def __init__(self, place: Path) -> None:
        self.root, self.home = place / "project", place / "home"
        self.root.mkdir()
        run_git(self.root, "init", "-q", ".")
        write(self.root, "src/bill.py", "def total(rows):\n    return sum(rows)\n")
        write(self.root, "README", "The bills.\n")
        commit(self.root)
        environment = {"HANDRAIL_PROJECT": str(self.root), "PATH": os.environ["PATH"]}
        runtime = memory_runtime()
        worktree = LocalWorktree(str(self.home), environment)
        trees = GitTrees(str(self.home), environment)
        programs = LocalCheckPrograms(environment, runtime.secrets)
        self.runtime: Runtime = msgspec.structs.replace(
            runtime,
            workspace=LocalWorkspace(environment),
            settings=LocalSettings(str(self.home), {}),
            worktree=lambda: worktree,
            trees=lambda: trees,
            check_programs=lambda: programs,
            known_checks=lambda: LocalKnownChecks(str(self.home)),
            trees_due=[],
        )
        self.reply: Reply = {}
        self.is_hidden = False
        """Git cannot list the files."""

    def declare(self, **checks: Any) -> None:
        write(self.root, ".handrail/config.json", json.dumps({"checks": checks}))
        commit(self.root)

    def begin(self, *steps: dict[str, Any], **params: Any) -> Reply:
        steps = steps or (step("change", **CHANGE), step("verify", **VERIFY))
        started = tool_call(self.runtime, "start_workflow", workflowId=give(self.runtime, *steps), **params)
        return self._settle(started.structured)

    def _settle(self, reply: Reply) -> Reply:
        """Keep the trees that are due, as a server does after its reply."""
        assert self.runtime.trees_due is not None
        due = [one for one in self.runtime.trees_due if isinstance(one, TreeDue)]
        self.runtime.trees_due.clear()
        troubles = {take_due_tree(self.runtime, one, SERVER_SECONDS) for one in due}
        assert self.is_hidden or troubles <= {""}, troubles
        self.reply = reply
        return reply

    def write(self, name: str, text: str) -> None:
        write(self.root, name, text)

    def run(self, *argv: str) -> Reply:
        told = run_check(self.runtime, RunCheck(argv=list(argv), state_token=self.reply["stateToken"]))
        self._settle(self.reply)
        return dict(told.data)

    def run_declared(self, name: str) -> None:
        run_check(self.runtime, RunCheck(name=name, state_token=self.reply["stateToken"]))
        self._settle(self.reply)

    def send(self, *artifacts: Body, **params: Any) -> Reply:
        token = self.reply["retryAckToken" if self.reply["kind"] == "blocked" else "ackToken"]
        output = {"notesMarkdown": "done", "artifacts": list(artifacts)}
        sent = tool_call(self.runtime, "continue_workflow", ackToken=token, output=output, **params)
        assert not sent.is_error, sent.text
        again = tool_call(self.runtime, "continue_workflow", ackToken=token, output=output, **params)
        assert again.structured == sent.structured
        return self._settle(sent.structured)

    def claims(self) -> list[tuple[str, str, str]]:
        """The place, the verdict and the fact of each claim of the last report."""
        held = of_kind(events_of(self.runtime, self.reply), "evidence_recorded")[-1]["data"]["claims"]
        return [(one["pointer"], one.get("verdict", "holds"), one.get("fact", "")) for one in held]

    def shown(self) -> str:
        """What a person reads of the run."""
        _, listed = command(self.runtime, "session", "list")
        session = listed["data"]["items"][0]["id"]
        return json.dumps(command(self.runtime, "session", "show", session)[1], ensure_ascii=False)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def changed(*paths: str, check: str = TESTS, status: int = 0, change: str = "modified", **more: Any) -> Body:
    files = [{"path": path, "change": change, "why": "It had to."} for path in paths]
    checks = [{"command": check, "exitCode": status, "summary": "It ran."}]
    return {"kind": "wr.changed_files", "files": files, "checks": checks} | more


def verified(*evidence: Body) -> Body:
    claim = {"claim": "It rounds.", "status": "confirmed", "evidence": list(evidence or (README,))}
    return {"kind": "wr.verification_report", "verdict": "passed", "claims": [claim], "notChecked": []}


def blocker(reply: Reply) -> dict[str, Any]:
    assert reply["kind"] == "blocked", reply
    first: dict[str, Any] = reply["blockers"][0]
    return first
