"""What the rules promise of history that must not vanish (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    hardening, H3
      store.never-forgets: What was once acknowledged and is not there any more is told by every reader, and
          nothing is written over what is left.
      store.token-proves-more: A token that proves more than the log shows refuses its own call, whichever
          call that is.
    hardening, H5
      clock.deletes-nothing: No call deletes anything because of its clock: the newest files of the audit
          are kept by their number, and sessions age from the newest commit of the store.
      clock.refused-stays-refused: A confirm token that was refused as expired stays refused when the clock
          is set back.
    hardening, H4
      store.killed-start: What a killed start or import left is named with the command that shows it, and
          the token of that preview removes all of it, counted like any other target.
      store.one-unreadable: One session that cannot be read stops neither the listing nor the sizes nor the
          collection of the others.
    truth, R25
      store.home-is-told: A home or project that is no directory is told as that, and not as something else.
    hardening, H4; truth, R22
      store.half-removed: Files of a removed session that could not be deleted are not counted as freed, and
          are told by the delete, by `store verify` and by the next collection, which clears them.
    """
)
