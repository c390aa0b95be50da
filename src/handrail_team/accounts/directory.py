"""Workspaces, their accounts and the credentials of those accounts, in the team database.

Permissions are not decided here. Row security limits a transaction to its own workspace, and `roles.py`
says who may call what. Each method is one transaction. An invitation works once because its row is locked,
and a request id makes one thing because it is unique in its workspace.
"""

from __future__ import annotations

import calendar
import time
from typing import Any, Final

import msgspec
from psycopg import errors

from handrail.contract.accounts import Principal, Role
from handrail.contract.catalogue import E_NOT_FOUND
from handrail.contract.outcome import Fault, make_from
from handrail.contract.redaction import Secrets
from handrail.contract.reused_request import refuse_reused_request
from handrail.contract.wording import quote
from handrail.ports.process import Clock, Randomness
from handrail_team.accounts.credentials import (
    NOBODY,
    SALT_BYTES,
    SECRET_BYTES,
    CredentialKind,
    digest_secret,
    fits,
    keep_passphrase,
    kind_of,
    spell_secret,
)
from handrail_team.accounts.forgetting import forget_name
from handrail_team.accounts.names import clean_name, fold_name, keep_name
from handrail_team.accounts.refusals import (
    refuse_credential,
    refuse_invitation,
    refuse_name,
    refuse_other_name,
    refuse_sign_in,
    refuse_taken,
)
from handrail_team.accounts.role_guard import Asking, account_of, require_as_found
from handrail_team.accounts.roles import SCOPES
from handrail_team.store.database import Database, Link, find_secrets
from handrail_team.store.migrations import EVERY_WORKSPACE

INVITATION_SECONDS: Final = 7 * 86_400
PAGE_SECONDS: Final = 12 * 3_600
OVERLAP_SECONDS: Final = 60
"""How long a page token still works after it was renewed."""
_NEVER: Final = 0
_SAME_SECONDS: Final = 3_600
"""Lifetimes that differ by less are equal: both are whole days."""
_CREDENTIAL = (
    "SELECT c.id, c.workspace, c.account, c.kind, c.name, c.machine, c.scopes, c.expires_at, c.ended_at,"
    " c.used_at, c.role, m.role, a.name"
    " FROM handrail.credentials c"
    " LEFT JOIN handrail.memberships m ON m.account = c.account AND m.workspace = c.workspace"
    " LEFT JOIN handrail.accounts a ON a.account = c.account"
)
_ADD = (
    "INSERT INTO handrail.credentials"
    " (hash, id, workspace, account, kind, name, role, machine, scopes, made_at, made_by, expires_at,"
    "  used_at, ended_at, request_id)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0, 0, %s)"
)


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """One credential, without its secret."""

    id: str
    workspace: str
    account: str
    kind: CredentialKind
    name: str
    machine: str
    scopes: tuple[str, ...]
    expires_at: int
    ended_at: int
    """When it ended or will end early; 0 means neither."""
    used_at: int
    """The time of last use, to the minute; 0 means never."""
    offered: str
    """The role that an invitation gives."""
    role: Role | None
    """The role of its account; None if the account is no longer a member."""
    owner: str

    def is_good(self, now: int) -> bool:
        return now < self.expires_at and (self.ended_at == _NEVER or now < self.ended_at)


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A new credential. Its secret is shown once, and is empty if the request id made it before."""

    id: str
    secret: str
    expires_at: int


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    made_at: str
    role: Role | None = None
    """The role of the caller."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    account: str
    name: str
    sign_in: str
    role: Role
    since: str


