"""Signals, damage and full disks: what is told, and that nothing is half done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.journeys.strangers.command_line.steps_a import (
    begun,
    contents,
    ended,
    on_small_disk,
    previewed,
    session_ids,
    session_of,
    started,
)
from tests.journeys.strangers.product import PROGRAM, Product


@pytest.mark.promise("cli.interrupted")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_call_that_was_reading_its_notes_ends_with_130_and_stores_nothing(
    product: Product, tmp_path: Path, sent: signal.Signals
) -> None:
    reply = started(product)
    sessions = product.home / "data" / "sessions"
    before = contents(sessions / session_of(reply))
    notes = tmp_path / "notes"
    os.mkfifo(notes)
    child = begun(product, "run", "continue", "--ack", reply["ackToken"], "--notes-file", str(notes))

    with notes.open("wb"):
        child.send_signal(sent)
        ran = ended(child)

    error = ran.document["error"]
    assert ran.status == 130
    assert error["code"] == "E_INTERRUPTED"
    assert error["retryable"] is True
    assert contents(sessions / session_of(reply)) == before


@pytest.mark.promise("cli.integrity")
def test_a_bundle_with_one_changed_letter_is_an_integrity_failure_and_nothing_is_imported(
    product: Product,
) -> None:
    session = session_of(started(product, goal="pay Alice"))
    product.data("session", "export", session, "--out", "work.json")
    bundle = product.project / "work.json"
    bundle.write_text(bundle.read_text(encoding="utf-8").replace("pay Alice", "pay Mallo"), encoding="utf-8")

    ran = product.run("session", "import", "work.json", "--as-new", "--dry-run")

    error = ran.document["error"]
    assert ran.status == 1
    assert error["code"] == "E_INTEGRITY"
    assert error["retryable"] is False
    assert session_ids(product) == {session}


@pytest.mark.promise("cli.integrity")
def test_a_history_with_one_changed_letter_is_told_and_not_continued(product: Product) -> None:
    reply = started(product, goal="pay Alice")
    events = next((product.home / "data" / "sessions" / session_of(reply)).glob("events-*"))
    events.write_bytes(events.read_bytes().replace(b"pay Alice", b"pay Mallo"))

    checked = product.run("store", "verify")
    moved = product.run("run", "continue", "--ack", reply["ackToken"], "--notes", "done")

    for ran in (checked, moved):
        assert ran.status == 1
        assert ran.document["error"]["code"] == "E_INTEGRITY"
        assert ran.document["error"]["retryable"] is False


@pytest.mark.promise("cli.disk")
@pytest.mark.parametrize("limit", [0, 200, 1200])
def test_a_disk_that_refuses_is_told_and_the_same_call_works_once_there_is_room(
    product: Product, limit: int
) -> None:
    first = started(product)
    line = ("run", "start", "wr.small_change", "--goal", "again", "--request-id", "k2")

    full = on_small_disk(product, limit, *line)
    listed = session_ids(product)
    roomy = product.data(*line)

    error = full.document["error"]
    assert (full.status, error["code"], error["retryable"]) == (1, "E_IO", False)
    assert listed == {session_of(first)}
    assert session_ids(product) == {session_of(first), session_of(roomy)}


@pytest.mark.promise("cli.disk")
def test_a_file_that_cannot_be_written_whole_is_not_there_at_all(product: Product) -> None:
    session = session_of(started(product))

    ran = on_small_disk(product, 1000, "session", "export", session, "--out", "work.json")

    assert ran.status == 1
    assert ran.document["error"]["code"] == "E_IO"
    assert list(product.project.iterdir()) == []


@pytest.mark.promise("cli.disk")
def test_an_answer_that_cannot_be_printed_does_not_unmake_the_change(product: Product) -> None:
    session = session_of(started(product))
    line = ("session", "delete", "--ids", session, "--dangerous")
    token = previewed(product, *line)

    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [PROGRAM, *line, "--confirm", token],
            cwd=product.project,
            env=product.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=120,
        )

    assert ran.returncode == 0
    assert b"made" in ran.stderr
    assert session_ids(product) == set()


@pytest.mark.promise("cli.disk")
def test_a_full_disk_while_the_answer_is_text_is_told_on_stderr_alone(product: Product) -> None:
    started(product)

    ran = on_small_disk(product, 0, "run", "start", "wr.small_change", "--request-id", "k2", "--human")

    assert ran.status == 1
    assert ran.out == ""
    assert "E_IO" in ran.err or "STORE_IO_ERROR" in ran.err
    assert json.loads(product.run("session", "list").out)["data"]["count"] == 1
