"""A session whose log is damaged: read up to the proven point, said so, and no more work is taken."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from handrail.contract.outcome import NextCall
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.hook import answer_hook
from handrail.surfaces.mcp.resources import list_resources, read_resource
from handrail.surfaces.mcp.results import Rendered
from handrail.wiring import build_runtime
from tests.conftest import GivenSettings, KeptIncidents
from tests.journeys.conversation import advance, answer, refusal, rehydrate, save, start
from tests.journeys.interfaces import command, tool_call
from tests.journeys.test_on_disk import disk_runtime, every_byte
from tests.surfaces.cli.here import run_here

__all__ = ["disk_runtime"]


def flip_last_event(home: str, session_id: str) -> None:
    """Change one letter inside the newest event."""
    (events,) = sorted((Path(home) / "data" / "sessions" / session_id).glob("events-*.jsonl"))[-1:]
    content = events.read_bytes()
    place = content.rindex(b"second notes")
    os.chmod(events, 0o600)
    events.write_bytes(content[:place] + b"SECOND" + content[place + 6 :])


def helping(session_id: str) -> NextCall:
    """The call that tells what is wrong with a session."""
    return NextCall(operation="store.verify", params={"ids": [session_id], "reportOnly": True})


@pytest.mark.promise("store.unsound")
def test_damaged_session_is_read_to_its_proven_point(disk_runtime: Runtime, home: str) -> None:
    second = advance(disk_runtime, start(disk_runtime), "first notes")
    third = advance(disk_runtime, second, "second notes")
    session_id = third["session"]["sessionId"]
    flip_last_event(home, session_id)
    before = every_byte(home)
    fresh = build_runtime({"USER": "tester"}, home=home)

    shown = answer(fresh, "session.show", sessionId=session_id)
    read = rehydrate(fresh, second)
    refused = refusal(fresh, "run.continue", ackToken=read.get("ackToken", second["ackToken"]))
    found = answer(fresh, "session.resume", query=session_id)

    assert shown["health"]["state"] == "corrupt_tail"
    assert [entry["notes"] for entry in read["recap"]["entries"]] == ["first notes"]
    assert read["nextIntent"] == "rehydrate_only"
    assert refused.kind.code == "SESSION_NOT_HEALTHY"
    assert refused.details["session_id"] == session_id
    assert found["items"] == []
    assert f"{session_id} is damaged and left out" in found["scope"]
    assert refused.next_call == helping(session_id)
    assert every_byte(home) == before


@pytest.mark.promise("store.unsound")
def test_a_session_whose_every_event_is_lost_is_not_called_empty(disk_runtime: Runtime, home: str) -> None:
    first = start(disk_runtime)
    session_id = first["session"]["sessionId"]
    (events,) = (Path(home) / "data" / "sessions" / session_id).glob("events-*.jsonl")
    content = events.read_bytes()
    events.write_bytes(content[:40].replace(b"{", b"[") + content[40:])
    fresh = build_runtime({"USER": "tester"}, home=home)

    shown = answer(fresh, "session.show", sessionId=session_id)
    refused = refusal(fresh, "run.continue", stateToken=first["stateToken"])
    told = answer(fresh, "session.export", sessionId=session_id, **{"as": "markdown", "salvage": True})

    assert (shown["status"], shown["event_count"]) == ("unreadable", 0)
    assert refused.kind.code == "STORE_HISTORY_LOST"
    assert refused.next_call == helping(session_id)
    assert "Nothing in this session can be proven" in told["content"]
    assert "Nothing was started" not in told["content"]


@pytest.mark.promise("store.unsound")
def test_an_id_that_is_nowhere_is_told_apart_from_damage(disk_runtime: Runtime) -> None:
    start(disk_runtime)

    found = answer(disk_runtime, "session.resume", query="ses_000000000000")

    assert (found["items"], found["scope"]) == ([], "no session of this store has that id")


@pytest.mark.parametrize("damage", ["a letter in place", "its end cut off", "a letter of the manifest"])
def test_running_server_notices_damage_and_takes_no_work(
    disk_runtime: Runtime, home: str, damage: str
) -> None:
    first = start(disk_runtime)
    second = advance(disk_runtime, first, "first notes")
    session_id = first["session"]["sessionId"]
    directory = Path(home) / "data" / "sessions" / session_id
    if damage == "a letter of the manifest":
        path, found, put = directory / "manifest.jsonl", b'"first":0', b'"first":1'
    else:
        path, found, put = directory / "events-000001.jsonl", b"first notes", b"FIRST notes"
    content = path.read_bytes()
    is_cut = damage == "its end cut off"
    path.write_bytes(content[:-40] if is_cut else content.replace(found, put, 1))
    before = every_byte(home)

    read = tool_call(disk_runtime, "continue_workflow", stateToken=first["stateToken"])
    taken = tool_call(disk_runtime, "continue_workflow", ackToken=second["ackToken"])
    joined = tool_call(disk_runtime, "start_workflow", workflowId="project.three_steps", session=session_id)

    if damage == "a letter of the manifest":  # not even the first event is proven
        assert read.structured["code"] == "STORE_HISTORY_LOST"
    else:
        assert read.structured["warnings"][0]["code"] == "SESSION_UNSOUND"
        assert "ackToken" not in read.structured
    assert taken.structured["code"] in ("STORE_HISTORY_LOST", "SESSION_NOT_HEALTHY")
    assert joined.structured["code"] == "SESSION_NOT_HEALTHY"
    for refused in (taken, joined):
        assert f"handrail store verify --ids {session_id} --report-only" in refused.text
    assert every_byte(home) == before


def test_server_goes_on_after_the_files_were_put_back(
    disk_runtime: Runtime, home: str, tmp_path: Path
) -> None:
    second = advance(disk_runtime, start(disk_runtime), "first notes")
    other = reopened(home, tmp_path)
    third = advance(other, second, "second notes")
    path = Path(home) / "data" / "sessions" / second["session"]["sessionId"] / "events-000001.jsonl"
    content = path.read_bytes()

    assert rehydrate(disk_runtime, third)["pending"] == third["pending"]
    path.write_bytes(content.replace(b"first notes", b"FIRST notes"))
    refused = refusal(disk_runtime, "run.continue", ackToken=third["ackToken"])
    path.write_bytes(content)
    fourth = advance(disk_runtime, third, "third notes")

    assert refused.kind.code == "SESSION_NOT_HEALTHY"
    assert fourth["kind"] == "ok"
    assert rehydrate(reopened(home, tmp_path), fourth)["pending"] == fourth["pending"]


class Damaged(NamedTuple):
    """A session whose newest event is damaged, as a fresh process meets it."""

    runtime: Runtime
    session_id: str
    first: dict[str, Any]
    second: dict[str, Any]


def reopened(home: str, tmp_path: Path) -> Runtime:
    """The store as the next process opens it, in the same project."""
    environment = {"HANDRAIL_PROJECT": str(tmp_path / "project"), "USER": "tester"}
    return msgspec.structs.replace(build_runtime(environment, home=home), incidents=KeptIncidents())


@pytest.fixture
def damaged(disk_runtime: Runtime, home: str, tmp_path: Path) -> Damaged:
    first = start(disk_runtime, requestId="once")
    second = advance(disk_runtime, first, "first notes")
    advance(disk_runtime, second, "second notes")
    session_id = first["session"]["sessionId"]
    flip_last_event(home, session_id)
    return Damaged(reopened(home, tmp_path), session_id, first, second)


BANNER = "This session is damaged (corrupt_tail, digest_mismatch): its first"


def check_reply(session_id: str, rendered: Rendered) -> None:
    """The warning comes first in both forms, nothing in it can be used to write, and something helps."""
    reply = rendered.structured
    assert next(iter(reply)) == "warnings"
    assert reply["warnings"][0]["code"] == "SESSION_UNSOUND"
    assert reply["warnings"][0]["details"]["health"] == "corrupt_tail"
    assert reply["warnings"][0]["details"]["commands"] == [
        f"handrail store verify --ids {session_id} --report-only",
        f"handrail session export {session_id} --salvage --out FILE",
    ]
    assert rendered.text.startswith(f"Warning SESSION_UNSOUND: {BANNER}")
    assert f"handrail store verify --ids {session_id}" in rendered.text
    assert not {"ackToken", "retryAckToken", "checkpointToken"} & set(reply)
    assert reply["nextCall"] is None
    assert re.findall(r"\b(?:ak|ck|ch)1", rendered.text) == []  # inside a token any letters may stand


def test_reply_of_a_damaged_session_says_so_without_a_token(damaged: Damaged) -> None:
    runtime, session_id, first, second = damaged
    notes = {"notesMarkdown": "first notes"}

    read = tool_call(runtime, "continue_workflow", stateToken=second["stateToken"])
    replayed = tool_call(runtime, "continue_workflow", ackToken=first["ackToken"], output=notes)
    begun = tool_call(runtime, "start_workflow", workflowId="project.three_steps", requestId="once")
    human = run_here(runtime, ("run", "continue", "--state", second["stateToken"], "--human"))
    status, document = command(runtime, "run", "continue", "--state", second["stateToken"])

    for rendered in (read, replayed, begun):
        check_reply(session_id, rendered)
    assert human.out.decode().startswith("Warning: This session is damaged")
    assert "--ack" not in human.out.decode()
    assert status == 0
    assert next(iter(document["data"])) == "warnings"


def test_report_without_an_ack_gets_none_when_damaged(damaged: Damaged) -> None:
    refused = refusal(
        damaged.runtime,
        "run.continue",
        stateToken=damaged.second["stateToken"],
        output={"notesMarkdown": "more"},
    )

    assert refused.kind.code == "SESSION_NOT_HEALTHY"
    assert refused.next_call == helping(damaged.session_id)


@pytest.mark.thorough
def test_every_other_read_says_that_the_session_is_damaged(damaged: Damaged) -> None:
    runtime, session_id, first, _ = damaged
    run_id = first["session"]["runId"]

    shown = answer(runtime, "session.show", sessionId=session_id)
    events = answer(runtime, "session.events", sessionId=session_id)
    (listed,) = answer(runtime, "session.list")["items"]
    resumed = tool_call(runtime, "resume_session", query=session_id)
    ledger = refusal(runtime, "ledger.show", runId=run_id)
    exported = refusal(runtime, "session.export", sessionId=session_id)
    report = answer(runtime, "session.export", sessionId=session_id, **{"as": "markdown"})
    resource = read_resource(runtime, f"handrail://sessions/{session_id}").text
    rows = {row["name"]: row["description"] for row in list_resources(runtime, None)["resources"]}
    _, preferences = command(runtime, "settings", "show", "--preferences", "--session", session_id)

    assert shown["health"]["banner"].startswith(BANNER)
    assert events["banner"].startswith(BANNER)
    assert listed["health"] == "corrupt_tail"
    assert f"{session_id} is damaged and left out" in resumed.text
    assert [failure.kind.code for failure in (ledger, exported)] == ["SESSION_NOT_HEALTHY"] * 2
    assert "This session is damaged" in report["content"]
    assert resource.splitlines()[2].startswith(BANNER)
    assert "Continue:" not in resource
    assert rows[session_id].startswith("damaged (corrupt_tail)")
    assert preferences["meta"]["notices"][0]["type"] == "session_unsound"


def test_console_readers_say_that_a_session_is_damaged(damaged: Damaged) -> None:
    runtime, session_id, _, _ = damaged
    graph = answer(runtime, "run.graph", sessionId=session_id)
    pair = {"one": graph["preferred_tip"], "other": graph["preferred_tip"]}

    readers = [
        graph,
        answer(runtime, "session.timeline", sessionId=session_id),
        answer(runtime, "run.compare", sessionId=session_id, **pair),
    ]
    hits = answer(runtime, "session.search", query="first notes")
    unfound = answer(runtime, "session.search", query="second notes")
    gaps = answer(runtime, "session.gaps")
    status, smallest = command(runtime, "session", "show", "--graph", session_id, "--mvi", "minimal")

    for reader in readers:
        assert reader["health"] == "corrupt_tail"
        assert reader["banner"].startswith(BANNER)
        assert f"handrail store verify --ids {session_id}" in reader["banner"]
    assert (graph["resume_prompt"], graph["waiting"]) == ("", [])
    assert (status, smallest["data"]["health"]) == (0, "corrupt_tail")
    told = f"all sessions of this store; {session_id} is damaged and read only as far as proven (a person"
    for search in (hits, unfound, gaps):
        assert search["scope"].startswith(told)
    assert [hit["health"] for hit in hits["items"]] == ["corrupt_tail"]
    assert (unfound["items"], gaps["items"]) == ([], [])


@pytest.mark.parametrize(
    "words",
    [
        ("session", "show"),
        ("session", "events"),
        ("session", "show", "--timeline"),
        ("session", "show", "--graph"),
    ],
)
def test_people_read_of_the_damage_and_what_helps(damaged: Damaged, words: tuple[str, ...]) -> None:
    out = run_here(damaged.runtime, (*words, damaged.session_id, "--human")).out.decode()

    read = " ".join(out.split())
    assert BANNER in read
    assert f"handrail store verify --ids {damaged.session_id} --report-only" in read
    assert "Continue it" not in read


def test_a_hook_names_the_damaged_session_of_its_project(damaged: Damaged) -> None:
    runtime = damaged.runtime

    started = answer_hook(lambda: runtime, "SessionStart", b"{}", lambda _: 0)
    compacted = answer_hook(lambda: runtime, "PreCompact", b"{}", lambda _: 0)

    assert f"damaged here and not to be continued: session {damaged.session_id}" in started.out
    assert f"handrail store verify --ids {damaged.session_id}" in started.out
    assert damaged.session_id in compacted.note


def test_damaged_session_without_a_run_takes_no_notes(
    disk_runtime: Runtime, home: str, tmp_path: Path
) -> None:
    settings = GivenSettings()
    settings.settings = msgspec.structs.replace(settings.settings, start_session=True)
    allowed = msgspec.structs.replace(disk_runtime, settings=settings)
    begun = answer(allowed, "session.start", goal="keep notes", requestId="notes")
    noted = save(allowed, begun, "second notes")
    flip_last_event(home, begun["session"]["sessionId"])

    rendered = tool_call(reopened(home, tmp_path), "continue_workflow", stateToken=begun["sessionToken"])

    check_reply(begun["session"]["sessionId"], rendered)
    assert noted["nextCall"] is not None
