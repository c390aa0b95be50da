"""The workspaces of a team: making the first and further ones, listing them, and what was changed in one."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_CONFLICT, E_FORBIDDEN
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, Success, make_from
from handrail.contract.wording import quote
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun, GatedInput
from handrail_team.operations.asked import (
    DATABASE_ERRORS,
    NAME_RULE,
    OPERATOR,
    Name,
    Origin,
    RequestId,
    Store,
    TeamQuestion,
    find_team,
    given,
    list_all,
    make,
    open_directory,
    spell_invitation,
)

# `team.init`: the tables, the first workspace, and an invitation for its first owner. For the operator.


FIRST_WORKSPACE = "main"


class InitTeam(GatedInput, frozen=True, kw_only=True):
    """Where."""

    store: Store | UnsetType = UNSET
    name: (
        Annotated[Name, Meta(description="What the first workspace is called; main by default.")] | UnsetType
    ) = UNSET
    origin: Origin | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET


class MadeTeam(Answer, frozen=True, kw_only=True):
    """The workspace, and the link with which its first owner comes in; it is shown once."""

    workspace_id: str
    workspace: str
    link: str
    """Empty where the same request id made the invitation before: `team invite` makes another one."""
    expires_at: str
    is_new: bool


def init_team(rt: Runtime, request: InitTeam) -> DryRun | Success | Answer:
    """Make what is missing. Raises Fault E_CONFLICT when the workspace has an owner."""
    if rt.principal is not None:
        raise Fault(
            E_FORBIDDEN,
            "A team is made by who has its database, on the command line.",
            details={"needed": "the operator", "given": "an account"},
        )
    name, key = given(request.name, FIRST_WORKSPACE), given(request.request_id, "")
    directory = open_directory(rt, request.store)

    def work() -> MadeTeam:
        known = [one for one in directory.workspaces() if one.name == name]
        workspace = known[0] if known else directory.make_workspace(name, key)
        if any(one.role == "owner" for one in directory.members(workspace.id)):
            raise Fault(
                E_CONFLICT,
                "This workspace has an owner already.",
                details={"reason": "exists"},
                hint="Invite further people: handrail team invite NAME --request-id KEY.",
            )
        made = directory.invite(
            workspace.id, "owner", "first owner", OPERATOR, request_id=f"init:{key}" if key else ""
        )
        return MadeTeam(
            workspace_id=workspace.id,
            workspace=workspace.name,
            **spell_invitation(rt, directory, request.origin, made),
        )

    change = Change(action="create", resource="workspace", id=name, after={"invitation": "owner"})
    return make(rt, INIT, request, change, "A schema, a workspace and an invitation are added.", work)


INIT = Operation(
    name="team.init",
    effect="create",
    where="companion",
    summary="Make the team of a database: its tables, a workspace, and a link for the first owner.",
    input=InitTeam,
    output=MadeTeam,
    perform=init_team,
    shape=Shape(levels={"minimal": ("workspace_id", "link")}),
    errors=DATABASE_ERRORS,
)


# `team.new_workspace`: one more workspace of a team. For the operator: a role counts in its own one.


class NewWorkspace(GatedInput, frozen=True, kw_only=True):
    """Its name."""

    name: Annotated[Name, Meta(description="What it is called.")]
    store: Store | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET


class MadeWorkspace(Answer, frozen=True, kw_only=True):
    """The workspace."""

    id: str
    name: str
    made_at: str


def new_workspace(rt: Runtime, request: NewWorkspace) -> DryRun | Success | Answer:
    """Make it. Raises Fault E_CONFLICT when the name is taken."""
    directory = open_directory(rt, request.store)

    def work() -> MadeWorkspace:
        return make_from(MadeWorkspace, directory.make_workspace(request.name, given(request.request_id, "")))

    change = Change(action="create", resource="workspace", id=request.name)
    return make(rt, NEW_WORKSPACE, request, change, "A workspace is added; nobody else is in it.", work)


NEW_WORKSPACE = Operation(
    name="team.new_workspace",
    effect="create",
    where="companion",
    summary="Make a workspace of a team; nothing in one is seen from another.",
    input=NewWorkspace,
    output=MadeWorkspace,
    perform=new_workspace,
    shape=Shape(levels={"minimal": ("id", "name")}),
    value_rules=NAME_RULE,
    errors=DATABASE_ERRORS,
)


# `team.workspaces`: the workspaces of a team, or those of whoever is signed in.


class ListWorkspaces(Input, frozen=True, kw_only=True):
    """Of which team."""

    store: Store | UnsetType = UNSET


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


def list_workspaces(rt: Runtime, request: ListWorkspaces) -> Success:
    """By name."""
    directory = open_directory(rt, request.store)
    account = "" if rt.principal is None else rt.principal.account
    here = "" if rt.principal is None else rt.principal.workspace
    rows = [
        make_from(WorkspaceRow, one, role=one.role or "", is_here=one.id == here)
        for one in directory.workspaces(account)
    ]
    return list_all(rows, {})


WORKSPACES = Operation(
    name="team.workspaces",
    effect="read",
    summary="List the workspaces of a team.",
    input=ListWorkspaces,
    output=WorkspaceList,
    item=WorkspaceRow,
    perform=list_workspaces,
    shape=Shape(
        levels={"minimal": ("id", "name", "role")},
        id_field="id",
        select="items",
        untrusted=("name",),
    ),
    default_sort="name",
    errors=DATABASE_ERRORS,
)


# `team.audit`: what was changed in a workspace, and what was refused, newest first.


ROWS = 100
_GATE = ("dryRun", "confirm")
"""How a change is asked for, not what it is."""
MOST_ROWS = 1_000


class ListAudit(TeamQuestion, frozen=True, kw_only=True):
    """Of which workspace."""

    limit: (
        Annotated[int, Meta(description="How many rows, 100 by default.", ge=1, le=MOST_ROWS)] | UnsetType
    ) = UNSET


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


def list_audit(rt: Runtime, request: ListAudit) -> Success:
    """The newest rows."""
    team = find_team(rt, request)
    names = {one.account: one.name for one in team.directory.members(team.workspace.id)}
    rows = [
        _row(key, msgspec.json.decode(line), names)
        for key, line in team.directory.audit(team.workspace.id, given(request.limit, ROWS))
    ]
    return list_all(rows, {"workspace_id": team.workspace.id})


def _row(key: str, line: dict[str, Any], names: dict[str, str]) -> AuditRow:
    who = str(line.get("account", ""))
    args: dict[str, Any] = line.get("args") or {}
    return AuditRow(
        id=key,
        at=str(line.get("at", "")),
        who=names.get(who, who) or OPERATOR,
        command=str(line.get("command", "")),
        about=", ".join(_spell(name, held, names) for name, held in args.items() if name not in _GATE),
        effect=str(line.get("effect", "")),
        code=str(line.get("code") or ""),
        is_dry_run=line.get("dry_run") is True,
    )


def _spell(name: str, held: Any, names: dict[str, str]) -> str:
    text = held if isinstance(held, str) else msgspec.json.encode(held).decode()
    return f"{name} {quote(names.get(text, text))}" if isinstance(held, str) else f"{name} {text}"


AUDIT = Operation(
    name="team.audit",
    effect="read",
    summary="List what was changed in a workspace, and what was refused.",
    input=ListAudit,
    output=AuditList,
    item=AuditRow,
    perform=list_audit,
    shape=Shape(
        levels={"minimal": ("at", "who", "command", "about")},
        id_field="id",
        select="items",
        untrusted=("who", "about"),
    ),
    default_sort="-at",
    errors=DATABASE_ERRORS,
)
