"""Limits of a team server against floods and guessing: calls a minute, and wrong tries to sign in."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from handrail.contract.catalogue import E_RATE_LIMITED
from handrail.contract.outcome import Fault
from handrail.host.counts import Counts

FREE_TRIES: Final = 5
"""Wrong tries in a row before a person has to wait."""
FREE_TRIES_OF_AN_ADDRESS: Final = 20
"""Wrong tries from one address, for any names, before it has to wait."""
FREE_TRIES_OF_A_NAME: Final = 20
"""After this many wrong tries for a name, each address has one free try for it."""
FORGOTTEN_S: Final = 900
"""Wrong tries count for this long."""
LONGEST_WAIT_S: Final = 60


class CallPace:
    """Limits the calls a minute of an account or a workspace. At most one minute's calls can be saved up."""

    def __init__(self, counts: Counts, a_minute: int, kind: str = "account") -> None:
        self._most = a_minute
        self._kind = kind
        self._counts = counts

    def require(self, account: str) -> None:
        """Raise Fault E_RATE_LIMITED, with the time to wait, if the limit is reached."""
        name, now = f"pace {self._kind} {account}", time.monotonic()
        with self._counts.guarded():
            left, at = self._counts.get(name) or (float(self._most), now)
            left = min(self._most, left + (now - at) * self._most / 60)
            is_over = left < 1
            self._counts.put(name, (left if is_over else left - 1, now))
        if is_over:
            raise Fault(
                E_RATE_LIMITED,
                f"This {self._kind} makes more than {self._most} calls a minute.",
                retry_after_ms=int((1 - left) * 60_000 / self._most) + 1,
            )


class SignInTries:
    """Slows down guessing: each wrong try beyond the free ones doubles the wait for the next.

    The address waits: for a name that it got wrong, and after many wrong tries for every name. If many
    addresses get a name wrong, each address has one free try for it. So more addresses do not help a guesser,
    and the right passphrase works at once from an address without a wrong try.
    """

    def __init__(self, counts: Counts, clock: Callable[[], float] = time.monotonic) -> None:
        """`counts` keeps, by address and name, the number of wrong tries and the end of the last wait."""
        self._clock = clock
        self._counts = counts

    def require(self, address: str, names: Sequence[str]) -> None:
        """Raise Fault E_RATE_LIMITED while the next try has to wait."""
        with self._counts.guarded():
            left = max(
                [self._find_wait((address, ""), FREE_TRIES_OF_AN_ADDRESS)]
                + [self._find_wait((address, name), self._count_free(name)) for name in names]
            )
        if left > 0:
            raise Fault(
                E_RATE_LIMITED,
                "Too many wrong tries; wait before the next one.",
                retry_after_ms=int(left * 1000) + 1,
            )

    def note(self, address: str, names: Sequence[str]) -> None:
        with self._counts.guarded():
            self._add((address, ""), FREE_TRIES_OF_AN_ADDRESS)
            for name in names:
                self._add((address, name), self._count_free(name))
                self._add((None, name), FREE_TRIES_OF_A_NAME)

    def forget(self, address: str, names: Sequence[str]) -> None:
        with self._counts.guarded():
            for name in names:
                self._counts.remove(_tried((address, name)))

    def _count_free(self, name: str) -> int:
        count, _ = self._counts.get(_tried((None, name))) or (0, 0.0)
        return FREE_TRIES if count < FREE_TRIES_OF_A_NAME else 1

    def _find_wait(self, key: tuple[str | None, str], free: int) -> float:
        count, until = self._counts.get(_tried(key)) or (0, 0.0)
        return until - self._clock() if count >= free else 0.0

    def _add(self, key: tuple[str | None, str], free: int) -> None:
        now = self._clock()
        count, until = self._counts.get(_tried(key)) or (0, 0.0)
        count = 1 if now - until > FORGOTTEN_S else count + 1
        self._counts.put(_tried(key), (count, now + min(LONGEST_WAIT_S, 2 ** max(0, int(count) - free))))


def _tried(key: tuple[str | None, str]) -> str:
    """Return the name of a counter. An empty name means any name, None any address."""
    return f"try {key!r}"
