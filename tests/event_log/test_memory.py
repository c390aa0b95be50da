"""The store in memory keeps the promises of the port and counts commits."""

from __future__ import annotations

import pytest

from handrail.contract.outcome import Fault
from handrail.event_log.memory import MemoryLog
from handrail.event_log.plan import check_session_id
from handrail.ports.log import EventLog
from tests.event_log.log_promises import A, B, EventLogPromises, append, plan


class TestMemoryLog(EventLogPromises):
    @pytest.fixture
    def log(self) -> EventLog:
        return MemoryLog()


def test_only_commits_are_counted() -> None:
    log = MemoryLog()

    append(log, A, 0, plan("a:1", "a:2"))
    append(log, A, 0, plan("a:1"))
    append(log, A, 7, plan("a:3"))
    append(log, B, 0, plan("b:1"))
    log.load(A)

    assert log.commits == 2


def test_a_refused_name_is_repeated_up_to_its_64th_character() -> None:
    with pytest.raises(Fault) as refused:
        check_session_id("x" * 65)

    assert refused.value.details == {"session_id": "x" * 64}
