"""The command of the proof: `handrail store selftest`."""

from __future__ import annotations

from handrail.surfaces.cli.commands.row import Row, Spelling

ROWS = (
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
        examples=(
            "handrail store selftest --quick --kills 50 --human",
            "handrail store selftest --quick --kills 50 --stream",
        ),
    ),
)
