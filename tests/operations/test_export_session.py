"""Exports of sound, damaged and unknown sessions: what is proven is told, and marked where it is not all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import SessionId
from handrail.event_log.files.log import FileLog
from handrail.ports.log import Draft
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.journeys.conversation import advance, answer, refusal, start
from tests.journeys.rich_session import LONG_NOTES


def damaged(tmp_path: Path) -> tuple[Runtime, str]:
    """A session of three commits on disk whose last one does not match its manifest any more."""
    runtime = msgspec.structs.replace(memory_runtime(), log=FileLog(str(tmp_path / "data")))
    second = advance(runtime, start(runtime), LONG_NOTES)
    advance(runtime, second, "the last words")
    session_id = second["session"]["sessionId"]
    events = tmp_path / "data" / "sessions" / session_id / "events-000001.jsonl"
    content = events.read_bytes()
    events.write_bytes(content.replace(b"the last words", b"the lost words"))
    return runtime, session_id


def exported(runtime: Runtime, session_id: str, **params: Any) -> dict[str, Any]:
    return answer(runtime, "session.export", sessionId=session_id, **params)


def test_damaged_session_is_exported_as_salvage_only(tmp_path: Path) -> None:
    runtime, session_id = damaged(tmp_path)

    refused = refusal(runtime, "session.export", sessionId=session_id)

    assert refused.kind.code == "SESSION_NOT_HEALTHY"
    assert refused.next_call is not None
    assert refused.next_call.params == {"sessionId": session_id, "salvage": True}


def test_a_salvage_holds_the_proven_part_and_says_what_it_is(tmp_path: Path) -> None:
    runtime, session_id = damaged(tmp_path)

    salvage = exported(runtime, session_id, salvage=True)

    content = salvage["content"]
    assert (salvage["is_salvage"], salvage["health"]) == (True, "corrupt_tail")
    assert content["session"]["salvage"] == {"health": "corrupt_tail", "reason": "digest_mismatch"}
    assert salvage["event_count"] == len(content["session"]["events"]) > 0
    text = json.dumps(content)
    assert LONG_NOTES[:30] in text
    assert "the lost words" not in text


def test_a_salvage_can_be_read_and_not_continued(tmp_path: Path) -> None:
    runtime, session_id = damaged(tmp_path)
    content = exported(runtime, session_id, salvage=True)["content"]
    elsewhere = memory_runtime()

    refused = refusal(
        elsewhere, "session.import", bundle={"source": "s", "text": json.dumps(content)}, dryRun=True
    )

    assert refused.kind.code == "BUNDLE_INTEGRITY_FAILED"
    assert "salvage" in refused.message
    assert "before the damage" in refused.hint


def test_what_the_store_has_lost_is_left_out_of_a_salvage(tmp_path: Path) -> None:
    runtime, session_id = damaged(tmp_path)
    for blob in (tmp_path / "data" / "blobs").rglob("*"):
        if blob.is_file():
            blob.unlink()

    session = exported(runtime, session_id, salvage=True)["content"]["session"]

    assert (session["pinnedWorkflows"], session["artifacts"]) == ({}, {})
    assert session["snapshots"] != {}


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_report_of_a_damaged_session_says_so_first(tmp_path: Path, form: str) -> None:
    runtime, session_id = damaged(tmp_path)

    told = exported(runtime, session_id, **{"as": form})

    assert told["is_salvage"] is True
    assert "This session is damaged" in told["content"]
    assert told["content"].index("damaged") < told["content"].index("The way")
    assert "the lost words" not in told["content"]


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_report_without_its_workflow_says_the_rest(tmp_path: Path, form: str) -> None:
    runtime, session_id = damaged(tmp_path)
    for blob in (tmp_path / "data" / "blobs").rglob("*"):
        if blob.is_file():
            blob.unlink()

    content = exported(runtime, session_id, **{"as": form})["content"]

    assert "no longer in the store" in content
    assert "project.three" in content


def test_event_of_a_later_version_ends_a_salvage(runtime: Runtime) -> None:
    session_id = SessionId(start(runtime)["session"]["sessionId"])
    loaded = runtime.log.load(session_id)
    assert loaded is not None
    with runtime.log.hold(session_id, 0) as hold:
        hold.append(loaded.head, [Draft(dedupe_key="new", body=b'{"v":2,"at":"","scope":{},"data":{}}')])

    salvage = exported(runtime, session_id, salvage=True)

    assert (salvage["health"], salvage["is_salvage"]) == ("unknown_version", True)
    assert salvage["event_count"] == loaded.head