class Directory:
    """The people, agents, workspaces and credentials of a team."""

    def __init__(self, database: Database, clock: Clock, randomness: Randomness) -> None:
        self.database = database
        self._anywhere = database.within(EVERY_WORKSPACE)
        self.clock = self._clock = clock
        self._randomness = randomness

    # Workspaces

    def make_workspace(self, name: str, request_id: str) -> Workspace:
        """Make a workspace without members, or return the one that this request id made.

        Raises Fault E_CONFLICT if another workspace has the name.
        """
        made = Workspace(id=self._id("ws"), name=name, made_at=self._clock.now())

        def add(link: Link) -> Workspace:
            known = link.execute(
                "SELECT workspace, name, made_at, request_id FROM handrail.workspaces"
                " WHERE request_id = %s OR name = %s ORDER BY request_id = %s DESC NULLS LAST",
                (request_id or None, name, request_id or None),
            ).fetchone()
            if known is not None:
                if known[3] != request_id:
                    raise refuse_taken("workspace", known[1])
                if known[1] != name:
                    raise refuse_reused_request(request_id, "workspace", id=known[0])
                return Workspace(id=known[0], name=known[1], made_at=known[2])
            link.execute(
                "INSERT INTO handrail.workspaces VALUES (%s, %s, %s, %s)",
                (made.id, made.name, made.made_at, request_id or None),
            )
            return made

        return self._anywhere.write(add)

    def workspaces(self, account: str = "") -> list[Workspace]:
        """Return all workspaces, or those of one account with its role in each."""
        rows = self._anywhere.fetch(
            "SELECT w.workspace, w.name, w.made_at, m.role FROM handrail.workspaces w"
            " LEFT JOIN handrail.memberships m ON m.workspace = w.workspace AND m.account = %s"
            " WHERE %s = '' OR m.role IS NOT NULL ORDER BY w.name",
            (account, account),
        )
        return [
            Workspace(id=row[0], name=row[1], made_at=row[2], role=row[3] if account else None)
            for row in rows
        ]

    def find_workspace(self, named: str) -> Workspace:
        """Return a workspace by its id or name, or the only one. Raises Fault E_NOT_FOUND."""
        known = self.workspaces()
        found = [one for one in known if one.id == named] or [one for one in known if one.name == named]
        found = found if named else known
        if len(found) == 1:
            return found[0]
        raise Fault(
            E_NOT_FOUND,
            f"There is no workspace {quote(named)}." if named else "Say which workspace: there are several.",
            hint="`handrail team workspace list` names them; give one with --workspace.",
        )

    def keep_origin(self, origin: str) -> None:
        """Store the server's address, for links that the operator makes."""
        asked = (
            "INSERT INTO handrail.servers VALUES (%s, %s) ON CONFLICT (origin)"
            " DO UPDATE SET seen_at = excluded.seen_at"
        )
        self._anywhere.send((asked, (origin, self._clock.unix_seconds())))

    def find_origin(self) -> str:
        """Return the address of the server that started last, or an empty text."""
        rows = self._anywhere.fetch("SELECT origin FROM handrail.servers ORDER BY seen_at DESC LIMIT 1")
        return str(rows[0][0]) if rows else ""

    # Members

    def members(self, workspace: str) -> list[Member]:
        rows = self.database.within(workspace).fetch(
            "SELECT a.account, a.name, coalesce(a.sign_in, ''), m.role, m.since FROM handrail.memberships m"
            " JOIN handrail.accounts a ON a.account = m.account ORDER BY a.name, a.account"
        )
        return [
            Member(account=row[0], name=row[1], sign_in=row[2], role=row[3], since=row[4]) for row in rows
        ]

    def find_member(self, workspace: str, named: str) -> Member:
        """Return a member by id or name. Raises the same Fault E_NOT_FOUND for members of other workspaces
        and for unknown names.
        """
        known = self.members(workspace)
        found = [one for one in known if one.account == named]  # an id is nobody's name
        found = found or [one for one in known if named in (one.sign_in, one.name)]
        if len(found) == 1:
            return found[0]
        raise Fault(
            E_NOT_FOUND,
            f"There is no member {quote(named)} in this workspace.",
            hint="`handrail team members` names them.",
        )

    def set_member(self, workspace: str, member: Member, role: Role | None, by: Asking = "") -> None:
        """Change a member's role, or end the membership.

        Raises Fault E_CONFLICT for the last owner, and if the member has changed since it was read.
        """

        def change(link: Link) -> None:
            require_as_found(link, workspace, member, role, by)
            if role is None:
                self._end_membership(link, workspace, member.account)
                return
            link.execute(
                "UPDATE handrail.memberships SET role = %s WHERE account = %s", (role, member.account)
            )

        self.database.within(workspace).write(change)

    def erase(self, workspace: str, member: Member, by: Asking = "") -> None:
        """End a membership. With its last membership, an account also loses its name and its ways to sign
        in; its history stays under its id.

        Raises Fault E_CONFLICT as `set_member` does.
        """

        def change(link: Link) -> None:
            require_as_found(link, workspace, member, None, by)
            self._end_membership(link, workspace, member.account)
            erased = link.execute(
                "UPDATE handrail.accounts SET name = '', sign_in = NULL, passphrase = NULL, issuer = NULL,"
                " subject = NULL WHERE account = %s AND NOT EXISTS"
                " (SELECT 1 FROM handrail.memberships m WHERE m.account = %s)",
                (member.account, member.account),
            )
            if erased.rowcount:
                forget_name(link, member.account, {member.name, member.sign_in})

        self._anywhere.write(change)

    # Credentials

    def invite(
        self, workspace: str, role: Role, name: str, by: Asking, request_id: str = "", account: str = ""
    ) -> Made:
        """Make an invitation for a new person; with an account, a link to choose a new passphrase."""
        return self._make(
            "invitation",
            workspace=workspace,
            account=account,
            name=name,
            role=role,
            by=by,
            seconds=INVITATION_SECONDS,
            request_id=request_id,
        )

    def make_token(
        self,
        workspace: str,
        account: Asking,
        name: str,
        machine: str,
        scopes: tuple[str, ...],
        days: int,
        request_id: str = "",
    ) -> Made:
        """Make a token for an agent of this account."""
        return self._make(
            "agent",
            workspace=workspace,
            account=account_of(account),
            name=name,
            machine=machine,
            scopes=scopes,
            by=account,
            seconds=days * 86_400,
            request_id=request_id,
        )

    def credentials(
        self, workspace: str, kinds: tuple[CredentialKind, ...], account: str = ""
    ) -> list[Credential]:
        """Return the credentials made in a workspace, or for one of its accounts, newest first."""
        rows = self.database.within(workspace).fetch(
            _CREDENTIAL + " WHERE c.kind = ANY(%s::text[]) AND (%s = '' OR c.account = %s)"
            " ORDER BY c.made_at DESC, c.id",
            (list(kinds), account, account),
        )
        return [_credential(row) for row in rows]

    def end(self, workspace: str, ids: list[str]) -> int:
        """End credentials on every server, and return how many ended."""
        now = self._clock.unix_seconds()
        (count,) = self.database.within(workspace).send(
            (
                "UPDATE handrail.credentials SET ended_at = %s"
                " WHERE id = ANY(%s::text[]) AND (ended_at = 0 OR ended_at > %s)",
                (now, ids, now),
            )
        )
        return count

    def find(self, secret: str) -> Credential | None:
        """Return the credential of a secret, even if it is no longer valid."""
        if kind_of(secret) is None:
            return None
        rows = self._anywhere.fetch(_CREDENTIAL + " WHERE c.hash = %s", (digest_secret(secret),))
        return _credential(rows[0]) if rows else None

    def note_use(self, credential: Credential) -> None:
        """Store the time of use, to the minute."""
        now = self._clock.unix_seconds()
        if now - credential.used_at >= 60:
            self.database.within(credential.workspace).send(
                ("UPDATE handrail.credentials SET used_at = %s WHERE id = %s", (now, credential.id))
            )

    def audit(self, workspace: str, limit: int) -> list[tuple[str, bytes]]:
        """Return the newest lines of the audit with their ids."""
        rows = self.database.within(workspace).fetch(
            "SELECT id, line FROM handrail.audit ORDER BY at DESC, id LIMIT %s", (limit,)
        )
        return [(row[0], bytes(row[1])) for row in rows]

    # Signing in

    def accept(self, invitation: str, name: str, passphrase: str) -> Made:
        """Use an invitation: return a page token for an account with this passphrase.

        A person with an account joins with its name and passphrase, so one person is one account in every
        workspace. A reset link works for its own name only. Raises Fault E_AUTH for an invalid invitation,
        E_CONFLICT if another person has the name, and E_VALIDATION for an invalid name.
        """
        kept = keep_passphrase(passphrase, self._randomness.bytes(SALT_BYTES))
        mine = self._recognise(name, passphrase)

        def use(link: Link) -> Made:
            held = self._use_invitation(link, digest_secret(invitation))
            account = held.account
            if account:
                changed = link.execute(
                    "UPDATE handrail.accounts SET passphrase = %s WHERE account = %s AND sign_in = %s",
                    (kept, account, fold_name(name)),
                )
                if not changed.rowcount:
                    raise refuse_other_name()
                link.execute(
                    "UPDATE handrail.credentials SET ended_at = %s"
                    " WHERE account = %s AND kind = 'page' AND ended_at = 0",
                    (self._clock.unix_seconds(), account),
                )
            else:
                account = mine or self._add_account(link, name, passphrase=kept)
                self._join(link, account, held.workspace, _role(held.offered))
            return self._page_token(link, held.workspace, account)

        return self._anywhere.write(use)

    def _recognise(self, name: str, passphrase: str) -> str:
        """Return the account with this name and passphrase, or an empty text. Unknown names take as long."""
        rows = self._anywhere.fetch(
            "SELECT a.account, a.passphrase FROM handrail.accounts a WHERE a.sign_in = %s", (fold_name(name),)
        )
        account, kept = rows[0] if rows else ("", None)
        return str(account) if fits(passphrase, kept or NOBODY) else ""

    def places_of(self, name: str) -> list[tuple[str, str]]:
        """Return the workspaces of the account with this sign-in name, each with the account's id."""
        rows = self._anywhere.fetch(
            "SELECT m.workspace, m.account FROM handrail.memberships m"
            " JOIN handrail.accounts a ON a.account = m.account WHERE a.sign_in = %s",
            (fold_name(name),),
        )
        return [(row[0], row[1]) for row in rows]

    def sign_in(self, name: str, passphrase: str, workspace: str = "") -> Made:
        """Return a page token for a person. Raises the same Fault E_AUTH whatever is wrong."""
        account = self._recognise(name, passphrase)
        if not account:
            raise refuse_sign_in()
        return self.enter(account, workspace)

    def enter(self, account: str, workspace: str = "") -> Made:
        """Return a page token for an account in one of its workspaces.

        Raises Fault E_AUTH if it is a member of none.
        """
        mine = [one for one in self.workspaces(account) if workspace in ("", one.id, one.name)]
        if not mine:
            raise refuse_sign_in()
        return self._anywhere.write(lambda link: self._page_token(link, mine[0].id, account))

    def renew(self, secret: str) -> Made:
        """Return the next token of a page; the previous one ends within a minute. Raises Fault E_AUTH."""
        held = self.find(secret)
        now = self._clock.unix_seconds()
        if held is None or held.kind != "page" or held.role is None or not held.is_good(now):
            raise refuse_credential()

        def exchange(link: Link) -> Made:
            link.execute(
                "UPDATE handrail.credentials SET ended_at = %s WHERE id = %s AND ended_at = 0",
                (now + OVERLAP_SECONDS, held.id),
            )
            return self._page_token(link, held.workspace, held.account)

        return self._anywhere.write(exchange)

    def find_subject(self, issuer: str, subject: str) -> str:
        """Return the account of an identity provider's subject, or an empty text."""
        rows = self._anywhere.fetch(
            "SELECT account FROM handrail.accounts WHERE issuer = %s AND subject = %s", (issuer, subject)
        )
        return str(rows[0][0]) if rows else ""

    def accept_subject(self, invitation: str, name: str, issuer: str, subject: str) -> Made:
        """Use an invitation, given by its digest, for a subject of an identity provider.

        Raises Fault E_AUTH.
        """

        def use(link: Link) -> Made:
            held = self._use_invitation(link, invitation)
            known = link.execute(
                "SELECT account FROM handrail.accounts WHERE issuer = %s AND subject = %s", (issuer, subject)
            ).fetchone()
            account = known[0] if known else self._add_account(link, name, issuer=issuer, subject=subject)
            self._join(link, account, held.workspace, _role(held.offered))
            return self._page_token(link, held.workspace, account)

        return self._anywhere.write(use)

    # Parts of a transaction

    def _use_invitation(self, link: Link, digest: str) -> Credential:
        row = link.execute(_CREDENTIAL + " WHERE c.hash = %s FOR UPDATE OF c", (digest,)).fetchone()
        held = None if row is None else _credential(row)
        now = self._clock.unix_seconds()
        if held is None or held.kind != "invitation" or not held.is_good(now):
            raise refuse_invitation()
        link.execute("UPDATE handrail.credentials SET ended_at = %s WHERE id = %s", (now, held.id))
        return held

    def _add_account(
        self,
        link: Link,
        name: str,
        passphrase: str | None = None,
        issuer: str | None = None,
        subject: str | None = None,
    ) -> str:
        account = self._id("acc")
        kept = keep_name(name) if passphrase else clean_name(name) or account
        if not kept:
            raise refuse_name()
        sign_in = fold_name(kept) if passphrase else None
        try:
            link.execute(
                "INSERT INTO handrail.accounts VALUES (%s, %s, %s, %s, %s, %s, %s)",
                (account, kept, sign_in, passphrase, issuer, subject, self._clock.now()),
            )
        except errors.UniqueViolation as error:
            raise refuse_taken(
                "name", name, "Choose another one; if it is yours, give its passphrase."
            ) from error
        return account

    def _join(self, link: Link, account: str, workspace: str, role: Role) -> None:
        # A link to a new passphrase was made by somebody of the other workspace alone.
        link.execute(
            "UPDATE handrail.credentials SET ended_at = %s"
            " WHERE account = %s AND kind = 'invitation' AND ended_at = 0",
            (self._clock.unix_seconds(), account),
        )
        link.execute(
            "INSERT INTO handrail.memberships VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (account, workspace) DO NOTHING",
            (account, workspace, role, self._clock.now()),
        )

    def _end_membership(self, link: Link, workspace: str, account: str) -> None:
        link.execute(
            "DELETE FROM handrail.memberships WHERE workspace = %s AND account = %s", (workspace, account)
        )
        link.execute(
            "UPDATE handrail.credentials SET ended_at = %s"
            " WHERE workspace = %s AND account = %s AND ended_at = 0",
            (self._clock.unix_seconds(), workspace, account),
        )

    def _page_token(self, link: Link, workspace: str, account: str) -> Made:
        return self._add(link, "page", workspace=workspace, account=account, by=account, seconds=PAGE_SECONDS)

    def _make(
        self, kind: CredentialKind, *, workspace: str, request_id: str, by: Asking, **facts: Any
    ) -> Made:
        def add(link: Link) -> Made:
            known = link.execute(
                "SELECT id, expires_at, kind, account, name, role, machine, scopes, made_at"
                " FROM handrail.credentials WHERE request_id = %s",
                (request_id or None,),
            ).fetchone()
            if known is not None:
                if not _is_same_request(known[2:], known[1], kind, facts):
                    resource = "invitation" if known[2] == "invitation" else "token"
                    raise refuse_reused_request(request_id, resource, id=known[0])
                return Made(id=known[0], secret="", expires_at=known[1])
            if isinstance(by, Principal):
                require_as_found(link, workspace, by, by.role)
            made_by = account_of(by)
            return self._add(link, kind, workspace=workspace, request_id=request_id, by=made_by, **facts)

        return self.database.within(workspace).write(add)

    def _add(
        self,
        link: Link,
        kind: CredentialKind,
        *,
        workspace: str,
        account: str,
        by: str,
        seconds: int,
        name: str = "",
        role: str = "",
        machine: str = "",
        scopes: tuple[str, ...] = SCOPES,
        request_id: str = "",
    ) -> Made:
        secret = spell_secret(kind, self._randomness.bytes(SECRET_BYTES))
        made = Made(id=self._id("cred"), secret=secret, expires_at=self._clock.unix_seconds() + seconds)
        link.execute(
            _ADD,
            (
                *(digest_secret(secret), made.id, workspace, account, kind, name, role, machine),
                *(" ".join(scopes), self._clock.now(), by, made.expires_at, request_id or None),
            ),
        )
        return made

    def _id(self, kind: str) -> str:
        return f"{kind}_{self._randomness.bytes(8).hex()}"


