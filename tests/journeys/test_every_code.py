"""Every code, blocker, reason, warning and event kind that exists comes out of a surface, and is recorded."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from handrail.contract.catalogue import KINDS
from handrail.contract.ids import SessionId
from handrail.engine.events import EVENT_KINDS
from handrail.engine.reasons import BlockerCode, ReasonName
from handrail.engine.reply import WarningCode
from handrail.host.checks import LocalCheckPrograms
from handrail.ports.log import Conflict
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.self_description.reference_data import cli_reference
from handrail.wiring import registry
from tests.conformance.calls import code_of
from tests.conformance.forked import ForkServer
from tests.conformance.leaves import LEAVES
from tests.conftest import library_of, memory_runtime
from tests.house.tree import python_files, room_of
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, rehydrate, start
from tests.journeys.given_workflows import (
    A_DECISION,
    NEVER_STOP,
    WITH_DECISION,
    begin,
    choice,
    equals,
    give,
    option,
    step,
)
from tests.journeys.interfaces import events_of, tool_call
from tests.journeys.rich_session import rich_session
from tests.journeys.test_blocked import report
from tests.journeys.test_code_of_nodes import Work
from tests.journeys.test_moving_sessions import exported, imported
from tests.journeys.test_tokens_in_use import changed
from tests.journeys.test_workflow_identity import add
from tests.journeys.unproven_log import UnprovenLog
from tests.surfaces.cli.here import run_here
from tests.surfaces.http.client import BEARER, HOST, asked, make_app

pytestmark = pytest.mark.thorough


class Moving:
    """A log, or a hold of it, that is never where the caller thought."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @contextmanager
    def hold_existing(self, session_id: SessionId, wait_ms: int, known: int | None = None) -> Iterator[Any]:
        with self._real.hold_existing(session_id, wait_ms, known) as hold:
            yield Moving(hold)

    def append(self, head: int, *_: Any) -> Conflict:
        return Conflict(head=head + 1)


def continue_while_it_moves(runtime: Runtime) -> str:
    first = start(runtime)
    moving: Any = msgspec.structs.replace(runtime, log=Moving(runtime.log))
    return str(tool_call(moving, "continue_workflow", ackToken=first["ackToken"]).structured["code"])


def over_http(runtime: Runtime, method: str, *headers: tuple[str, str]) -> str:
    answered = asyncio.run(asked(make_app(runtime), method, "/mcp", [BEARER, *headers]))
    return str(answered.document["code"])


PROVOKED: dict[str, Callable[[Runtime], str]] = {
    "FEATURE_DISABLED": lambda runtime: code_of(run_here(runtime, ("store", "verify"))),
    "INVARIANT_VIOLATION": continue_while_it_moves,
    "HOST_REFUSED": lambda runtime: over_http(runtime, "POST", ("host", "evil.example")),
    "ORIGIN_REFUSED": lambda runtime: over_http(
        runtime, "POST", ("host", HOST), ("origin", "https://evil.example")
    ),
    "METHOD_NOT_ALLOWED": lambda runtime: over_http(runtime, "GET", ("host", HOST)),
}
"""Codes that no command declares; those that one does come out in tests/conformance/, by process."""
NOBODY = "Nothing in the product raises it yet."
UPSTREAM = "Only an upstream service can say it, and the product calls none yet."
SERVERS = "Belongs to a shared HTTP server, which does not exist yet."
LATER: dict[str, str] = {
    "CONTEXT_STALE": NOBODY,
    "TOKEN_WORKFLOW_HASH_MISMATCH": NOBODY,
    "STORE_TARGET_NOT_EMPTY": "Copying a store tells it per item, by the native code E_CONFLICT.",
    "E_UNKNOWN": UPSTREAM,
    "UPSTREAM_OPEN": UPSTREAM,
    "MEDIA_TYPE_REFUSED": SERVERS,
    "SERVER_BUSY": SERVERS,
    "SERVER_DRAINING": SERVERS,
}


@pytest.mark.parametrize("code", PROVOKED)
def test_a_surface_answers_with_this_code(code: str, runtime: Runtime) -> None:
    assert PROVOKED[code](runtime) == code


def test_every_code_comes_out_once_or_has_a_reason() -> None:
    commands = cli_reference(registry())["commands"]
    declared = {code for command in commands if command["path"] in LEAVES for code in command["errors"]}

    assert sorted(KINDS) == sorted([*declared, *PROVOKED, *LATER])
    assert {code for code, kind in KINDS.items() if kind.is_reserved} <= set(LATER)


def test_code_nobody_raises_is_named_in_the_contract_only() -> None:
    names = [code for code, reason in LATER.items() if reason == NOBODY]
    used = [
        f"{source.path}: {code}"
        for source in python_files("src/handrail/")
        for code in names
        if room_of(source) != "contract" and re.search(rf"\b{code}\b", source.text)
    ]

    assert used == [], "somebody raises these by now; provoke them"


