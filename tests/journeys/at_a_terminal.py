"""A person at a terminal, for journeys: what they are shown, and what they type."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from handrail.runtime.runtime import Runtime


class Person:
    """Types the given lines one after the other, then leaves."""

    def __init__(self, *lines: str) -> None:
        self.shown: list[str] = []
        self._lines = list(lines)

    def ask(self, text: str, must_stop: Callable[[], bool]) -> str | None:
        del must_stop
        self.shown.append(text)
        return self._lines.pop(0) if self._lines else None


def seat(runtime: Runtime, person: Person) -> Runtime:
    """The runtime with the person at its terminal."""
    return msgspec.structs.replace(runtime, terminal=lambda: person)
