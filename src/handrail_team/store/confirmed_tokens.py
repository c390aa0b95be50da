"""Used confirm tokens in the database: one row each, so that one of many callers wins."""

from __future__ import annotations

from typing import Final

from handrail.contract.outcome import Fault
from handrail.ports.process import Claim
from handrail_team.store.database import Database

_KEPT: Final = 1_024
_KEPT_SECONDS: Final = 3_600
_CLAIM = (
    "INSERT INTO handrail.confirmed_tokens (fingerprint, expires_at) VALUES (%s, %s)"
    " ON CONFLICT (fingerprint, workspace) DO NOTHING"
)
_FIND = "SELECT 1 FROM handrail.confirmed_tokens WHERE fingerprint = %s"
_FORGET = (
    "DELETE FROM handrail.confirmed_tokens WHERE expires_at < %s AND fingerprint IN"
    " (SELECT fingerprint FROM handrail.confirmed_tokens ORDER BY expires_at DESC OFFSET %s)"
)


class TeamConfirmedTokens:
    """`ports.ConfirmedTokens` for all machines of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        try:
            made, _ = self._database.send(
                (_CLAIM, (fingerprint, expires_at)), (_FORGET, (now - _KEPT_SECONDS, _KEPT))
            )
            return Claim(state="claimed" if made == 1 else "already_used")
        except Fault as fault:
            if self.is_used(fingerprint):
                return Claim(state="already_used")
            return Claim(state="not_recorded", reason=str(fault.details.get("reason", "unknown")))

    def is_used(self, fingerprint: str) -> bool:
        try:
            return bool(self._database.fetch(_FIND, (fingerprint,)))
        except Fault:  # nobody can tell, and the claim that follows will not be recorded either
            return False
