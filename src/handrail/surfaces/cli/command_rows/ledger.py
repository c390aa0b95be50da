"""The rows of `handrail ledger …`."""

from __future__ import annotations

from handrail.surfaces.cli.command_rows.row import Row, Spelling
from handrail.surfaces.cli.command_rows.spellings import CURSOR

LEDGER_ROWS = (
    Row(
        path="ledger show",
        operation="ledger.show",
        spellings=(
            Spelling(
                field="runId",
                position=1,
                kind="id",
                value="RUN",
                text="A run id, or a session id for its latest run.",
            ),
            Spelling(field="filterByOperation", value="run.*,!run.start"),
            Spelling(field="limit", value="N", text="Entries per page, 100 by default."),
            CURSOR,
        ),
        examples=(
            "handrail ledger show RUN_ID --mode summary --compact",
            "handrail ledger show RUN_ID --mode delta --since-version 2 --compact",
        ),
    ),
)