def open_directory(address: str, clock: Clock, randomness: Randomness, secrets: Secrets) -> Directory:
    """Open the directory of a team by the address of its database."""
    for secret in find_secrets(address):
        secrets.register(secret.encode())
    return Directory(Database(address, is_team=True), clock, randomness)


def principal_of(held: Credential, *, is_person: bool) -> Principal | None:
    """Return the principal of a credential; None for an invitation and for an account that is no longer a
    member.
    """
    if held.role is None or held.kind == "invitation":
        return None
    kind = "person" if is_person else "agent"
    return make_from(Principal, held, name=held.owner, kind=kind, credential=held.id, agent=held.name)


def _is_same_request(
    held: tuple[Any, ...], expires_at: int, kind: CredentialKind, asked: dict[str, Any]
) -> bool:
    """Whether an earlier credential has the properties asked for now; `held` is its row from `kind` on."""
    found = dict(zip(("kind", "account", "name", "role", "machine", "scopes", "made_at"), held, strict=True))
    wanted = {"kind": kind, "account": asked["account"]}
    if kind != "invitation" or not asked["account"]:  # a reset names the account alone
        wanted |= {
            "name": asked["name"],
            "role": asked.get("role", ""),
            "machine": asked.get("machine", ""),
            "scopes": " ".join(asked.get("scopes", SCOPES)),
        }
    began = calendar.timegm(time.strptime(found["made_at"][:19], "%Y-%m-%dT%H:%M:%S"))
    is_as_long = abs(expires_at - began - asked["seconds"]) < _SAME_SECONDS
    return is_as_long and all(found[name] == value for name, value in wanted.items())


def _role(offered: str) -> Role:
    role: Role = msgspec.convert(offered, Role)
    return role


def _credential(row: tuple[Any, ...]) -> Credential:
    held = dict(zip(Credential.__struct_fields__, row, strict=True))  # in the order of the statement
    return Credential(**held | {"scopes": tuple(held["scopes"].split()), "owner": held["owner"] or ""})
