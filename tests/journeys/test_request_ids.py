"""A request id is a promise of one store in one project; no bundle and no other project answers it."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from handrail.contract.outcome import Failure
from handrail.host.workspace import LocalWorkspace
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.journeys.conversation import answer, rehydrate, start
from tests.journeys.given_workflows import give, step
from tests.journeys.test_moving_sessions import exported, imported


def test_the_same_request_id_in_another_project_is_another_run(runtime: Runtime) -> None:
    workflow = give(runtime, step("one"))

    here = start(runtime, workflowId=workflow, requestId="one", project="/here")
    there = start(runtime, workflowId=workflow, requestId="one", project="/there")
    again = start(runtime, workflowId=workflow, requestId="one", project="/here")

    assert here["session"] != there["session"]
    assert again["session"] == here["session"]
    assert again["ackToken"] == here["ackToken"]


def test_a_repeat_is_answered_although_its_project_is_gone(runtime: Runtime, tmp_path: Path) -> None:
    place = tmp_path / "gone"
    place.mkdir()
    there = replace(runtime, workspace=LocalWorkspace({"HOME": str(tmp_path)}))
    workflow = give(runtime, step("one"))
    first = start(there, workflowId=workflow, requestId="one", project=str(place))
    place.rmdir()

    again = start(there, workflowId=workflow, requestId="one", project=str(place))
    other = perform(there, "run.start", {"workflowId": workflow, "requestId": "two", "project": str(place)})

    assert (again["session"], again["ackToken"]) == (first["session"], first["ackToken"])
    assert isinstance(other, Failure)
    assert "does not exist" in other.message


def test_a_request_id_never_answers_with_an_imported_run(runtime: Runtime) -> None:
    elsewhere = memory_runtime()  # with the same key, as if a backup came back
    workflow = give(elsewhere, step("one"))
    first = start(elsewhere, workflowId=workflow, requestId="one")["session"]["sessionId"]
    assert give(runtime, step("one")) == workflow
    back = imported(runtime, exported(elsewhere, first))

    again = start(runtime, workflowId=workflow, requestId="one")
    once_more = start(runtime, workflowId=workflow, requestId="one")

    assert back["session_id"] == first
    assert again["session"]["sessionId"] != first
    assert once_more["session"] == again["session"]
    assert again.get("warnings", []) == []


def test_every_reply_of_an_imported_session_begins_with_that(runtime: Runtime) -> None:
    elsewhere = memory_runtime()
    workflow = give(elsewhere, step("one"), step("two"))
    session_id = start(elsewhere, workflowId=workflow)["session"]["sessionId"]

    imported(runtime, exported(elsewhere, session_id))
    found = answer(runtime, "session.resume", query=session_id)["items"][0]
    read = rehydrate(runtime, found["nextCall"]["params"])
    moved = answer(runtime, "run.continue", ackToken=read["ackToken"], output={"notesMarkdown": "x"})
    again = answer(runtime, "run.continue", ackToken=read["ackToken"], output={"notesMarkdown": "x"})

    assert found["importedFrom"] == session_id
    assert [one["warnings"][0]["code"] for one in (read, moved, again)] == ["SESSION_IMPORTED"] * 3
    assert moved["warnings"][0]["details"]["sourceSessionId"] == session_id
    assert moved == again


def test_bundle_of_a_session_that_moved_on_comes_in_as_new(runtime: Runtime) -> None:
    elsewhere = memory_runtime()
    workflow = give(elsewhere, step("one"), step("two"))
    session_id = start(elsewhere, workflowId=workflow)["session"]["sessionId"]
    text = exported(elsewhere, session_id)
    first = imported(runtime, text)
    untouched = imported(runtime, text)
    found = answer(runtime, "session.resume", query=session_id)["items"][0]
    read = rehydrate(runtime, found["nextCall"]["params"])
    answer(runtime, "run.continue", ackToken=read["ackToken"], output={"notesMarkdown": "x"})

    bundle = {"source": "b.json", "text": text}
    shown = answer(runtime, "session.import", bundle=bundle, dryRun=True)
    second = imported(runtime, text)

    assert (untouched["is_imported"], untouched["session_id"]) == (False, first["session_id"])
    assert (second["is_imported"], second["session_id"] != first["session_id"]) == (True, True)
    assert "work went on there" in shown["preview"]["blast_radius"]
    assert "No request id leads to it" in shown["preview"]["blast_radius"]


def test_every_import_as_new_is_a_new_session(runtime: Runtime) -> None:
    workflow = give(runtime, step("one"))
    text = exported(runtime, start(runtime, workflowId=workflow)["session"]["sessionId"])

    made = [imported(runtime, text, asNew=True) for _ in range(3)]

    assert [one["is_imported"] for one in made] == [True] * 3
    assert len({one["session_id"] for one in made}) == 3
