"""What the rules promise of the hostile sets, and of what stored data can cost (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "attacks.client",
        source="hardening, must hold",
        says="No message of the hostile client silences the server, breaks it, or writes what nobody asked.",
    ),
    Promise(
        "attacks.index",
        source="hardening, must hold",
        says="No answer of the hostile index breaks a command, is repeated raw, or touches stored work.",
    ),
    Promise(
        "attacks.five-sets",
        source="hardening, must hold",
        says="Repository, home, bundles, index and client: each set is in one table, with doors and tests.",
    ),
    Promise(
        "budgets.stored-data",
        source="hardening, H10",
        says="Twice as much in a session is at most twice as much work, counted, for every reading call.",
    ),
    Promise(
        "budgets.contracts-together",
        source="hardening, H10",
        says="The contracts of a workflow, and of all workflows of a bundle, are bounded together.",
    ),
    Promise(
        "budgets.bundle-folds",
        source="hardening, H10",
        says="What folding the events of a bundle copies is counted before any of it is folded.",
    ),
    Promise(
        "budgets.markup",
        source="hardening, H10",
        says="A report lays out as much as is written; tables that invent cells stand as they were written.",
    ),
    Promise(
        "store.workflow-proven",
        source="hardening, H3; truth, R11",
        says="A pinned workflow that is damaged on disk is refused by a running server as by a new process.",
    ),
)
