"""A team: its members, tokens, workspaces, and the audit log of changes. Pure."""

from __future__ import annotations

from handrail.contract.accounts import Role
from handrail.contract.outcome import Answer


class MemberRow(Answer, frozen=True, kw_only=True):
    """A person, or an invitation that has not been used yet."""

    id: str
    name: str
    role: Role
    state: str
    """`member` or `invited`."""
    since: str
    is_me: bool
    expires_at: str
    """When an invitation expires."""


class MemberList(Answer, frozen=True, kw_only=True):
    """Fields beside the list of members: the workspace that they belong to."""

    workspace_id: str
    workspace: str
    my_role: str
    """The caller's role; empty for the operator."""


class TokenRow(Answer, frozen=True, kw_only=True):
    """One token."""

    id: str
    name: str
    kind: str
    """`agent`, or `page` for a person who is signed in."""
    owner: str
    """Name of the person who owns it."""
    machine: str
    scopes: str
    state: str
    """`good`, `expired` or `revoked`."""
    used_at: str
    """When it was last used, to the minute; empty if never."""
    expires_at: str
    is_mine: bool


class TokenList(Answer, frozen=True, kw_only=True):
    """Fields beside the list of tokens: the workspace in which they are valid."""

    workspace_id: str


class AuditRow(Answer, frozen=True, kw_only=True):
    """One change, or an attempted change that was rejected."""

    id: str
    at: str
    who: str
    """Current name of the account; its id if the name was removed."""
    command: str
    about: str
    """The arguments of the call, such as the member and the role; members by name."""
    effect: str
    code: str
    """The error code if it was rejected; otherwise empty."""
    is_dry_run: bool
    """Whether it was a dry run that changed nothing."""


class AuditList(Answer, frozen=True, kw_only=True):
    """Fields beside the audit entries: the workspace in which they happened."""

    workspace_id: str


class WorkspaceRow(Answer, frozen=True, kw_only=True):
    """One workspace."""

    id: str
    name: str
    role: str
    """Role of the caller; empty for the operator."""
    made_at: str
    is_here: bool
    """Whether the token of this call opens this workspace."""


class WorkspaceList(Answer, frozen=True, kw_only=True):
    """Fields beside the list of workspaces: none."""


class AdmittedMachine(Answer, frozen=True, kw_only=True):
    """A machine, and whether it is admitted now."""

    machine: str
    code: str
    is_admitted: bool
    next: str = ""
    """The next command to run on that machine once it is admitted."""


class Caller(Answer, frozen=True, kw_only=True):
    """The caller's account, and its role here."""

    account: str
    name: str
    kind: str
    """`person` or `agent` of a team; `local` if this project belongs to no team."""
    agent: str
    machine: str
    workspace: str
    role: str
    scopes: list[str]
    server: str = ""
    """Address of the team server."""
    expires_at: str = ""
    """When the token of this call expires; empty if unknown."""
