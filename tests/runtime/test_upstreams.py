"""The breaker of an upstream: five silences open it, one trial after 30 s, and only an answer closes it."""

from __future__ import annotations

import pytest

from handrail.contract.outcome import Fault
from handrail.runtime.upstreams import Ending, Upstreams, UpstreamState

SILENCES: tuple[Ending, ...] = ("silent",) * 5
GIVEN_UP: tuple[Ending, ...] = ("given_up",) * 9


class Bench:
    """Upstreams beside a clock that stands still."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self.told: list[str] = []
        self.upstreams = Upstreams(lambda: self.now_ms, self.told.append)

    def call(self, *endings: Ending, name: str = "a") -> None:
        for ending in endings:
            self.upstreams.admit(name)(ending)

    def refusal(self, name: str = "a") -> int | None:
        """How long a call would wait; None: it would be let through."""
        try:
            self.upstreams.admit(name)("given_up")
        except Fault as fault:
            told = (fault.kind.code, fault.details, fault.retry_after_ms)
        else:
            return None
        assert told[:2] == ("UPSTREAM_OPEN", {"upstream": name})
        return told[2]


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.promise("http.upstreams.breaker")
def test_five_silences_in_a_row_open_it_and_the_time_left_is_told(bench: Bench) -> None:
    bench.call("silent", "silent", "silent", "silent")
    assert bench.refusal() is None

    bench.call("silent")

    assert bench.refusal() == 30_000
    bench.now_ms += 12_000
    assert bench.refusal() == 18_000
    assert bench.refusal("b") is None, "every upstream has its own"
    assert bench.told == ["handrail: upstream a: closed -> open"]
    assert bench.upstreams.states() == [
        UpstreamState(name="a", condition="open", wait_ms=18_000),
        UpstreamState(name="b", condition="closed", wait_ms=0),
    ]


@pytest.mark.promise("http.upstreams.breaker")
def test_an_answer_ends_the_row_and_a_call_that_was_given_up_counts_nothing(bench: Bench) -> None:
    bench.call("silent", "silent", "silent", "silent", "answered", "silent", "silent", "silent", "silent")
    bench.call(*GIVEN_UP)

    assert bench.refusal() is None
    assert bench.told == []


@pytest.mark.promise("http.upstreams.breaker")
def test_one_trial_after_its_time_closes_it_or_opens_it_again(bench: Bench) -> None:
    bench.call(*SILENCES)
    bench.now_ms += 30_000

    end = bench.upstreams.admit("a")
    meanwhile = bench.refusal()
    end("silent")
    again = bench.refusal()
    bench.now_ms += 30_000
    bench.call("given_up", "answered")

    assert (meanwhile, again, bench.refusal()) == (1_000, 30_000, None)
    assert [line.partition(": closed")[0].rpartition("a: ")[2] for line in bench.told[1:]] == [
        "open -> trying",
        "trying -> open",
        "open -> trying",
        "trying -> open",
        "open -> trying",
        "trying -> closed",
    ]


def test_no_more_breakers_are_kept_than_there_may_be(bench: Bench) -> None:
    bench.call(*SILENCES, name="gone")
    for number in range(100):
        bench.call("answered", name=f"host{number}")

    assert len(bench.upstreams.states()) == 32
    assert bench.refusal("gone") == 30_000
