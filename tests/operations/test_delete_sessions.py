"""Deleting sessions on a real disk: shown first, done once, never a session that grew meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.catalogue import STORE_IO_ERROR
from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Fault, Success
from handrail.event_log.files.upkeep.keeper import FileKeeper
from handrail.operations.store import delete_sessions
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.operations.asked import answered, refused


@pytest.fixture
def rt(home: str) -> Runtime:
    return build_runtime({}, home=home)


def started(rt: Runtime, key: str) -> Any:
    return answered(rt, "run.start", workflowId="wr.small_change", requestId=key)


def session(rt: Runtime, key: str) -> str:
    session_id: str = started(rt, key)["session"]["sessionId"]
    return session_id


def stored(rt: Runtime) -> set[str]:
    return {item["id"] for item in answered(rt, "session.list")["items"]}


def token_of(rt: Runtime, *ids: str, **more: Any) -> str:
    shown = answered(rt, "session.delete", ids=list(ids), dangerous=True, dryRun=True, **more)
    token: str = shown["confirm_token"]
    return token


@pytest.mark.promise("cli.batch-preview")
def test_preview_names_each_session_and_removes_none(rt: Runtime) -> None:
    first, second = session(rt, "a"), session(rt, "b")

    preview = answered(rt, "session.delete", ids=[second, first], dangerous=True, dryRun=True)["preview"]

    assert preview["targets"] == [second, first]
    assert [change["action"] for change in preview["changes"]] == ["delete", "delete"]
    assert all(change["before"]["size_bytes"] > 0 for change in preview["changes"])
    assert stored(rt) == {first, second}


@pytest.mark.promise("cli.what-is-left")
def test_preview_proposed_by_a_used_token_says_nothing_is_left(rt: Runtime) -> None:
    first = session(rt, "a")
    token = token_of(rt, first)
    answered(rt, "session.delete", ids=[first], dangerous=True, confirm=token)

    used = refused(rt, "session.delete", ids=[first], dangerous=True, confirm=token)
    assert used.next_call is not None
    left = refused(rt, used.next_call.operation, **used.next_call.params)

    assert used.details["reason"] == "already_used"
    assert (left.kind.code, left.details["id"]) == ("E_NOT_FOUND", first)


@pytest.mark.promise("cli.spelling-no-scope")
def test_session_named_twice_is_one_target(rt: Runtime) -> None:
    first, second = session(rt, "a"), session(rt, "b")
    token = token_of(rt, first, second)

    done = answered(rt, "session.delete", ids=[first, second, first], dangerous=True, confirm=token)

    assert done["summary"]["succeeded"] == 2
    assert stored(rt) == set()


@pytest.mark.promise("cli.batch-token")
def test_the_token_and_the_word_remove_exactly_what_was_shown(rt: Runtime) -> None:
    first, second = session(rt, "a"), session(rt, "b")

    done = answered(rt, "session.delete", ids=[first], dangerous=True, confirm=token_of(rt, first))

    assert done["items"] == [{"target": first, "ok": True}]
    assert done["summary"] == {"total": 1, "succeeded": 1, "failed": 0, "skipped": 0}
    assert done["bytes_freed"] > 0
    assert stored(rt) == {second}


def test_a_token_of_a_removed_session_is_answered_as_unknown(rt: Runtime) -> None:
    reply = started(rt, "a")
    name = reply["session"]["sessionId"]
    answered(rt, "session.delete", ids=[name], dangerous=True, confirm=token_of(rt, name))

    assert refused(rt, "run.continue", ackToken=reply["ackToken"]).kind.code == "TOKEN_UNKNOWN_NODE"


@pytest.mark.promise("cli.dangerous")
@pytest.mark.parametrize("given", [{"dryRun": True}, {}, {"dangerous": False}])
def test_without_the_word_nothing_is_shown_or_removed(rt: Runtime, given: dict[str, Any]) -> None:
    name = session(rt, "a")

    failure = refused(rt, "session.delete", ids=[name], **given)

    assert (failure.kind.exit_status, failure.details["missing"]) == (5, "dangerous")
    assert failure.next_call is not None
    assert failure.next_call.params == {"ids": [name], "dangerous": True, "dryRun": True}


@pytest.mark.promise("cli.dangerous")
def test_a_token_without_the_word_stays_good(rt: Runtime) -> None:
    name = session(rt, "a")
    token = token_of(rt, name)
    refused(rt, "session.delete", ids=[name], confirm=token)

    answered(rt, "session.delete", ids=[name], dangerous=True, confirm=token)

    assert stored(rt) == set()


@pytest.mark.promise("cli.token-version")
def test_a_session_that_grew_since_the_preview_stays(rt: Runtime) -> None:
    reply = started(rt, "a")
    name = reply["session"]["sessionId"]
    token = token_of(rt, name)
    answered(rt, "run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": "more"})

    failure = refused(rt, "session.delete", ids=[name], dangerous=True, confirm=token)

    assert failure.details["reason"] == "target_changed"
    assert stored(rt) == {name}


def test_a_delete_that_lost_its_race_is_a_failure(rt: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session changes after the token was checked, before it is removed."""
    name = session(rt, "a")
    token = token_of(rt, name)
    monkeypatch.setattr(FileKeeper, "remove_session", lambda *_: None)

    failure = refused(rt, "session.delete", ids=[name], dangerous=True, confirm=token)

    assert failure.kind.code == "E_CONFLICT"
    assert stored(rt) == {name}


