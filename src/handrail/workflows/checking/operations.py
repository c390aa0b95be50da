"""The operations that actions of a workflow may name. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol


class Operations(Protocol):
    """The operations that this installation has."""

    @property
    def names(self) -> Collection[str]: ...
    def parameters(self, name: str) -> frozenset[str]:
        """Return the parameters of an operation."""

    def refused_values(self, name: str, params: dict[str, Any]) -> Iterable[tuple[str, str]]:
        """Return the parameters that an operation refuses, and why; without a reason, one is missing."""
