"""The bundle of a session: the same session, the same document, and nothing of this machine in it."""

from __future__ import annotations

import hashlib
import json

import rfc8785

from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.engine.bundles.made import rich_bundle
from tests.journeys.conversation import answer
from tests.journeys.rich_session import LONG_NOTES, rich_session


def test_a_second_export_is_the_same_document_but_for_the_time(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]

    first = answer(runtime, "session.export", sessionId=session_id)["content"]
    second = answer(runtime, "session.export", sessionId=session_id)["content"]

    assert json.dumps(first) == json.dumps(second)


def test_another_process_writes_the_same_bundle() -> None:
    other = memory_runtime()
    session_id = rich_session(other)["session"]["sessionId"]

    content = answer(other, "session.export", sessionId=session_id)["content"]

    assert json.loads(json.dumps(content)) == rich_bundle()


def test_every_part_has_the_digest_of_its_canonical_bytes() -> None:
    """Checked with another implementation of RFC 8785."""
    document = rich_bundle()
    session = document["session"]
    paths = []

    for entry in document["integrity"]["entries"]:
        _, name, *key = entry["path"].split("/")
        part = session[name][key[0]] if key else session[name]
        content = rfc8785.dumps(part)
        paths.append(entry["path"])
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (entry["sha256"], entry["bytes"])

    assert paths == sorted(paths)
    assert {path.split("/")[1] for path in paths} == set(session)


def test_the_names_of_contents_are_their_digests() -> None:
    session = rich_bundle()["session"]

    for ref, snapshot in session["snapshots"].items():
        assert ref == "sha256:" + hashlib.sha256(rfc8785.dumps(snapshot)).hexdigest()
    for ref, workflow in session["pinnedWorkflows"].items():
        assert ref == "sha256:" + hashlib.sha256(rfc8785.dumps(workflow)).hexdigest()
    ((ref, kept),) = session["artifacts"].items()
    assert kept == {"mediaType": "text/markdown", "text": LONG_NOTES}
    assert ref == "sha256:" + hashlib.sha256(LONG_NOTES.encode()).hexdigest()


def test_a_snapshot_is_a_position_and_nothing_of_the_session() -> None:
    session = rich_bundle()["session"]
    (workflow_hash,) = session["pinnedWorkflows"]

    assert all(set(snapshot) == {"v", "workflowHash", "state"} for snapshot in session["snapshots"].values())
    assert {snapshot["workflowHash"] for snapshot in session["snapshots"].values()} == {workflow_hash}
    steps = {snapshot["state"]["stepId"] for snapshot in session["snapshots"].values()}
    assert steps == {"decide", "size", "try"}


def test_no_token_and_no_place_on_this_machine_is_in_a_bundle(runtime: Runtime) -> None:
    reply = rich_session(runtime)
    text = json.dumps(answer(runtime, "session.export", sessionId=reply["session"]["sessionId"]))

    for token in ("stateToken", "ackToken", "checkpointToken"):
        assert reply[token] not in text
        assert reply[token][3:30] not in text
    assert "/project" not in text
