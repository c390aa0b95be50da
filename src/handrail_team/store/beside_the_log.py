"""What the database stores next to the log: keyrings, used confirmation tokens, and the audit.

Tokens of runs are valid on every machine that uses the store. In direct mode, confirmation tokens belong to
one machine. In a team, all servers share one keyring for each workspace. A secret in the environment
replaces every keyring, as it does for files.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import Final

from handrail.contract.catalogue import KEYRING_INVALID
from handrail.contract.outcome import Fault
from handrail.contract.redaction import Secrets
from handrail.contract.tokens.confirm import refusal
from handrail.contract.tokens.workflow import CONFIRM, KEY_LENGTH
from handrail.host.keyring import Ring, decode_ring, derive, encode_ring, facts_of
from handrail.host.process import encode_line
from handrail.ports.process import Audit, AuditLine, Claim, KeyringFacts, Keys, Randomness
from handrail.ports.store import StoreProblem
from handrail_team.store.database import Database, Link
from handrail_team.store.migrations import EVERY_WORKSPACE, SCOPE, scope_of

SERVERS: Final = "-"
"""The empty workspace, in which the servers of a team keep a keyring."""
_FRESH_SECONDS: Final = 5.0
"""How long a process may use keys that another one has replaced."""
_NAME = "The keyring in the database"
_RING, _REQUESTS = "ring", "requests"
_READ = "SELECT content FROM handrail.keyring WHERE name = %s"
_MAKE = (
    "INSERT INTO handrail.keyring (name, content) VALUES (%s, %s) ON CONFLICT (name, workspace) DO NOTHING"
)
_REPLACE = "UPDATE handrail.keyring SET content = %s WHERE name = %s AND content = %s"


class TeamKeys:
    """`ports.Keys` from one row; `local` is the keyring of this machine, None on a team server."""

    def __init__(
        self, database: Database, randomness: Randomness, local: Keys | None, secrets: Secrets
    ) -> None:
        self._database = database
        self._randomness = randomness
        self._local = local
        self._secrets = secrets
        self._ring: Ring | None = None
        self._content = b""
        self._read_at = 0.0
        self._request_key = b""

    def facts(self) -> KeyringFacts:
        return facts_of(self._read())

    def rotate(self, expected_version: str) -> bool:
        self._make(_RING)
        ring = self._read()
        if ring is None or facts_of(ring).version != expected_version:
            return False
        fresh = self._randomness.bytes(KEY_LENGTH)
        self._secrets.register(fresh)  # before anything is written
        asked = (encode_ring(fresh, ring.keys[0]), _RING, self._content)
        (changed,) = self._database.send((_REPLACE, asked))
        self._read_at = 0.0
        return changed == 1

    def signing_key(self, purpose: str) -> bytes:
        if purpose == CONFIRM and self._local is not None:
            return self._local.signing_key(purpose)
        ring = self._current()
        if ring is None:
            self._make(_RING)
            ring = self._read()
        if ring is None:
            raise Fault(KEYRING_INVALID, f"{_NAME} was removed.", details={"reason": "unreadable"})
        return derive(ring, purpose)[0]

    def verifying_keys(self, purpose: str) -> tuple[bytes, ...]:
        if purpose == CONFIRM and self._local is not None:
            return self._local.verifying_keys(purpose)
        ring = self._current()
        return () if ring is None else derive(ring, purpose)

    def request_key(self) -> bytes:
        if not self._request_key:
            found = self._stored(_REQUESTS)
            if found is None:
                self._make(_REQUESTS)
                found = self._stored(_REQUESTS)
            assert found is not None, "it was made just now"
            self._secrets.register(found)
            self._request_key = found
        return self._request_key

    def _current(self) -> Ring | None:
        is_fresh = self._ring is not None and time.monotonic() - self._read_at < _FRESH_SECONDS
        return self._ring if is_fresh else self._read()

    def _read(self) -> Ring | None:
        content = self._stored(_RING)
        if content is None:
            self._ring = None
        elif self._ring is None or content != self._content:
            keys = decode_ring(content, _NAME)
            for key in keys:
                self._secrets.register(key)
            self._ring, self._content = Ring(stamp=(), keys=keys, derived={}), content
        self._read_at = time.monotonic()
        return self._ring

    def _stored(self, name: str) -> bytes | None:
        rows = self._database.fetch(_READ, (name,))
        return bytes(rows[0][0]) if rows else None

    def _make(self, name: str) -> None:
        """Make what is missing. If several processes try, one succeeds and all read its row."""
        fresh = self._randomness.bytes(KEY_LENGTH)
        content = encode_ring(fresh) if name == _RING else fresh
        self._database.send((_MAKE, (name, content)))


class OperatorKeys(TeamKeys):
    """The keys of direct mode, for a caller with the database's address. Rotating them also replaces the
    keyring of every workspace in one transaction, because a stolen dump contains them all.
    """

    def facts(self) -> KeyringFacts:
        known = super().facts()
        rings = self._rings_of_team()
        if not rings:
            return known
        digest = hashlib.sha256(b"".join(content for _, content in rings)).hexdigest()[:16]
        most = max(len(decode_ring(content, _NAME)) for _, content in rings)
        return KeyringFacts(count=max(known.count, most), version=f"{known.version} {digest}")

    def rotate(self, expected_version: str) -> bool:
        rings = self._rings_of_team()
        if not rings:
            return super().rotate(expected_version)
        if self.facts().version != expected_version:
            return False
        rings += [("", self._content)] if self._read() is not None else []

        def replace(link: Link) -> None:
            for workspace, content in rings:
                fresh = self._randomness.bytes(KEY_LENGTH)
                self._secrets.register(fresh)  # before anything is written
                link.execute(SCOPE, (scope_of(workspace),))
                made = encode_ring(fresh, decode_ring(content, _NAME)[0])
                if link.execute(_REPLACE, (made, _RING, content)).rowcount != 1:
                    raise refusal("target_changed")

        self._database.write(replace)
        self._read_at = 0.0
        return True

    def _rings_of_team(self) -> list[tuple[str, bytes]]:
        """Return the existing keyrings by workspace."""
        names = list_workspaces(self._database)
        found = [(name, self._database.within(name).fetch(_READ, (_RING,))) for name in names]
        return [(name, bytes(rows[0][0])) for name, rows in found if rows]


def list_workspaces(database: Database) -> list[str]:
    """Return the workspaces of the team and that of its servers; empty if there is no team."""
    asked = "SELECT workspace FROM handrail.workspaces ORDER BY workspace"
    rows = database.within(EVERY_WORKSPACE).fetch(asked)
    return [SERVERS, *(row[0] for row in rows)] if rows else []


def check_ring(database: Database) -> list[StoreProblem]:
    """Return why a workspace's keyring cannot be used. A missing keyring is no problem."""
    for (content,) in database.fetch(_READ, (_RING,)):
        try:
            decode_ring(bytes(content), _NAME)
        except Fault as fault:
            reason = str(fault.details.get("reason", ""))
            return [StoreProblem(what="keys", id=database.workspace, reason=reason, detail=fault.message)]
    return []


