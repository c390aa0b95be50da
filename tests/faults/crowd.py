"""Many processes at the same sessions, with duplicated, delayed and reordered calls by a seeded plan.

`python -m tests.faults.crowd HOME PROJECT SEED PROCESSES CALLS SESSIONS` prints one JSON report. Every
worker is a fork of this process; a pipe that closes lets all of them begin at once. Each writes down what
it heard, and `raw_history` compares that with the bytes on the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Failure, Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.faults.raw_history import Heard, raw_sessions, trouble

RULE = {"type": "contains", "value": "evidence", "message": "Name the evidence."}
STEPS = 400
TOKENS = ("stateToken", "ackToken", "retryAckToken", "checkpointToken")
WORKFLOW = {
    "id": "project.crowd",
    "name": "Crowd",
    "description": "Many small steps; every fifth one wants evidence.",
    "steps": [
        {"id": f"s{n}", "title": f"Step {n}", "prompt": f"Take step {n}."}
        | ({"validation": [RULE]} if n % 5 == 4 else {})
        for n in range(STEPS)
    ],
}


class Worker:
    """One process: walks the runs it was given, and repeats what it should not."""

    def __init__(self, runtime: Runtime, number: int, seed: int, starts: list[dict[str, Any]]) -> None:
        self.runtime = runtime
        self.number = number
        self.random = random.Random(f"{seed} {number}")
        self.places = [dict(reply) for reply in starts]
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.heard: list[Heard] = []
        self.busy = 0
        self.sessions: dict[str, str] = {}
        """The session of each token that was delegated; a refusal does not repeat it."""
        for reply in starts:
            self.learn(reply, reply["session"]["sessionId"])

    def act(self) -> None:
        """One call, as the plan's dice fall."""
        dice = self.random.random()
        run = self.random.randrange(len(self.places))
        place = self.places[run]
        if dice < 0.55:
            self.places[run] = self.advance(run, place, self.said(place))
        elif dice < 0.75 and self.sent:  # duplicated and late: any call made before, in any order
            operation, params = self.random.choice(self.sent)
            self.call(operation, params)
        elif dice < 0.83:  # the same ack with other content: the first one counts
            self.advance(run, place, f"{self.said(place)}, another story of worker {self.number}")
        elif dice < 0.90 and place.get("checkpointToken"):
            token = place["checkpointToken"]
            self.call(
                "run.checkpoint", {"checkpointToken": token, "output": {"notesMarkdown": f"saved {token}"}}
            )
        else:  # a lost context: read again, and sometimes fork with the fresh ack
            fresh = self.call("run.continue", {"stateToken": place["stateToken"]})
            if fresh is not None and fresh.get("ackToken") and self.random.random() < 0.3:
                self.places[run] = self.advance(run, fresh, self.said(fresh))

    def said(self, place: dict[str, Any]) -> str:
        """What every worker would report with this ack; half of the demanding steps are refused first."""
        ack = place.get("retryAckToken") or place.get("ackToken") or ""
        is_generous = hashlib.sha256(ack.encode()).digest()[0] % 2 == 0 or bool(place.get("retryAckToken"))
        return f"did {ack}" + (" with evidence" if is_generous else "")

    def advance(self, run: int, place: dict[str, Any], notes: str) -> dict[str, Any]:
        ack = place.get("retryAckToken") or place.get("ackToken")
        if not ack:  # the end of the run: begin again at its start
            fresh = self.call("run.continue", {"stateToken": place["stateToken"]})
            return fresh or place
        reply = self.call("run.continue", {"ackToken": ack, "output": {"notesMarkdown": notes}})
        return reply or place

    def learn(self, reply: dict[str, Any], session: str) -> None:
        for name in TOKENS:
            if reply.get(name):
                self.sessions[reply[name]] = session

    def call(self, operation: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """Send it and write down what was heard; a busy session is no answer and may be tried again."""
        self.sent.append((operation, params))
        outcome = perform(self.runtime, operation, params)
        if isinstance(outcome, Failure):
            assert outcome.kind.is_retryable, outcome
            self.busy += 1
            return None
        assert isinstance(outcome, Success)
        reply: Any = payload_of(outcome)
        token = params.get("ackToken") or params.get("checkpointToken") or ""
        session = self.sessions[token or params["stateToken"]]
        assert reply.get("session", {}).get("sessionId", session) == session, reply
        self.learn(reply, session)
        self.heard.append(
            {
                "session": session,
                "token": token,
                "use": "checkpoint" if operation == "run.checkpoint" else "advance" if token else "read",
                "notes": params.get("output", {}).get("notesMarkdown", ""),
                "reply": reply,
            }
        )
        told: dict[str, Any] = reply
        return told


def begun(home: str, project: str, sessions: int) -> list[dict[str, Any]]:
    """The first replies of the runs that all workers share."""
    folder = Path(project) / ".handrail" / "workflows"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "crowd.json").write_text(json.dumps(WORKFLOW), encoding="utf-8")
    runtime = build_runtime({"HANDRAIL_HOME": home})
    replies = []
    for number in range(sessions):
        params = {"workflowId": WORKFLOW["id"], "requestId": f"crowd-{number}", "project": project}
        outcome = perform(runtime, "run.start", params)
        assert isinstance(outcome, Success), outcome
        reply: Any = payload_of(outcome)
        replies.append(reply)
    return replies


def run_workers(home: str, seed: int, processes: int, calls: int, starts: list[dict[str, Any]]) -> list[Any]:
    """What each worker wrote down at its end."""
    gate, opened = os.pipe()
    children = []
    for number in range(processes):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(opened)
            os.close(reader)
            _work(home, seed, number, calls, starts, gate, writer)
        os.close(writer)
        children.append((child, reader))
    os.close(gate)
    os.close(opened)  # now everybody begins
    reports = []
    for child, reader in children:
        with os.fdopen(reader, "rb") as said:
            reports.append(json.loads(said.read()))
        os.waitpid(child, 0)
    return reports


def _work(
    home: str, seed: int, number: int, calls: int, starts: list[dict[str, Any]], gate: int, writer: int
) -> None:
    """The life of one child; it never returns."""
    report: dict[str, Any] = {"heard": [], "busy": 0, "problem": ""}
    try:
        worker = Worker(build_runtime({"HANDRAIL_HOME": home}), number, seed, starts)
        os.read(gate, 1)
        for _ in range(calls):
            worker.act()
        report |= {"heard": worker.heard, "busy": worker.busy}
    except BaseException:  # noqa: BLE001 - whatever happens, the parent hears of it
        report["problem"] = traceback.format_exc()
    finally:
        with os.fdopen(writer, "wb") as said:
            said.write(json.dumps(report).encode())
        os._exit(0)


def main(home: str, project: str, seed: int, processes: int, calls: int, sessions: int) -> None:
    starts = begun(home, project, sessions)
    started = time.monotonic()
    reports = run_workers(home, seed, processes, calls, starts)
    seconds = time.monotonic() - started
    heard = [call for report in reports for call in report["heard"]]
    stored = raw_sessions(Path(home) / "data")
    report = {
        "seed": seed,
        "calls": len(heard),
        "busy": sum(report["busy"] for report in reports),
        "seconds": round(seconds, 2),
        "tokens": len({call["token"] for call in heard if call["token"]}),
        "blocked": sum(call["reply"]["kind"] == "blocked" for call in heard),
        "events": sum(len(session.events) for session in stored),
        "problems": [report["problem"] for report in reports if report["problem"]] + trouble(stored, heard),
    }
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *(int(word) for word in sys.argv[3:7]))
