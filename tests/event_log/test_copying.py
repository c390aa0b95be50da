"""A copy takes exactly the commits that were planned: no earlier one again, and no later one."""

from __future__ import annotations

import pytest

from handrail.event_log.copying import CommitFacts, copy_session, plan_copy
from handrail.event_log.memory import MemoryLog
from tests.event_log.log_promises import A, append, plan

COMMITS = [CommitFacts(first=0, last=1, blobs=()), CommitFacts(first=2, last=2, blobs=())]


def source_of_two_commits() -> MemoryLog:
    log = MemoryLog()
    append(log, A, 0, plan("a:0", "a:1"))
    append(log, A, 2, plan("a:2"))
    return log


def keys_in(log: MemoryLog) -> list[str]:
    loaded = log.load(A)
    assert loaded is not None
    return [record.dedupe_key for record in loaded.records]


@pytest.mark.parametrize("copied", [[], ["a:0"], ["a:0", "a:1"]])
def test_copy_adds_what_the_target_lacks(copied: list[str]) -> None:
    source, target = source_of_two_commits(), MemoryLog()
    if copied:
        append(target, A, 0, plan(*copied))

    (session,) = plan_copy(source, target)
    copy_session(source, COMMITS, target, session)

    assert keys_in(target) == ["a:0", "a:1", "a:2"]


def test_copy_leaves_out_a_commit_made_after_the_load() -> None:
    source, target = source_of_two_commits(), MemoryLog()
    (session,) = plan_copy(source, target)

    copy_session(source, [*COMMITS, CommitFacts(first=3, last=3, blobs=())], target, session)

    assert keys_in(target) == ["a:0", "a:1", "a:2"]
