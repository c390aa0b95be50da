"""A hundred repetitions of every call that changes something: the same bytes, and nothing written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.journeys.conversation import answer, rehydrate
from tests.journeys.given_workflows import A_DECISION, WITH_DECISION, choice, option, step
from tests.journeys.test_on_disk import every_byte

TIMES = 100

WORKFLOW = {
    "id": "project.replayed",
    "name": "Replayed",
    "description": "One step of every kind.",
    "steps": [
        step("look"),
        step("decide", **WITH_DECISION),
        choice("way", option("left", way="left"), option("right", way="right")),
        step("end"),
    ],
}

ELSEWHERE = """
import json, sys
import msgspec
from handrail.runtime.hub import perform
from handrail.wiring import build_runtime

class LaterClock:
    def now(self): return "2041-02-03T04:05:06.789Z"
    def unix_seconds(self): return 2_243_304_306
    def monotonic_ms(self): return 987_654_321

runtime = msgspec.structs.replace(build_runtime({"USER": "tester"}, home=sys.argv[1]), clock=LaterClock())
told = {}
for name, operation, params in json.load(sys.stdin):
    heard = {msgspec.json.encode(perform(runtime, operation, params).data) for _ in range(int(sys.argv[2]))}
    told[name] = sorted(reply.decode() for reply in heard)
json.dump(told, sys.stdout)
"""


class Made(NamedTuple):
    """One call that was made, and the bytes of its reply."""

    name: str
    operation: str
    params: dict[str, Any]
    reply: bytes


def told(runtime: Runtime, operation: str, params: dict[str, Any]) -> bytes:
    outcome = perform(runtime, operation, params)
    assert isinstance(outcome, Success), outcome
    return msgspec.json.encode(outcome.data)


class Store:
    """A store on disk in which every kind of call was made once."""

    def __init__(self, folder: Path) -> None:
        self.home = str(folder / "home")
        workflows = folder / "project" / ".handrail" / "workflows"
        workflows.mkdir(parents=True)
        (workflows / "replayed.json").write_text(json.dumps(WORKFLOW), encoding="utf-8")
        self.project = str(folder / "project")
        self.runtime = build_runtime({"USER": "tester"}, home=self.home)
        self.made: list[Made] = []
        self._make_every_call()
        self.bytes = every_byte(self.home)

    def make(self, name: str, operation: str, **params: Any) -> Any:
        reply = told(self.runtime, operation, params)
        self.made.append(Made(name=name, operation=operation, params=params, reply=reply))
        return json.loads(reply)

    def _make_every_call(self) -> None:
        first = self.make(
            "start", "run.start", workflowId=WORKFLOW["id"], requestId="replayed", project=self.project
        )
        notes = {"notesMarkdown": "x" * 5_000}
        self.make("checkpoint", "run.checkpoint", checkpointToken=first["checkpointToken"], output=notes)
        second = self.make("continue", "run.continue", ackToken=first["ackToken"], output=notes)
        blocked = self.make("blocked", "run.continue", ackToken=second["ackToken"], output=notes)
        decided = {"artifacts": [A_DECISION]}
        third = self.make("retry", "run.continue", ackToken=blocked["retryAckToken"], output=decided)
        left = third["pending"]["choices"][0]["token"]
        last = self.make("choice", "run.continue", ackToken=left)
        self.make("end", "run.continue", ackToken=last["ackToken"], context={"done": True})
        again = rehydrate(self.runtime, first)
        self.make("fork", "run.continue", ackToken=again["ackToken"], output={"notesMarkdown": "other"})
        joining = {"session": first["stateToken"], "project": self.project}
        self.make("join", "run.start", workflowId="wr.small_change", requestId="joins", **joining)

    def calls(self) -> list[tuple[str, str, dict[str, Any]]]:
        return [(made.name, made.operation, made.params) for made in self.made]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("replays"))


NAMES = ("start", "checkpoint", "continue", "blocked", "retry", "choice", "end", "fork", "join")


@pytest.mark.promise("continue.replay.same-bytes", "checkpoint.replay", "blocked.replay")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.thorough
def test_hundred_repetitions_are_the_same_bytes(store: Store, name: str) -> None:
    made = next(made for made in store.made if made.name == name)

    replies = {told(store.runtime, made.operation, made.params) for _ in range(TIMES)}

    assert replies == {made.reply}
    assert every_byte(store.home) == store.bytes


@pytest.mark.thorough
@pytest.mark.promise("continue.replay.same-bytes", "start.request-id")
def test_hundred_repetitions_elsewhere_are_the_same_bytes(store: Store, tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, store.home, str(TIMES)],
        input=json.dumps(store.calls()).encode(),
        capture_output=True,
        check=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "7", "USER": "tester"},
    )

    elsewhere = json.loads(finished.stdout)
    assert elsewhere == {made.name: [made.reply.decode()] for made in store.made}
    assert every_byte(store.home) == store.bytes


@pytest.mark.thorough
@pytest.mark.promise("continue.branches")
def test_n_attempts_from_one_node_give_n_branches_also_on_disk(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = json.loads(store.made[0].reply)
    before = answer(store.runtime, "session.show", sessionId=first["session"]["sessionId"])["runs"][0]

    ways = []
    for number in range(12):
        fresh = rehydrate(store.runtime, first)
        call = {"ackToken": fresh["ackToken"], "output": {"notesMarkdown": f"way {number}"}}
        ways += [answer(store.runtime, "run.continue", **call) for _ in range(3)]

    after = answer(store.runtime, "session.show", sessionId=first["session"]["sessionId"])["runs"][0]
    assert len({way["stateToken"] for way in ways}) == 12
    assert len(after["tips"]) == len(before["tips"]) + 12
    assert after["fork_count"] == before["fork_count"] + 12


def test_the_store_of_these_tests_has_every_kind_of_call(store: Store) -> None:
    assert tuple(made.name for made in store.made) == NAMES
    assert b'"kind":"blocked"' in next(made.reply for made in store.made if made.name == "blocked")
    assert b'"isComplete":true' in next(made.reply for made in store.made if made.name == "end")
    assert b'"children"' in next(made.reply for made in store.made if made.name == "fork")
