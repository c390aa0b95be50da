"""What is kept of source files between calls: facts by content. A cache, so its loss costs time only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

MOST_FACT_PROJECTS = 16
"""Projects with kept facts; those used longest ago lose theirs."""
MOST_FACT_BYTES = 2_000_000_000
"""Of one project; more than that, and its facts are read again from the files."""


MOST_SOUGHT = 16
"""Texts of which a project remembers where they are not."""
MOST_SOUGHT_BYTES = 8_000_000
"""Of one of them."""


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """Where a text was looked for in vain, among contents of which no facts are kept."""

    listed_at: int
    """A file that changed later may have been read with another content."""
    digests: frozenset[str]


class KeptFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one content."""

    key: str
    """Names the content and how it was read."""
    words: str
    """Every run of letters, digits, `_`, `$` and characters beyond ASCII, each once, one per line."""
    body: bytes


class FactView(Protocol):
    """The kept facts of a project. Nothing here raises: what is broken counts as not kept."""

    def find_kept(self) -> frozenset[str]:
        """The keys of everything that is kept."""

    def find_with(self, word: str) -> frozenset[str]:
        """The keys of what holds this text within one of its words."""

    def find_sought(self, text: str) -> Sought | None:
        """What is remembered of looking for it."""

    def keep_sought(self, text: str, sought: Sought) -> None:
        """Remember it, instead of what was known; the oldest are forgotten."""

    def load(self, keys: Collection[str]) -> Mapping[str, bytes]:
        """The bodies of those that are kept."""

    def keep(self, facts: Sequence[KeptFacts]) -> None:
        """Add them; several processes may add the same."""

    def forget_others(self, count: int, list_keys: Callable[[], Iterable[str]]) -> None:
        """Drop what none of so many files has any more, when that is most of what is kept."""


class FactStore(Protocol):
    """The facts of all projects of this home."""

    def open_view(self, project: str, form: str) -> AbstractContextManager[FactView]:
        """Those of one project; facts of another form, from another version, are dropped."""


class NothingKept:
    """`FactStore` and `FactView` that keep nothing: every file is read again."""

    def open_view(self, project: str, form: str) -> AbstractContextManager[FactView]:
        del project, form
        return self

    def __enter__(self) -> FactView:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def find_kept(self) -> frozenset[str]:
        return frozenset()

    def find_with(self, word: str) -> frozenset[str]:
        del word
        return frozenset()

    def find_sought(self, text: str) -> Sought | None:
        del text
        return None

    def keep_sought(self, text: str, sought: Sought) -> None:
        del text, sought

    def load(self, keys: Collection[str]) -> Mapping[str, bytes]:
        del keys
        return {}

    def keep(self, facts: Sequence[KeptFacts]) -> None:
        del facts

    def forget_others(self, count: int, list_keys: Callable[[], Iterable[str]]) -> None:
        del count, list_keys
