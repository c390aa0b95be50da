"""The home with work in it, as the conformance tests have it."""

from __future__ import annotations

from tests.conformance.conftest import seeded

__all__ = ["seeded"]
