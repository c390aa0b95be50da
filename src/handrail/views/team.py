"""A team: its members, their tokens, its workspaces and what was changed. Pure."""

from __future__ import annotations

from handrail.contract.accounts import Role
from handrail.contract.outcome import Answer


class MemberRow(Answer, frozen=True, kw_only=True):
    """A person, or an invitation that nobody has used yet."""

    id: str
    name: str
    role: Role
    state: str
    """`member` or `invited`."""
    since: str
    is_me: bool
    expires_at: str
    """Of an invitation."""


class MemberList(Answer, frozen=True, kw_only=True):
    """Beside the items: where they belong to."""

    workspace_id: str
    workspace: str
    my_role: str
    """Empty: the operator."""


class TokenRow(Answer, frozen=True, kw_only=True):
    """One credential."""

    id: str
    name: str
    kind: str
    """`agent`, or `page`: a person who is signed in."""
    owner: str
    """The name of its person."""
    machine: str
    scopes: str
    state: str
    """`good`, `expired` or `revoked`."""
    used_at: str
    """To the minute; empty: never."""
    expires_at: str
    is_mine: bool


class TokenList(Answer, frozen=True, kw_only=True):
    """Beside the items: where they are good."""

    workspace_id: str


class AuditRow(Answer, frozen=True, kw_only=True):
    """One change, or one that was refused."""

    id: str
    at: str
    who: str
    """The name of the account as it is now; its id where the name was cleared."""
    command: str
    about: str
    """What it was asked with, members by name: whom, which role."""
    effect: str
    code: str
    """Why it was refused; empty: it was not."""
    is_dry_run: bool
    """It was shown, and nothing was changed."""


class AuditList(Answer, frozen=True, kw_only=True):
    """Beside the items: where it happened."""

    workspace_id: str


class WorkspaceRow(Answer, frozen=True, kw_only=True):
    """One workspace."""

    id: str
    name: str
    role: str
    """Of who asks; empty: the operator."""
    made_at: str
    is_here: bool
    """The one that the credential of this call opens."""


class WorkspaceList(Answer, frozen=True, kw_only=True):
    """Nothing beside the items."""


class AdmittedMachine(Answer, frozen=True, kw_only=True):
    """The machine, and whether it is let in now."""

    machine: str
    code: str
    is_admitted: bool
    next: str = ""
    """What is done there now, once it is let in."""


class Caller(Answer, frozen=True, kw_only=True):
    """The account, and what it is here."""

    account: str
    name: str
    kind: str
    """`person` or `agent` of a team; `local`: this project belongs to none."""
    agent: str
    machine: str
    workspace: str
    role: str
    scopes: list[str]
    server: str = ""
    """Where the server of the team is reached."""
    expires_at: str = ""
    """When the credential of this call ends; empty: nobody says."""
