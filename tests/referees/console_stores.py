"""Stores for the Console: a busy one with everything that a page can show, an empty one, a long run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.journeys.conversation import advance, answer, rehydrate, save
from tests.journeys.given_workflows import A_DECISION, WITH_DECISION, choice, equals, option, rounds, step

HOSTILE = (
    "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    " [x](javascript:alert(1)) \u202eevil\u202c \x1b[31mred\x1b[0m <a href='javascript:1'>go</a>"
)

_MARKUP = "</script><img src=x onerror=\"document.title='taken'\"> [x](javascript:alert(1))"
HOSTILE_WORKFLOW: dict[str, Any] = {
    "id": "user.hostile",
    "name": f"Hostile {_MARKUP}",
    "description": _MARKUP,
    "steps": [
        {"id": "first", "title": f"First {_MARKUP}", "prompt": f"Look.\n\n{_MARKUP}"},
        {"id": "second", "title": f"Second {_MARKUP}", "prompt": f"Look again.\n\n{_MARKUP}"},
    ],
}

CAREFUL: dict[str, Any] = {
    "id": "user.careful_fix",
    "name": "Careful fix",
    "description": "Find the cause, decide how to correct it, correct it, and let a person release it.",
    "inputs": {"depth": {"type": "string", "default": "low"}},
    "steps": [
        step(
            "reproduce",
            title="Reproduce the problem",
            prompt="Write the smallest case that shows it.\n\nSay how you ran it and what it printed.",
        ),
        step(
            "decide",
            title="Decide how to correct it",
            prompt="Compare at least two ways to correct the cause, and take one.",
            **WITH_DECISION,
        ),
        step(
            "measure",
            title="Measure the whole path",
            prompt="Measure before you change anything.",
            when=equals("depth", "high"),
        ),
        choice("size", option("small", depth="low"), option("large", depth="high"), title="How large is it?"),
        rounds(
            "fix",
            {"while": {"kind": "loop_control"}},
            step(
                "try",
                title="Try a correction",
                prompt="Make the smallest change that could be enough, and say what it does.",
            ),
            most=4,
        ),
        step(
            "release",
            title="Release it",
            prompt="Show the user what changes for them, and ask before you release.",
            requireConfirmation=True,
        ),
        step("close", title="Tell who waited", prompt="Write one paragraph for those who waited."),
    ],
}
_FOUND = """**Cause.** `round()` is called on each line and on the sum, so half a cent is counted twice.

- invoice 4711: 3 lines of 0.335 → shown 1.01, paid 1.00
- `tests/test_invoice.py::test_sum` fails with it

