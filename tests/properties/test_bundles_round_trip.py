"""Law: a session that leaves in a bundle and comes back is the same session, whatever happened in it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime, settings_of
from tests.journeys.conversation import answer, start
from tests.journeys.test_moving_sessions import exported, imported, told

numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
characters = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | numbers | characters,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(characters, inner, max_size=3),
    max_leaves=6,
)
contexts = st.dictionaries(st.sampled_from(["a", "E-1", "constraints"]), values, max_size=2)
moves = st.lists(
    st.tuples(st.sampled_from(["continue", "checkpoint"]), st.integers(0, 9), characters, contexts),
    max_size=6,
)


def played(runtime: Runtime, goal: str, play: list[tuple[str, int, str, dict[str, Any]]]) -> str:
    """Every move acts on some reply that exists by then, old ones too: that forks."""
    replies = [start(runtime, goal=f"goal {goal}", context={"x": 1})]
    for kind, place, notes, context in play:
        open_replies = [reply for reply in replies if not reply["isComplete"]]
        reply = open_replies[place % len(open_replies)]
        output = {"notesMarkdown": f"notes {notes}"}
        if kind == "checkpoint":
            token = reply["checkpointToken"]
            answer(runtime, "run.checkpoint", checkpointToken=token, output=output)
            continue
        fresh = answer(runtime, "run.continue", stateToken=reply["stateToken"])
        replies.append(
            answer(runtime, "run.continue", ackToken=fresh["ackToken"], output=output, context=context)
        )
    return str(replies[0]["session"]["sessionId"])


@given(characters, moves)
@settings(max_examples=40)
@pytest.mark.thorough
def test_out_and_in_again_changes_nothing_that_is_told(
    goal: str, play: list[tuple[str, int, str, dict[str, Any]]]
) -> None:
    runtime = memory_runtime()
    session_id = played(runtime, goal, play)

    check_round_trip(runtime, session_id)


def check_round_trip(runtime: Runtime, session_id: str) -> str:
    """Out and in again: the same is told, and every part that travels is equal; the id of the copy."""
    text = exported(runtime, session_id)

    copy = str(imported(runtime, text)["session_id"])
    first, second = json.loads(text)["session"], json.loads(exported(runtime, copy))["session"]

    of_copy = told(runtime, copy)
    for run in of_copy["runs"]:
        run["summary"] = run["summary"].replace(", recorded by another store", "")
    assert of_copy == told(runtime, session_id)
    assert second["events"][:-1] == first["events"]
    for part in ("snapshots", "pinnedWorkflows", "artifacts"):
        assert second[part] == first[part]
    return copy


def noted(runtime: Runtime, goal: str, play: list[tuple[str, str]]) -> str:
    """A session of its own: notes and runs in any order."""
    settings_of(runtime).settings = msgspec.structs.replace(settings_of(runtime).settings, start_session=True)
    point = opened = answer(runtime, "session.start", goal=f"goal {goal}")
    run: dict[str, Any] = {}
    for kind, text in play:
        output = {"notesMarkdown": f"notes {text}"}
        if kind == "note":
            token = point["checkpointToken"]
            point = answer(runtime, "run.checkpoint", checkpointToken=token, output=output)
        elif not run or run["isComplete"]:
            run = start(runtime, session=opened["sessionToken"])
        else:
            run = answer(runtime, "run.continue", ackToken=run["ackToken"], output=output)
    return str(opened["session"]["sessionId"])


@given(
    characters,
    st.lists(st.tuples(st.sampled_from(["note", "run"]), characters | st.just("long " * 1_000)), max_size=8),
)
@settings(max_examples=30)
@pytest.mark.thorough
def test_a_session_with_notes_of_its_own_comes_back_the_same(goal: str, play: list[tuple[str, str]]) -> None:
    runtime = memory_runtime()
    session_id = noted(runtime, goal, play)

    copy = check_round_trip(runtime, session_id)

    assert len(told(runtime, copy)["notes"]) == [kind for kind, _ in play].count("note")
