"""What the specifications of answers promise: CLI and LAFS."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    CLI 9
      start.request-id: A repeated request id returns the same run and starts nothing.
    CLI 4
      input.all-problems: Every problem of a call is reported at once, with the repaired call.
    CLI 8
      sessions.paging: Pages of one joined are the whole list.
    LAFS 8
      ledger.version: The ledger moves by one per accepted call and by none per read.
    """
)
