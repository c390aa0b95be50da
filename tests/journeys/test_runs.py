"""A run from its start to its end: advancing, replaying, rehydrating, forking."""

from __future__ import annotations

import json

import pytest

from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import THREE_STEPS, library_of
from tests.journeys.conversation import (
    advance,
    answer,
    commits_of,
    refusal,
    rehydrate,
    save,
    start,
)


@pytest.mark.promise("start.first-step")
def test_a_start_returns_the_first_step_and_tokens_to_go_on(runtime: Runtime) -> None:
    reply = start(runtime, goal="try it")

    assert reply["kind"] == "ok"
    assert reply["pending"] == {
        "stepId": "first",
        "title": "First",
        "prompt": "Do the first thing.",
        "requireConfirmation": False,
    }
    assert reply["nextIntent"] == "perform_pending_then_continue"
    assert reply["nextCall"] == {
        "tool": "continue_workflow",
        "params": {"ackToken": reply["ackToken"], "output": {"notesMarkdown": "…"}},
    }
    assert list(reply) == [
        *("kind", "pending", "isComplete", "nextIntent", "nextCall", "warnings", "progress", "session"),
        *("preferences", "workflow", "project", "stateToken", "ackToken", "checkpointToken", "_untrusted"),
    ]
    assert reply["session"]["workflowId"] == "project.three_steps"
    assert reply["session"]["goal"] == "try it"
    assert reply["_untrusted"] == ["session.goal"]


@pytest.mark.promise("continue.advances")
def test_acks_move_the_run_to_its_end(runtime: Runtime) -> None:
    first = start(runtime)

    second = advance(runtime, first)
    third = advance(runtime, second)
    end = advance(runtime, third)

    assert [reply["pending"]["stepId"] for reply in (first, second, third)] == ["first", "second", "third"]
    assert third["nextIntent"] == "await_user_confirmation"
    assert (end["pending"], end["isComplete"], end["nextIntent"], end["nextCall"]) == (
        None,
        True,
        "complete",
        None,
    )
    assert "ackToken" not in end
    assert end["stateToken"].startswith("st1")


@pytest.mark.promise("start.pins-the-workflow")
def test_run_keeps_its_workflow_when_the_file_changes(runtime: Runtime) -> None:
    first = start(runtime, requestId="pinned")
    library_of(runtime).held.clear()
    library_of(runtime).add(THREE_STEPS.replace(b"Do the second thing.", b"Something else."))

    second = advance(runtime, first)
    library_of(runtime).held.clear()
    third = advance(runtime, second)
    again = start(runtime, requestId="pinned")

    assert second["pending"]["prompt"] == "Do the second thing."
    assert third["pending"]["prompt"] == "Do the third thing."
    assert again == first


@pytest.mark.promise("start.request-id")
def test_a_repeated_request_id_returns_the_same_run(runtime: Runtime) -> None:
    first = start(runtime, requestId="ticket-7", context={"a": 1})
    before = commits_of(runtime)

    same = start(runtime, requestId="ticket-7", context={"a": 1})
    other = refusal(
        runtime, "run.start", workflowId="project.three_steps", requestId="ticket-7", context={"a": 2}
    )

    assert same == first
    assert (other.kind.code, other.kind.exit_status) == ("E_CONFLICT", 6)
    assert other.details == {
        "reason": "request_id_used",
        "request_id": "ticket-7",
        "resource": "run",
        "session_id": first["session"]["sessionId"],
        "run_id": first["session"]["runId"],
        "workflow_id": "project.three_steps",
        "status": "in_progress",
    }
    assert "another request id" in other.hint
    assert commits_of(runtime) == before


@pytest.mark.promise("start.joins-a-session")
def test_a_run_joins_a_session_by_id_or_token(runtime: Runtime) -> None:
    first = start(runtime)
    session_id = first["session"]["sessionId"]

    by_id = start(runtime, session=session_id)
    by_token = start(runtime, session=first["stateToken"])
    nowhere = refusal(runtime, "run.start", workflowId="project.three_steps", session="ses_000000000000")

    assert {reply["session"]["sessionId"] for reply in (first, by_id, by_token)} == {session_id}
    assert len({reply["session"]["runId"] for reply in (first, by_id, by_token)}) == 3
    assert nowhere.kind.code == "SESSION_NOT_FOUND"


