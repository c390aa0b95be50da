"""The log that the CLI works on: a commit is whole, and after it the true reply is printed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from handrail.contract.ids import SessionId
from handrail.event_log.memory import MemoryLog
from handrail.ports.log import (
    Appended,
    Blob,
    Committed,
    Conflict,
    Draft,
    EventLog,
    SessionHold,
)
from handrail.ports.process import Claim
from handrail.surfaces.cli.call import shield, shield_log
from handrail.surfaces.cli.process import Interrupted, Process
from tests.conftest import KeptClaims, KeptFiles
from tests.event_log.log_promises import WAIT_MS, A, EventLogPromises, append, keys, plan


class TestShieldedLog(EventLogPromises):
    """Shielding takes nothing away from what the port promises."""

    @pytest.fixture
    def log(self) -> EventLog:
        return shield_log(MemoryLog(), Process())


class SignallingHold:
    """A hold in whose append a signal arrives, before anything is written."""

    def __init__(self, hold: SessionHold) -> None:
        self._hold = hold

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hold, name)

    def append(self, expected_head: int, drafts: Sequence[Draft], blobs: Sequence[Blob] = ()) -> Appended:
        os.kill(os.getpid(), signal.SIGTERM)
        return self._hold.append(expected_head, drafts, blobs)


class SignallingLog:
    """A store whose every append meets a signal."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    @contextmanager
    def hold(self, session_id: SessionId, wait_ms: int, known: int | None = None) -> Iterator[Any]:
        with self._log.hold(session_id, wait_ms, known) as hold:
            yield SignallingHold(hold)


def hold_until_signalled(log: EventLog) -> None:
    with log.hold(A, WAIT_MS) as hold:
        os.kill(os.getpid(), signal.SIGTERM)
        hold.append(0, plan("a:1"))


@pytest.fixture
def process() -> Iterator[Process]:
    """A process that is open to signals; they are given back afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    started = Process()
    started.take_over()
    started.open_to_signals()
    yield started
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signal_inside_a_commit_lets_the_success_stand(process: Process) -> None:
    store: Any = SignallingLog(MemoryLog())

    answer = append(shield_log(store, process), A, 0, plan("a:1"))

    assert isinstance(answer, Committed)
    assert keys(store.load(A)) == ["a:1"]


def test_signal_inside_an_empty_append_is_answered_after_it(process: Process) -> None:
    store: Any = SignallingLog(MemoryLog())

    with pytest.raises(Interrupted):
        append(shield_log(store, process), A, 7, plan("a:1"))

    assert store.load(A) is None


def test_a_signal_before_the_append_is_answered_at_once(process: Process) -> None:
    store = MemoryLog()

    with pytest.raises(Interrupted):
        hold_until_signalled(shield_log(store, process))

    assert store.load(A) is None
    assert isinstance(append(store, A, 3, plan("a:1")), Conflict), "the hold was given back"


class SignallingFiles(KeptFiles):
    """Files in whose making a signal arrives."""

    def create(self, path: str, content: bytes) -> bool:
        os.kill(os.getpid(), signal.SIGTERM)
        return super().create(path, content)


class SignallingClaims(KeptClaims):
    """Claims in whose making a signal arrives."""

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        os.kill(os.getpid(), signal.SIGTERM)
        return super().claim(fingerprint, expires_at=expires_at, now=now)


def test_signal_while_a_file_is_made_lets_the_success_stand(process: Process) -> None:
    files = SignallingFiles()

    made = shield(files, process, "create").create("/a.json", b"x")

    assert made is True
    assert files.held == {"/a.json": b"x"}


def test_signal_beside_an_existing_file_is_answered_after_it(process: Process) -> None:
    files = SignallingFiles()
    files.held["/a.json"] = b"mine"

    with pytest.raises(Interrupted):
        shield(files, process, "create").create("/a.json", b"x")

    assert files.held == {"/a.json": b"mine"}


def test_signal_while_a_token_is_claimed_leaves_a_whole_claim(process: Process) -> None:
    claims = SignallingClaims()

    with pytest.raises(Interrupted):
        shield(claims, process, "claim").claim("f", expires_at=1, now=0)

    assert claims.claimed == {"f"}
