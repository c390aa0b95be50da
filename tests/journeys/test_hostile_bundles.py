"""Every hostile bundle against import, its preview, and every reading command on the home afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Failure, Success
from handrail.event_log.files.log import FileLog
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.reading.command_table import COMMANDS
from tests.conformance.leaves import LEAVES
from tests.conformance.seeded import spelt
from tests.conftest import KeptIncidents, memory_runtime
from tests.hostile.bundles.bundles import REQUEST_ID, STEERING, Hostile, exploding_bundle, hostile_bundles
from tests.journeys.conversation import answer, start
from tests.journeys.interfaces import tool_call
from tests.surfaces.cli.here import run_here

SET = hostile_bundles()
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def victim(tmp_path: Path) -> tuple[Runtime, str]:
    """A home with work of its own."""
    runtime = msgspec.structs.replace(memory_runtime(), log=FileLog(str(tmp_path / "data")))
    own = start(runtime, goal="Own work", requestId="own")
    return runtime, str(own["session"]["sessionId"])


def stored(runtime: Runtime) -> set[str]:
    return {stamp.session_id for stamp in runtime.log.list_sessions()}


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def reads(session_id: str, run_id: str) -> list[list[str]]:
    """Lines that name the session, and the plain line of every other reading command."""
    named = [
        ["session", "list"],
        ["session", "list", "--query", "instructions"],
        ["session", "show", session_id],
        ["session", "show", session_id, "--run", run_id],
        ["session", "events", session_id],
        ["session", "events", session_id, "--limit", "3"],
        ["session", "resume"],
        ["session", "resume", session_id],
        ["session", "resume", "cache instructions"],
        ["session", "export", session_id],
        ["session", "export", session_id, "--as", "markdown"],
        ["session", "export", session_id, "--as", "html"],
        ["ledger", "show", run_id],
        ["ledger", "show", run_id, "--view", "state"],
        ["workflow", "list"],
        ["store", "verify"],
        ["store", "du"],
        ["store", "gc", "--older-than", "1", "--dangerous", "--dry-run"],
        ["session", "delete", "--ids", session_id, "--dangerous", "--dry-run"],
        ["settings", "show", "--preferences"],
        ["context"],
        ["doctor", "--offline"],
    ]
    names = {"SESSION_ID": session_id, "OTHER_ID": session_id, "RUN_ID": run_id}
    given = {" ".join(words[:2]) for words in named} | {words[0] for words in named}
    return named + [
        spelt(LEAVES[path].line, names)
        for path, row in COMMANDS.items()
        if row["effect"] == "read" and path in LEAVES and path not in given
        if "--store" not in LEAVES[path].line and not path.startswith("team ")  # there is no database here
    ]


def checked(runtime: Runtime, words: list[str]) -> bytes:
    """What a command prints: known trouble at most, and nothing that a terminal obeys."""
    ran = run_here(runtime, words)  # a defect fails the test
    if "--human" in words:
        assert not STEERS.search(ran.out.decode()), words
    else:
        document = json.loads(ran.out)
        assert document["ok"] or document["error"]["code"] != "E_USAGE", document
    return ran.out


@pytest.mark.parametrize("hostile", [one for one in SET if one.code], ids=lambda one: str(one.name))
@pytest.mark.thorough
def test_hostile_bundle_is_refused_and_nothing_is_stored(hostile: Hostile, tmp_path: Path) -> None:
    check_refused(hostile, tmp_path)


def check_refused(hostile: Hostile, tmp_path: Path) -> None:
    runtime, own = victim(tmp_path)
    before = files_in(tmp_path)
    text = hostile.text(runtime.workspace.account())
    given = {"source": "b.json", "text": text}

    for params in ({"dryRun": True}, {"dryRun": True, "part": "steps"}, {"confirm": "ct_x.y"}):
        outcome = perform(runtime, "session.import", {"bundle": given, **params})
        assert isinstance(outcome, Failure)
        assert outcome.kind.code == hostile.code, outcome.message
        assert len(outcome.message) <= 1024
        assert not STEERS.search(outcome.message + outcome.hint)

    assert stored(runtime) == {own}
    assert files_in(tmp_path) == before
    assert isinstance(runtime.incidents, KeptIncidents)
    assert runtime.incidents.tracebacks == []


@pytest.mark.thorough
@pytest.mark.parametrize("hostile", [one for one in SET if not one.code], ids=lambda one: str(one.name))
def test_imported_hostile_bundle_stays_marked_and_harmless(hostile: Hostile, tmp_path: Path) -> None:
    check_taken(hostile, tmp_path)


def test_exploding_contract_is_refused_or_read_in_bounds(tmp_path: Path) -> None:
    hostile = exploding_bundle()
    given = {"source": "b.json", "text": hostile.text("")}
    outcome = perform(memory_runtime(), "session.import", {"bundle": given, "dryRun": True})

    if isinstance(outcome, Failure):
        check_refused(hostile._replace(code="BUNDLE_INVALID_FORMAT"), tmp_path)
    else:
        check_taken(hostile, tmp_path)


def listed(runtime: Runtime) -> dict[str, str]:
    """Every session with where it came from; long texts fill a page early."""
    page = answer(runtime, "session.list")
    rows = list(page["items"])
    while page["has_more"]:
        page = answer(runtime, "session.list", cursor=page["next_cursor"])
        rows += page["items"]
    return {row["id"]: row["imported_from"] for row in rows}


def check_taken(hostile: Hostile, tmp_path: Path) -> None:
    runtime, own = victim(tmp_path)
    given = {"source": "b.json", "text": hostile.text(runtime.workspace.account())}

    path = tmp_path / "b.json"
    path.write_text(given["text"], encoding="utf-8")
    for more in ([], ["--part", "steps"], ["--human"], ["--part", "steps", "--human"]):
        checked(runtime, ["session", "import", str(path), "--dry-run", *more])
    shown = answer(runtime, "session.import", bundle=given, dryRun=True)
    made = answer(runtime, "session.import", bundle=given, confirm=shown["confirm_token"])["session_id"]

    (run,) = answer(runtime, "session.show", sessionId=made)["runs"]
    for words in reads(made, run["id"]):
        checked(runtime, words)
        checked(runtime, [*words, "--human"])
    rows = listed(runtime)
    assert rows[made] != ""
    assert rows[own] == ""
    assert answer(runtime, "session.show", sessionId=made)["imported"] is not None
    check_tools(runtime, made)
    check_start(runtime, made, own)


def check_tools(runtime: Runtime, made: str) -> None:
    """An agent that goes on with it is told first whose it is."""
    (candidate,) = answer(runtime, "session.resume", query=made)["items"]
    told = tool_call(runtime, "resume_session", query=made)
    reply = tool_call(runtime, "continue_workflow", **candidate["nextCall"]["params"])
    listed = tool_call(runtime, "list_workflows")
    inspected = tool_call(runtime, "inspect_workflow", workflowId="project.three_steps")
    assert candidate["importedFrom"] != ""
    for rendered in (told, reply, listed, inspected):
        assert not STEERS.search(rendered.text), rendered.text
    assert "imported" in reply.text.lower()
    ack = answer(runtime, "run.continue", **candidate["nextCall"]["params"]).get("ackToken")
    if ack:
        output = {"notesMarkdown": "on", "artifacts": [{"kind": "wr.loop_control", "decision": "stop"}]}
        gone_on = perform(runtime, "run.continue", {"ackToken": ack, "output": output})
        assert isinstance(gone_on, Success), gone_on
    assert isinstance(runtime.incidents, KeptIncidents)
    assert runtime.incidents.tracebacks == []


def check_start(runtime: Runtime, made: str, own: str) -> None:
    """No start is answered with it."""
    for request_id, expected in ((REQUEST_ID, None), ("own", own)):
        params: dict[str, Any] = {"workflowId": "project.three_steps", "requestId": request_id}
        begun = perform(runtime, "run.start", {**params, "goal": "Own work"})
        assert isinstance(begun, Success), begun
        payload = payload_of(begun)
        assert isinstance(payload, dict)
        session_id = payload["session"]["sessionId"]
        assert session_id != made
        assert expected in (None, session_id)


def test_a_bundle_under_a_taken_id_comes_in_under_another(tmp_path: Path) -> None:
    """The hostile one is imported first, then the honest one of the same id, and the other way round."""
    steering = next(one for one in SET if one.name == "steering").text("")
    honest = next(one for one in SET if one.name == "far-future").text("")
    runtime, own = victim(tmp_path)
    made = []

    for text in (steering, honest, steering, honest):
        given = {"source": "b.json", "text": text}
        shown = answer(runtime, "session.import", bundle=given, dryRun=True)
        made.append(
            answer(runtime, "session.import", bundle=given, confirm=shown["confirm_token"])["session_id"]
        )

    assert json.loads(steering)["session"]["sessionId"] == json.loads(honest)["session"]["sessionId"]
    assert made[0] != made[1]
    assert made[2:] == made[:2]
    assert stored(runtime) == {own, *made}
    assert STEERING not in json.dumps(answer(runtime, "session.show", sessionId=made[1]))
