"""What the rules promise of forks, unsound sessions, repeated acks and bounded replies (truth, section 2)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    truth, R10
      forks.any-node: Advancing a step that was left before is told as a fork, from whichever of its nodes
          it comes.
      checkpoints.own-step: A checkpoint at a step that was left moves no tip and does not reopen a finished
          run.
      checkpoints.kept: Notes of a checkpoint are in the recap of every branch that leaves its step
          afterwards.
    truth, R10 and R19
      checkpoints.late: A checkpoint at a step that the run has left, or of a closed run, says so, as a
          reread does.
    truth, R33
      checkpoints.after-the-end: A finished run offers a checkpoint token; notes after the end are kept, and
          it stays finished.
      forks.true-place: The reply of a fork says where the run stood before, never that it still stands
          there.
    truth, R11
      unsound.told: Whoever reads a damaged session hears so first, gets no token to go on, and learns what
          helps.
    truth, R11; hardening, H3
      unsound.noticed: A server that was running when a log was damaged says so at the next call and takes
          no work.
    truth, R12
      replay.refusal-first: A used token with other content is refused in the first words, with the call
          that stores it.
    truth, R15
      recap.one-budget: Entries, branches and what followed share 12 KB as encoded; what is left out is
          counted.
      reads.bounded: Every read of the largest session stays within its budget, on every surface.
    """
)
