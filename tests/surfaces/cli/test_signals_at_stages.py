"""A signal at each stage of a write: nothing was done and that is said, or the true success is told."""

from __future__ import annotations

import json
import os
import signal

import pytest

from handrail.runtime.operation import StreamItem
from handrail.surfaces.cli.process import Process
from handrail.surfaces.cli.rendering.render import Rendered
from handrail.surfaces.cli.run import _Caller, _deliver_stream
from tests.surfaces.cli.stages import Blocked
from tests.surfaces.cli.tool import Tool, checked_document, strict_json

pytestmark = pytest.mark.thorough

SIGNALS = [signal.SIGINT, signal.SIGTERM]
RESOLVE = ("handrail.operations.store.rotate_keys", "_plan", 0)
CLAIM = ("handrail.host.process:ConfirmedTokenFiles", "claim", 0)
BEFORE_WRITE = ("handrail.runtime.write_permission", "check_expiry", 0)
WRITE = ("handrail.host.keyring:FileKeyring", "rotate", 0)
AUDIT = ("handrail.host.process:AuditFiles", "record", 0)
DELIVERY = ("handrail.surfaces.cli.run", "_deliver", 0)
REMOVE_SECOND = ("handrail.event_log.files.upkeep.keeper:FileKeeper", "remove_session", 1)
REMOVE_LAST = ("handrail.event_log.files.upkeep.keeper:FileKeeper", "remove_session", 2)
SWEEP = ("handrail.event_log.files.upkeep.keeper:FileKeeper", "remove", 0)
FIRST_PAUSE = ("handrail.surfaces.cli.process:Process", "pause", 0)
SECOND_MODE = ("handrail.engine.simulation.simulate", "ModeWalked", 1)


def keyring(tool: Tool) -> bytes:
    with open(os.path.join(tool.home, "data", "keys", "keyring.json"), "rb") as file:
        return file.read()


def claims(tool: Tool) -> int:
    directory = os.path.join(tool.home, "confirm-consumed")
    return len(os.listdir(directory)) if os.path.isdir(directory) else 0


def token(tool: Tool, *line: str) -> str:
    shown: str = tool.data(*line, "--dry-run")["confirm_token"]
    return shown


@pytest.mark.promise("cli.claim-first")
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    ("stage", "is_claimed"),
    [(RESOLVE, False), (CLAIM, True), (BEFORE_WRITE, True)],
    ids=["resolve", "claim", "before"],
)
def test_signal_before_the_write_changes_nothing(
    fresh_tool: Tool, number: signal.Signals, stage: tuple[str, str, int], is_claimed: bool
) -> None:
    confirm = token(fresh_tool, "keys", "rotate")
    before = keyring(fresh_tool)

    call = Blocked(fresh_tool, stage, "keys", "rotate", "--confirm", confirm)
    call.send(number)
    ran = call.end()

    error = checked_document(ran)["error"]
    assert (ran.status, error["code"], error["details"]["committed"]) == (130, "E_INTERRUPTED", False)
    assert keyring(fresh_tool) == before
    assert claims(fresh_tool) == int(is_claimed)
    repeated = fresh_tool.run("keys", "rotate", "--confirm", confirm)
    assert repeated.status == (6 if is_claimed else 0)


@pytest.mark.promise("cli.interrupted")
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("stage", [WRITE, AUDIT], ids=["write", "after"])
def test_from_the_write_on_the_true_success_is_told(
    fresh_tool: Tool, number: signal.Signals, stage: tuple[str, str, int]
) -> None:
    confirm = token(fresh_tool, "keys", "rotate")
    before = keyring(fresh_tool)

    call = Blocked(fresh_tool, stage, "keys", "rotate", "--confirm", confirm)
    call.send(number)
    ran = call.end()

    assert ran.status == 0
    assert checked_document(ran)["data"]["key_count"] == 2
    assert keyring(fresh_tool) != before


@pytest.mark.promise("cli.interrupted")
@pytest.mark.parametrize("number", [*SIGNALS, signal.SIGALRM])
def test_built_answer_is_given_whatever_signal_comes(fresh_tool: Tool, number: signal.Signals) -> None:
    call = Blocked(fresh_tool, DELIVERY, "workflow", "list")
    call.send(number)
    ran = call.end()

    assert ran.status == 0
    assert checked_document(ran)["data"]["items"] != []


def test_a_second_signal_ends_the_call_at_once_with_an_envelope(fresh_tool: Tool) -> None:
    confirm = token(fresh_tool, "keys", "rotate")

    call = Blocked(fresh_tool, WRITE, "keys", "rotate", "--confirm", confirm)
    call.send(signal.SIGINT)
    call.send(signal.SIGTERM)
    ran = call.end()

    error = strict_json(ran.out)["error"]
    assert (ran.status, error["code"], error["details"]["committed"]) == (130, "E_INTERRUPTED", None)


def started(tool: Tool, count: int) -> list[str]:
    replies = [tool.data("run", "start", "wr.small_change", "--request-id", f"k{n}") for n in range(count)]
    return [reply["session"]["sessionId"] for reply in replies]


