"""The cheapest ways to make bytes durable on this disk: what the log is measured against.

Run with `python bench/floor.py`. Used by bench/log.py, which interleaves them with what it measures.
"""

from __future__ import annotations

import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping

ROUNDS = 200
STEP_BYTES = 1_600
"""About what one advance with a paragraph of notes adds to the log."""
_ROOM_BYTES = 4 * 1024 * 1024


class RawAppend:
    """Append and fdatasync to a file whose bytes were all written before: no metadata has to follow."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.pwrite(self._descriptor, bytes(_ROOM_BYTES), 0)
        os.fsync(self._descriptor)
        self._end = 0

    def append(self, content: bytes) -> None:
        if self._end + len(content) > _ROOM_BYTES:
            self._end = 0
        os.pwrite(self._descriptor, content, self._end)
        os.fdatasync(self._descriptor)
        self._end += len(content)


class TwoAppends:
    """Two files that grow, synced one after the other: two streams done plainly."""

    def __init__(self, path: str) -> None:
        names = (path + ".events", path + ".manifest")
        self._descriptors = [os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600) for name in names]

    def append(self, content: bytes) -> None:
        for descriptor, part in zip(self._descriptors, (content[300:], content[:300]), strict=True):
            os.write(descriptor, part)
            os.fdatasync(descriptor)


class SqliteAppend:
    """One row per append, write-ahead log, `synchronous=FULL`."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("pragma journal_mode=wal")
        self._database.execute("pragma synchronous=full")
        self._database.execute("create table events (id integer primary key, body blob)")

    def append(self, content: bytes) -> None:
        self._database.execute("insert into events (body) values (?)", (content,))


def floors(directory: str) -> dict[str, Callable[[bytes], None]]:
    """The references by name; the first one is the floor."""
    return {
        "raw append, preallocated": RawAppend(os.path.join(directory, "raw")).append,
        "two growing files, one sync after the other": TwoAppends(os.path.join(directory, "two")).append,
        "SQLite, WAL, FULL": SqliteAppend(os.path.join(directory, "db")).append,
    }


def interleaved(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds per call; each round makes every call once, in another order.

    The order matters: what a call finds, a busy processor or one that must wake up, is the work of the
    call before it.
    """
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        names = list(calls)
        random.shuffle(names)
        for name in names:
            started = time.perf_counter()
            calls[name]()
            samples[name].append(1000 * (time.perf_counter() - started))
    return samples


def spread(samples: list[float]) -> dict[str, float]:
    """Where the samples lie; a mean far from the median says that there are two kinds of rounds."""
    ordered = sorted(samples)
    return {
        "p10": round(ordered[len(ordered) // 10], 3),
        "median": round(statistics.median(ordered), 3),
        "mean": round(statistics.mean(ordered), 3),
        "p90": round(ordered[len(ordered) * 9 // 10], 3),
    }


def main() -> int:
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as directory:
        content = b"x" * STEP_BYTES
        calls = {name: _bound(append, content) for name, append in floors(directory).items()}
        for name, samples in interleaved(calls, ROUNDS).items():
            print(f"{name:<46} " + "  ".join(f"{key} {value:.3f}" for key, value in spread(samples).items()))
    return 0


def _bound(append: Callable[[bytes], None], content: bytes) -> Callable[[], None]:
    return lambda: append(content)


if __name__ == "__main__":
    sys.exit(main())
