"""The rows of `handrail store …`."""

from __future__ import annotations

from handrail.surfaces.cli.command_rows.row import Row, Spelling

STORE_ROWS = (
    Row(
        path="store verify",
        operation="store.verify",
        spellings=(
            Spelling(field="ids", kind="text", value="ID,ID", text="Only these sessions and their blobs."),
        ),
        seconds=900,
        examples=("handrail store verify --compact", "handrail store verify --report-only --human"),
    ),
    Row(
        path="store du",
        operation="store.du",
        examples=("handrail store du --compact", "handrail store du --human"),
    ),
    Row(
        path="store selftest",
        operation="store.selftest",
        spellings=(
            Spelling(field="quick"),
            Spelling(field="full"),
            Spelling(field="kills", value="N"),
            Spelling(field="dir", kind="directory", value="DIR"),
            Spelling(field="seed", value="N"),
        ),
        seconds=3600,
        examples=("handrail store selftest --quick --kills 50 --human",),
    ),
)
