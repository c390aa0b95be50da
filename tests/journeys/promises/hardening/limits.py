"""What the rules promise of work that must not explode and trust that must not be borrowed (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "hardening.imported-visible",
        "hardening, H7",
        "An imported session says so first in every reply, and no request id answers with one.",
    ),
    Promise(
        "limits.index-changes-no-answer",
        source="hardening, must hold",
        says="Lists and searches answer the same with the index, without it, and with a broken one.",
    ),
    Promise(
        "limits.resources-run-out",
        source="hardening, H13",
        says="A call that gets too few descriptors or too little memory says so and can be repeated.",
    ),
    Promise(
        "limits.hostile-home",
        source="hardening, must hold",
        says="A home with planted links, pipes, sizes and databases makes no command wait, leak or break.",
    ),
    Promise(
        "limits.served-in-time",
        source="hardening, H12",
        says="While others commit, a call waits for its session as long as it has time; a stuck writer is "
        "told after five seconds.",
    ),
    Promise(
        "budgets.refused-where-written",
        source="hardening, H10",
        says="Loops, conditions, patterns and schemas that could keep a run busy are refused at every door.",
    ),
    Promise(
        "budgets.bundles-like-files",
        source="hardening, H10",
        says="Contracts, rules and loops inside a bundle are checked like those of a file.",
    ),
    Promise(
        "budgets.run-stays-readable",
        source="hardening, H10",
        says="Work over its budget is a named failure that stores nothing; the run is read and closed.",
    ),
    Promise(
        "budgets.prompts",
        source="hardening, H10",
        says="Values and fragments fill a prompt as far as there is room; what is left out is named.",
    ),
    Promise(
        "budgets.simulation",
        source="hardening, H10",
        says="A simulation ends by count: cut and marked as such, or refused with what to make smaller.",
    ),
)
