"""Maps that grow without a copy, and never change once they are handed out. Pure.

A grown one shares the layers of the one it grew from. Each layer is at least twice as large as the next, so a
lookup tries few layers, and an entry is copied a logarithmic number of times in the life of a session.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import TypeVar, overload

_K = TypeVar("_K")
_V = TypeVar("_V")
_D = TypeVar("_D")


class GrowingMap(Mapping[_K, _V]):
    """An immutable dict with the same order. Made by `Growth.done`."""

    __slots__ = ("_layers", "_newest_first", "_size")

    def __init__(self, layers: tuple[dict[_K, _V], ...], size: int) -> None:
        self._layers = layers
        self._newest_first = layers[::-1]
        self._size = size

    def __getitem__(self, key: _K) -> _V:
        for layer in self._newest_first:
            if key in layer:
                return layer[key]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        for layer in self._newest_first:  # noqa: SIM110 - asked many times per call, and any() is slower
            if key in layer:
                return True
        return False

    @overload
    def get(self, key: _K, default: None = None, /) -> _V | None: ...
    @overload
    def get(self, key: _K, default: _V, /) -> _V: ...
    @overload
    def get(self, key: _K, default: _D, /) -> _V | _D: ...
    def get(self, key: _K, default: object = None, /) -> object:
        for layer in self._newest_first:
            if key in layer:
                return layer[key]
        return default

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[_K]:
        return iter(self._merged())

    def items(self) -> ItemsView[_K, _V]:
        return self._merged().items()

    def values(self) -> ValuesView[_V]:
        return self._merged().values()

    def __repr__(self) -> str:
        return f"GrowingMap({self._merged()!r})"

    def grown(self, more: dict[_K, _V]) -> GrowingMap[_K, _V]:
        """Add these entries. The new map owns `more` from here on."""
        layers = [*self._layers, more]
        size = self._size
        for key in more:
            if key not in self:
                size += 1
        while len(layers) > 1 and len(layers[-2]) < 2 * len(layers[-1]):
            newer = layers.pop()
            layers[-1] = {**layers[-1], **newer}
        return GrowingMap(tuple(layers), size)

    def _merged(self) -> dict[_K, _V]:
        """One dict with the first place and the last value of every key. Callers do not change it."""
        if len(self._layers) == 1:
            return self._layers[0]
        merged: dict[_K, _V] = {}
        for layer in self._layers:
            merged.update(layer)
        return merged


class Growth(dict[_K, _V]):
    """What is being added to a map. A lookup reads through to the map itself."""

    __slots__ = ("_start",)

    def __init__(self, start: Mapping[_K, _V]) -> None:  # a new dict is empty already
        self._start = start

    def __missing__(self, key: _K) -> _V:
        return self._start[key]

    @overload
    def get(self, key: _K, default: None = None, /) -> _V | None: ...
    @overload
    def get(self, key: _K, default: _V, /) -> _V: ...
    @overload
    def get(self, key: _K, default: _D, /) -> _V | _D: ...
    def get(self, key: _K, default: object = None, /) -> object:
        return self[key] if key in self else self._start.get(key, default)

    def done(self) -> Mapping[_K, _V]:
        """The map with what was added. The map it grew from does not change."""
        if not self:
            return self._start
        start = self._start
        if not isinstance(start, GrowingMap):
            start = GrowingMap((dict(start),), len(start))
        return start.grown(dict(self))
