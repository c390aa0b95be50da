"""Deletes, sweeps and listings at the same time: whatever the order of calls, none disturbs another."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from handrail.contract.catalogue import SESSION_LOCKED
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault, Success
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.upkeep import keeper
from handrail.event_log.files.upkeep.keeper import FileKeeper, RemovingDisk
from handrail.ports.store import RemovalPlan, SessionToRemove
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import answer, start
from tests.journeys.writes import World

pytestmark = pytest.mark.thorough

SWEEP = RemovalPlan(sessions=(), blobs=(), blob_bytes=0, blocked_by=())
CALLS = ("open_directory", "names", "rename", "unlink", "remove_directory", "status_of", "lock_now", "open")


class Elsewhere(RemovingDisk):
    """A disk on which, right before the n-th call, somebody else does a whole piece of work."""

    def __init__(self, place: int, work: Callable[[], Any]) -> None:
        self.left = place
        self.calls = 0
        self.work = work

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self.left:
            self.work()


def _counted(name: str) -> Callable[..., Any]:
    def call(disk: Elsewhere, *arguments: Any) -> Any:
        disk._count()
        return getattr(RemovingDisk, name)(disk, *arguments)

    return call


for _name in CALLS:
    setattr(Elsewhere, _name, _counted(_name))


def sessions(world: World, *names: str) -> list[SessionId]:
    long = "x" * 5_000  # a blob of its own, so that there is something to sweep
    found = []
    for name in names:
        reply = start(world.runtime, requestId=name)
        answer(
            world.runtime, "run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": name + long}
        )
        found.append(SessionId(reply["session"]["sessionId"]))
    return found


def delete(keeper: FileKeeper, session_id: SessionId) -> bool:
    (planned,) = keeper.sessions_to_remove([session_id])
    return keeper.remove_session(planned, 0) is not None


OTHERS: dict[str, Callable[[FileKeeper, SessionId], Any]] = {
    "a delete": delete,
    "a sweep": lambda keeper, _: keeper.remove(SWEEP),
    "a delete and a sweep": lambda keeper, one: (delete(keeper, one), keeper.remove(SWEEP)),
}
MINE: dict[str, Callable[[FileKeeper, SessionId], Any]] = {
    **OTHERS,
    "a listing": lambda keeper, _: keeper._log.list_sessions(),
    "a count": lambda keeper, _: keeper.usage(),
    "a look at every byte": lambda keeper, _: list(keeper.check()),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("mine", MINE)
def test_work_of_others_between_any_two_calls_disturbs_nothing(tmp_path: Path, mine: str, other: str) -> None:
    prepared = World(str(tmp_path / "prepared"))
    first, second, stays = sessions(prepared, "first", "second", "stays")
    place, is_over = 1, False
    while not is_over:
        data = str(tmp_path / str(place))
        shutil.copytree(f"{prepared.home}/data", data)
        theirs = FileKeeper(data)
        disk = Elsewhere(place, partial(OTHERS[other], theirs, second))

        MINE[mine](FileKeeper(data, disk), first)

        left = {stamp.session_id for stamp in FileLog(data).list_sessions()}
        assert stays in left
        assert first not in left or "delete" not in mine
        assert [problem for one in theirs.check() for problem in one.problems] == []
        is_over = disk.calls < place
        place += 3


def test_eight_deletes_at_once_all_succeed(tmp_path: Path) -> None:
    world = World(str(tmp_path))
    ids = sessions(world, *"abcdefgh")
    tokens = [
        answer(world.runtime, "session.delete", ids=[one], dangerous=True, dryRun=True)["confirm_token"]
        for one in ids
    ]
    begin = threading.Barrier(len(ids))
    outcomes: list[Any] = []

    def one(session_id: str, token: str) -> None:
        begin.wait(timeout=60)
        params = {"ids": [session_id], "dangerous": True, "confirm": token}
        outcomes.append(perform(world.runtime, "session.delete", params))

    threads = [threading.Thread(target=one, args=pair) for pair in zip(ids, tokens, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)

    assert [outcome for outcome in outcomes if not isinstance(outcome, Success)] == []
    assert [item["ok"] for outcome in outcomes for item in outcome.data["items"]] == [True] * len(ids)
    assert FileLog(f"{world.home}/data").list_sessions() == ()


def test_session_locked_elsewhere_postpones_the_sweep(tmp_path: Path) -> None:
    world = World(str(tmp_path))
    gone, busy = sessions(world, "gone", "busy")
    params: dict[str, Any] = {"ids": [gone], "dangerous": True}
    token = answer(world.runtime, "session.delete", **params, dryRun=True)["confirm_token"]

    with FileLog(f"{world.home}/data").hold(busy, 0):
        done = _without_grace(world.runtime, {**params, "confirm": token})

    assert done["items"][0]["ok"]
    assert busy in done["warnings"][0]


@pytest.mark.parametrize("operation", ["session.delete", "preferences.set", "run.start", "store.gc"])
def test_a_lock_that_stays_busy_leaves_the_confirm_token_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    monkeypatch.setattr("handrail.runtime.sessions.LOCK_WAIT_MS", 0)
    monkeypatch.setattr("handrail.operations.store.remove_sessions.LOCK_WAIT_MS", 0)
    world = World(str(tmp_path))
    (busy,) = sessions(world, "busy")
    params: dict[str, dict[str, Any]] = {
        "session.delete": {"ids": [busy], "dangerous": True},
        "preferences.set": {"session": busy, "autonomy": "full_auto_stop_on_user_deps"},
        "run.start": {"workflowId": "project.three_steps", "session": busy},
        "store.gc": {"olderThan": 0, "dangerous": True},
    }
    given = params[operation]
    token = answer(world.runtime, operation, **given, dryRun=True)["confirm_token"]

    with FileLog(f"{world.home}/data").hold(busy, 0):
        locked = perform(world.runtime, operation, {**given, "confirm": token})
    assert not isinstance(locked, Success)
    assert locked.kind.code == "SESSION_LOCKED"

    answer(world.runtime, operation, **given, confirm=token)


def test_confirm_token_belongs_to_the_project(tmp_path: Path) -> None:
    world = World(str(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    bound: dict[str, dict[str, Any]] = {
        "run.start": {"workflowId": "wr.small_change"},
        "session.start": {"goal": "Think"},
        "workflow.new": {"workflowId": "project.fresh"},
        "clients.setup": {"clients": ["cursor"], "scope": "project"},
    }
    for operation, params in bound.items():
        token = answer(world.runtime, operation, **params, dryRun=True)["confirm_token"]
        refused = perform(world.runtime, operation, {**params, "confirm": token, "project": str(elsewhere)})
        assert not isinstance(refused, Success), operation
        assert refused.details["reason"] == "arguments_changed", operation


def test_setup_for_the_user_is_confirmed_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(str(tmp_path))
    params: dict[str, Any] = {"clients": ["cursor"]}
    token = answer(world.runtime, "clients.setup", **params, dryRun=True)["confirm_token"]
    monkeypatch.setattr(world.runtime.workspace, "project", lambda asked: str(tmp_path))

    answer(world.runtime, "clients.setup", **params, confirm=token)


def _without_grace(runtime: Runtime, params: dict[str, Any]) -> Any:
    """The delete, on a store whose blobs are old enough to go."""
    with pytest.MonkeyPatch.context() as patch:
        real = keeper._find_unused
        patch.setattr(keeper, "_find_unused", lambda log, pins, _: real(log, pins, -(10**12)))
        return answer(runtime, "session.delete", **params)


class AskedToEnd:
    """Interruptions of a call that a signal met while it waits."""

    def defer(self) -> AbstractContextManager[None]:
        return nullcontext()

    def stop_reason(self) -> Literal["", "signal", "deadline"]:
        return "signal" if self.is_met else ""

    def pause(self, milliseconds: int) -> None:
        del milliseconds

    def ms_left(self) -> int | None:
        return None

    is_met = False


def test_signal_ends_a_batch_that_waits_for_a_lock(tmp_path: Path) -> None:
    world = World(str(tmp_path))
    (busy,) = sessions(world, "busy")
    given: dict[str, Any] = {"ids": [busy], "dangerous": True, "continueOnError": True}
    token = answer(world.runtime, "session.delete", **given, dryRun=True)["confirm_token"]
    word = AskedToEnd()
    waits: list[int] = []

    class Waiting(FileKeeper):
        def remove_session(self, session: SessionToRemove, wait_ms: int) -> int | None:
            waits.append(wait_ms)
            word.is_met = True
            raise Fault(SESSION_LOCKED, "Another writer holds this session.")

    keeper = Waiting(f"{world.home}/data")
    runtime = msgspec.structs.replace(world.runtime, keeper=lambda: keeper, interruptions=word)
    perform(runtime, "session.delete", {**given, "confirm": token})

    assert len(waits) == 1
    assert waits[0] < 1_000
