"""Runs with children whose parent, helpers and server die of SIGKILL; their log against what was heard.

`python -m tests.faults.handed_out HOME PROJECT SEED RUNS` prints one JSON report. Every actor is a fork of
this single-threaded process. The parent and the helpers know nothing but the session: whoever comes after a
kill finds the work by resuming it. One helper speaks MCP to a server that is killed like the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import select
import signal
import socket
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from handrail.contract.outcome import Failure, Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.calls_in_progress import ServerParts
from handrail.surfaces.mcp.stdio import serve
from handrail.wiring import build_runtime
from tests.journeys.conversation import answer

CHILDREN = ("a", "b", "c")
STEPS = ("look", "sum")
MOST_LIVES = 12
"""Of one run; what is left then is done by one agent alone."""
LOOKS = 4
"""How often a parent asks whether its step may go on, before it gives up."""
MOST_REPLIES = 6
"""Those who are killed in a life are killed after up to so many replies, and a part of a call more."""
CALL_SECONDS = 0.03
LONGEST_LIFE = 20.0


def _step(step_id: str) -> dict[str, str]:
    return {"id": step_id, "title": step_id, "prompt": f"Do {step_id}."}


WORKFLOW = {
    "id": "project.handed_out",
    "name": "Handed out",
    "description": "Three children, then a conclusion.",
    "steps": [
        _step("plan"),
        {
            "id": "review",
            "title": "Review",
            "delegate": {
                "children": [{"id": name, "steps": [_step(one) for one in STEPS]} for name in CHILDREN],
                "collect": "findings",
            },
        },
        _step("conclude"),
    ],
}

Reply = dict[str, Any]
Call = Callable[[dict[str, Any]], Reply]


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """One report whose reply somebody really got."""

    ack: str
    notes: str
    digest: str


class Scene:
    """One run: what was heard of it, and what went wrong."""

    def __init__(self, *, number: int) -> None:
        self.number = number
        self.session_id = ""
        self.state = ""
        self.is_over = False
        self.heard: list[Heard] = []
        self.kills = 0
        self.problems: list[str] = []


class Dead(Exception):
    """The server does not answer any more."""


# The calls of an actor


def call_here(rt: Runtime, params: dict[str, Any]) -> Reply:
    outcome = perform(rt, "run.continue", params)
    while isinstance(outcome, Failure) and outcome.kind.is_retryable:  # the session is busy
        outcome = perform(rt, "run.continue", params)
    assert isinstance(outcome, Success), outcome
    told: Reply = msgspec.to_builtins(outcome.data)
    return told


def call_served(line: socket.socket, params: dict[str, Any]) -> Reply:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    answer = _ask(line, message | {"params": {"name": "continue_workflow", "arguments": params}})
    told: Reply = answer["result"]["structuredContent"]
    if answer["result"].get("isError"):
        assert told["error"]["retryable"], told
        return call_served(line, params)
    return told


def _ask(line: socket.socket, message: dict[str, Any]) -> dict[str, Any]:
    try:
        line.sendall(msgspec.json.encode(message) + b"\n")
        said = b""
        while not said.endswith(b"\n"):
            chunk = line.recv(65_536)
            if not chunk:
                raise Dead
            said += chunk
    except OSError:
        raise Dead from None
    answer: dict[str, Any] = msgspec.json.decode(said)
    return answer


def shake_hands(line: socket.socket) -> None:
    client = {"name": "helper", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    _ask(line, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    try:
        line.sendall(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    except OSError:
        raise Dead from None


def digest_of(reply: Reply) -> str:
    return hashlib.sha256(msgspec.json.encode(reply)).hexdigest()[:16]


# The actors


def act_parent(rt: Runtime, project: str, number: int, tell: Callable[[dict[str, Any]], None]) -> None:
    """Start the run or find it again, plan, look after the children, and go on when it may."""
    params = {"workflowId": WORKFLOW["id"], "requestId": f"run-{number}", "project": project}
    first = answer(rt, "run.start", **params)
    reply = report(lambda sent: call_here(rt, sent), first, "did plan", tell)
    tell({"session": reply["session"]["sessionId"], "state": reply["stateToken"]})
    for _ in range(LOOKS):
        now = call_here(rt, {"stateToken": reply["stateToken"]})
        if now.get("ackToken"):
            # A fresh ack each time would fork, so the parent keeps to the branch that there may be.
            go_on(rt, first["session"]["sessionId"], tell)
            return


def go_on(rt: Runtime, session_id: str, tell: Callable[[dict[str, Any]], None]) -> None:
    """The join and the conclusion, from wherever the run stands."""
    while True:
        now = resume(rt, session_id)
        if not now["pending"]:
            tell({"over": True})
            return
        report(lambda sent: call_here(rt, sent), now, f"parent did {now['pending']['stepId']}", tell)


def resume(rt: Runtime, session_id: str) -> Reply:
    found = answer(rt, "session.resume", query=session_id)["items"][0]
    return call_here(rt, found["nextCall"]["params"])


def act_helper(call: Call, work_token: str, name: str, tell: Callable[[dict[str, Any]], None]) -> None:
    """Follow the work token to the end."""
    reply = call({"stateToken": work_token})
    while reply["pending"]:
        reply = report(call, reply, f"{name} did {reply['pending']['stepId']}", tell)


def report(call: Call, reply: Reply, notes: str, tell: Callable[[dict[str, Any]], None]) -> Reply:
    sent = {"ackToken": reply["ackToken"], "output": {"notesMarkdown": notes}}
    told = call(sent)
    tell({"ack": reply["ackToken"], "notes": notes, "digest": digest_of(told)})
    return told


# One life: everybody is there, and some are killed


class Cast:
    """The processes of one life of a run."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self.pids: list[int] = []

    def fork(self, act: Callable[[Callable[[dict[str, Any]], None]], None], *closed: socket.socket) -> None:
        """A process that acts and ends; what it hears goes into the pipe, a line at a time."""
        pid = os.fork()
        if pid:
            self.pids.append(pid)
            return
        for line in closed:
            line.close()
        try:
            act(lambda fact: _tell(self.writer, fact))
        except Dead:
            pass
        except BaseException:  # noqa: BLE001 - whatever happens, the test hears of it
            _tell(self.writer, {"problem": traceback.format_exc()[-3_000:]})
        finally:
            os._exit(0)

    def play(self, replies: int, seconds: float, victims: list[int]) -> tuple[list[dict[str, Any]], int]:
        """What was heard, and how many were killed; the others act to their end."""
        os.close(self.writer)
        said = _listen(self.reader, LONGEST_LIFE, replies)
        said += _listen(self.reader, seconds)
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        said += _listen(self.reader, LONGEST_LIFE)
        os.close(self.reader)
        killed = [os.WIFSIGNALED(os.waitpid(pid, 0)[1]) for pid in self.pids]
        return [msgspec.json.decode(line) for line in said.splitlines()], sum(killed)


