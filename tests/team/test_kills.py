"""Writers that are killed at every stage of a commit lose nothing that they were told, and double nothing."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from handrail.ports.log import Committed, Replayed
from handrail_team.store.database import Database, Link
from handrail_team.store.log import TeamLog
from tests.event_log.log_promises import A, append, blob, keys, load, plan

PARTS = 3


@pytest.fixture
def log(database: str) -> Iterator[TeamLog]:
    held = Database(database, patience_s=60)
    yield TeamLog(held)
    held.close()


def commit(log: TeamLog, number: int) -> Committed | Replayed:
    drafts = plan(*(f"a:{number}:{part}" for part in range(PARTS)))
    answer = append(log, A, number * PARTS, drafts, [blob(b"of %d" % number)])
    assert isinstance(answer, Committed | Replayed), answer
    return answer


def die_at(stage: int) -> None:
    """Kill this process when it would send its next statement, or wait for the answers, for the n-th time."""
    left = [stage]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    for name in ("execute", "wait"):
        setattr(Link, name, counted(getattr(Link, name)))


def in_child(work: Callable[[], None]) -> int:
    """The signal that ended it, 0 if it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] & 0x7F


@pytest.mark.thorough
def test_killed_writer_leaves_a_whole_commit_or_nothing(log: TeamLog, database: str) -> None:
    """A writer that is killed at any stage of a commit leaves all of it or nothing."""
    commit(log, 0)
    stages = 0
    for stage in range(200):

        def write(stage: int = stage, number: int = stage + 1) -> None:
            own = TeamLog(Database(database, patience_s=60))
            own.load(A)  # the connection is made, and what is counted is the commit
            die_at(stage)
            commit(own, number)

        ended_by = in_child(write)
        after = load(log, A)
        assert after.health.state == "healthy"
        assert after.head in ((stage + 1) * PARTS, (stage + 2) * PARTS)
        is_lost = after.head == (stage + 1) * PARTS  # or the server is still at the last word of the dead
        assert isinstance(commit(log, stage + 1), Replayed) or is_lost
        stages += 1
        if ended_by == 0:
            break

    assert stages > 8, "the commit has that many stages at least"
    expected = [f"a:{number}:{part}" for number in range(stages + 1) for part in range(PARTS)]
    assert keys(log.load(A)) == expected


@pytest.mark.parametrize(
    "kills", [5, pytest.param(300, marks=pytest.mark.thorough)], ids=["few", "three hundred"]
)
@pytest.mark.thorough
def test_killed_writers_keep_acknowledged_commits(log: TeamLog, database: str, kills: int) -> None:
    chance = random.Random(kills)
    number = 0
    for _ in range(kills):
        told = write_until_killed(database, number, chance.uniform(0.0, 0.05))
        found = load(log, A).head // PARTS if log.load(A) else 0
        assert load(log, A).head % PARTS == 0 if found else True
        assert found in (number + told, number + told + 1)
        number = found

    held = keys(log.load(A))
    assert len(held) in (number * PARTS, (number + 1) * PARTS), "the last word of the dead may come late"
    assert held == [f"a:{one}:{part}" for one in range(len(held) // PARTS) for part in range(PARTS)]


def write_until_killed(database: str, first: int, seconds: float) -> int:
    """How many commits a child acknowledged before it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            own = TeamLog(Database(database, patience_s=60))
            own.load(A)
            os.write(writing, b".")
            for number in range(first, first + 10_000):
                commit(own, number)
                os.write(writing, b".")
        finally:
            os._exit(1)
    os.close(writing)
    os.read(reading, 1)  # it is at work
    signal.sigtimedwait([], seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    told = 0
    while content := os.read(reading, 65_536):
        told += len(content)
    os.close(reading)
    return told
