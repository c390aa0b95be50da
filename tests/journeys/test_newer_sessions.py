"""A session that a newer version wrote is told as such by every reader, and never as damaged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Failure
from handrail.ports.log import Draft
from handrail.runtime.hub import perform
from handrail.wiring import build_runtime
from tests.journeys.conversation import answer, refusal, start
from tests.journeys.writes import World


def by_an_event(world: World, session_id: SessionId) -> None:
    with world.runtime.log.hold(session_id, 0) as hold:
        loaded = hold.load()
        assert loaded is not None
        hold.append(loaded.head, [Draft(dedupe_key="new", body=b'{"v":2,"at":"","scope":{},"data":{}}')])


def by_its_commits(world: World, session_id: SessionId) -> None:
    path = Path(world.home, "data/sessions", session_id, "manifest.jsonl")
    begin = hashlib.sha256(b"handrail.manifest.v1\x00" + session_id.encode()).digest()
    body = b'{"v":2,"entirely":"new"'
    total = hashlib.sha256(begin + body).hexdigest()
    path.write_bytes(body + b',"sum":"' + total.encode() + b'"}\n')


@pytest.fixture(params=[by_an_event, by_its_commits])
def newer(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[World, SessionId, SessionId]:
    """A world with one sound session, and one that a newer version wrote."""
    world = World(str(tmp_path))
    sound = SessionId(start(world.runtime, requestId="sound")["session"]["sessionId"])
    session_id = SessionId(start(world.runtime, requestId="newer")["session"]["sessionId"])
    write: Callable[[World, SessionId], None] = request.param
    write(world, session_id)
    world.runtime = build_runtime({"HANDRAIL_PROJECT": world.project, "HOME": world.user}, home=world.home)
    return world, sound, session_id


def told(world: World, operation: str, **params: Any) -> str:
    """Everything that an answer says."""
    outcome = perform(world.runtime, operation, params)
    if isinstance(outcome, Failure):
        return json.dumps([outcome.kind.code, outcome.message, outcome.hint])
    return json.dumps([payload_of(outcome), [notice.message for notice in outcome.notices]])


@pytest.mark.promise("store.newer")
@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("session.resume", {}),
        ("session.resume", {"query": "ID"}),
        ("session.search", {"query": "three"}),
        ("session.gaps", {}),
        ("session.needs", {}),
        ("session.show", {"sessionId": "ID"}),
        ("session.events", {"sessionId": "ID"}),
        ("session.timeline", {"sessionId": "ID"}),
        ("run.graph", {"sessionId": "ID"}),
        ("store.verify", {}),
        ("store.verify", {"ids": ["ID"]}),
        ("self.doctor", {"checks": ["store"]}),
    ],
)
def test_every_reader_says_newer_and_none_says_damaged(
    newer: tuple[World, SessionId, SessionId], operation: str, params: dict[str, Any]
) -> None:
    world, _, session_id = newer
    named = json.loads(json.dumps(params).replace('"ID"', f'"{session_id}"'))

    said = told(world, operation, **named)

    assert "newer version" in said
    assert "damage" not in said
    assert "corrupt" not in said
    assert "store verify" not in said


@pytest.mark.promise("store.newer")
def test_a_check_of_the_store_lists_it_and_stays_positive(
    newer: tuple[World, SessionId, SessionId],
) -> None:
    world, _, session_id = newer

    report = answer(world.runtime, "store.verify")

    assert (report["ok"], report["newer"], report["problems"]) == (True, [session_id], [])
    assert "newer version" in report["warnings"][0]


@pytest.mark.promise("store.newer")
@pytest.mark.parametrize("with_sound", [False, True])
def test_a_check_that_asks_for_it_cannot_be_answered(
    newer: tuple[World, SessionId, SessionId], with_sound: bool
) -> None:
    world, sound, session_id = newer
    ids = [sound, session_id] if with_sound else [session_id]

    refused = refusal(world.runtime, "store.verify", ids=ids)
    report = answer(world.runtime, "store.verify", ids=ids, reportOnly=True)

    assert refused.kind.code == "STORE_UNSUPPORTED_VERSION"
    assert [item["ok"] for item in refused.details["report"]["items"]] == [one == sound for one in ids]
    assert (report["ok"], report["newer"]) == (False, [session_id])
