"""The values at a path of an artifact: `*` is every item of a list, a number one of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

Spot: TypeAlias = tuple[tuple[str, ...], Any, dict[str, Any]]
"""The names that lead to a value, the value, and the object around it."""


def find_spots(body: Any, path: str) -> Iterator[Spot]:
    """Yield every value at a path such as `/files/*/path`; missing values are left out."""
    yield from _descend(body, path[1:].split("/"), (), {})


def _descend(value: Any, names: list[str], way: tuple[str, ...], around: dict[str, Any]) -> Iterator[Spot]:
    if not names:
        yield way, value, around
        return
    name, rest = names[0], names[1:]
    if name == "*":
        for place, item in enumerate(value if isinstance(value, list) else ()):
            yield from _descend(item, rest, (*way, str(place)), around)
    elif isinstance(value, list) and name.isdigit():
        for item in value[int(name) : int(name) + 1]:
            yield from _descend(item, rest, (*way, name), around)
    elif isinstance(value, dict) and name in value:
        yield from _descend(value[name], rest, (*way, name), value)


def write_pointer(way: tuple[str, ...]) -> str:
    """Return the place as a JSON pointer."""
    return "/" + "/".join(name.replace("~", "~0").replace("/", "~1") for name in way)
