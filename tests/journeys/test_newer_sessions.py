"""A session that a newer version wrote is told as such by every reader, and never as damaged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Failure
from handrail.ports.log import Draft
from handrail.runtime.hub import perform
from handrail.wiring import build_runtime
from tests.conftest import KeptIncidents
from tests.journeys.conversation import answer, refusal, start
from tests.journeys.writes import World
from tests.surfaces.cli.here import run_here


def by_an_event(world: World, session_id: SessionId) -> None:
    with world.runtime.log.hold(session_id, 0) as hold:
        loaded = hold.load()
        assert loaded is not None
        hold.append(loaded.head, [Draft(dedupe_key="new", body=b'{"v":2,"at":"","scope":{},"data":{}}')])


def by_its_commits(world: World, session_id: SessionId) -> None:
    path = Path(world.home, "data/sessions", session_id, "manifest.jsonl")
    begin = hashlib.sha256(b"handrail.manifest.v1\x00" + session_id.encode()).digest()
    body = b'{"v":3,"entirely":"new"'
    total = hashlib.sha256(begin + body).hexdigest()
    path.write_bytes(body + b',"sum":"' + total.encode() + b'"}\n')


@pytest.fixture(params=[by_an_event, by_its_commits])
def newer(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[World, SessionId, dict[str, Any]]:
    """A world with one sound session, and the first reply of one that a newer version wrote."""
    world = World(str(tmp_path))
    sound = SessionId(start(world.runtime, requestId="sound")["session"]["sessionId"])
    reply = start(world.runtime, requestId="newer")
    write: Callable[[World, SessionId], None] = request.param
    write(world, SessionId(reply["session"]["sessionId"]))
    world.runtime = build_runtime({"HANDRAIL_PROJECT": world.project, "HOME": world.user}, home=world.home)
    return world, sound, reply


def told(world: World, operation: str, **params: Any) -> str:
    """Everything that an answer says."""
    outcome = perform(world.runtime, operation, params)
    if isinstance(outcome, Failure):
        return json.dumps([outcome.kind.code, outcome.message, outcome.hint])
    return json.dumps([payload_of(outcome), [notice.message for notice in outcome.notices]])


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("session.resume", {}),
        ("session.resume", {"query": "ID"}),
        ("session.search", {"query": "three"}),
        ("session.gaps", {}),
        ("session.inbox", {}),
        ("session.show", {"sessionId": "ID"}),
        ("session.events", {"sessionId": "ID"}),
        ("session.timeline", {"sessionId": "ID"}),
        ("run.graph", {"sessionId": "ID"}),
        ("store.verify", {}),
        ("store.verify", {"ids": ["ID"]}),
        ("self.doctor", {"checks": ["store"]}),
        ("session.export", {"sessionId": "ID"}),
        ("receipt.export", {"session": "ID"}),
        ("session.resolve_gap", {"session": "ID", "gap": "gap_1", "note": "x"}),
        ("run.answer", {"session": "ID"}),
        ("run.continue", {"stateToken": "STATE"}),
        ("run.continue", {"ackToken": "ACK", "output": {"notesMarkdown": "x"}}),
        ("run.checkpoint", {"checkpointToken": "CHECKPOINT", "output": {"notesMarkdown": "x"}}),
    ],
)
def test_every_reader_says_newer_and_none_says_damaged(
    newer: tuple[World, SessionId, dict[str, Any]], operation: str, params: dict[str, Any]
) -> None:
    world, _, reply = newer
    given = {"ID": reply["session"]["sessionId"]}
    given |= {name: reply[f"{name.lower()}Token"] for name in ("ACK", "CHECKPOINT", "STATE")}
    named = {name: given.get(str(value), value) for name, value in params.items()}
    named |= {"ids": [given["ID"]]} if "ids" in params else {}

    said = told(world, operation, **named)

    assert "newer version" in said
    assert "damage" not in said
    assert "corrupt" not in said
    assert "store verify" not in said


def test_the_list_for_people_says_newer_too(newer: tuple[World, SessionId, dict[str, Any]]) -> None:
    runtime = msgspec.structs.replace(newer[0].runtime, incidents=KeptIncidents())

    listed = run_here(runtime, ["session", "list", "--human"]).out.decode()

    assert "written by a newer version" in listed
    assert "damaged" not in listed


def test_a_check_of_the_store_lists_it_and_stays_positive(
    newer: tuple[World, SessionId, dict[str, Any]],
) -> None:
    world, _, reply = newer
    session_id = reply["session"]["sessionId"]

    report = answer(world.runtime, "store.verify")

    assert (report["ok"], report["newer"], report["problems"]) == (True, [session_id], [])
    assert "newer version" in report["warnings"][0]


@pytest.mark.parametrize("with_sound", [False, True])
def test_a_check_that_asks_for_it_cannot_be_answered(
    newer: tuple[World, SessionId, dict[str, Any]], with_sound: bool
) -> None:
    world, sound, reply = newer
    session_id = reply["session"]["sessionId"]
    ids = [sound, session_id] if with_sound else [session_id]

    refused = refusal(world.runtime, "store.verify", ids=ids)
    report = answer(world.runtime, "store.verify", ids=ids, reportOnly=True)

    assert refused.kind.code == "STORE_UNSUPPORTED_VERSION"
    assert [item["ok"] for item in refused.details["report"]["items"]] == [one == sound for one in ids]
    assert (report["ok"], report["newer"]) == (False, [session_id])