@pytest.mark.promise("continue.replay.same-bytes")
def test_repeated_ack_gets_the_recorded_reply(runtime: Runtime) -> None:
    first = start(runtime)
    call = {"ackToken": first["ackToken"], "output": {"notesMarkdown": "looked at a.py"}}

    replies = [perform(runtime, "run.continue", call) for _ in range(100)]

    assert len({json.dumps(reply.data) for reply in replies if isinstance(reply, Success)}) == 1
    assert all(reply == replies[0] for reply in replies)
    assert commits_of(runtime) == 2  # start, continue


@pytest.mark.promise("continue.replay.same-bytes")
def test_reply_of_a_fork_stays_the_same_with_more_branches(runtime: Runtime) -> None:
    first = start(runtime)
    advance(runtime, first, "one way")
    again = rehydrate(runtime, first)
    fork = advance(runtime, again, "another way")
    third_way = advance(runtime, rehydrate(runtime, first), "a third way")

    replay = advance(runtime, again, "another way")

    assert replay == fork
    assert len(third_way["recap"]["children"]) == 2


def test_other_content_with_a_used_ack_is_not_stored_and_says_so(runtime: Runtime) -> None:
    first = start(runtime)
    recorded = advance(runtime, first, "the true story")
    before = commits_of(runtime)

    reply = advance(runtime, first, "another story")

    assert [warning["code"] for warning in reply["warnings"]] == ["REPLAY_INPUT_MISMATCH"]
    assert {key: reply[key] for key in recorded} == recorded
    assert commits_of(runtime) == before
    assert "another story" not in json.dumps(rehydrate(runtime, reply))


@pytest.mark.promise("continue.rehydrate.pure")
def test_rehydrate_changes_nothing_and_returns_what_was_done(runtime: Runtime) -> None:
    second = advance(runtime, start(runtime), "first notes")
    third = advance(runtime, second, "second notes")
    before = commits_of(runtime)

    replies = [rehydrate(runtime, third) for _ in range(10)]

    assert commits_of(runtime) == before
    assert [entry["notes"] for entry in replies[0]["recap"]["entries"]] == ["first notes", "second notes"]
    assert [entry["stepId"] for entry in replies[0]["recap"]["entries"]] == ["first", "second"]
    assert replies[0]["recap"]["entries"][0]["_untrusted"] == ["notes"]
    assert replies[0]["pending"] == third["pending"]
    assert len({reply["ackToken"] for reply in replies}) == 10


@pytest.mark.promise("continue.fork")
def test_advancing_an_older_node_forks_and_tells_what_was_there(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first, "took the left path")
    advance(runtime, second, "and went on")

    rewound = rehydrate(runtime, first)
    fork = advance(runtime, rewound, "took the right path")

    assert fork["pending"]["stepId"] == "second"
    assert [child["notes"] for child in fork["recap"]["children"]] == ["took the left path"]
    assert [entry["notes"] for entry in fork["recap"]["downstream"]] == ["took the left path", "and went on"]
    shown = answer(runtime, "session.show", sessionId=first["session"]["sessionId"])
    assert shown["runs"][0]["fork_count"] == 1
    assert len(shown["runs"][0]["tips"]) == 2


@pytest.mark.promise("continue.branches")
def test_n_fresh_attempts_at_one_node_give_n_branches(runtime: Runtime) -> None:
    first = start(runtime)

    replies = [advance(runtime, rehydrate(runtime, first), f"way {number}") for number in range(7)]

    assert len({reply["stateToken"] for reply in replies}) == 7
    shown = answer(runtime, "session.show", sessionId=first["session"]["sessionId"])
    assert len(shown["runs"][0]["tips"]) == 7


def test_a_fork_never_sees_its_siblings_context(runtime: Runtime) -> None:
    from handrail.contract.ids import SessionId
    from handrail.engine.folding import fold
    from handrail.engine.history import context_at

    first = start(runtime, context={"ticket": "A-1", "depth": 1})
    left = advance(runtime, first, context={"path": "left", "depth": None})
    right = advance(runtime, rehydrate(runtime, first), context={"path": "right"})

    session_id = SessionId(first["session"]["sessionId"])
    loaded = runtime.log.load(session_id)
    assert loaded is not None
    history = fold(session_id, loaded.records)
    tips = {reply["stateToken"]: history.by_tag[reply["stateToken"][15:23]] for reply in (left, right)}
    assert context_at(history, tips[left["stateToken"]]) == {"ticket": "A-1", "path": "left"}
    assert context_at(history, tips[right["stateToken"]]) == {"ticket": "A-1", "depth": 1, "path": "right"}


