"""One breaker per upstream: who does not answer is left alone for a while, and then tried once.

Closed, calls pass, and failures in a row are counted; an answer of any kind, a refusal too, ends the row. At
five the breaker opens, and calls are refused at once with the time that is left. After 30 s one call is let
through as a trial: an answer closes the breaker, silence opens it for as long again. Only what never became
an answer counts; a call that its own caller gave up on says nothing about the upstream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from handrail.contract.catalogue import UPSTREAM_OPEN
from handrail.contract.outcome import Fault

FAILURES_UNTIL_OPEN = 5
OPEN_MS = 30_000
MOST_UPSTREAMS = 32
"""Breakers that are kept; of those that are closed, the oldest is forgotten."""
_TRIAL_MS = 1_000
"""How long a caller waits who comes during the trial."""

Condition: TypeAlias = Literal["closed", "open", "trying"]
Ending: TypeAlias = Literal["answered", "silent", "given_up"]


class UpstreamState(msgspec.Struct, frozen=True, kw_only=True):
    """One upstream as it stands."""

    name: str
    condition: Condition
    wait_ms: int
    """Until it is tried again; 0 where calls pass."""


class _Breaker:
    def __init__(self) -> None:
        self.condition: Condition = "closed"
        self.failures = 0
        self.opened_ms = 0


class Upstreams:
    """Every upstream that this process has called. Any thread may use it."""

    def __init__(self, now_ms: Callable[[], int], tell: Callable[[str], None]) -> None:
        self._now_ms = now_ms
        self._tell = tell
        self._lock = threading.Lock()
        self._breakers: dict[str, _Breaker] = {}

    def admit(self, name: str) -> Callable[[Ending], None]:
        """Let a call through; the caller says once how it ended.

        Raises Fault UPSTREAM_OPEN with the time that is left.
        """
        with self._lock:
            breaker = self._find(name)
            wait_ms = self._wait_ms(breaker)
            if wait_ms:
                seconds = -(-wait_ms // 1000)
                raise Fault(
                    UPSTREAM_OPEN,
                    f"{name} did not answer {FAILURES_UNTIL_OPEN} times in a row; "
                    f"it is asked again in {seconds} s.",
                    details={"upstream": name},
                    retry_after_ms=wait_ms,
                )
            if breaker.condition == "open":
                self._change(name, breaker, "trying")
        return lambda ending: self._end(name, breaker, ending)

    def states(self) -> list[UpstreamState]:
        """Every upstream, by its name."""
        with self._lock:
            return [
                UpstreamState(name=name, condition=breaker.condition, wait_ms=self._wait_ms(breaker))
                for name, breaker in sorted(self._breakers.items())
            ]

    def _end(self, name: str, breaker: _Breaker, ending: Ending) -> None:
        with self._lock:
            match ending:
                case "answered":
                    breaker.failures = 0
                    self._change(name, breaker, "closed")
                case "silent":
                    breaker.failures += 1
                    if breaker.condition == "trying" or breaker.failures >= FAILURES_UNTIL_OPEN:
                        breaker.opened_ms = self._now_ms()
                        self._change(name, breaker, "open")
                case "given_up":
                    if breaker.condition == "trying":  # the next call is the trial
                        self._change(name, breaker, "open")

    def _wait_ms(self, breaker: _Breaker) -> int:
        match breaker.condition:
            case "closed":
                return 0
            case "trying":
                return _TRIAL_MS
            case "open":
                return max(0, breaker.opened_ms + OPEN_MS - self._now_ms())

    def _find(self, name: str) -> _Breaker:
        if name not in self._breakers and len(self._breakers) >= MOST_UPSTREAMS:
            closed = [one for one, breaker in self._breakers.items() if breaker.condition == "closed"]
            del self._breakers[(closed or list(self._breakers))[0]]
        return self._breakers.setdefault(name, _Breaker())

    def _change(self, name: str, breaker: _Breaker, condition: Condition) -> None:
        before, breaker.condition = breaker.condition, condition
        if before != condition:
            self._tell(f"handrail: upstream {name}: {before} -> {condition}")
