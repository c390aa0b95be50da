"""Sign a machine in: a person approves its code in the Console, and the machine fetches a token once.

Only the machine has its secret, and the code alone opens nothing.
"""

from __future__ import annotations

from typing import Final

import msgspec

from handrail.contract import ids
from handrail.contract.catalogue import E_HUMAN_REQUIRED, E_NOT_FOUND, E_RATE_LIMITED
from handrail.contract.outcome import Fault
from handrail_team.accounts.credentials import SECRET_BYTES, digest_secret, spell_secret
from handrail_team.accounts.directory import Directory, Made
from handrail_team.accounts.refusals import refuse_credential
from handrail_team.accounts.roles import SCOPES
from handrail_team.store.database import Link
from handrail_team.store.migrations import EVERY_WORKSPACE

WAIT_SECONDS: Final = 900
"""How long a person has to approve a machine."""
TOKEN_DAYS: Final = 90
MOST_WAITING: Final = 1_000
CHANCE_BYTES: Final = SECRET_BYTES + 8
"""Random bytes for the secret and the code."""


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that waits for approval."""

    code: str
    secret: str
    machine: str
    seconds: int = WAIT_SECONDS


def ask_to_enter(directory: Directory, machine: str, chance: bytes) -> Asking:
    """Register a waiting machine. Raises Fault E_RATE_LIMITED if too many wait."""
    code = ids.encode_digest(chance[SECRET_BYTES:], 8)
    code = f"{code[:4]}-{code[4:]}".upper()
    secret = spell_secret("machine", chance[:SECRET_BYTES])
    now = directory.clock.unix_seconds()

    def add(link: Link) -> None:
        link.execute("DELETE FROM handrail.credentials WHERE kind = 'machine' AND expires_at <= %s", (now,))
        row = link.execute("SELECT count(*) FROM handrail.credentials WHERE kind = 'machine'").fetchone()
        if row is not None and int(row[0]) >= MOST_WAITING:
            raise Fault(E_RATE_LIMITED, "Too many machines wait to be let in.", retry_after_ms=60_000)
        link.execute(
            "INSERT INTO handrail.credentials"
            " (hash, id, workspace, account, kind, name, role, machine, scopes, made_at, made_by, expires_at,"
            "  used_at, ended_at, request_id)"
            " VALUES (%s, %s, '', '', 'machine', %s, '', %s, '', %s, '', %s, 0, 0, NULL)",
            (digest_secret(secret), code, machine, machine, directory.clock.now(), now + WAIT_SECONDS),
        )

    directory.database.within(EVERY_WORKSPACE).write(add)
    return Asking(code=code, secret=secret, machine=machine)


def find_asking(directory: Directory, code: str) -> str:
    """Return the name of the machine with this code. Raises Fault E_NOT_FOUND."""
    rows = directory.database.within(EVERY_WORKSPACE).fetch(
        "SELECT machine FROM handrail.credentials"
        " WHERE kind = 'machine' AND id = %s AND account = '' AND expires_at > %s",
        (code.strip().upper(), directory.clock.unix_seconds()),
    )
    if not rows:
        raise _nobody_waits()
    return str(rows[0][0])


def admit(directory: Directory, code: str, workspace: str, account: str) -> str:
    """Approve the machine with this code and return its name. Raises Fault E_NOT_FOUND."""
    machine = find_asking(directory, code)
    (count,) = directory.database.within(EVERY_WORKSPACE).send(
        (
            "UPDATE handrail.credentials SET account = %s, workspace = %s"
            " WHERE kind = 'machine' AND id = %s AND account = ''",
            (account, workspace, code.strip().upper()),
        )
    )
    if not count:
        raise _nobody_waits()
    return machine


def fetch_token(directory: Directory, secret: str) -> Made:
    """Return the token of an approved machine, once.

    Raises Fault E_HUMAN_REQUIRED before the approval, and E_AUTH if the machine waited too long or has its
    token.
    """

    def take(link: Link) -> tuple[str, str, str]:
        row = link.execute(
            "SELECT workspace, account, machine FROM handrail.credentials"
            " WHERE kind = 'machine' AND hash = %s AND expires_at > %s FOR UPDATE",
            (digest_secret(secret), directory.clock.unix_seconds()),
        ).fetchone()
        if row is None:
            raise refuse_credential()
        if not row[1]:
            raise Fault(
                E_HUMAN_REQUIRED,
                "Nobody has let this machine in yet.",
                details={"action": "approve the machine in the Console", "resume": "handrail login --resume"},
            )
        link.execute("DELETE FROM handrail.credentials WHERE hash = %s", (digest_secret(secret),))
        return str(row[0]), str(row[1]), str(row[2])

    workspace, account, machine = directory.database.within(EVERY_WORKSPACE).write(take)
    return directory.make_token(workspace, account, machine, machine, SCOPES, TOKEN_DAYS)


def _nobody_waits() -> Fault:
    return Fault(
        E_NOT_FOUND,
        "No machine waits with this code.",
        details={"resource": "machine"},
        hint="Run handrail login on the machine again, and open the address that it shows.",
    )
