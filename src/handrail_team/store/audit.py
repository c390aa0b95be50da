"""The audit in the database: one row per change or refused change of any machine of the store."""

from __future__ import annotations

import secrets

from handrail.contract.outcome import Fault
from handrail.contract.redaction import Secrets
from handrail.host.audit import encode_line
from handrail.ports.process import Audit, AuditLine
from handrail_team.store.database import Database

_ADD = "INSERT INTO handrail.audit (id, month, at, line) VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO NOTHING"
_FORGET = (
    "DELETE FROM handrail.audit WHERE month NOT IN"
    " (SELECT DISTINCT month FROM handrail.audit ORDER BY month DESC LIMIT %s)"
)


class TeamAudit:
    """`ports.Audit` for all machines of the store. A line costs a trip of its own, after the commit.

    While the database is away, and nothing is changed, what was refused is noted in `local`.
    """

    def __init__(self, database: Database, hidden: Secrets, local: Audit) -> None:
        self._local = local
        self._database = database
        self._hidden = hidden
        self._month = ""

    def record(self, line: AuditLine, keep_months: int) -> None:
        month = line.at[:7]
        row = (secrets.token_hex(12), month, line.at, self._hidden.redact(encode_line(line)))

        forget = [] if month == self._month else [(_FORGET, (keep_months,))]  # once in a month and process
        try:
            self._database.send((_ADD, row), *forget)
            self._month = month
        except Fault:
            self._local.record(line, keep_months)