def stored(tool: Tool) -> set[str]:
    return {item["id"] for item in tool.data("session", "list")["items"]}


@pytest.mark.promise("cli.batch-ended")
def test_batch_ends_between_targets_and_says_which_are_done(fresh_tool: Tool) -> None:
    ids = started(fresh_tool, 3)
    line = ["session", "delete", "--ids", ",".join(ids), "--dangerous"]
    confirm = token(fresh_tool, *line)

    call = Blocked(fresh_tool, REMOVE_SECOND, *line, "--confirm", confirm)
    call.send(signal.SIGTERM)
    ran = call.end()

    details = checked_document(ran)["error"]["details"]
    assert ran.status == 130
    assert [(item["target"], item["ok"]) for item in details["items"]] == [(ids[0], True), (ids[1], True)]
    assert (details["skipped"], details["committed"]) == ([ids[2]], True)
    assert stored(fresh_tool) == {ids[2]}


@pytest.mark.parametrize("stage", [REMOVE_LAST, SWEEP], ids=["last", "afterwards"])
def test_a_signal_during_or_after_the_last_target_is_a_success(
    fresh_tool: Tool, stage: tuple[str, str, int]
) -> None:
    ids = started(fresh_tool, 3)
    line = ["session", "delete", "--ids", ",".join(ids), "--dangerous"]
    confirm = token(fresh_tool, *line)

    call = Blocked(fresh_tool, stage, *line, "--confirm", confirm)
    call.send(signal.SIGINT)
    ran = call.end()

    assert checked_document(ran)["data"]["summary"]["succeeded"] == 3
    assert stored(fresh_tool) == set()


def test_an_interrupted_write_leaves_its_audit_line(fresh_tool: Tool) -> None:
    confirm = token(fresh_tool, "keys", "rotate")

    call = Blocked(fresh_tool, RESOLVE, "keys", "rotate", "--confirm", confirm)
    call.send(signal.SIGINT)
    call.end()

    (name,) = os.listdir(os.path.join(fresh_tool.home, "audit"))
    with open(os.path.join(fresh_tool.home, "audit", name), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert [(line["code"], line["exit"]) for line in lines] == [(None, 0), ("E_INTERRUPTED", 130)]


@pytest.mark.promise("cli.stream-broken")
def test_stream_ended_by_a_signal_has_a_last_line(fresh_tool: Tool) -> None:
    call = Blocked(fresh_tool, SECOND_MODE, "workflow", "simulate", "wr.small_change", "--stream")
    first = call.wait_for_line()
    call.send(signal.SIGINT)
    ran = call.end()

    last = json.loads(ran.out)
    assert json.loads(first)["data"]["mode"] == "guided"
    assert (ran.status, ran.out.count(b"\n"), last["type"], last["ok"]) == (130, 1, "summary", False)
    assert (last["error"]["details"]["count"], last["error"]["details"]["complete"]) == (1, False)


@pytest.mark.promise("cli.stream-broken")
@pytest.mark.parametrize("written", [1, 2])
def test_line_written_during_a_signal_is_counted(monkeypatch: pytest.MonkeyPatch, written: int) -> None:
    process = Process()
    process.open_to_signals()
    lines: list[bytes] = []

    def write(_: int, content: bytes) -> None:
        lines.append(content)
        if len(lines) == written:
            process._on_signal(signal.SIGTERM, None)

    monkeypatch.setattr("handrail.surfaces.cli.process._write_all", write)
    items = (StreamItem(data={"n": number}) for number in range(9))
    last = _deliver_stream(process, _Caller(), items, None)

    assert isinstance(last, Rendered)
    summary = json.loads(last.out)
    assert (len(lines), last.status, last.out.count(b"\n")) == (written, 130, 1)
    assert (summary["type"], summary["error"]["details"]["count"]) == ("summary", written)


def test_events_are_followed_until_a_signal_and_counted(fresh_tool: Tool) -> None:
    reply = fresh_tool.data("run", "start", "wr.small_change", "--request-id", "k")
    session_id = reply["session"]["sessionId"]
    count = fresh_tool.data("session", "show", session_id)["event_count"]

    call = Blocked(fresh_tool, FIRST_PAUSE, "session", "events", session_id, "--stream", "--follow")
    before = [json.loads(call.wait_for_line()) for _ in range(count)]
    fresh_tool.data("run", "continue", "--ack", reply["ackToken"], "--notes", "more")
    call.go_on()
    after = json.loads(call.wait_for_line())
    call.send(signal.SIGTERM)
    ran = call.end()

    last = json.loads(ran.out.splitlines()[-1])
    assert [line["data"]["eventIndex"] for line in before] == list(range(count))
    assert after["data"]["eventIndex"] == count
    assert all(line["data"]["_untrusted"] == ["data"] for line in (*before, after))
    assert (ran.status, last["type"], last["error"]["code"]) == (130, "summary", "E_INTERRUPTED")
    assert last["error"]["details"]["complete"] is False
