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
        "truth.retry.good-only",
        "truth, R3",
        "A retry takes over what was good and never what was wrong; one corrected call is enough.",
    ),
    Promise(
        "truth.retry.all-faults",
        "truth, R14",
        "A blocked reply lists every fault, ten in full, and a retry replaces what it sends again.",
    ),
    Promise(
        "truth.facts.every-call",
        "truth, R4",
        "A gap, an observation or a divergence counts the same, whichever call brings it.",
    ),
    Promise(
        "truth.facts.known-gaps",
        "truth, R33",
        "Only a gap that was recorded on the branch can be resolved.",
    ),
    Promise(
        "truth.preferences.next-call",
        "truth, R5",
        "Changed preferences apply at the next call that creates a node, a retry included.",
    ),
    Promise(
        "truth.endings.verification",
        "truth, R13",
        "A run whose last verification failed does not end as plain complete; one that "
        "passes later settles it.",
    ),
    Promise(
        "truth.notes.required",
        "truth, R9",
        "Notes that a step calls required are required.",
    ),
    Promise(
        "truth.warnings.fields",
        "truth, R33",
        "A warning carries the ids and values that it speaks of as fields.",
    ),
)
