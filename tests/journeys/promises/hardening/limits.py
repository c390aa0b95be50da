"""What the rules promise of work that must not explode and trust that must not be borrowed (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = ()
