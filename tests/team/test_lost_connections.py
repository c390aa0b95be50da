"""Connections that break at any moment lose and double nothing; a database that is away is told."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import get_args

import psycopg
import pytest

from handrail.contract.outcome import Fault
from handrail.ports.log import Committed, Replayed
from handrail_team.store.database import Database
from handrail_team.store.log import TeamLog
from tests.event_log.log_promises import WAIT_MS, A, B, append, blob, code_of, in_threads, keys, load, plan
from tests.team.cutting_proxy import Cut, CuttingProxy, cutting_proxy

pytestmark = pytest.mark.thorough


@pytest.fixture
def proxy(database: str) -> Iterator[CuttingProxy]:
    with cutting_proxy(database) as held:
        yield held


@pytest.fixture
def log(proxy: CuttingProxy) -> Iterator[TeamLog]:
    held = Database(proxy.address, patience_s=60)  # a busy machine is not what is tried
    yield TeamLog(held)
    held.close()


def test_an_append_with_the_head_at_hand_is_two_trips(log: TeamLog, proxy: CuttingProxy) -> None:
    append(log, A, 0, plan("a:1", "a:2"))
    before = proxy.trips

    with log.hold_existing(A, WAIT_MS, known=2) as hold:
        tail = hold.load_since(2)
        answer = hold.append(2, plan("a:3", "a:4"), [blob(b"of the step")])

    assert tail is not None
    assert (tail.head, tail.records) == (2, ())
    assert isinstance(answer, Committed)
    assert proxy.trips - before == 2


def test_what_others_added_comes_with_the_lock(log: TeamLog, proxy: CuttingProxy) -> None:
    append(log, A, 0, plan("a:1", "a:2", "a:3"))
    before = proxy.trips

    with log.hold_existing(A, WAIT_MS, known=1) as hold:
        tail = hold.load_since(1)
        hold.append(3, plan("a:4"))

    assert keys(tail) == ["a:2", "a:3"]
    assert proxy.trips - before == 2


@pytest.mark.parametrize("how", get_args(Cut))
@pytest.mark.parametrize("is_new", [True, False])
def test_a_commit_whose_connection_is_cut_counts_once(
    log: TeamLog, proxy: CuttingProxy, how: Cut, is_new: bool
) -> None:
    append(log, B, 0, plan("b:1"))
    head = 0 if is_new else 1
    if not is_new:
        append(log, A, 0, plan("a:1"))

    with log.hold(A, WAIT_MS) as hold:
        hold.load()
        proxy.cut_next(how)
        answer = hold.append(head, plan("a:2", "a:3"), [blob(b"of the cut commit")])

    loaded = load(log, A)
    assert answer == Committed(records=loaded.records[head:])
    assert keys(loaded) == (["a:2", "a:3"] if is_new else ["a:1", "a:2", "a:3"])
    assert loaded.health.state == "healthy"
    assert log.get_blob(blob(b"of the cut commit").ref) == b"of the cut commit"


@pytest.mark.parametrize("how", get_args(Cut))
def test_a_lock_whose_connection_is_cut_is_taken_again(log: TeamLog, proxy: CuttingProxy, how: Cut) -> None:
    append(log, A, 0, plan("a:1"))

    proxy.cut_next(how)
    answer = append(log, A, 1, plan("a:2"))

    assert isinstance(answer, Committed)
    assert keys(log.load(A)) == ["a:1", "a:2"]


def test_ended_backends_lose_and_double_nothing(log: TeamLog, database: str) -> None:
    append(log, A, 0, plan("a:0"))
    is_done = threading.Event()

    def end_backends() -> None:
        with psycopg.connect(database, autocommit=True) as link:
            while not is_done.wait(0.02):
                link.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

    def write() -> None:
        try:
            for number in range(1, 40):
                append_until_answered(log, number)
        finally:
            is_done.set()

    troubles = in_threads([write, end_backends])

    assert troubles == []
    assert keys(log.load(A)) == [f"a:{number}" for number in range(40)]


def append_until_answered(log: TeamLog, number: int) -> None:
    """What an agent does: the same call again, while it is told that this helps."""
    for _ in range(100):
        try:
            answer = append(log, A, number, plan(f"a:{number}"))
        except Fault as fault:
            if not fault.kind.is_retryable:
                raise
            continue
        assert isinstance(answer, Committed | Replayed), answer
        return
    raise AssertionError("the store never answered")


def test_a_database_that_is_away_is_told_and_found_again(log: TeamLog, proxy: CuttingProxy) -> None:
    append(log, A, 0, plan("a:1"))

    proxy.go_away()
    away = [
        code_of(lambda: log.load(A)),
        code_of(lambda: append(log, A, 1, plan("a:2"))),
        code_of(log.list_sessions),
    ]
    proxy.come_back()

    assert away == ["STORE_UNAVAILABLE"] * 3
    assert keys(log.load(A)) == ["a:1"]
    assert isinstance(append(log, A, 1, plan("a:2")), Committed)


def test_a_database_that_falls_silent_is_told(proxy: CuttingProxy) -> None:
    log = TeamLog(Database(proxy.address, patience_s=0.5))
    append(log, A, 0, plan("a:1"))

    proxy.fall_silent()
    told = code_of(lambda: log.load(A))
    proxy.speak_again()

    assert told == "STORE_UNAVAILABLE"  # and was told at all
    assert keys(log.load(A)) == ["a:1"]


_FAILS_ON_THE_WAY = """
import sys
from handrail.contract.outcome import Fault
from handrail_team.store.database import Database
try:
    Database(sys.argv[1], patience_s=60).send(("SELECT 1/0", ()), *[("SELECT pg_sleep(0.01)", ())] * 300)
except Fault as fault:
    print(fault.kind.code)
"""


def test_a_statement_that_fails_among_others_is_told_once(database: str) -> None:
    """Its error comes while the next ones are still being sent."""
    command = [sys.executable, "-c", _FAILS_ON_THE_WAY, database]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)

    assert (ran.stdout, ran.stderr) == ("STORE_IO_ERROR\n", "")
