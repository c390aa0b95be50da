"""Canaries: one text for each place of each operation that can hold one, found again where it leaked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from handrail.contract.parameters import list_fields
from handrail.runtime.operation import Operation
from tests.contract.string_fields import list_text_places, put
from tests.surfaces.http.filled_calls import Work


class Canary(msgspec.Struct, frozen=True, kw_only=True):
    """One text that is found again, and where it was sent."""

    text: str
    is_path: bool
    is_kept: bool
    """A session may keep it: it came with a write."""


class Flock:
    """The canaries of one interface."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.sent: list[Canary] = []

    def calls(self, called: Operation, work: Work) -> Iterator[dict[str, Any]]:
        """One call for each text of an operation, with what it requires beside."""
        classes = {field.path: field.held for field in list_fields(called.input)}
        for path in list_text_places(called.input):
            text = f"{self._name} canary {len(self.sent)} sings"
            at = tuple(one for one in path if one != "any")
            held = classes.get(at, classes.get(at[:-1]))
            self.sent.append(Canary(text=text, is_path=held == "path", is_kept=called.effect != "read"))
            yield work.whole_call(called) | {path[0]: put(path, text)}

    def found_in(self, content: str, *, is_audit: bool = False, is_session: bool = False) -> list[Canary]:
        return [
            one
            for one in self.sent
            if one.text in content and not (is_audit and one.is_path) and not (is_session and one.is_kept)
        ]
