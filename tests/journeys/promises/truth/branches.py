"""What the rules promise of forks, unsound sessions, repeated acks and bounded replies (truth, section 2)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "forks.any-node",
        source="truth, R10",
        says="Advancing a step that was left before is told as a fork, from whichever of its nodes it comes.",
    ),
    Promise(
        "checkpoints.own-step",
        source="truth, R10",
        says="A checkpoint at a step that was left moves no tip and does not reopen a finished run.",
    ),
    Promise(
        "checkpoints.late",
        source="truth, R10 and R19",
        says="A checkpoint at a step that the run has left, or of a closed run, says so, as a reread does.",
    ),
    Promise(
        "checkpoints.kept",
        source="truth, R10",
        says="Notes of a checkpoint are in the recap of every branch that leaves its step afterwards.",
    ),
    Promise(
        "checkpoints.after-the-end",
        source="truth, R33",
        says="A finished run offers a checkpoint token; notes after the end are kept, and it stays finished.",
    ),
    Promise(
        "forks.true-place",
        source="truth, R33",
        says="The reply of a fork says where the run stood before, never that it still stands there.",
    ),
    Promise(
        "unsound.told",
        source="truth, R11",
        says="Whoever reads a damaged session hears so first, gets no token to go on, and learns what helps.",
    ),
    Promise(
        "unsound.noticed",
        source="truth, R11; hardening, H3",
        says="A server that was running when a log was damaged says so at the next call and takes no work.",
    ),
    Promise(
        "replay.refusal-first",
        source="truth, R12",
        says="A used token with other content is refused in the first words, with the call that stores it.",
    ),
    Promise(
        "recap.one-budget",
        source="truth, R15",
        says="Entries, branches and what followed share 12 KB as encoded; what is left out is counted.",
    ),
    Promise(
        "reads.bounded",
        source="truth, R15",
        says="Every read of the largest session stays within its budget, on every surface.",
    ),
)
