"""The law of work tokens: changed, moved, mixed or sent elsewhere, none reaches beyond its own child.

`python -m tests.properties.test_work_tokens COUNT [SEED]` tries as many as one asks for, and prints a line
for each ten thousand: how many were tried, how each was answered, and what was accepted that must not be.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from typing import Any

import msgspec
import pytest

from handrail.contract import ids
from handrail.contract.outcome import Success
from handrail.operations.handles import read_state
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import HotLog
from tests.conftest import memory_runtime
from tests.journeys.conversation import answer
from tests.journeys.interfaces import events_of
from tests.properties.test_handed_out_work import hand_out, list_closed_fields

pytestmark = pytest.mark.thorough

MISUSES = 4_000
"""In every run of the thorough set: each changed token is also searched for the typo that it may be."""
BATCH = 10_000
_SHARES = (1, 3, 3, 3)
"""A changed token costs ten times as much as any other: every edit that could mend it is tried."""
_REPLY_TOKENS = ("stateToken", "ackToken", "checkpointToken")
_SAID = {"notesMarkdown": "by somebody else"}


class _Misuser:
    """Knows every token of two sessions, and uses those of one child wherever they do not belong."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        runtime = memory_runtime()
        self.runtime: Runtime = msgspec.structs.replace(runtime, log=HotLog(runtime.log))
        self.parents = [hand_out(self.runtime) for _ in range(2)]
        handed = [one for parent in self.parents for one in parent["children"]]
        self.tokens = [str(one["workToken"]) for one in handed]
        self.replies = [answer(self.runtime, "run.continue", stateToken=token) for token in self.tokens]
        self.fields = list_closed_fields()
        self.sessions = [
            read_state(self.runtime.keys, one["stateToken"]).claims.session_id for one in self.parents
        ]
        self.nodes = [
            (one["scope"]["runId"], one["scope"]["nodeId"])
            for parent in self.parents
            for one in events_of(self.runtime, parent)
            if one["kind"] == "node_created"
        ]
        self.heads = self._heads()
        self.answers: Counter[str] = Counter()

    def misuse(self) -> str | None:
        """One call; a sentence where it was accepted, or changed anything."""
        deeds = (self._change, self._move, self._mix, self._ask_more)
        operation, params, child = self.chance.choices(deeds, _SHARES)[0]()
        outcome = perform(self.runtime, operation, params)
        self.answers["own child" if isinstance(outcome, Success) else outcome.kind.code] += 1
        if isinstance(outcome, Success):
            told: Any = msgspec.to_builtins(outcome.data)
            run_id = self.replies[child]["session"]["runId"]
            if operation != "run.continue" or told["session"]["runId"] != run_id:
                return f"{operation} {params} was accepted"
        elif outcome.kind.code.startswith("E_UNKNOWN"):
            return f"{operation} {params}: {outcome.message}"
        return f"{operation} {params} stored something" if self._heads() != self.heads else None

    def _change(self) -> tuple[str, dict[str, Any], int]:
        """A few characters differ: it reads its own child or nothing."""
        child = self.chance.randrange(len(self.tokens))
        token = self.tokens[child]
        for _ in range(self.chance.randrange(1, 5)):
            at = self.chance.randrange(len(token))
            token = token[:at] + self.chance.choice(ids.ALPHABET) + token[at + 1 :]
        return "run.continue", {"stateToken": token}, child

    def _move(self) -> tuple[str, dict[str, Any], int]:
        """To any argument of any operation, as it is or in a list."""
        child = self.chance.randrange(len(self.tokens))
        operation, field = self.chance.choice(self.fields)
        token: Any = self.tokens[child]
        return operation, {field: [token] if self.chance.random() < 0.2 else token}, child

    def _mix(self) -> tuple[str, dict[str, Any], int]:
        """Beside a token of another child, or of the run that delegated it."""
        child, other = self.chance.sample(range(len(self.tokens)), 2)
        if self.chance.random() < 0.7:
            params = {"ackToken": self.replies[other]["ackToken"], "output": _SAID}
            return "run.continue", params | {"stateToken": self.tokens[child]}, child
        beside = {"stateToken": self.tokens[child], "output": _SAID}
        saving = self.chance.choice([self.replies[other], *self.parents])["checkpointToken"]
        return "run.checkpoint", beside | {"checkpointToken": saving}, child

    def _ask_more(self) -> tuple[str, dict[str, Any], int]:
        """Any token of a child, for what only the parent may do."""
        child = self.chance.randrange(len(self.tokens))
        names = {name: self.replies[child][name] for name in _REPLY_TOKENS} | {"work": self.tokens[child]}
        token = self.chance.choice(sorted(names.values()))
        deeds: list[tuple[str, dict[str, Any]]] = [
            ("run.start", {"workflowId": "project.three_steps", "session": token}),
            ("run.close", {"run": token, "reason": "abandoned"}),
            ("run.answer", {"stateToken": token, "show": True}),
            ("run.answer", {"stateToken": token, "yes": True}),
        ]
        if token.startswith(("wk", "st")):
            others = [one for one in self.nodes if one[0] != self.replies[child]["session"]["runId"]]
            deeds.append(("code.status", {"stateToken": token, "node": self.chance.choice(others)[1]}))
        operation, params = self.chance.choice(deeds)
        return operation, params, child

    def _heads(self) -> dict[str, int]:
        found = {}
        for session_id in self.sessions:
            loaded = self.runtime.log.load(session_id)
            assert loaded is not None
            found[str(session_id)] = loaded.head
        return found


def misuse(count: int, seed: int, answers: Counter[str] | None = None) -> list[str]:
    """What was accepted and must not be; how each call was answered is added to `answers`."""
    misuser = _Misuser(seed)
    found = []
    for _ in range(count):
        problem = misuser.misuse()
        if problem is not None:
            found.append(problem)
    assert len(list(misuser.runtime.log.list_sessions())) == len(misuser.parents), "a session was started"
    if answers is not None:
        answers.update(misuser.answers)
    return found


def test_no_changed_work_token_reaches_beyond_its_child() -> None:
    seed = random.SystemRandom().getrandbits(32)

    assert misuse(MISUSES, seed)[:5] == [], f"seed {seed}"


def main(count: int, seed: int) -> int:
    """Every batch knows tokens of its own. Returns the exit status."""
    answers: Counter[str] = Counter()
    found: list[str] = []
    began = time.monotonic()
    for place in range(0, count, BATCH):
        found += misuse(min(BATCH, count - place), seed + place, answers)
        told = {
            "tried": answers.total(),
            "accepted": len(found),
            "seconds": round(time.monotonic() - began),
            "answers": dict(answers.most_common()),
            "problems": found[:5],
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20261117))
