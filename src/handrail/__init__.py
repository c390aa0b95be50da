"""Handrail: one step at a time for AI agents, with the truth in an append-only log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.library import Handrail, OperationFailed

__version__ = "0.1.0"
__all__ = ["Handrail", "OperationFailed", "__version__"]


def __getattr__(name: str) -> Any:
    """Load the library on first use: `handrail --version` must not pay for it."""
    if name in ("Handrail", "OperationFailed"):
        from handrail import library  # noqa: PLC0415 - a public root that loads its names on first use

        return getattr(library, name)
    raise AttributeError(f"module 'handrail' has no attribute {name!r}")
