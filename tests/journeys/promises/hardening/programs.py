"""What the rules promise of code that must not run, secrets and links (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = ()
