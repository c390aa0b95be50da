"""What the specifications of answers promise: CLI and LAFS."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise("start.request-id", "CLI 9", "A repeated request id returns the same run and starts nothing."),
    Promise(
        "input.all-problems", "CLI 4", "Every problem of a call is reported at once, with the repaired call."
    ),
    Promise("sessions.paging", "CLI 8", "Pages of one joined are the whole list."),
    Promise("ledger.version", "LAFS 8", "The ledger moves by one per accepted call and by none per read."),
)