def _tell(writer: int, fact: dict[str, Any]) -> None:
    os.write(writer, msgspec.json.encode(fact) + b"\n")


def _listen(reader: int, seconds: float, replies: int = sys.maxsize) -> bytes:
    """Until so many lines came, everybody is gone, or the time is over."""
    said = b""
    ends_at = time.monotonic() + seconds
    while (left := ends_at - time.monotonic()) > 0 and said.count(b"\n") < replies:
        readable, _, _ = select.select([reader], [], [], left)
        chunk = os.read(reader, 65_536) if readable else b""
        if readable and not chunk:
            break
        said += chunk
    return said


def live(rt: Runtime, project: str, scene: Scene, chance: random.Random) -> None:
    """One life of a run: the parent and, once the work is handed out, a helper each; one is served."""
    cast = Cast()
    cast.fork(lambda tell: act_parent(rt, project, scene.number, tell))
    if scene.state:
        handed = {one["childId"]: one["workToken"] for one in _children(rt, scene)}
        served = chance.choice([*handed, ""])
        for name, token in handed.items():
            if name == served:
                _fork_served(cast, rt, token, name)
            else:
                cast.fork(
                    lambda tell, token=token, name=name: act_helper(  # type: ignore[misc]  # bound now
                        lambda sent: call_here(rt, sent), token, name, tell
                    )
                )
    victims = [pid for pid in cast.pids if chance.random() < 0.5]
    replies = chance.randrange(MOST_REPLIES)
    heard, killed = cast.play(replies, chance.uniform(0, CALL_SECONDS), victims)
    scene.kills += killed
    _understand(scene, heard)


def _fork_served(cast: Cast, rt: Runtime, token: str, name: str) -> None:
    """A server, and the helper that speaks to it; either may be killed."""
    ours, theirs = socket.socketpair()

    def act_server(_: Callable[[dict[str, Any]], None]) -> None:
        parts = ServerParts(offer=lambda: Adapter(rt), give_back_memory=lambda: None)
        serve(rt, parts, theirs.fileno(), os.dup(theirs.fileno()))

    def act(tell: Callable[[dict[str, Any]], None]) -> None:
        shake_hands(ours)
        act_helper(lambda sent: call_served(ours, sent), token, name, tell)

    cast.fork(act_server, ours)
    cast.fork(act, theirs)
    ours.close()
    theirs.close()


