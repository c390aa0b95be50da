"""Recently used values, within limits: for values that can be computed again at any time."""

from __future__ import annotations

from _thread import allocate_lock  # `threading` would cost every command line its import
from typing import Generic, TypeVar

_K = TypeVar("_K")
_T = TypeVar("_T")


class Recent(Generic[_K, _T]):
    """The most recently used values, limited in number and total weight. Thread-safe.

    The last few stay, whatever their size.
    """

    def __init__(self, most: int, most_weight: int = 0, always_kept: int = 1) -> None:
        self._most = most
        self._most_weight = most_weight
        self._always_kept = always_kept
        self._guard = allocate_lock()
        self._kept: dict[_K, tuple[_T, int]] = {}
        self._weight = 0

    def get(self, key: _K) -> _T | None:
        with self._guard:
            found = self._kept.pop(key, None)
            if found is not None:
                self._kept[key] = found
        return None if found is None else found[0]

    def take(self, key: _K) -> _T | None:
        """Remove and return the value."""
        with self._guard:
            value, weight = self._kept.pop(key, (None, 0))
            self._weight -= weight
        return value

    def put(self, key: _K, value: _T, weight: int = 0) -> None:
        with self._guard:
            _, before = self._kept.pop(key, (None, 0))
            self._kept[key] = (value, weight)
            self._weight += weight - before
            while len(self._kept) > self._most or (
                self._weight > self._most_weight and len(self._kept) > self._always_kept
            ):
                _, dropped = self._kept.pop(next(iter(self._kept)))
                self._weight -= dropped

    def __len__(self) -> int:
        return len(self._kept)
