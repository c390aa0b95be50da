"""A store as a supervisor finds it: five agents with sessions in every state, each Ask among them."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec

from handrail.host.process import SystemClock
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import KeptIncidents
from tests.journeys.code_project import FILES
from tests.journeys.conversation import answer
from tests.journeys.test_code_workflows import FIND, PREVIEW, WRITE
from tests.journeys.test_evidence import REPORT, VERIFY

HOUR = 3_600
STUCK = "Reverse-charge invoices round twice"
GAP = "The queue drops the second page of long reports."
WRONG = "mars"
"""No region."""
ASKS = ("confirm", "choose", "give", "write")


def _step(step_id: str, title: str, prompt: str, **fields: Any) -> dict[str, Any]:
    return {"id": step_id, "title": title, "prompt": prompt, **fields}


_CLOSE = _step("close", "Tell who waited", "Write one paragraph for those who waited.")
_WAYS = {
    "type": "choice",
    "id": "who",
    "title": "Who gets the change first",
    "prompt": "Both ways are ready. Which customers see the new totals first?",
    "nonAssumable": "scope_boundary",
    "options": [
        {"id": "trial", "label": "trial customers", "description": "12 accounts", "set": {"who": "trial"}},
        {"id": "all", "label": "everybody", "description": "4 000 accounts", "set": {"who": "all"}},
    ],
}
_REGION = {
    "reason": "needs_user_choice",
    "choiceKind": "scope_boundary",
    "input": "region",
}
_FLOWS: dict[str, dict[str, Any]] = {
    "release": {
        "name": "Release a correction",
        "steps": [
            _step("look", "Find the cause", "Say what is wrong and where."),
            _step(
                "release",
                "Release it",
                "Show the user what changes for them, and ask before you release.",
                requireConfirmation=True,
                **VERIFY,
            ),
            _CLOSE,
        ],
    },
    "correct": {
        "name": "Correct a defect",
        "steps": [
            _step("look", "Find the cause", "Say what is wrong and where."),
            _step("check", "Check the correction", "Say what you tried, claim by claim.", **VERIFY),
            _CLOSE,
        ],
    },
    "choose": {"name": "Roll out a change", "steps": [_WAYS, _CLOSE]},
    "give": {
        "name": "Move a service",
        "inputs": {"region": {"type": "string", "enum": ["eu", "us"]}},
        "steps": [
            _step("move", "Move the database", "Only the user says into which region.", userOnly=_REGION),
            _CLOSE,
        ],
    },
    "write": {
        "name": "Rename a function",
        "steps": [FIND, PREVIEW, {name: WRITE[name] for name in WRITE if name != "when"}, _CLOSE],
    },
}


class _Earlier(SystemClock):
    """The system's clock, some time ago."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds

    def now(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.unix_seconds()))

    def unix_seconds(self) -> int:
        return super().unix_seconds() - self._seconds