def _children(rt: Runtime, scene: Scene) -> list[dict[str, Any]]:
    now = call_here(rt, {"stateToken": scene.state})
    found: list[dict[str, Any]] = now["children"]
    return found


def _understand(scene: Scene, facts: list[dict[str, Any]]) -> None:
    for fact in facts:
        if "problem" in fact:
            scene.problems.append(fact["problem"])
        elif "session" in fact:
            scene.session_id, scene.state = fact["session"], fact["state"]
        elif "over" in fact:
            scene.is_over = True
        else:
            scene.heard.append(msgspec.convert(fact, Heard))


# The judgement


def finish_alone(rt: Runtime, project: str, scene: Scene) -> None:
    """What an agent without helpers does in the end."""
    facts: list[dict[str, Any]] = []
    act_parent(rt, project, scene.number, facts.append)
    _understand(scene, facts)
    for one in _children(rt, scene):
        act_helper(
            lambda sent: call_here(rt, sent),
            one["workToken"],
            one["childId"],
            lambda fact: _understand(scene, [fact]),
        )
    go_on(rt, scene.session_id, lambda fact: _understand(scene, [fact]))


def judge(rt: Runtime, scene: Scene) -> list[str]:
    """Everything that is wrong with the log of a run that is over, given what was heard."""
    loaded = rt.log.load(scene.session_id)  # type: ignore[arg-type]  # an id from a reply
    assert loaded is not None, "the session was started"
    events = [json.loads(record.body) for record in loaded.records]
    problems = [] if loaded.health.state == "healthy" else [f"the session is {loaded.health}"]
    opened = [one for one in events if one["data"]["kind"] == "run_started" and "parent" in one["data"]]
    names = [one["data"]["parent"]["childId"] for one in opened]
    if names != list(CHILDREN):
        problems.append(f"the children are {names}")
    kept = Counter(one["data"]["notes"]["text"] for one in events if one["data"].get("notes", {}).get("text"))
    joined = [f"parent did {step}" for step in ("review", "conclude")]
    wanted = {"did plan", *joined, *(f"{name} did {step}" for name in CHILDREN for step in STEPS)}
    problems += [f"{kept[text]} times: {text}" for text in wanted if kept[text] != 1]
    problems += [f"lost: {one.notes}" for one in scene.heard if not kept[one.notes]]
    ends = {
        one["scope"]["runId"]: at for at, one in enumerate(events) if one["data"]["kind"] == "node_created"
    }
    parent = events[0]["scope"].get("runId") or next(
        one["scope"]["runId"] for one in events if one["data"]["kind"] == "run_started"
    )
    done = max(ends[one["scope"]["runId"]] for one in opened)
    left = [
        at
        for at, one in enumerate(events)
        if one["data"]["kind"] == "advance_recorded"
        and one["scope"]["runId"] == parent
        and at > events.index(opened[0])
    ]
    if not left or min(left) < done:
        problems.append("the parent went on before its children were done")
    return problems


def replay(home: str, scene: Scene) -> list[str]:
    """Every report that was heard, once more, in a runtime that has seen none of them."""
    fresh = build_runtime({"HANDRAIL_HOME": home})
    return [
        f"other bytes: {one.notes}"
        for one in scene.heard
        if digest_of(call_here(fresh, {"ackToken": one.ack, "output": {"notesMarkdown": one.notes}}))
        != one.digest
    ]


def main(home: str, project: str, seed: int, runs: int) -> None:
    folder = Path(project) / ".handrail" / "workflows"
    folder.mkdir(parents=True)
    (folder / "handed_out.json").write_text(json.dumps(WORKFLOW), encoding="utf-8")
    rt = build_runtime({"HANDRAIL_HOME": home})
    chance = random.Random(seed)
    finish_alone(rt, project, Scene(number=-1))  # what a fork would load late, each for itself
    Adapter(rt)
    kills, alone, done, problems = 0, 0, 0, []
    for number in range(runs):
        scene = Scene(number=number)
        for _ in range(MOST_LIVES):
            live(rt, project, scene, chance)
            if scene.is_over or scene.problems:
                break
        if not scene.is_over:
            alone += 1
            finish_alone(rt, project, scene)
        done, kills = done + 1, kills + scene.kills
        found = scene.problems + judge(rt, scene) + replay(home, scene)
        problems += [f"run {number}: {one}" for one in found]
        if problems:
            break
    told = {"seed": seed, "runs": done, "kills": kills, "alone": alone, "problems": problems}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
