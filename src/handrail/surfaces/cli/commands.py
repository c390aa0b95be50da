"""The command table by hand: only what a terminal adds to an operation.

`tools/generate.py` merges it with the operation registry into `_table.py` (what the parser needs) and
`_catalog.py` (what help needs). Nothing imports it at run time.
"""

from __future__ import annotations

from handrail.surfaces.cli.command_rows.clients import CLIENT_ROWS
from handrail.surfaces.cli.command_rows.household import HOUSEHOLD_ROWS
from handrail.surfaces.cli.command_rows.ledger import LEDGER_ROWS
from handrail.surfaces.cli.command_rows.own import OWN_ROWS
from handrail.surfaces.cli.command_rows.run import RUN_ROWS
from handrail.surfaces.cli.command_rows.self_description import SELF_DESCRIPTION_ROWS
from handrail.surfaces.cli.command_rows.session import SESSION_ROWS
from handrail.surfaces.cli.command_rows.store import STORE_ROWS
from handrail.surfaces.cli.command_rows.workflow import WORKFLOW_ROWS

ROWS = (
    *WORKFLOW_ROWS,
    *RUN_ROWS,
    *SESSION_ROWS,
    *LEDGER_ROWS,
    *STORE_ROWS,
    *HOUSEHOLD_ROWS,
    *SELF_DESCRIPTION_ROWS,
    *CLIENT_ROWS,
    *OWN_ROWS,
)