@pytest.mark.promise("cli.batch-preview")
def test_another_set_of_targets_needs_another_token(rt: Runtime) -> None:
    first, second = session(rt, "a"), session(rt, "b")

    failure = refused(rt, "session.delete", ids=[first, second], dangerous=True, confirm=token_of(rt, first))

    assert failure.details["reason"] == "arguments_changed"


@pytest.mark.promise("cli.batch-preview")
@pytest.mark.parametrize("goes_on", [{}, {"continueOnError": False}, {"continueOnError": True}])
def test_preview_shows_what_the_confirmed_call_deletes(rt: Runtime, goes_on: dict[str, bool]) -> None:
    first, last = session(rt, "a"), session(rt, "b")
    call = {"ids": [first, "ses_000000000000", last], "dangerous": True, **goes_on}

    shown = answered(rt, "session.delete", **call, dryRun=True)
    done = answered(rt, "session.delete", **call, confirm=shown["confirm_token"])

    foretold = {change["id"] for change in shown["preview"]["changes"] if change["action"] == "delete"}
    assert foretold == {first, last} - stored(rt) == {item["target"] for item in done["items"] if item["ok"]}
    assert f"{len(foretold)} of 3 named sessions" in shown["preview"]["blast_radius"]
    assert foretold == {first, last}


@pytest.mark.promise("cli.batch-preview")
def test_preview_names_its_targets_at_every_level(rt: Runtime) -> None:
    ids = [session(rt, "a"), session(rt, "b")]

    told = perform(rt, "session.delete", {"ids": ids, "dangerous": True, "dryRun": True}, Ask(mvi="minimal"))

    assert isinstance(told, Success)
    assert isinstance(told.data, dict)
    preview = told.data["preview"]
    assert preview["targets"] == ids
    assert [(one["action"], one["id"]) for one in preview["changes"]] == [
        ("delete", ids[0]),
        ("delete", ids[1]),
    ]
    assert told.data["confirm_token"]


@pytest.mark.promise("cli.batch-items")
def test_unknown_ids_fail_alone(rt: Runtime) -> None:
    name = session(rt, "a")
    ids = ["ses_000000000000", "nonsense", name]

    goes_on = {"dangerous": True, "continueOnError": True}
    preview = answered(rt, "session.delete", ids=ids, **goes_on, dryRun=True)["preview"]
    token = token_of(rt, *ids, continueOnError=True)
    done = answered(rt, "session.delete", ids=ids, dangerous=True, continueOnError=True, confirm=token)

    assert [change["action"] for change in preview["changes"]] == ["none", "none", "delete"]
    assert [item["ok"] for item in done["items"]] == [False, False, True]
    assert done["items"][0]["error"]["code"] == "E_NOT_FOUND"


@pytest.mark.promise("cli.batch-stops")
def test_a_dangerous_batch_stops_at_the_first_failure_by_default(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [session(rt, "a"), session(rt, "b")]
    token = token_of(rt, *ids)
    monkeypatch.setattr(delete_sessions, "remove_session", _refused)

    done = answered(rt, "session.delete", ids=ids, dangerous=True, confirm=token)

    assert (done["summary"]["failed"], done["skipped"]) == (1, [ids[1]])
    assert stored(rt) == set(ids)


def _refused(*_: object) -> int:
    raise Fault(STORE_IO_ERROR, "The disk refused it.")


@pytest.mark.promise("cli.batch-none")
def test_delete_of_nothing_is_invalid(rt: Runtime) -> None:
    none = refused(rt, "session.delete", ids=[], dangerous=True, dryRun=True)
    unknown = refused(rt, "session.delete", ids=["ses_000000000000"], dangerous=True, dryRun=True)

    assert none.kind.exit_status == 2
    assert (unknown.kind.code, unknown.kind.exit_status) == ("E_NOT_FOUND", 3)


def test_the_same_id_twice_is_one_target(rt: Runtime) -> None:
    name = session(rt, "a")

    preview = answered(rt, "session.delete", ids=[name, name], dangerous=True, dryRun=True)["preview"]

    assert (preview["total"], preview["targets"]) == (1, [name])
