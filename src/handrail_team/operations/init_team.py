"""`team init`: make the tables, the first workspace and an invitation for its owner. For the operator."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_CONFLICT, E_FORBIDDEN
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, Success
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun, GatedInput
from handrail_team.operations.team_scope import (
    DATABASE_ERRORS,
    OPERATOR,
    Name,
    Origin,
    RequestId,
    Store,
    given,
    make,
    open_directory,
    spell_invitation,
)

FIRST_WORKSPACE = "main"


class InitTeam(GatedInput, frozen=True, kw_only=True):
    """The database, and the names of the workspace and its owner."""

    store: Store | UnsetType = UNSET
    name: (
        Annotated[Name, Meta(description="What the first workspace is called; main by default.")] | UnsetType
    ) = UNSET
    origin: Origin | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET


class MadeTeam(Answer, frozen=True, kw_only=True):
    """The workspace, and the invitation of its first owner, shown once."""

    workspace_id: str
    workspace: str
    link: str
    """Empty if the same request id made the invitation before; `team invite` makes another one."""
    expires_at: str
    is_new: bool


def init_team(rt: Runtime, request: InitTeam) -> DryRun | Success | Answer:
    """Make what is missing. Raises Fault E_CONFLICT if the workspace has an owner."""
    if rt.principal is not None:
        raise Fault(
            E_FORBIDDEN,
            "A team is made by who has its database, on the command line.",
            details={"needed": "the operator", "given": "an account"},
        )
    name, key = given(request.name, FIRST_WORKSPACE), given(request.request_id, "")
    directory = open_directory(rt, request.store)
    directory.database.require_bound_role()  # before a preview, and before anything is made

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
    return make(rt, OPERATION, request, change, "A schema, a workspace and an invitation are added.", work)


OPERATION = Operation(
    name="team.init",
    effect="create",
    where="client",
    summary="Make the team of a database: its tables, a workspace, and a link for the first owner.",
    input=InitTeam,
    output=MadeTeam,
    perform=init_team,
    shape=Shape(levels={"minimal": ("workspace_id", "link")}),
    errors=DATABASE_ERRORS,
)
