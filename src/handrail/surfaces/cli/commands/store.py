"""The rows of `handrail ledger …` and `handrail store …`."""

from __future__ import annotations

from handrail.surfaces.cli.commands.row import CURSOR, Row, Spelling

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


STORE_ROWS = (
    Row(
        path="store verify",
        operation="store.verify",
        spellings=(
            Spelling(field="ids", kind="ids", value="ID,ID", text="Only these sessions and their blobs."),
        ),
        seconds=900,
        examples=(
            "handrail store verify --compact",
            "handrail store verify --ids SESSION_ID --human",
            "handrail store verify --stream",
        ),
    ),
    Row(
        path="store du",
        operation="store.du",
        examples=("handrail store du --compact", "handrail store du --human"),
    ),
    Row(
        path="store gc",
        operation="store.gc",
        spellings=(Spelling(field="olderThan", flag="--older-than", value="DAYS"),),
        columns=("target", "ok", "error"),
        seconds=900,
        examples=(
            "handrail store gc --older-than 90 --dangerous --dry-run --compact",
            "handrail store gc --older-than 90 --dangerous --confirm CONFIRM_TOKEN --compact",
        ),
    ),
    Row(
        path="store copy",
        operation="store.copy",
        spellings=(
            Spelling(field="from", flag="--from", kind="text", value="HOME"),
            Spelling(field="to", flag="--to", kind="text", value="HOME"),
            Spelling(field="ids", kind="ids", value="ID,ID"),
        ),
        columns=("target", "ok", "error"),
        seconds=900,
        examples=(
            "handrail store copy --to copied --dry-run --compact",
            "handrail store copy --to copied --confirm CONFIRM_TOKEN --compact",
        ),
    ),
)
