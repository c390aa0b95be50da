"""The home with work in it and the forked tool, as the conformance tests have them."""

from __future__ import annotations

from tests.conformance.conftest import fork_server, seeded

__all__ = ["fork_server", "seeded"]
