"""Time and chance from the operating system: their form, not their value."""

from __future__ import annotations

import re
import time

import pytest

from handrail.host.process import SystemClock, SystemRandomness


@pytest.mark.parametrize(
    ("nanoseconds", "expected"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_800_000_000_123_456_789, "2027-01-15T08:00:00.123Z"),
        (1_709_164_799_999_999_999, "2024-02-28T23:59:59.999Z"),
        (1_709_164_800_000_999_999, "2024-02-29T00:00:00.000Z"),
    ],
)
def test_the_time_is_utc_with_milliseconds(
    monkeypatch: pytest.MonkeyPatch, nanoseconds: int, expected: str
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: nanoseconds)

    assert SystemClock().now() == expected


def test_the_time_zone_of_the_machine_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        monkeypatch.setattr(time, "time_ns", lambda: 0)
        assert SystemClock().now() == "1970-01-01T00:00:00.000Z"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_every_clock_has_the_form_that_it_promises() -> None:
    clock = SystemClock()

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", clock.now())
    assert clock.unix_seconds() > 1_700_000_000
    assert clock.monotonic_ms() <= clock.monotonic_ms()


def test_chance_has_the_length_asked_for_and_does_not_repeat() -> None:
    randomness = SystemRandomness()

    drawn = {randomness.bytes(16) for _ in range(100)}

    assert len(drawn) == 100
    assert {len(value) for value in drawn} == {16}
