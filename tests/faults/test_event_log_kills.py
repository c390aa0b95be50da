"""kill -9 at random moments, and many writers at once: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from handrail.event_log.files.log import FileLog
from handrail.event_log.files.selftest_writers import WriterOrder
from tests.event_log.log_promises import A, append_with_retry, keys, load, plan
from tests.store_proof.writers import run_writers

pytestmark = pytest.mark.thorough

KILLS = 300


def seed_of_this_run() -> int:
    """Fixed per change, random at night: HANDRAIL_FAULT_SEED may be a number or `random`."""
    asked = os.environ.get("HANDRAIL_FAULT_SEED", "20261115")
    return random.SystemRandom().randrange(2**32) if asked == "random" else int(asked)


def check_goes_on(data: Path) -> None:
    log = FileLog(str(data))
    before = keys(log.load(A))

    append_with_retry(log, A, plan("after:1", "after:2"))

    assert keys(log.load(A)) == [*before, "after:1", "after:2"]
    assert load(log, A).health.state == "healthy"


def test_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path) -> None:
    seed = seed_of_this_run()
    print(f"seed {seed}")

    order = WriterOrder(what="kills", place=str(tmp_path / "data"), seed=seed, count=KILLS)
    report = run_writers(order)

    print(f"{report}; with 95 % confidence fewer than {3 / KILLS:.1%} of kills do harm")
    assert report.problems == ()
    assert report.cases == KILLS
    assert report.facts["within_a_commit"] > 0
    for store in tmp_path.iterdir():
        check_goes_on(store)


@pytest.mark.parametrize(("writers", "count"), [(2, 60), (16, 5)])
def test_killed_processes_leave_every_event_once(tmp_path: Path, writers: int, count: int) -> None:
    order = WriterOrder(what="crowd", place=str(tmp_path), seed=0, count=count, writers=writers)

    report = run_writers(order)

    assert report.problems == ()
    assert report.facts["acknowledged"] == writers * count
    assert sorted(keys(FileLog(str(tmp_path)).load(A))) == sorted(
        f"w{name}:{number}" for name in range(writers) for number in range(count)
    )


def test_processes_in_sessions_of_their_own_do_not_meet(tmp_path: Path) -> None:
    order = WriterOrder(what="crowd", place=str(tmp_path), seed=0, count=5, writers=16, is_shared=False)

    report = run_writers(order)

    log = FileLog(str(tmp_path))
    heads = [load(log, stamp.session_id).head for stamp in log.list_sessions()]
    assert report.problems == ()
    assert heads == [5] * 16
