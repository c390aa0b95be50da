"""Time and randomness from the operating system."""

from __future__ import annotations

import os
import time


class SystemClock:
    """`ports.Clock` over the system's clocks."""

    def now(self) -> str:
        nanoseconds = time.time_ns()
        seconds, rest = divmod(nanoseconds, 1_000_000_000)
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1_000_000:03d}Z"

    def unix_seconds(self) -> int:
        return int(time.time())

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def processor_ms(self) -> int:
        return time.thread_time_ns() // 1_000_000


class SystemRandomness:
    """`ports.Randomness` over the system's generator."""

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)
