"""Many writers of one session: each is served in the time that its call has; a stuck one is told soon."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import msgspec
import pytest

from handrail.contract.catalogue import E_INTERRUPTED, SESSION_LOCKED
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.ports.log import SessionHold
from handrail.runtime.runtime import NeverInterrupted, Runtime
from tests.journeys.conversation import save, start
from tests.journeys.interfaces import command, tool_call

CALL_MS = 55_000
TIMES = 8
"""Eight waits of five seconds still leave a call its last ten."""


class Crowded:
    """A log whose lock goes to somebody else some times; `between` is what they do with it."""

    def __init__(self, log: Any, times: int, between: Any) -> None:
        self._log = log
        self._left = times
        self._between = between
        self.waits: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def hold_existing(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[SessionHold]:
        self.waits.append(wait_ms)
        if not self._left:
            held: AbstractContextManager[SessionHold] = self._log.hold_existing(session_id, wait_ms, known)
            return held
        self._left -= 1
        self._between()
        raise Fault(SESSION_LOCKED, "Another writer holds this session.", details={"waited_ms": wait_ms})


class OfACall(NeverInterrupted):
    """A call that may take so long, until it is cancelled."""

    def __init__(self, left_ms: int | None = CALL_MS) -> None:
        self._left_ms = left_ms
        self.is_cancelled = False

    def ms_left(self) -> int | None:
        return self._left_ms

    def end_here(self) -> None:
        if self.is_cancelled:
            raise Fault(E_INTERRUPTED, "The client cancelled the call.", details={"committed": False})


class Others:
    """Other agents of the session, who each keep a note."""

    def __init__(self, runtime: Runtime, reply: dict[str, Any]) -> None:
        self._runtime = runtime
        self._reply = reply
        self.notes = 0

    def commit(self) -> None:
        self.notes += 1
        self._reply = save(self._runtime, self._reply, f"note {self.notes}")

    def keep_the_lock(self) -> None:
        """Nothing: the writer is stuck."""


def crowded(runtime: Runtime, times: int, between: Any, call: OfACall) -> tuple[Runtime, Crowded]:
    log = Crowded(runtime.log, times, between)
    held: Any = log
    return msgspec.structs.replace(runtime, log=held, interruptions=call), log


def test_a_call_that_others_overtake_is_served_in_its_own_time(runtime: Runtime) -> None:
    first = start(runtime)
    others = Others(runtime, first)
    busy, log = crowded(runtime, TIMES, others.commit, OfACall())

    told = tool_call(busy, "continue_workflow", ackToken=first["ackToken"], output={"notesMarkdown": "done"})

    assert not told.is_error
    assert told.structured is not None
    assert told.structured["kind"] == "ok"
    assert others.notes == TIMES
    assert log.waits == [5_000] * (TIMES + 1)


@pytest.mark.parametrize(("left_ms", "waits"), [(CALL_MS, 10), (12_000, 2), (3_000, 1), (None, 1)])
def test_who_is_overtaken_for_all_of_its_time_is_told_so(
    runtime: Runtime, left_ms: int | None, waits: int
) -> None:
    first = start(runtime)
    busy, log = crowded(runtime, 99, Others(runtime, first).commit, OfACall(left_ms))

    told = tool_call(busy, "continue_workflow", ackToken=first["ackToken"], output={"notesMarkdown": "done"})

    assert told.structured is not None
    assert told.structured["code"] == "TOKEN_SESSION_LOCKED"
    assert len(log.waits) == waits
    assert sum(log.waits) <= max(5_000, (left_ms or 0) - 5_000)
    assert left_ms is None or sum(log.waits) < left_ms, "it ends before the deadline, which names nobody"


def test_a_writer_that_never_finishes_is_told_after_one_wait(runtime: Runtime) -> None:
    first = start(runtime)
    others = Others(runtime, first)
    busy, log = crowded(runtime, 99, others.keep_the_lock, OfACall())

    told = tool_call(busy, "continue_workflow", ackToken=first["ackToken"], output={"notesMarkdown": "done"})
    status, printed = command(busy, "run", "continue", "--ack", first["ackToken"], "--notes", "done")

    assert told.structured is not None
    assert told.structured["code"] == "TOKEN_SESSION_LOCKED"
    assert status == 8
    assert printed["error"]["details"]["domain_code"] == "TOKEN_SESSION_LOCKED"
    assert log.waits == [5_000, 5_000]


def test_a_cancelled_call_stops_waiting_at_the_next_look(runtime: Runtime) -> None:
    first = start(runtime)
    others, call = Others(runtime, first), OfACall()

    def cancel() -> None:
        others.commit()
        call.is_cancelled = others.notes == 2

    busy, log = crowded(runtime, 99, cancel, call)

    told = tool_call(busy, "continue_workflow", ackToken=first["ackToken"], output={"notesMarkdown": "done"})

    assert told.is_error
    assert len(log.waits) == 2
