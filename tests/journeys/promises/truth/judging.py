"""What the rules promise of what counts: artifacts, observations, decisions, retries (truth, section 1)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "truth.warnings.fields",
        "truth, R33",
        "A warning carries the ids and values that it speaks of as fields.",
    ),
)