# Used confirm tokens in the database: one row each, so that one of many callers wins.

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


# The audit in the database: one row per change or refused change of any machine of the store.

_ADD_LINE = (
    "INSERT INTO handrail.audit (id, month, at, line) VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO NOTHING"
)
_FORGET_MONTHS = (
    "DELETE FROM handrail.audit WHERE month NOT IN"
    " (SELECT DISTINCT month FROM handrail.audit ORDER BY month DESC LIMIT %s)"
)


class TeamAudit:
    """`ports.Audit` for all machines of the store. Writing a line is a round trip of its own, after the
    commit.

    If the database is away, rejected calls are noted in `local`.
    """

    def __init__(self, database: Database, hidden: Secrets, local: Audit) -> None:
        self._local = local
        self._database = database
        self._hidden = hidden
        self._month = ""

    def record(self, line: AuditLine, keep_months: int) -> None:
        month = line.at[:7]
        row = (secrets.token_hex(12), month, line.at, self._hidden.redact(encode_line(line)))

        forget = (
            [] if month == self._month else [(_FORGET_MONTHS, (keep_months,))]
        )  # once in a month and process
        try:
            if line.code is not None and not self._database.has_tables():
                self._local.record(line, keep_months)  # what was refused makes no tables
                return
            self._database.send((_ADD_LINE, row), *forget)
            self._month = month
        except Fault:
            self._local.record(line, keep_months)