@pytest.mark.promise("context.limits")
@pytest.mark.parametrize(
    ("context", "code"),
    [
        ({"__proto__": {}}, "VALIDATION_ERROR"),
        ({"constructor": 1}, "VALIDATION_ERROR"),
        ({"big": "x" * 300_000}, "CONTEXT_BUDGET_EXCEEDED"),
    ],
)
def test_context_that_cannot_be_kept_is_refused(
    runtime: Runtime, context: dict[str, object], code: str
) -> None:
    first = start(runtime)
    before = commits_of(runtime)

    at_start = refusal(runtime, "run.start", workflowId="project.three_steps", context=context)
    later = refusal(runtime, "run.continue", ackToken=first["ackToken"], context=context)

    assert (at_start.kind.code, later.kind.code) == (code, code)
    assert commits_of(runtime) == before


def test_long_notes_are_kept_whole_and_recaps_show_a_part(runtime: Runtime) -> None:
    notes = "ä" * 3_000  # 6 000 bytes
    reply = advance(runtime, start(runtime), notes)

    shown = rehydrate(runtime, reply)["recap"]["entries"][0]["notes"]

    assert [warning["code"] for warning in reply["warnings"]] == ["NOTES_TRUNCATED"]
    assert shown == "ä" * 2_048 + "\n\n[TRUNCATED]"
    from handrail.contract.ids import blob_ref

    assert runtime.log.get_blob(blob_ref(notes.encode())) == notes.encode()


def test_notes_over_the_limit_are_refused(runtime: Runtime) -> None:
    first = start(runtime)

    failure = refusal(
        runtime, "run.continue", ackToken=first["ackToken"], output={"notesMarkdown": "x" * 65_537}
    )

    assert failure.kind.code == "VALIDATION_ERROR"
    assert failure.details["problems"][0]["param"] == "output.notesMarkdown"
    assert advance(runtime, first, "x" * 65_536)["pending"]["stepId"] == "second"


@pytest.mark.promise("checkpoint.keeps-the-step")
def test_a_checkpoint_keeps_notes_and_the_pending_step(runtime: Runtime) -> None:
    first = start(runtime)
    call = {"checkpointToken": first["checkpointToken"], "output": {"notesMarkdown": "half way"}}

    saved = answer(runtime, "run.checkpoint", **call)
    again = answer(runtime, "run.checkpoint", **call)

    assert saved == again
    assert saved["pending"] == first["pending"]
    assert commits_of(runtime) == 2
    entry = rehydrate(runtime, saved)["recap"]["entries"][0]
    assert (entry["notes"], entry["isCheckpoint"]) == ("half way", True)
    assert advance(runtime, saved)["pending"]["stepId"] == "second"


@pytest.mark.promise("checkpoint.no-fork")
def test_an_ack_remembered_across_a_checkpoint_is_no_fork(runtime: Runtime) -> None:
    first = start(runtime)
    save(runtime, first, "saved by a hook")

    second = advance(runtime, first)

    assert "recap" not in second
    shown = answer(runtime, "session.show", sessionId=first["session"]["sessionId"])
    assert shown["runs"][0]["fork_count"] == 0


@pytest.mark.promise("ledger.version")
def test_ledger_moves_by_one_per_accepted_call(runtime: Runtime) -> None:
    def version(operation: str, **params: object) -> int:
        outcome = perform(runtime, operation, dict(params))
        assert isinstance(outcome, Success)
        assert outcome.ledger is not None
        return outcome.ledger.version

    first = start(runtime, requestId="ledger")
    ack = first["ackToken"]

    versions = [
        version("run.start", workflowId="project.three_steps", requestId="ledger"),
        version("run.continue", ackToken=ack),
        version("run.continue", ackToken=ack),
        version("run.continue", stateToken=first["stateToken"]),
        version("run.checkpoint", checkpointToken=first["checkpointToken"], output={}),
        version("run.continue", stateToken=first["stateToken"]),
        version("run.continue", ackToken=ack),
    ]

    assert versions == [1, 2, 2, 2, 3, 3, 2]
