"""What a server counts of its callers, in one process or in all workers of one server.

A count is two numbers under a name. It is advice for a limit and never truth, so a full table forgets the
oldest of a few. Workers share a file that has no name: its pages hold the counts, and locks on its bytes end
with the process that holds them.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeAlias

Count: TypeAlias = tuple[float, float]
"""An amount, and the time by which the oldest count is found."""
MOST_COUNTS: Final = 10_000
_ROW: Final = struct.Struct("16sdd")
_ROWS_OF_A_BUCKET: Final = 8
_BUCKETS: Final = -(-MOST_COUNTS // _ROWS_OF_A_BUCKET)
_BUCKET_BYTES: Final = _ROW.size * _ROWS_OF_A_BUCKET
_TABLE_BYTES: Final = _BUCKETS * _BUCKET_BYTES
_TURN_S: Final = 0.02


class Counts(Protocol):
    """Safe between threads; `guarded` makes several steps one."""

    def guarded(self) -> Guarded: ...

    def get(self, name: str) -> Count | None: ...

    def put(self, name: str, count: Count) -> None: ...

    def remove(self, name: str) -> None: ...


class OwnCounts:
    """`Counts` of one process; the count that was put first is dropped first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, Count] = {}

    def guarded(self) -> Guarded:
        return Guarded(self._lock, None)

    def get(self, name: str) -> Count | None:
        return self._kept.get(name)

    def put(self, name: str, count: Count) -> None:
        self._kept.pop(name, None)
        self._kept[name] = count
        while len(self._kept) > MOST_COUNTS:
            del self._kept[next(iter(self._kept))]

    def remove(self, name: str) -> None:
        self._kept.pop(name, None)


class Guarded:
    """Holds a lock between threads and, if there is a file, the lock between processes on its first byte."""

    __slots__ = ("_descriptor", "_lock")

    def __init__(self, lock: threading.Lock, descriptor: int | None) -> None:
        self._lock = lock
        self._descriptor = descriptor

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._descriptor is not None:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX, 1, 0)

    def __exit__(self, *raised: object) -> None:
        if self._descriptor is not None:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, 0)
        self._lock.release()


class SharedCounts:
    """`Counts` of all processes that are forked from the one that made it, and places that they share."""

    def __init__(self) -> None:
        self._file, name = tempfile.mkstemp()
        os.unlink(name)
        os.ftruncate(self._file, _TABLE_BYTES)
        self._table = mmap.mmap(self._file, _TABLE_BYTES)
        self._lock = threading.Lock()

    def guarded(self) -> Guarded:
        return Guarded(self._lock, self._file)

    def get(self, name: str) -> Count | None:
        digest, bucket = _find_bucket(name)
        for at in range(bucket, bucket + _BUCKET_BYTES, _ROW.size):
            held, amount, moment = _ROW.unpack_from(self._table, at)
            if held == digest:
                return amount, moment
        return None

    def put(self, name: str, count: Count) -> None:
        """Write the count to the row of this name, else to a free row, else over the oldest count."""
        digest, bucket = _find_bucket(name)
        best, best_rank = bucket, (3, 0.0)
        for at in range(bucket, bucket + _BUCKET_BYTES, _ROW.size):
            held, _, moment = _ROW.unpack_from(self._table, at)
            rank = (0, 0.0) if held == digest else (1, 0.0) if held == bytes(16) else (2, moment)
            if rank < best_rank:
                best, best_rank = at, rank
        _ROW.pack_into(self._table, best, digest, *count)

    def remove(self, name: str) -> None:
        digest, bucket = _find_bucket(name)
        for at in range(bucket, bucket + _BUCKET_BYTES, _ROW.size):
            if _ROW.unpack_from(self._table, at)[0] == digest:
                _ROW.pack_into(self._table, at, bytes(16), 0.0, 0.0)

    @contextmanager
    def one_of(self, places: int) -> Iterator[None]:
        """Wait for one of this many places. A process holds one at a time, from one thread."""
        while True:
            for place in range(1, places + 1):
                try:
                    fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                except OSError:
                    continue
                try:
                    yield
                finally:
                    fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)
                return
            time.sleep(_TURN_S)


def _find_bucket(name: str) -> tuple[bytes, int]:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return digest, int.from_bytes(digest[:8]) % _BUCKETS * _BUCKET_BYTES
