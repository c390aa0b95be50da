"""What the rules promise of the hostile sets, and of what stored data can cost (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    hardening, must hold
      attacks.client: No message of the hostile client silences the server, breaks it, or writes what nobody
          asked.
      attacks.index: No answer of the hostile index breaks a command, is repeated raw, or touches stored
          work.
      attacks.five-sets: Repository, home, bundles, index and client: each set is in one table, with doors
          and tests.
    hardening, H10
      budgets.stored-data: Twice as much in a session is at most twice as much work, counted, for every
          reading call.
      budgets.contracts-together: The contracts of a workflow, and of all workflows of a bundle, are bounded
          together.
      budgets.bundle-folds: What folding the events of a bundle copies is counted before any of it is
          folded.
      budgets.markup: A report lays out as much as is written; tables that invent cells stand as they were
          written.
    hardening, H3; truth, R11
      store.workflow-proven: A pinned workflow that is damaged on disk is refused by a running server as by
          a new process.
    """
)
