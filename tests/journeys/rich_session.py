"""A session in which something of every kind happened: the material of exports, ledgers and reports."""

from __future__ import annotations

from typing import Any

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer, rehydrate, save
from tests.journeys.given_workflows import (
    A_DECISION,
    WITH_DECISION,
    begin,
    choice,
    equals,
    option,
    rounds,
    step,
)

LONG_NOTES = "Looked at every file of the parser.\n" * 200
"""7 000 bytes: more than an event keeps inline."""
A_GAP = {
    "kind": "wr.gap",
    "severity": "warning",
    "summary": "The staging database was not reachable.",
}
A_DIVERGENCE = {
    "kind": "wr.workflow_divergence",
    "reason": "safety_stop",
    "summary": "The database is live, so the migration was only read.",
}

STEPS: tuple[dict[str, Any], ...] = (
    step("decide", **WITH_DECISION),
    step("extra", when=equals("depth", "high")),
    choice("size", option("small", depth="low"), option("large", depth="high")),
    rounds("fix", {"while": {"kind": "loop_control"}}, step("try")),
    step("end"),
)
FIELDS: dict[str, Any] = {
    "inputs": {"depth": {"type": "string", "default": "low"}},
}


def report(runtime: Runtime, token: str, *artifacts: dict[str, Any], notes: str = "done") -> dict[str, Any]:
    output = {"notesMarkdown": notes, "artifacts": list(artifacts)}
    return answer(runtime, "run.continue", ackToken=token, output=output)


def rich_session(runtime: Runtime) -> dict[str, Any]:
    """The last reply: the run stands in its loop, after a block, a gap, a checkpoint and a fork."""
    first = begin(
        runtime, *STEPS, fields=FIELDS, goal="Make the cache <fast>", context={"constraints": ["no new deps"]}
    )
    blocked = report(runtime, first["ackToken"], notes="I thought about it.")
    chosen = report(runtime, blocked["retryAckToken"], A_DECISION, A_GAP, A_DIVERGENCE, notes=LONG_NOTES)
    save(runtime, chosen, "Half way.")
    tried = answer(runtime, "run.continue", ackToken=chosen["pending"]["choices"][0]["token"])
    decided(runtime, tried, "continue")
    fork = rehydrate(runtime, tried)
    decided(runtime, fork, "continue", notes="Tried it another way.")
    return answer(runtime, "run.continue", stateToken=fork["stateToken"])


def decided(
    runtime: Runtime, reply: dict[str, Any], decision: str, notes: str = "Tried it."
) -> dict[str, Any]:
    return report(runtime, reply["ackToken"], {"kind": "wr.loop_control", "decision": decision}, notes=notes)


def to_the_end(runtime: Runtime, session_id: str) -> dict[str, Any]:
    """Find the session again, as a new chat does, and finish its run; the last reply."""
    (candidate,) = answer(runtime, "session.resume", query=session_id)["items"]
    reply = answer(runtime, "run.continue", **candidate["nextCall"]["params"])
    reply = decided(runtime, reply, "stop")
    return advance(runtime, reply)
