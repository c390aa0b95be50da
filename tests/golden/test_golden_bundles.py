"""A bundle written by every released version is still imported, tells the same, and can be finished."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.runtime.runtime import Runtime
from tests.golden.write_bundle import BUNDLES
from tests.journeys.conversation import answer
from tests.journeys.rich_session import to_the_end
from tests.journeys.test_moving_sessions import exported, imported

FILES = sorted(BUNDLES.glob("*.json"))


def test_there_is_a_bundle_of_this_version() -> None:
    assert [path.stem for path in FILES] == ["0.1.0"]


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_golden_bundle_is_imported_and_finished(runtime: Runtime, path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    made = imported(runtime, text)
    shown = answer(runtime, "session.show", sessionId=made["session_id"])
    back = json.loads(exported(runtime, made["session_id"]))["session"]
    last = to_the_end(runtime, made["session_id"])

    assert made["bundle_id"] == json.loads(text)["bundleId"]
    assert (shown["goal"], shown["status"]) == ("Make the cache <fast>", "in_progress")
    (run,) = shown["runs"]
    assert (run["node_count"], run["fork_count"], len(run["gaps"])) == (7, 1, 1)
    assert back["events"][:-1] == json.loads(text)["session"]["events"]
    assert last["isComplete"]
