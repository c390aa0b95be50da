"""What a bundle holds, read as a stranger would: versioned, the same every time, and enough to go on."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import refusal
from tests.journeys.rich_session import LONG_NOTES, rich_session
from tests.journeys.test_moving_sessions import bundle, exported


@pytest.fixture
def held(runtime: Runtime) -> dict[str, Any]:
    """The bundle of a session in which something of every kind happened."""
    document: dict[str, Any] = json.loads(exported(runtime, rich_session(runtime)["session"]["sessionId"]))
    return document


def facts(held: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    events = [event["body"]["data"] for event in held["session"]["events"]]
    return [fact for fact in events if fact["kind"] == kind]


@pytest.mark.promise("bundle.versioned")
def test_a_bundle_tells_its_version_and_is_the_same_every_time(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]

    first, second = exported(runtime, session_id), exported(runtime, session_id)

    assert json.loads(first)["bundleSchemaVersion"] == 1
    assert first == second


@pytest.mark.promise("bundle.versioned")
def test_a_bundle_of_a_later_version_is_refused_at_once(runtime: Runtime, held: dict[str, Any]) -> None:
    later = json.dumps(held | {"bundleSchemaVersion": 3})

    failure = refusal(runtime, "session.import", bundle=bundle(later), dryRun=True)

    assert failure.kind.code == "BUNDLE_UNSUPPORTED_VERSION"
    assert str(failure.details["found"]) == "3"


@pytest.mark.promise("bundle.contents")
def test_a_bundle_holds_everything_that_going_on_needs(held: dict[str, Any]) -> None:
    session = held["session"]

    assert {fact["key"] for fact in facts(held, "observation_recorded")} >= {"goal", "git_branch"}
    (run,) = facts(held, "run_started")
    assert run["workflowHash"] in session["pinnedWorkflows"]
    nodes = facts(held, "node_created")
    assert len(nodes) == len(facts(held, "edge_created")) + 1
    told = [fact["notes"] for fact in facts(held, "node_output_appended") if fact["channel"] == "recap"]
    assert "Half way." in [notes.get("text") for notes in told]
    assert LONG_NOTES in json.dumps(list(session["artifacts"].values())).replace("\\n", "\n")
    assert [event["eventIndex"] for event in session["events"]] == list(range(len(session["events"])))


@pytest.mark.promise("bundle.contents")
def test_pinned_parts_stand_under_the_digest_of_their_bytes(held: dict[str, Any]) -> None:
    for part in ("pinnedWorkflows", "snapshots"):
        assert held["session"][part]
        for name, content in held["session"][part].items():
            assert name == "sha256:" + hashlib.sha256(rfc8785.dumps(content)).hexdigest()
