"""What the rules promise of what counts: artifacts, observations, decisions, retries (truth, section 1)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = ()
