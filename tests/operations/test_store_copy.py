"""Copying a store: the same events and digests, resumable, and never over something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.contract.ids import blob_ref
from handrail.event_log.files.log import FileLog
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.event_log.log_promises import A, B, append, blob, keys, load, plan
from tests.operations.asked import answered, refused
from tests.surfaces.http.client import ask, make_app


@pytest.fixture
def store(home: str) -> Runtime:
    log = FileLog(f"{home}/data")
    append(log, B, 0, plan("b:1"))
    append(log, A, 0, plan("a:1", "a:2"), [blob(b"one")])
    append(log, A, 2, plan("a:3"), [blob(b"two")])
    return build_runtime({}, home=home)


def target_of(tmp_path: Path) -> tuple[str, FileLog]:
    """Another home, and the store in it."""
    return str(tmp_path / "copy"), FileLog(str(tmp_path / "copy" / "data"))


def copied(store: Runtime, **params: Any) -> Any:
    token = answered(store, "store.copy", dryRun=True, **params)["confirm_token"]
    return answered(store, "store.copy", confirm=token, **params)


def test_copy_has_the_same_bytes_and_order(store: Runtime, home: str, tmp_path: Path) -> None:
    target, copy = target_of(tmp_path)

    done = copied(store, to=target)

    assert done["items"] == [{"target": B, "ok": True}, {"target": A, "ok": True}]
    assert done["event_count"] == 4
    for name in ("events-000001.jsonl", "manifest.jsonl"):
        original = Path(home, "data", "sessions", A, name).read_bytes()
        assert Path(target, "data", "sessions", A, name).read_bytes() == original
    assert [stamp.session_id for stamp in copy.list_sessions()] == [A, B]
    assert load(copy, A) == load(FileLog(f"{home}/data"), A)
    assert [copy.get_blob(blob_ref(content)) for content in (b"one", b"two")] == [b"one", b"two"]


def test_the_preview_says_what_is_missing_and_writes_nothing(store: Runtime, tmp_path: Path) -> None:
    target, _ = target_of(tmp_path)

    preview = answered(store, "store.copy", to=target, ids=[A], dryRun=True)["preview"]

    assert [(change["action"], change["id"]) for change in preview["changes"]] == [("create", A)]
    assert (preview["changes"][0]["after"]["events"], preview["changes"][0]["after"]["missing"]) == (3, 3)
    assert not (tmp_path / "copy").exists()


@pytest.mark.promise("cli.batch-preview")
@pytest.mark.parametrize("goes_on", [True, False])
def test_reach_of_a_copy_counts_what_the_call_copies(store: Runtime, tmp_path: Path, goes_on: bool) -> None:
    target, _ = target_of(tmp_path)
    call = {"to": target, "ids": [B, "ses_000000000000", A], "continueOnError": goes_on}

    shown = answered(store, "store.copy", **call, dryRun=True)
    done = answered(store, "store.copy", **call, confirm=shown["confirm_token"])

    told = "4 events of 2 sessions" if goes_on else "1 event of 1 session"
    assert shown["preview"]["blast_radius"].startswith(f"{told};")
    made = [change["id"] for change in shown["preview"]["changes"] if change["action"] == "create"]
    assert made == [item["target"] for item in done["items"] if item["ok"]]


def test_a_copy_that_was_cut_off_goes_on_where_it_stopped(store: Runtime, tmp_path: Path) -> None:
    target, copy = target_of(tmp_path)
    append(copy, A, 0, plan("a:1", "a:2"), [blob(b"one")])

    done = [copied(store, to=target)["event_count"] for _ in range(2)]

    assert done == [2, 0]
    assert keys(copy.load(A)) == ["a:1", "a:2", "a:3"]


def test_a_copy_that_has_gone_on_by_itself_is_left_as_it_is(store: Runtime, tmp_path: Path) -> None:
    target, copy = target_of(tmp_path)
    copied(store, to=target)
    append(copy, A, 3, plan("a:4"))

    done = copied(store, to=target)

    assert (done["event_count"], done["summary"]["failed"]) == (0, 0)
    assert keys(copy.load(A)) == ["a:1", "a:2", "a:3", "a:4"]


def test_another_session_of_the_same_id_is_never_overwritten(store: Runtime, tmp_path: Path) -> None:
    target, copy = target_of(tmp_path)
    append(copy, A, 0, plan("other:1"))

    done = copied(store, to=target)

    assert [(item["target"], item["ok"]) for item in done["items"]] == [(B, True), (A, False)]
    assert done["items"][1]["error"]["code"] == "E_CONFLICT"
    assert keys(copy.load(A)) == ["other:1"]
    assert keys(copy.load(B)) == ["b:1"]


def test_a_session_that_is_not_sound_is_not_copied(store: Runtime, home: str, tmp_path: Path) -> None:
    path = Path(home, "data", "sessions", A, "events-000001.jsonl")
    path.write_bytes(path.read_bytes().replace(b"a:1", b"a:9"))
    target, copy = target_of(tmp_path)

    done = copied(build_runtime({}, home=home), to=target, ids=[A, B])

    assert [(item["target"], item["ok"]) for item in done["items"]] == [(A, False), (B, True)]
    assert copy.load(A) is None


def test_sessions_come_from_another_home_too(store: Runtime, home: str, tmp_path: Path) -> None:
    here = build_runtime({}, home=str(tmp_path / "here"))

    done = copied(here, **{"from": home}, ids=[A])

    assert done["summary"] == {"total": 1, "succeeded": 1, "failed": 0, "skipped": 0}
    assert keys(FileLog(str(tmp_path / "here" / "data")).load(A)) == ["a:1", "a:2", "a:3"]


def test_changed_source_makes_the_token_worthless(store: Runtime, home: str, tmp_path: Path) -> None:
    target, copy = target_of(tmp_path)
    token = answered(store, "store.copy", to=target, dryRun=True)["confirm_token"]
    append(FileLog(f"{home}/data"), A, 3, plan("a:4"))

    failure = refused(store, "store.copy", to=target, confirm=token)

    assert failure.kind.code == "E_CONFLICT"
    assert copy.load(A) is None


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "E_VALIDATION"),
        ({"to": "HOME"}, "E_VALIDATION"),
        ({"from": "NOWHERE"}, "E_VALIDATION"),
        ({"to": "postgres://localhost/handrail"}, "E_VALIDATION"),
        ({"to": "NOWHERE", "ids": []}, "E_VALIDATION"),
        ({"to": "NOWHERE", "ids": ["ses_zzzzzzzzzzzz", "../.."]}, "E_NOT_FOUND"),
    ],
)
def test_a_copy_that_leads_nowhere_is_refused(
    store: Runtime, home: str, tmp_path: Path, params: dict[str, Any], code: str
) -> None:
    places = {"HOME": home, "NOWHERE": str(tmp_path / "nowhere")}
    given = {name: places.get(str(value), value) for name, value in params.items()}

    failure = refused(store, "store.copy", dryRun=True, **given)

    assert failure.kind.code == code
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("named", ["from", "to"])
def test_store_copy_is_refused_by_a_server(store: Runtime, tmp_path: Path, named: str) -> None:
    """A client of a server could approve a copy of a session elsewhere and bring it back as approved here."""
    body = {named: str(tmp_path / "other"), "dryRun": True}

    told = ask(make_app(store), "POST", "/api/store.copy", body=body)

    assert (told.status, told.document["code"]) == (403, "FEATURE_DISABLED")
