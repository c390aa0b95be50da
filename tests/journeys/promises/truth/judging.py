"""What the rules promise of what counts: artifacts, observations, decisions, retries (truth, section 1)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "truth.counts.full-kind",
        "truth, R1",
        "An artifact counts for a contract under its full kind and by a recorded validation, or not at all; "
        "a kind that is nearly one we know is named with the right one.",
    ),
    Promise(
        "truth.counts.exec-names",
        "truth, R1",
        "The names that EXEC itself gives, workflow_divergence and gap, are taken as the real thing.",
    ),
    Promise(
        "truth.counts.own-object",
        "truth, R2",
        "A requirement is met by its own object: this loop, that capability, the assessment with its id.",
    ),
    Promise(
        "truth.counts.capability-lost",
        "truth, R2",
        "A required capability that is found missing later blocks, or becomes a gap, wherever that is told.",
    ),
    Promise(
        "truth.warnings.fields",
        "truth, R33",
        "A warning carries the ids and values that it speaks of as fields.",
    ),
)