# Reasons: a blocker where somebody can be asked, a gap where nobody is.

Reply = dict[str, Any]
USER_ONLY = (
    "needs_user_secret_or_token",
    "needs_user_account_access",
    "needs_user_artifact",
    "needs_user_approval",
    "needs_user_environment_action",
)
WEB = {"capabilities": {"web_browsing": "required"}}
DEFECTS = {
    "unexpected:invariant_violation": "A defect: it ends the call as the error INVARIANT_VIOLATION.",
    "unexpected:storage_corruption_detected": "Damage: it ends the call as the error SESSION_NOT_HEALTHY.",
}
"""Reasons that are never a gap of a run that goes on, because correctness is at stake."""
DEFECT_BLOCKERS = {"INVARIANT_VIOLATION", "STORAGE_CORRUPTION_DETECTED"}


def observed(status: str) -> dict[str, Any]:
    seen = {"kind": "wr.capability_observation", "capability": "web_browsing", "summary": "Tried it."}
    return {**seen, "status": status}


def unfinished(
    runtime: Runtime, preferences: dict[str, str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """A run and the reply to a report that is not enough, once per reason."""
    for reason in USER_ONLY:
        first = begin(runtime, step("ask", userOnly={"reason": reason}), fields={}, preferences=preferences)
        yield first, advance(runtime, first)
    for artifacts in ([], [{"kind": "wr.decision", "question": 7}]):
        first = begin(runtime, step("decide", **WITH_DECISION), fields={}, preferences=preferences)
        yield first, report(runtime, first["ackToken"], *artifacts)
    for status in ("unknown", "unavailable"):
        first = begin(runtime, step("search"), fields=WEB, preferences=preferences)
        yield first, report(runtime, first["ackToken"], observed(status))
    pick = choice("way", option("left"), option("right"), nonAssumable="scope_boundary")
    first = begin(runtime, pick, fields={}, preferences=preferences)
    yield first, answer(runtime, "run.continue", ackToken=first["pending"]["choices"][0]["token"])


def test_every_blocker_code_comes_out_of_a_blocked_step(runtime: Runtime) -> None:
    heard = {blocker["code"] for _, reply in unfinished(runtime, {}) for blocker in reply.get("blockers", [])}

    assert heard == set(get_args(BlockerCode)) - DEFECT_BLOCKERS


def test_every_reason_becomes_a_gap_in_never_stop(runtime: Runtime) -> None:
    heard = set()
    for first, _ in unfinished(runtime, NEVER_STOP):
        shown = answer(runtime, "session.show", sessionId=first["session"]["sessionId"])
        heard |= {gap["reason"] for gap in shown["runs"][0]["gaps"]}

    assert heard == set(get_args(ReasonName)) - set(DEFECTS)


def warned(reply: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in reply.get("warnings", [])}


def add_overlay(runtime: Runtime, workflow_id: str, base: str, steps: dict[str, Any]) -> None:
    document = {"extends": base, "id": workflow_id, "steps": steps}
    library_of(runtime).add(json.dumps(document).encode(), f"{workflow_id}.json")


DECIDED = {"kind": "compare", "artifact": "wr.decision", "field": "question", "op": "equals", "value": "?"}
NEED_A_REPOSITORY = {
    "FILES_DIFFER",
    "FIRST_LOOK_MISSING",
    "CHANGE_UNKNOWN",
    "EVIDENCE_NOT_WEIGHED",
    "PROJECT_NOT_USED",
    "OTHER_PROJECT",
}
"""Shown in test_code_of_nodes.py, test_own_project.py, test_one_project.py, test_old_evidence.py and
test_review_coverage.py."""


def test_every_warning_comes_out_of_a_reply(runtime: Runtime) -> None:
    heard: set[str] = set()
    first = start(runtime)
    heard |= warned(advance(runtime, first, "x" * 5_000))
    heard |= warned(advance(runtime, first, "another story"))
    heard |= warned(rehydrate(runtime, {"stateToken": changed(first["stateToken"], 20)}))
    heard |= warned(
        tool_call(runtime, "start_workflow", workflowId="project.three_steps", context='{"a": 1}').structured
    )
    add(runtime, "old-style")
    heard |= warned(start(runtime, workflowId="old-style"))
    assumed = {"inputs": {"depth": {"default": "quick"}}}
    heard |= warned(advance(runtime, begin(runtime, step("do", requires=["context.depth"]), fields=assumed)))
    recommended = {"recommended": {"autonomy": "guided"}}
    heard |= warned(begin(runtime, step("do"), fields=recommended, preferences=NEVER_STOP))
    preferred = begin(
        runtime, step("do"), step("end"), fields={"capabilities": {"web_browsing": "preferred"}}
    )
    heard |= warned(report(runtime, preferred["ackToken"], observed("unavailable")))
    misnamed = begin(runtime, step("do"), step("end"), fields={})
    heard |= warned(report(runtime, misnamed["ackToken"], {"kind": "handof"}))
    undecided = begin(runtime, step("do"), step("end"), fields={})
    heard |= warned(report(runtime, undecided["ackToken"], {"kind": "wr.loop_control", "decision": "stop"}))

    inputs = {"inputs": {"severity": {"type": "string"}}}
    heard |= warned(begin(runtime, step("do"), fields=inputs, context={"severty": "low"}))

    alone = begin(runtime, step("ask", userOnly={"reason": USER_ONLY[0]}), fields={}, preferences=NEVER_STOP)
    heard |= warned(advance(runtime, alone))
    lacking = begin(runtime, step("decide", **WITH_DECISION), fields={}, preferences=NEVER_STOP)
    heard |= warned(advance(runtime, lacking))
    named = {"inputs": {"all": {"type": "array"}, "size": {"type": "string"}}}
    once = {"type": "loop", "loopId": "one", "forEach": {"input": "all", "as": "each"}, "maxIterations": 1}
    parts = (once | {"body": [step("work")]}, step("rest", when=equals("size", "large")), step("end"))
    heard |= warned(advance(runtime, begin(runtime, *parts, fields=named, context={"all": [1, 2]})))
    body = [step("work"), step("decide", when=equals("size", "large"), **WITH_DECISION)]
    rounds = {"type": "loop", "loopId": "two", "until": DECIDED, "maxIterations": 3, "body": body}
    working = begin(runtime, rounds, fields=named, context={"size": "large"})
    second = report(runtime, advance(runtime, working)["ackToken"], A_DECISION, context={"size": "small"})
    heard |= warned(advance(runtime, second))
    asking = give(runtime, step("ask", userOnly={"reason": USER_ONLY[0]}), step("end"))
    add_overlay(runtime, "team.lighter", asking, {"ask": {"skip": True}})
    heard |= warned(start(runtime, workflowId="team.lighter"))
    heard |= warned(begin(runtime, step("prove", evidence={"check": "tests"}), fields={}))
    handing = {
        "id": "hand",
        "title": "Hand",
        "delegate": {"children": [{"id": "a", "steps": [step("look")]}]},
    }
    handed = begin(runtime, handing, fields={})
    answer(runtime, "run.close", run=handed["stateToken"], reason="abandoned")
    heard |= warned(rehydrate(runtime, {"stateToken": handed["children"][0]["workToken"]}))
    twin = start(runtime, goal="twice")
    heard |= warned(start(runtime, goal="twice"))
    answer(runtime, "run.close", run=twin["stateToken"], reason="abandoned")
    heard |= warned(advance(runtime, twin, ""))
    doubted: Any = msgspec.structs.replace(runtime, log=UnprovenLog(runtime.log))
    heard |= warned(rehydrate(doubted, first))
    library_of(runtime).held.clear()
    heard |= warned(rehydrate(runtime, twin))
    moved = imported(runtime, exported(runtime, twin["session"]["sessionId"]))["session_id"]
    (found,) = answer(runtime, "session.resume", query=moved)["items"]
    heard |= warned(rehydrate(runtime, found["nextCall"]["params"]))

    assert set(get_args(WarningCode)) - heard == NEED_A_REPOSITORY, "make a reply say these too"


ONLY_READ: set[str] = {"session_adopted"}
"""Kinds that no call here writes: a person adopts a session (tests/journeys/test_proven_history.py)."""


def test_every_event_kind_is_written_by_a_call(
    runtime: Runtime, tmp_path: Path, fork_server: ForkServer
) -> None:
    rich = rich_session(runtime)
    elsewhere = memory_runtime()
    imported(elsewhere, exported(runtime, rich["session"]["sessionId"]))
    seen = begin(runtime, step("search"), fields=WEB)
    report(runtime, seen["ackToken"], observed("available"))
    programs = LocalCheckPrograms({}, runtime.secrets)
    able = msgspec.structs.replace(runtime, check_programs=lambda: programs)
    answer(able, "check.run", stateToken=rich["stateToken"], argv=["nothing"], project=str(tmp_path))
    asking = begin(runtime, step("ask", userOnly={"reason": USER_ONLY[0]}), fields={})
    answer(seat(runtime, Person("y")), "run.answer", stateToken=asking["stateToken"])
    answer(runtime, "run.close", run=seen["stateToken"], reason="abandoned")
    answer(runtime, "check.prove", run=asking["session"]["runId"])

    work = Work(tmp_path, fork_server)
    trees = work.events(work.start(), "tree_recorded")

    written = {
        event["kind"]
        for where, reply in ((runtime, rich), (elsewhere, rich), (runtime, seen), (runtime, asking))
        for event in events_of(where, reply)
    } | {event["data"]["kind"] for event in trees}

    assert set(EVENT_KINDS) - written == ONLY_READ, "make a call write these too"
