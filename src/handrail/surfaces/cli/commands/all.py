"""The command table by hand: only what a terminal adds to an operation.

`self_description/command_tables.py` merges it with the operation registry, and `tools/generate.py` writes
what the parser needs of that into `reading/_table.py`. Only help and reference import it at run time.
"""

from __future__ import annotations

from handrail.surfaces.cli.commands.check import CHECK_ROWS, RECEIPT_ROWS
from handrail.surfaces.cli.commands.code import CODE_ROWS
from handrail.surfaces.cli.commands.own import CLIENT_ROWS, OWN_ROWS, SELF_DESCRIPTION_ROWS, SETTINGS_ROWS
from handrail.surfaces.cli.commands.run import RUN_ROWS
from handrail.surfaces.cli.commands.session import SESSION_ROWS
from handrail.surfaces.cli.commands.store import LEDGER_ROWS, STORE_ROWS
from handrail.surfaces.cli.commands.workflow import WORKFLOW_ROWS

ROWS = (
    *WORKFLOW_ROWS,
    *RUN_ROWS,
    *CHECK_ROWS,
    *RECEIPT_ROWS,
    *CODE_ROWS,
    *SESSION_ROWS,
    *LEDGER_ROWS,
    *STORE_ROWS,
    *SETTINGS_ROWS,
    *SELF_DESCRIPTION_ROWS,
    *CLIENT_ROWS,
    *OWN_ROWS,
)
