"""What the actions of a workflow may name. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol


class Operations(Protocol):
    """The operations that this installation has."""

    @property
    def names(self) -> Collection[str]: ...
    def parameters(self, name: str) -> frozenset[str]:
        """What one of them takes."""

    def refused_values(self, name: str, params: dict[str, Any]) -> Iterable[tuple[str, str]]:
        """Parameters that one of them refuses as they are, and why; without a reason, one is missing."""
