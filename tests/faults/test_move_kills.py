"""A process dies before each change that `store move` makes to the disk; the same command then finishes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from handrail.event_log.files.disk import Disk
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import answer
from tests.journeys.test_proven_history import approve, runtime_on, send_again, wait_for_person

pytestmark = pytest.mark.thorough
DIED = 9
KEYS = ("keyring.json", "requests.key", "receipts.json")
CHANGES = ("open", "make", "write", "cut", "set_modified", "sync", "sync_both", "sync_names", "rename")


def die_before(at: int, work: Callable[[], object]) -> bool:
    """Whether a child of this process died before its change number `at`, so that its locks are free."""
    child = os.fork()
    if child == 0:
        try:
            _count_down(at)
            work()
        except BaseException:  # noqa: BLE001 - a child of a test must never go on as the test
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, DIED), f"the move failed at change {at}"
    return code == DIED


def _count_down(at: int) -> None:
    left = [at]

    def wrap(change: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os._exit(DIED)
            return change(*args, **named)

        return counted

    for name in CHANGES:
        setattr(Disk, name, wrap(getattr(Disk, name)))


def move(home: Path, **given: str) -> dict[str, Any]:
    moved: dict[str, Any] = answer(seat(runtime_on(home), Person("y")), "store.move", **given)
    return moved


def test_move_that_dies_anywhere_is_finished_by_a_repeat(tmp_path: Path) -> None:
    """Out to a directory, and in from it: the old store stays whole, the new one proves its history."""
    session_id, blocked = wait_for_person(runtime_on(tmp_path / "before"))
    approve(runtime_on(tmp_path / "before"), session_id)
    keys = tmp_path / "before" / "data" / "keys"
    keys.mkdir(mode=0o700, exist_ok=True)
    for name in KEYS:
        (keys / name).write_text(f"what {name} holds", encoding="utf-8")
        (keys / name).chmod(0o600)
    deaths = {"out": 0, "in": 0}
    for at in range(1, 400):
        stick, after = str(tmp_path / f"stick{at}"), tmp_path / f"after{at}"
        out = die_before(at, partial(move, tmp_path / "before", to=stick))
        assert answer(runtime_on(tmp_path / "before"), "store.verify")["ok"]
        moved = [move(tmp_path / "before", to=stick)]
        into = die_before(at, partial(move, after, **{"from": stick}))
        assert answer(runtime_on(after), "store.verify")["ok"], f"half a store is sound at change {at}"
        moved.append(move(after, **{"from": stick}))

        assert [one["sessions"] for one in moved] == [1, 1]
        assert answer(runtime_on(after), "store.verify").get("elsewhere") is None
        assert send_again(runtime_on(after), blocked)["isComplete"], "the approval counts on the new machine"
        there = {path.name: path.read_text(encoding="utf-8") for path in (after / "data" / "keys").iterdir()}
        assert there == {name: f"what {name} holds" for name in KEYS}
        deaths["out"] += out
        deaths["in"] += into
        shutil.rmtree(stick)
        shutil.rmtree(after)
        if not (out or into):
            break
    else:
        raise AssertionError("a move makes fewer changes than that")
    print(deaths)
    assert min(deaths.values()) > 15
