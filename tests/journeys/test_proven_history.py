"""Answers count where they were given: a copy, a bundle or a restored backup brings history, not approval."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import NodeId, RunId, SessionId
from handrail.engine.events import ContextSet, PlannedEvent, Scope, TreeRecorded, encode_event
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.store_key import StoreKey
from handrail.event_log.files.upkeep.keeper import FileKeeper
from handrail.ports.log import Draft
from handrail.ports.workspace import Settings
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import HotLog
from tests.conftest import CountingRandomness, memory_runtime, settings_of
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, refusal, start
from tests.journeys.rich_session import report

APPROVED = Path(__file__).parents[1] / "golden" / "approved"
"""A store of a build without a store key; a person approved the last report of both sessions."""
AT = "2027-01-15T08:00:00.000Z"


def key_of(folder: str) -> StoreKey:
    """Another key in each folder."""
    return StoreKey(folder, lambda count: sha256(folder.encode()).digest()[:count])


def runtime_on(home: Path) -> Runtime:
    """A store in files with a key of its own; where a person must confirm, only a person can."""
    data = str(home / "data")
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
    return answer(seat(runtime, Person("y")), "run.answer", session=session_id)


def copy(runtime: Runtime, **params: Any) -> dict[str, Any]:
    token = answer(runtime, "store.copy", dryRun=True, **params)["confirm_token"]
    return answer(runtime, "store.copy", confirm=token, **params)


def send_again(runtime: Runtime, blocked: dict[str, Any]) -> dict[str, Any]:
    return report(runtime, blocked["retryAckToken"])


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
    shutil.copytree(APPROVED / "home", tmp_path / "home")
    for path in [tmp_path / "home", *(tmp_path / "home").rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return tmp_path / "home", json.loads((APPROVED / "sessions.json").read_text(encoding="utf-8"))


def begin_with_key(runtime: Runtime) -> None:
    """The first commit of this build makes the key and its list."""
    start(runtime, goal="The first commit makes the key")


def waiting_report(runtime: Runtime, session_id: str) -> dict[str, Any]:
    """The call that goes on with the report that a person approved before the key."""
    (found,) = answer(runtime, "session.resume", query=session_id)["items"]
    standing = answer(runtime, "run.continue", **found["nextCall"]["params"])
    return report(runtime, standing["ackToken"], notes="Done.")


def test_an_old_store_keeps_its_state_and_texts(old: tuple[Path, dict[str, str]]) -> None:
    home, sessions = old
    runtime = runtime_on(home)
    begin_with_key(runtime)

    done = answer(runtime, "session.show", sessionId=sessions["done"])
    text = answer(runtime, "session.export", sessionId=sessions["done"], **{"as": "markdown"})["content"]

    assert done["status"] == "complete"
    assert [one["answer"] for one in done["runs"][0]["confirmations"]] == ["confirmed"]
    assert "another store" not in json.dumps(done) + text
    assert FileKeeper(str(home / "data"), key_of=key_of).origin().listed == 2


@pytest.mark.parametrize("is_adopted", [False, True])
def test_an_old_answer_is_asked_again_unless_a_person_adopts_it(
    old: tuple[Path, dict[str, str]], is_adopted: bool
) -> None:
    home, sessions = old
    runtime = runtime_on(home)
    begin_with_key(runtime)
    if is_adopted:
        person = Person("y")
        assert answer(seat(runtime, person), "store.adopt") == {"sessions": 2, "is_new": True}
        assert answer(seat(runtime, Person()), "store.adopt") == {"sessions": 2, "is_new": False}
        assert "2 sessions are older than the key" in person.shown[0]

    again = waiting_report(runtime, sessions["waiting"])

    assert again["isComplete"] is is_adopted
    assert is_adopted or "before this store could prove it" in json.dumps(again)


def test_no_agent_adopts_or_moves_a_store(old: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    runtime = runtime_on(old[0])
    begin_with_key(runtime)

    refused = [
        refusal(seat(runtime, Person("n")), "store.adopt"),
        refusal(seat(runtime, Person("n")), "store.move", to=str(tmp_path / "out")),
    ]

    assert [one.kind.code for one in refused] == ["E_HUMAN_REQUIRED"] * 2
    assert not (tmp_path / "out").exists()
    assert not FileKeeper(str(old[0] / "data"), key_of=key_of).origin().is_adopted


def test_a_copied_session_says_so_wherever_it_is_shown(tmp_path: Path) -> None:
    ours, theirs = runtime_on(tmp_path / "ours"), runtime_on(tmp_path / "theirs")
    session_id, _ = wait_for_person(theirs)
    approve(theirs, session_id)

    copy(ours, **{"from": str(tmp_path / "theirs")})

    shown = answer(ours, "session.resume", query=session_id)["items"][0]
    verified = answer(ours, "store.verify")
    people = answer(ours, "session.export", sessionId=session_id, **{"as": "markdown"})["content"]
    assert shown["importedFrom"] == session_id
    assert (verified["ok"], verified["elsewhere"]) == (True, [session_id])
    assert "This session came from another store" in people
    assert "A person confirmed it in another store" in people


def test_a_moved_store_proves_its_history_on_the_new_machine(tmp_path: Path) -> None:
    """Out to a directory on one machine, in from it on another; a repeat changes nothing."""
    before, after = runtime_on(tmp_path / "before"), runtime_on(tmp_path / "after")
    session_id, blocked = wait_for_person(before)
    approve(before, session_id)
    stick = str(tmp_path / "stick")

    out = [answer(seat(before, Person("y")), "store.move", to=stick) for _ in range(2)]
    into = [answer(seat(after, Person("y")), "store.move", **{"from": stick}) for _ in range(2)]

    assert [one["sessions"] for one in (*out, *into)] == [1] * 4
    assert send_again(after, blocked)["isComplete"]
    assert answer(after, "store.verify").get("elsewhere") is None


def test_a_store_with_sessions_takes_no_other_store_in(tmp_path: Path) -> None:
    before, after = runtime_on(tmp_path / "before"), runtime_on(tmp_path / "after")
    wait_for_person(before)
    wait_for_person(after)
    stick = str(tmp_path / "stick")
    answer(seat(before, Person("y")), "store.move", to=stick)

    refused = refusal(seat(after, Person("y")), "store.move", **{"from": stick})
    nothing = refusal(seat(after, Person("y")), "store.move", **{"from": str(tmp_path / "before")})

    assert refused.kind.code == "STORE_TARGET_NOT_EMPTY"
    assert "holds no store key" in nothing.message


def test_a_person_adopts_what_they_copy(tmp_path: Path) -> None:
    ours, theirs = runtime_on(tmp_path / "ours"), runtime_on(tmp_path / "theirs")
    session_id, blocked = wait_for_person(theirs)
    approve(theirs, session_id)
    source = str(tmp_path / "theirs")

    token = answer(ours, "store.copy", dryRun=True, adopt=True, **{"from": source})["confirm_token"]
    refused = refusal(seat(ours, Person("n")), "store.copy", adopt=True, confirm=token, **{"from": source})
    answer(seat(ours, Person("y")), "store.copy", adopt=True, confirm=token, **{"from": source})

    assert refused.kind.code == "E_HUMAN_REQUIRED"
    events = answer(ours, "session.events", sessionId=session_id)["items"]
    assert events[-1]["kind"] == "session_adopted"
    assert answer(ours, "store.verify").get("elsewhere") is None
    assert send_again(ours, blocked)["isComplete"]


def test_an_adoption_of_another_store_adopts_nothing(tmp_path: Path) -> None:
    ours, theirs = runtime_on(tmp_path / "ours"), runtime_on(tmp_path / "theirs")
    first = runtime_on(tmp_path / "first")
    session_id, blocked = wait_for_person(first)
    approve(first, session_id)
    given = {"from": str(tmp_path / "first"), "adopt": True}
    token = answer(theirs, "store.copy", dryRun=True, **given)["confirm_token"]
    answer(seat(theirs, Person("y")), "store.copy", confirm=token, **given)

    copy(ours, **{"from": str(tmp_path / "theirs")})

    assert send_again(ours, blocked)["kind"] == "blocked"


def test_a_commit_added_to_our_session_by_hand_says_so(tmp_path: Path) -> None:
    """Evidence that claims a person's word, without any answer, in a manifest whose sums fit."""
    ours, theirs = runtime_on(tmp_path / "ours"), runtime_on(tmp_path / "theirs")
    session_id, blocked = wait_for_person(ours)
    copy(ours, to=str(tmp_path / "theirs"))
    approve(theirs, session_id)
    assert send_again(theirs, blocked)["isComplete"]
    for name in ("events-000001.jsonl", "manifest.jsonl", "lock"):
        place = Path("data", "sessions", session_id, name)
        shutil.copyfile(tmp_path / "theirs" / place, tmp_path / "ours" / place)

    found = answer(runtime_on(tmp_path / "ours"), "session.show", sessionId=session_id)

    (run,) = found["runs"]
    assert run["evidence_caveat"] == "as another store recorded it"
    assert run["confirmations"][0]["summary"] == "confirmed it in another store"