class Supervised:
    """The home, the projects in it, and the sessions by what they wait for."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home.with_name(f"{home.name}-project")
        self.other = home.with_name(f"{home.name}-shop")
        self.replies: dict[str, dict[str, Any]] = {}
        self.sessions: dict[str, str] = {}
        _make_project(self.project)
        _make_project(self.other)
        (home / "workflows").mkdir(parents=True, exist_ok=True)
        for name, flow in _FLOWS.items():
            document = {"id": f"user.{name}", "description": f"{flow['name']}.", **flow}
            (home / "workflows" / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        settings = {"startSession": True, "confirmations": "person"}
        (home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
        self._seed()

    def agent(self, client: str, project: Path | None = None, hours_ago: float = 0) -> Runtime:
        """A runtime as one of the agents has it."""
        place = str(project or self.project)
        runtime = build_runtime({"HANDRAIL_PROJECT": place}, home=str(self.home))
        return msgspec.structs.replace(
            runtime, client=client, clock=_Earlier(int(hours_ago * HOUR)), incidents=KeptIncidents()
        )

    def _seed(self) -> None:
        codex, cursor, gemini = self.agent("Codex"), self.agent("Cursor"), self.agent("Gemini CLI")
        idle, late = self.agent("Cursor", self.other, 5), self.agent("Gemini CLI", self.other, 26)
        self._begin("idle", idle, "correct", "Search for the slow nightly import")
        self._begin("stalled", late, "choose", "Delete accounts that nobody has used for a year")
        self._send("stalled", late)
        self._begin("gap", codex, "correct", "Move the reports to the new printer queue", NEVER_STOP)
        gap = {"kind": "wr.gap", "severity": "critical", "summary": GAP}
        self._send("gap", codex, "The queue is named in one place.", gap)
        self._send("gap", codex, "Moved, and looked at twelve reports.", _report("Short reports print."))
        self._send("gap", codex, "Told the office.")
        self._begin("working", self.agent("Claude Code"), "correct", "Add CSV export to the orders page")
        self._send("working", self.agent("Claude Code"), "The page has a table, and no export.")
        self._begin("stuck", self.agent("Copilot", self.other), "correct", STUCK)
        self._send("stuck", self.agent("Copilot", self.other), "`round()` runs on each line and on the sum.")
        self._send("stuck", self.agent("Copilot", self.other), "Rounding once is better.")
        self._begin("confirm", self.agent("Claude Code"), "release", "Invoices show one cent too much")
        self._send("confirm", self.agent("Claude Code"), "Half a cent is counted twice.")
        told = "**Rounds once now.** Three invoices were tried by hand."
        self._send("confirm", self.agent("Claude Code"), told, _report("Each sum is rounded once."))
        self._begin("choose", cursor, "choose", "Roll out the new totals")
        self._send("choose", cursor)
        self._begin("give", gemini, "give", "Move the order database")
        self._send("give", gemini, "Ready to move; the region is not mine to say.")
        self._begin("write", codex, "write", "Give myFunc a better name")
        self._send("write", codex, "The rename is shown; it changes three files.")

    def _begin(self, name: str, agent: Runtime, flow: str, goal: str, mode: str = "guided") -> None:
        preferences = {"autonomy": mode}
        self.replies[name] = answer(
            agent, "run.start", workflowId=f"user.{flow}", goal=goal, preferences=preferences
        )
        self.sessions[name] = self.replies[name]["session"]["sessionId"]

    def _send(self, name: str, agent: Runtime, notes: str = "", *artifacts: dict[str, Any]) -> None:
        """The next report of the agent; without notes it says that the user took the first option."""
        reply = self.replies[name]
        if not notes:
            self.replies[name] = answer(
                agent, "run.continue", ackToken=reply["pending"]["choices"][0]["token"]
            )
            return
        sent = {"output": {"notesMarkdown": notes, "artifacts": list(artifacts)}}
        self.replies[name] = answer(agent, "run.continue", ackToken=reply["ackToken"], **sent)

    def go_on(self, name: str) -> dict[str, Any]:
        """What the agent gets that makes its next call, as the blocked reply has it."""
        call = self.replies[name]["nextCall"]
        return answer(self.agent("Claude Code"), "run.continue", **call.get("options", [call])[0]["params"])


NEVER_STOP = "full_auto_never_stop"


def _report(claim: str) -> dict[str, Any]:
    """One claim that names a line of the project, and one that only says so."""
    seen = {"claim": claim, "status": "confirmed", "evidence": [_evidence("file", "src/app.js:4")]}
    told = {
        "claim": "Nobody else is hit.",
        "status": "confirmed",
        "evidence": [_evidence("document", "the ticket")],
    }
    return REPORT | {"claims": [seen, told]}


def _evidence(source: str, ref: str) -> dict[str, str]:
    return {"source": source, "ref": ref, "result": "It is so."}


def _make_project(place: Path) -> None:
    for name, content in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content, encoding="utf-8")
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
