"""What the rules promise of history that must not vanish (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = ()
