"""A long JSON text read from left to right: what is entered is read item by item, never as one tree. Pure.

As strict as `decode_json`: a key twice, too deep, or broken anywhere is refused with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail.contract.json_trouble import broken_syntax, broken_text
from handrail.contract.outcome import Json
from handrail.contract.strict_json import decode_json_at, has_half_escapes
from handrail.contract.wording import quoted

_SPACE = re.compile(r"[ \t\n\r]*")


class JsonWalk:
    """A place in the text, and how many lists and objects are open around it.

    Everything raises Fault E_VALIDATION or REQUEST_TOO_LARGE for text that is refused.
    """

    def __init__(self, text: str, *, max_depth: int) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._max_depth = max_depth
        self._is_suspect = has_half_escapes(text)
        self._skip()

    def is_at(self, opening: str) -> bool:
        """Whether this bracket stands here."""
        return self._text.startswith(opening, self._at)

    def value(self) -> Json:
        """What stands here, whole."""
        value, self._at = decode_json_at(
            self._text,
            self._at,
            depth=self._depth,
            max_depth=self._max_depth,
            is_suspect=self._is_suspect,
        )
        self._skip()
        return value

    def members(self) -> Iterator[str]:
        """The keys of the object that begins here; after each, the caller reads its value."""
        seen: set[str] = set()
        for _ in self._parts("}"):
            if not self.is_at('"'):
                raise self._broken("Expecting property name enclosed in double quotes")
            place = self._at
            key: str = self.value()
            if key in seen:
                raise broken_text(self._text, place, f"the key {quoted(key)} appears twice in one object")
            seen.add(key)
            if not self.is_at(":"):
                raise self._broken("Expecting ':' delimiter")
            self._step()
            yield key

    def items(self) -> Iterator[int]:
        """The places of the list that begins here, from 0; after each, the caller reads its value."""
        return self._parts("]")

    def finish(self) -> None:
        """Nothing more may follow."""
        if self._at < len(self._text):
            raise self._broken("Extra data")

    def _parts(self, closing: str) -> Iterator[int]:
        self._step()
        self._depth += 1
        if not self.is_at(closing):
            yield 0
            count = 1
            while self.is_at(","):
                self._step()
                yield count
                count += 1
            if not self.is_at(closing):
                raise self._broken("Expecting ',' delimiter")
        self._depth -= 1
        self._step()

    def _step(self) -> None:
        self._at += 1
        self._skip()

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        assert space is not None, "no space is space, too"
        self._at = space.end()

    def _broken(self, said: str) -> Exception:
        return broken_syntax(self._text, self._at, said)