| lines | shown | paid |
|---|---|---|
| 3 | 1.01 | 1.00 |
| 7 | 2.36 | 2.34 |
"""


def decision(chosen: str = "round once", question: str = "Where is a sum rounded?") -> dict[str, Any]:
    return A_DECISION | {
        "question": question,
        "options": [
            {
                "id": "round once",
                "description": "Add first, then round the sum",
                "advantages": ["One place decides."],
                "drawbacks": ["Lines may not add up on paper."],
            },
            {
                "id": "round each line",
                "description": "Round every line, never the sum",
                "advantages": ["Adds up on paper."],
                "drawbacks": ["Differs from the bank."],
            },
        ],
        "chosen": chosen,
        "rationale": "The bank rounds once, and the bank decides what is paid.",
    }


def open_store(home: Path) -> Runtime:
    """A runtime on files, with the workflow that the sessions run."""
    (home / "workflows").mkdir(parents=True, exist_ok=True)
    for name, workflow in (("careful_fix", CAREFUL), ("hostile", HOSTILE_WORKFLOW)):
        (home / "workflows" / f"{name}.json").write_text(json.dumps(workflow), encoding="utf-8")
    (home / "workflows" / "broken.json").write_text(
        '{"id": "user.broken", "steps": [{"id": "a", "prompt": 1}]}', encoding="utf-8"
    )
    (home / "config.json").write_text(json.dumps({"startSession": True}), encoding="utf-8")
    return build_runtime({}, home=str(home))


def begin(runtime: Runtime, goal: str, autonomy: str = "guided", **params: Any) -> dict[str, Any]:
    return answer(
        runtime,
        "run.start",
        workflowId="user.careful_fix",
        goal=goal,
        preferences={"autonomy": autonomy},
        **params,
    )


def report(runtime: Runtime, token: str, notes: str, *artifacts: dict[str, Any]) -> dict[str, Any]:
    output = {"notesMarkdown": notes, "artifacts": list(artifacts)}
    return answer(runtime, "run.continue", ackToken=token, output=output)


def to_release(runtime: Runtime, goal: str, autonomy: str = "guided") -> dict[str, Any]:
    """A run that waits for a person, after a blocked attempt, a fork and two rounds of a loop."""
    first = begin(runtime, goal, autonomy)
    asked = report(runtime, first["ackToken"], _FOUND)
    blocked = report(runtime, asked["ackToken"], "Rounding once is better.")
    token = blocked.get("retryAckToken") or blocked["ackToken"]
    gap = {"kind": "wr.gap", "severity": "warning", "summary": "Old invoices were not counted again."}
    left = {
        "kind": "wr.workflow_divergence",
        "reason": "efficiency_skip",
        "summary": "The second way was read, not tried: the bank's rule settles it.",
    }
    chosen = report(runtime, token, "Took the way of the bank.", decision(), gap, left)
    save(runtime, chosen, "Half way; the test is written and fails.")
    tried = answer(runtime, "run.continue", ackToken=chosen["pending"]["choices"][0]["token"])
    more = {"kind": "wr.loop_control", "decision": "continue"}
    again = report(runtime, tried["ackToken"], "Rounded at the end; one old test still fails.", more)
    fork = rehydrate(runtime, tried)
    report(runtime, fork["ackToken"], "Rounded each line instead; the bank's file differs.", more)
    stop = {"kind": "wr.loop_control", "decision": "stop"}
    return report(runtime, again["ackToken"], "Corrected the old test: it expected the mistake.", stop)


def seed_busy(home: Path, *, with_hostile: bool = True) -> dict[str, str]:
    """Sessions by name.

    `blocked`, `waiting`, `done`, `gaps`, `imported`, `notes`, `damaged`, `two` (runs); where they are wanted,
    also `hostile` and `hostile_imported`.
    """
    runtime = open_store(home)
    ids: dict[str, str] = {}
    damaged = advance(runtime, begin(runtime, "Look at the slow nightly import"), "It waits for the lock.")
    ids["damaged"] = damaged["session"]["sessionId"]
    done = to_release(runtime, "Correct the rounding of invoices", "full_auto_stop_on_user_deps")
    done = advance(runtime, done, "Released as 2.4.1.")
    advance(runtime, done, "Told the three customers who asked.")
    ids["done"] = done["session"]["sessionId"]
    gaps = begin(runtime, "Move the reports to the new printer queue", "full_auto_never_stop")
    gaps = report(runtime, gaps["ackToken"], "The queue drops the second page.")
    report(runtime, gaps["ackToken"], "Went on without writing the decision down.")
    ids["gaps"] = gaps["session"]["sessionId"]
    started = answer(runtime, "session.start", goal="Ideas for the next quarter", requestId="ideas")
    save(runtime, started, "Ask support which three questions come most often.")
    ids["notes"] = started["sessionId"] if "sessionId" in started else started["session"]["sessionId"]
    if with_hostile:
        ids["hostile"] = _seed_hostile(runtime)
        ids["hostile_imported"] = _import_copy(runtime, ids["hostile"])
    ids["two"] = _seed_two_runs(runtime)
    waiting = to_release(runtime, "Invoices show one cent more than was paid")
    ids["waiting"] = waiting["session"]["sessionId"]
    asked = report(runtime, begin(runtime, "Reverse-charge invoices round twice")["ackToken"], _FOUND)
    other = rehydrate(runtime, asked)
    report(runtime, asked["ackToken"], "Rounding once is better.")
    report(runtime, other["ackToken"], "Rounding each line is better.")
    ids["blocked"] = asked["session"]["sessionId"]
    ids["imported"] = _import_copy(runtime, ids["done"])
    _damage(home, ids["damaged"])
    return ids


def _seed_hostile(runtime: Runtime) -> str:
    """Text that would like to be markup, in everything that a stranger can write."""
    first = answer(runtime, "run.start", workflowId="user.hostile", goal=HOSTILE)
    gap = {"kind": "wr.gap", "severity": "critical", "summary": HOSTILE}
    left = {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": HOSTILE}
    report(runtime, first["ackToken"], HOSTILE, gap, left)
    session_id = first["session"]["sessionId"]
    assert isinstance(session_id, str)
    return session_id


def _seed_two_runs(runtime: Runtime) -> str:
    """One session with two runs: a review after a correction."""
    first = begin(runtime, "Totals of credit notes")
    session_id = first["session"]["sessionId"]
    assert isinstance(session_id, str)
    report(runtime, first["ackToken"], "Credit notes are rounded like invoices.")
    answer(
        runtime, "run.start", workflowId="wr.code_review", goal="Totals of credit notes", session=session_id
    )
    return session_id


def _import_copy(runtime: Runtime, session_id: str) -> str:
    content = answer(runtime, "session.export", sessionId=session_id)["content"]
    bundle = {"source": "work.handrail.json", "text": json.dumps(content)}
    preview = answer(runtime, "session.import", bundle=bundle, dryRun=True)
    taken = answer(runtime, "session.import", bundle=bundle, confirm=preview["confirm_token"])
    found = taken.get("session_id") or taken["sessionId"]
    assert isinstance(found, str)
    return found


def _damage(home: Path, session_id: str) -> None:
    """Change a byte in the last record of a session."""
    log = home / "data" / "sessions" / session_id / "events-000001.jsonl"
    content = bytearray(log.read_bytes())
    content[-40] ^= 1
    log.write_bytes(content)


def seed_long(home: Path, nodes: int) -> str:
    """One run with that many nodes: checkpoints beside checkpoints, as a long chat leaves them."""
    runtime = open_store(home)
    reply = begin(runtime, "A long run")
    for number in range(nodes - 1):
        reply = advance_long(runtime, reply, number)
    session_id = reply["session"]["sessionId"]
    assert isinstance(session_id, str)
    return session_id


def advance_long(runtime: Runtime, reply: dict[str, Any], number: int) -> dict[str, Any]:
    return save(runtime, reply, f"Note {number}.")
