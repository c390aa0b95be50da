"""`store.verify`: a sound store gives the same report every time, and every kind of damage is in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.outcome import Failure, Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import memory_runtime
from tests.operations.asked import answered, refused


@pytest.fixture
def store(home: str) -> Runtime:
    """Two sessions, one with notes that are long enough for a blob of their own."""
    runtime = build_runtime({"HANDRAIL_HOME": home})
    started: Any = perform(runtime, "run.start", {"workflowId": "wr.small_change", "requestId": "one"})
    notes = {"notesMarkdown": "long " * 1000}
    perform(runtime, "run.continue", {"ackToken": started.data["ackToken"], "output": notes})
    perform(runtime, "run.start", {"workflowId": "wr.small_change", "requestId": "two"})
    return runtime


def verified(runtime: Runtime, **params: Any) -> Any:
    outcome = perform(runtime, "store.verify", {"reportOnly": True, **params})
    assert isinstance(outcome, Success), outcome
    return outcome.data


def files(home: str, pattern: str) -> list[Path]:
    return sorted(Path(home, "data").glob(pattern))


def test_sound_store_gives_the_same_report_twice(store: Runtime, home: str) -> None:
    before = {path: path.read_bytes() for path in files(home, "**/*") if path.is_file()}

    reports = [verified(store), verified(build_runtime({"HANDRAIL_HOME": home}))]

    assert reports[0] == reports[1]
    assert reports[0]["ok"] is True
    assert (reports[0]["sessions"], reports[0]["blobs"], reports[0]["leftover_blobs"]) == (2, 2, 0)
    assert reports[0]["problems"] == []
    assert {path: path.read_bytes() for path in files(home, "**/*") if path.is_file()} == before


def test_an_empty_home_is_a_sound_store(home: str) -> None:
    report = verified(build_runtime({"HANDRAIL_HOME": home}))

    assert (report["ok"], report["sessions"], report["bytes_read"]) == (True, 0, 0)
    assert not os.path.exists(home)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def link(path: Path) -> None:
    path.rename(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


def replace_by_a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.touch(0o600)


DAMAGE: dict[str, tuple[str, Callable[[Path], object], str, str]] = {
    "an event": ("sessions/*/events-*.jsonl", flip, "session", "digest_mismatch"),
    "a manifest": ("sessions/*/manifest.jsonl", flip, "session", "digest_mismatch"),
    "a segment that is gone": ("sessions/*/events-*.jsonl", Path.unlink, "session", "missing_segment"),
    "a blob": ("blobs/*/*", flip, "blob", "digest_mismatch"),
    "a blob that is gone": ("blobs/*/*", Path.unlink, "blob", "missing_blob"),
    "a file for all": ("sessions/*/lock", lambda path: path.chmod(0o644), "file", "too_open"),
    "a directory for all": ("sessions/*", lambda path: path.chmod(0o755), "file", "too_open"),
    "a link": ("sessions/*/manifest.jsonl", link, "session", "link_refused"),
    "a manifest that is gone": ("sessions/*/manifest.jsonl", Path.unlink, "session", "history_lost"),
    "a manifest that is shorter": (
        "sessions/*/manifest.jsonl",
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        "session",
        "history_lost",
    ),
    "a file in place of the cache": ("cache", replace_by_a_file, "file", "link_refused"),
    "the keys": ("keys/keyring.json", flip, "keys", "damaged"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_in_the_report_with_its_place_and_reason(store: Runtime, home: str, name: str) -> None:
    pattern, damage, what, reason = DAMAGE[name]
    damage(files(home, pattern)[0])

    report = verified(build_runtime({"HANDRAIL_HOME": home}))

    assert report["ok"] is False
    assert (what, reason) in [(problem["what"], problem["reason"]) for problem in report["problems"]]
    assert report["problem_count"] == len(report["problems"])
    assert home not in str(report), "a report tells no path of the machine"


@pytest.mark.promise("cli.integrity")
def test_negative_verdict_fails_unless_a_report_was_asked_for(store: Runtime, home: str) -> None:
    flip(files(home, "blobs/*/*")[0])

    outcome = perform(store, "store.verify", {})

    assert isinstance(outcome, Failure)
    assert (outcome.kind.code, outcome.kind.exit_status) == ("E_INTEGRITY", 1)
    assert outcome.details["report"]["problem_count"] == 1


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a file for all"], "Nothing is lost. Take the rights of others away"),
        (["a file in place of the cache"], "Put plain files and directories in place"),
        (["a file for all", "a blob"], "from a backup"),
    ],
)
def test_the_hint_fits_what_was_found(store: Runtime, home: str, names: list[str], said: str) -> None:
    for name in names:
        pattern, damage, _, _ = DAMAGE[name]
        damage(files(home, pattern)[0])

    outcome = perform(store, "store.verify", {})

    assert isinstance(outcome, Failure)
    assert said in outcome.hint


def test_only_the_named_sessions_and_their_blobs_are_looked_at(store: Runtime, home: str) -> None:
    one, two = [path.name for path in files(home, "sessions/*")]
    flip(files(home, f"sessions/{one}/events-*.jsonl")[0])

    assert verified(store, ids=[two])["ok"] is True
    assert verified(store, ids=[one, two])["sessions"] == 2
    assert verified(store, ids=[one])["problems"][0]["id"] == one


def test_each_named_session_has_a_result_of_its_own(store: Runtime, home: str) -> None:
    one, two = [path.name for path in files(home, "sessions/*")]
    flip(files(home, f"sessions/{one}/events-*.jsonl")[0])

    report = verified(store, ids=[two, "ses_zzzzzzzzzzzz", one, two])

    assert report["ok"] is False
    assert [(item["target"], item["ok"]) for item in report["items"]] == [
        (two, True),
        ("ses_zzzzzzzzzzzz", False),
        (one, False),
    ]
    assert [item["error"]["code"] for item in report["items"][1:]] == ["E_NOT_FOUND", "E_INTEGRITY"]
    assert report["summary"] == {"total": 3, "succeeded": 1, "failed": 2, "skipped": 0}


@pytest.mark.promise("cli.batch-stops")
@pytest.mark.parametrize("first", ["damaged", "unknown"])
def test_first_failure_may_end_the_look(store: Runtime, home: str, first: str) -> None:
    one, two = [path.name for path in files(home, "sessions/*")]
    flip(files(home, f"sessions/{one}/events-*.jsonl")[0])
    bad = one if first == "damaged" else "ses_zzzzzzzzzzzz"

    report = verified(store, ids=[bad, two], continueOnError=False)

    assert [(item["target"], item["ok"]) for item in report["items"]] == [(bad, False)]
    assert (report["ok"], report["skipped"]) == (False, [two])
    outcome = perform(store, "store.verify", {"ids": [bad, two], "continueOnError": False})
    assert isinstance(outcome, Failure)
    assert outcome.kind.code == ("E_INTEGRITY" if first == "damaged" else "SESSION_NOT_FOUND")
    assert report["summary"] == {"total": 1, "succeeded": 0, "failed": 1, "skipped": 1}


def test_a_look_at_the_whole_store_goes_to_its_end(store: Runtime) -> None:
    outcome = perform(store, "store.verify", {"continueOnError": False})

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "E_VALIDATION"
    assert outcome.details["problems"][0]["param"] == "continueOnError"


@pytest.mark.promise("cli.batch-tally")
def test_the_verdict_is_about_every_session_that_was_asked_for(store: Runtime, home: str) -> None:
    one = files(home, "sessions/*")[0].name

    refusal = refused(store, "store.verify", ids=[one, "ses_zzzzzzzzzzzz"])
    report = answered(store, "store.verify", ids=[one, "ses_zzzzzzzzzzzz"], reportOnly=True)

    assert (refusal.kind.code, refusal.details["report"]) == ("SESSION_NOT_FOUND", report)
    assert (report["ok"], report["problem_count"]) == (False, 0)
    assert report["summary"] == {"total": 2, "succeeded": 1, "failed": 1, "skipped": 0}
    assert report["items"][1]["error"]["code"] == "E_NOT_FOUND"


@pytest.mark.parametrize("ids", [["ses_zzzzzzzzzzzz"], ["../..", "nothing"]])
def test_sessions_of_which_none_is_there_are_an_error(store: Runtime, ids: list[str]) -> None:
    outcome = perform(store, "store.verify", {"ids": ids})

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "SESSION_NOT_FOUND"


def test_an_empty_list_of_sessions_is_an_error(store: Runtime) -> None:
    outcome = perform(store, "store.verify", {"ids": []})

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "E_VALIDATION"


def test_what_a_dead_writer_left_is_counted_and_no_problem(store: Runtime, home: str) -> None:
    leftover = Path(home, "data", "blobs", "ff", "f" * 64)
    leftover.parent.mkdir(mode=0o700, exist_ok=True)
    leftover.touch(0o600)
    session = Path(home, "data", "sessions", "ses_000000000001")
    session.mkdir(0o700)
    (session / "events-000001.jsonl").touch(0o600)

    report = verified(store)

    assert (report["ok"], report["leftover_blobs"], report["unattested_sessions"]) == (True, 1, 1)


@pytest.mark.parametrize("name", ["store.verify", "store.du", "store.selftest"])
def test_a_store_without_a_disk_says_so(name: str) -> None:
    outcome = perform(memory_runtime(), name, {})

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "FEATURE_DISABLED"
