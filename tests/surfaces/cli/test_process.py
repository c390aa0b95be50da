"""Signals wait while a commit runs, are answered once, and the truth is told after it."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import pytest

from handrail.surfaces.cli.process import Interrupted, Process, request_id, timestamp
from handrail.surfaces.cli.reading.parse import parse
from handrail.surfaces.cli.rendering.render import timeout_of


@pytest.fixture
def process() -> Iterator[Process]:
    """A process that has taken over the signals of this one; they are given back afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    started = Process()
    started.take_over()
    yield started
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


def send_then(text: str) -> str:
    send()
    return text


def send_within(process: Process, text: str) -> str:
    with process.shielded():
        send()
    return text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_raises_in_the_main_thread(process: Process, number: int) -> None:
    process.open_to_signals()

    with pytest.raises(Interrupted) as raised:
        send(number)

    assert not raised.value.is_deadline


def test_signal_during_start_up_waits(process: Process) -> None:
    send()

    with pytest.raises(Interrupted):
        process.open_to_signals()


def test_a_signal_inside_a_shield_waits_for_its_end(process: Process) -> None:
    process.open_to_signals()
    reached: list[str] = []

    with pytest.raises(Interrupted), process.shielded():
        reached.append(send_then("the end"))

    assert reached == ["the end"]


def test_shields_nest(process: Process) -> None:
    process.open_to_signals()
    reached: list[str] = []

    with pytest.raises(Interrupted), process.shielded():
        reached.append(send_within(process, "after the inner shield"))

    assert reached == ["after the inner shield"]


def test_trouble_inside_a_shield_is_not_replaced_by_the_signal(process: Process) -> None:
    process.open_to_signals()

    with pytest.raises(ZeroDivisionError), process.shielded():
        len(send_then("disk")) / 0


def test_after_the_commit_point_a_signal_changes_nothing(process: Process) -> None:
    process.open_to_signals()

    with process.shielded():
        send()
        process.settle()


def test_the_deadline_takes_the_same_way(process: Process) -> None:
    process.open_to_signals()
    process.start_deadline(3600)

    with pytest.raises(Interrupted) as raised:
        send(signal.SIGALRM)

    assert raised.value.is_deadline


def test_an_interruption_is_raised_once(process: Process) -> None:
    process.open_to_signals()

    with pytest.raises(Interrupted):
        send()
    send(signal.SIGALRM)  # whoever answers is not interrupted again


def test_settling_stops_the_clock(process: Process) -> None:
    process.start_deadline(3600)

    process.settle()

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_server_gets_the_signals_back(process: Process) -> None:
    process.hand_back()

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_every_call_has_its_own_name() -> None:
    assert len({request_id() for _ in range(100)}) == 100


def test_a_timestamp_is_utc_with_milliseconds() -> None:
    assert re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z", timestamp())


@pytest.mark.promise("cli.interrupted")
def test_deadline_seen_by_a_wait_for_stdin_is_answered_once(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are due at the same moment, and either may be first."""
    monkeypatch.setattr("select.select", lambda *_: ([], [], []))
    process.open_to_signals()
    process.start_deadline(60)

    with pytest.raises(Interrupted, match="the deadline passed"):
        process.read_stdin(1)
    send(signal.SIGALRM)


def test_a_followed_stream_has_no_deadline_unless_one_is_given() -> None:
    line = ["session", "events", "ses_000000000000", "--stream"]

    assert timeout_of(parse([*line, "--follow"]), {}) == 0
    assert timeout_of(parse([*line, "--follow", "--timeout", "5"]), {}) == 5
    assert timeout_of(parse([*line, "--follow"]), {"HANDRAIL_TIMEOUT": "7"}) == 7
    assert timeout_of(parse(line), {}) > 0