FORGED: dict[str, Any] = {
    "a value of a person": ContextSet(context={"n": 1}, source="agent_delta", owners={"n": "person"}),
    "a tree of files": TreeRecorded(node_id=NodeId("nod_1"), tree_id="t1:2", cause="advance"),
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED)
def test_what_is_shown_as_vouched_says_so_when_added_by_hand(tmp_path: Path, data: Any) -> None:
    """Whoever can write in the folder adds an event whose sums fit, without our key."""
    ours = runtime_on(tmp_path / "ours")
    session_id, _ = wait_for_person(ours)
    folder = str(tmp_path / "ours/data")
    log = FileLog(folder, key=key_of(str(tmp_path / "theirs/data")))
    found = log.load(SessionId(session_id))
    assert found is not None
    run = answer(ours, "session.show", sessionId=session_id)["runs"][0]
    scope = Scope(run_id=RunId(run["id"]), node_id=NodeId(run["tips"][0]))
    data = msgspec.structs.replace(data, **({"node_id": scope.node_id} if hasattr(data, "node_id") else {}))
    planned = PlannedEvent(dedupe_key="by:hand", scope=scope, data=data)
    with log.hold(SessionId(session_id), 0) as hold:
        hold.append(len(found.records), [Draft(dedupe_key="by:hand", body=encode_event(planned, AT))], [])

    shown = answer(runtime_on(tmp_path / "ours"), "session.show", sessionId=session_id)

    assert run["evidence_caveat"] == ""
    assert shown["runs"][0]["evidence_caveat"] == "as another store recorded it"
