"""What the rules promise of work that must not explode and trust that must not be borrowed (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    hardening, H7
      hardening.imported-visible: An imported session says so first in every reply, and no request id
          answers with one.
    hardening, must hold
      limits.index-changes-no-answer: Lists and searches answer the same with the index, without it, and
          with a broken one.
      limits.hostile-home: A home with planted links, pipes, sizes and databases makes no command wait, leak
          or break.
    hardening, H13
      limits.resources-run-out: A call that gets too few descriptors or too little memory says so and can be
          repeated.
    hardening, H12
      limits.served-in-time: While others commit, a call waits for its session as long as it has time; a
          stuck writer is told after five seconds.
    hardening, H10
      budgets.refused-where-written: Loops, conditions, patterns and schemas that could keep a run busy are
          refused at every door.
      budgets.bundles-like-files: Contracts, rules and loops inside a bundle are checked like those of a
          file.
      budgets.run-stays-readable: Work over its budget is a named failure that stores nothing; the run is
          read and closed.
      budgets.prompts: Values and fragments fill a prompt as far as there is room; what is left out is
          named.
      budgets.simulation: A simulation ends by count: cut and marked as such, or refused with what to make
          smaller.
    """
)
