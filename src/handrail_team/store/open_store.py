"""A store in a database as the runtime uses it: all adapters share its connections."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.contract.outcome import Fault
from handrail.contract.redaction import Secrets
from handrail.event_log.files.store_key import StoreKey
from handrail.ports.process import Audit, Keys, Randomness
from handrail.ports.store import DatabaseFacts
from handrail_team.store.beside_the_log import OperatorKeys, TeamAudit, TeamConfirmedTokens
from handrail_team.store.database import Database, facts_of, find_secrets
from handrail_team.store.keeper import TeamKeeper
from handrail_team.store.log import TeamLog
from handrail_team.store.session_index import TeamSessionIndex
from handrail_team.store.store_key import TeamStoreKey


class TeamStore:
    """The adapters of one database.

    `local` and `audit` are those of this machine; with `has_own_keys` this machine's keyring replaces the
    one in the database.
    """

    def __init__(
        self,
        address: str,
        data: str,
        randomness: Randomness,
        local: Keys,
        secrets: Secrets,
        audit: Audit,
        *,
        has_own_keys: bool,
    ) -> None:
        for secret in find_secrets(address):
            secrets.register(secret.encode())
        self.database = Database(address)
        self.log = TeamLog(self.database, key=TeamStoreKey(self.database, randomness.bytes))
        self.keys: Keys = local if has_own_keys else OperatorKeys(self.database, randomness, local, secrets)
        self.confirmed = TeamConfirmedTokens(self.database)
        self.audit = TeamAudit(self.database, secrets, audit)
        self.keeper = TeamKeeper(
            self.log, data, has_address=True, key_of=lambda folder: StoreKey(folder, randomness.bytes)
        )
        self.index = TeamSessionIndex(self.log)

    def facts(self) -> DatabaseFacts:
        """Return where it is and whether it answers. Changes nothing, never raises."""
        return facts_of(self.database)

    def marks(self) -> Mapping[str, str]:
        """Return a mark for each session that changes with every commit; empty while the database is away."""
        try:
            return {stamp.session_id: str(stamp.order) for stamp in self.log.list_sessions()}
        except Fault:
            return {}
