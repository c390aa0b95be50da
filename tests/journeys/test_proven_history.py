"""Answers count where they were given: a copy, a bundle or a restored backup brings history, not approval."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.event_log.files.log import FileLog
from handrail.event_log.files.store_key import StoreKey
from handrail.event_log.files.upkeep.keeper import FileKeeper
from handrail.ports.workspace import Settings
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import HotLog
from tests.conftest import CountingRandomness, memory_runtime, settings_of
from tests.golden.write_approved_store import PLACE
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, start
from tests.journeys.rich_session import report


def runtime_on(home: Path, seed: bytes = b"k") -> Runtime:
    """A store in files with a key of its own; where a person must confirm, only a person can."""
    data = str(home / "data")

    def key_of(folder: str) -> StoreKey:
        return StoreKey(folder, lambda count: (seed + folder.encode()).rjust(count, b".")[-count:])

    runtime = msgspec.structs.replace(
        memory_runtime(),
        log=HotLog(FileLog(data, key=key_of(data))),
        keeper=lambda: FileKeeper(data, key_of=key_of),
        randomness=CountingRandomness(),
    )
    settings_of(runtime).settings = Settings(confirmations="person")
    return runtime


def wait_for_person(runtime: Runtime) -> tuple[str, dict[str, Any]]:
    """A session, and its last report, which a person must approve before the run ends."""
    third = advance(runtime, advance(runtime, start(runtime)))
    return third["session"]["sessionId"], advance(runtime, third)


def approve(runtime: Runtime, session_id: str) -> dict[str, Any]:
    return answer(seat(runtime, Person("y")), "run.confirm", session=session_id)


def copy(runtime: Runtime, **params: Any) -> dict[str, Any]:
    token = answer(runtime, "store.copy", dryRun=True, **params)["confirm_token"]
    return answer(runtime, "store.copy", confirm=token, **params)


def send_again(runtime: Runtime, blocked: dict[str, Any]) -> dict[str, Any]:
    return report(runtime, blocked["retryAckToken"])


@pytest.mark.promise("store.proven")
def test_an_answer_of_another_store_approves_nothing(tmp_path: Path) -> None:
    """The finding: copy a session out, approve it with one's own server, copy it back."""
    ours, theirs = runtime_on(tmp_path / "ours"), runtime_on(tmp_path / "theirs")
    session_id, blocked = wait_for_person(ours)
    copy(ours, to=str(tmp_path / "theirs"))
    approve(theirs, session_id)

    copy(ours, **{"from": str(tmp_path / "theirs")})
    again = send_again(ours, blocked)

    assert again["kind"] == "blocked"
    approve(ours, session_id)
    assert send_again(ours, again)["isComplete"]


@pytest.mark.promise("store.proven")
def test_our_own_answer_still_counts_after_it_came_back(tmp_path: Path) -> None:
    ours = runtime_on(tmp_path / "ours")
    session_id, blocked = wait_for_person(ours)
    approve(ours, session_id)
    copy(ours, to=str(tmp_path / "backup"))
    shutil.rmtree(tmp_path / "ours" / "data" / "sessions" / session_id)
    restored = runtime_on(tmp_path / "ours")

    copy(restored, **{"from": str(tmp_path / "backup")})

    assert send_again(restored, blocked)["isComplete"]


@pytest.fixture
def old(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A store of the build before the key, with the ids of its sessions."""
    shutil.copytree(Path(PLACE, "home"), tmp_path / "home")
    for path in [tmp_path / "home", *(tmp_path / "home").rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return tmp_path / "home", json.loads(Path(PLACE, "sessions.json").read_text())


@pytest.mark.promise("store.proven")
def test_an_old_store_keeps_its_state_and_asks_only_where_a_step_relies_on_it(
    old: tuple[Path, dict[str, str]],
) -> None:
    home, sessions = old
    runtime = runtime_on(home)
    start(runtime, goal="The first commit makes the key")

    done = answer(runtime, "session.show", sessionId=sessions["done"])
    waiting = answer(runtime, "session.resume", query=sessions["waiting"])

    assert done["status"] == "complete"
    assert done["imported"] is None
    assert [one["answer"] for one in done["runs"][0]["confirmations"]] == ["confirmed"]
    assert "imported" not in json.dumps(waiting).lower().replace("importedfrom", "")
