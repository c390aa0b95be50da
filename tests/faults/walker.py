"""A run walked by child processes that die of SIGKILL; the parent compares the log with what it heard.

`python -m tests.faults.walker HOME PROJECT SEED KILLS` prints one JSON report. The children are forks of
this single-threaded process, so each dies warm, in the middle of the work and not of its imports.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
import traceback
from collections import Counter
from typing import Any

import msgspec

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Success
from handrail.engine.events import AdvanceRecorded, NodeOutputAppended, NotesKept, decode_event
from handrail.ports.log import Loaded
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime

STEPS = 1_000
MOST_SECONDS = 60.0
WORKFLOW = {
    "id": "project.long_walk",
    "name": "Long walk",
    "description": "Many small steps.",
    "steps": [{"id": f"s{n}", "title": f"Step {n}", "prompt": f"Take step {n}."} for n in range(STEPS)],
}


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """One reply that a caller really got."""

    ack: str
    notes: str
    data: msgspec.Raw
    seconds: float


def advanced(rt: Runtime, ack: str, notes: str) -> Acknowledged:
    """Report a step as done."""
    started = time.monotonic()
    outcome = perform(rt, "run.continue", {"ackToken": ack, "output": {"notesMarkdown": notes}})
    assert isinstance(outcome, Success), outcome
    data = msgspec.Raw(msgspec.json.encode(outcome.data))
    return Acknowledged(ack=ack, notes=notes, data=data, seconds=time.monotonic() - started)


def next_ack(reply: Acknowledged) -> str:
    return str(msgspec.json.decode(reply.data).get("ackToken", ""))


class Walk:
    """The parent's side: what was acknowledged so far, and what to try next."""

    def __init__(self, home: str, project: str, seed: int) -> None:
        self.runtime = build_runtime({"HANDRAIL_HOME": home})
        self.random = random.Random(seed)
        self.heard: list[Acknowledged] = []
        self.kills = 0
        self.committed_unheard = 0
        self.problems: list[str] = []
        started = perform(
            self.runtime, "run.start", {"workflowId": WORKFLOW["id"], "requestId": "walk", "project": project}
        )
        assert isinstance(started, Success), started
        data: Any = started.data
        self.session_id = SessionId(data["session"]["sessionId"])
        self._first_ack = str(data["ackToken"])

    def ack(self) -> str:
        """The ack of the newest reply that was heard; a call that nobody heard of is repeated with it."""
        return next_ack(self.heard[-1]) if self.heard else self._first_ack

    def notes(self) -> str:
        return f"did step {len(self.heard)}"

    def usual_seconds(self) -> float:
        return self.heard[-1].seconds if self.heard else 0.02

    def live_and_die(self) -> None:
        """One child that walks on until it is killed at a random moment."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self._be_child(writer)
        os.close(writer)
        said = self._listen(reader, self.random.randrange(3))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        said += _rest(reader)
        os.close(reader)
        self._understand(said, was_killed=os.WIFSIGNALED(status))

    def _be_child(self, writer: int) -> None:
        try:
            place = len(self.heard)
            ack = self.ack()
            while ack:
                reply = advanced(self.runtime, ack, f"did step {place}")
                os.write(writer, msgspec.json.encode(reply) + b"\n")
                ack, place = next_ack(reply), place + 1
        except BaseException:  # noqa: BLE001 - whatever happens, the parent hears of it
            os.write(writer, msgspec.json.encode({"problem": traceback.format_exc()}) + b"\n")
        finally:
            os._exit(0)

    def _listen(self, reader: int, replies: int) -> bytes:
        """Until that many replies were heard, and then for a random part of about one call."""
        said = b""
        ends_at = time.monotonic() + MOST_SECONDS
        is_enough = False
        while time.monotonic() < ends_at:
            if not is_enough and said.count(b"\n") >= replies:
                is_enough = True
                ends_at = time.monotonic() + self.random.uniform(0, 1.5 * self.usual_seconds())
            readable, _, _ = select.select([reader], [], [], max(0.0, ends_at - time.monotonic()))
            chunk = os.read(reader, 65_536) if readable else b""
            if readable and not chunk:
                break
            said += chunk
        return said

    def _understand(self, said: bytes, *, was_killed: bool) -> None:
        """Whole lines were heard; half a line was not."""
        for line in said.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                continue
            if line.startswith(b'{"problem"'):
                self.problems.append(msgspec.json.decode(line)["problem"])
                continue
            self.heard.append(msgspec.json.decode(line, type=Acknowledged))
        self.kills += was_killed
        self.committed_unheard += advances_in(self.loaded()) > len(self.heard)

    def loaded(self) -> Loaded:
        loaded = self.runtime.log.load(self.session_id)
        assert loaded is not None, "the session was started"
        return loaded


def _rest(reader: int) -> bytes:
    said = b""
    while chunk := os.read(reader, 65_536):
        said += chunk
    return said


def advances_in(loaded: Loaded) -> int:
    return sum(record.dedupe_key.startswith("advance_recorded:") for record in loaded.records)


def compare(walk: Walk) -> list[str]:
    """Everything that is wrong with the log, given what was heard."""
    loaded = walk.loaded()
    facts = [decode_event(record.body).data for record in loaded.records]
    kept = Counter(
        fact.notes.text
        for fact in facts
        if isinstance(fact, NodeOutputAppended) and isinstance(fact.notes, NotesKept)
    )
    problems = list(walk.problems)
    problems += [f"lost: {reply.notes}" for reply in walk.heard if kept[reply.notes] == 0]
    problems += [f"{times} times: {notes}" for notes, times in kept.items() if times > 1]
    if sum(isinstance(fact, AdvanceRecorded) for fact in facts) != len(walk.heard):
        problems.append(f"{len(walk.heard)} replies were heard, the log has {sum(kept.values())} steps")
    if loaded.health.state != "healthy":
        problems.append(f"the session is {loaded.health}")
    keys = Counter(record.dedupe_key for record in loaded.records)
    problems += [f"{times} times: {key}" for key, times in keys.items() if times > 1]
    return problems


def replay(walk: Walk, home: str) -> list[str]:
    """Every call that was heard, once more, in a runtime that has seen none of them."""
    fresh = build_runtime({"HANDRAIL_HOME": home})
    before = walk.loaded()
    problems = [
        f"other bytes: {reply.notes}"
        for reply in walk.heard
        if advanced(fresh, reply.ack, reply.notes).data != reply.data
    ]
    if walk.loaded() != before:
        problems.append("a replay wrote something")
    return problems


def main(home: str, project: str, seed: int, kills: int) -> None:
    folder = os.path.join(project, ".handrail", "workflows")
    os.makedirs(folder)
    with open(os.path.join(folder, "long_walk.json"), "w", encoding="utf-8") as file:
        json.dump(WORKFLOW, file)
    walk = Walk(home, project, seed)
    while walk.kills < kills and walk.ack() and not walk.problems:
        walk.live_and_die()
    if walk.ack():  # the last child may have died before anybody heard of its step
        walk.heard.append(advanced(walk.runtime, walk.ack(), walk.notes()))
    report = {
        "seed": seed,
        "kills": walk.kills,
        "committed_unheard": walk.committed_unheard,
        "steps": len(walk.heard),
        "events": walk.loaded().head,
        "problems": compare(walk) + replay(walk, home),
    }
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
