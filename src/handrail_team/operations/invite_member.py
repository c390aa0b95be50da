"""`team.invite`: a link with which somebody joins a workspace."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.accounts import ROLES, Role
from handrail.contract.catalogue import E_FORBIDDEN
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, Success
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun
from handrail_team.operations.asked import (
    DATABASE_ERRORS,
    NAME_RULE,
    Name,
    Origin,
    RequestId,
    TeamChange,
    find_team,
    given,
    make,
    spell_invitation,
)


class InviteMember(TeamChange, frozen=True, kw_only=True):
    """Whom, and as what."""

    name: Annotated[Name, Meta(description="Who is invited, for those who look at the list.")]
    role: Annotated[Role, Meta(description="What they may do; member by default.")] | UnsetType = UNSET
    origin: Origin | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET


class Invitation(Answer, frozen=True, kw_only=True):
    """The link, shown once; it works once."""

    id: str
    link: str
    """Empty where the same request id made it before."""
    role: Role
    expires_at: str
    is_new: bool


def invite_member(rt: Runtime, request: InviteMember) -> DryRun | Success | Answer:
    """Make an invitation. Raises Fault E_FORBIDDEN for a role above one's own."""
    role: Role = given(request.role, "member")
    require_not_above(rt, role)
    team = find_team(rt, request)

    def work() -> Invitation:
        made = team.directory.invite(
            team.workspace.id, role, request.name, team.by, request_id=given(request.request_id, "")
        )
        told = spell_invitation(rt, team.directory, request.origin, made)
        return Invitation(id=made.id, role=role, **told)

    change = Change(action="create", resource="invitation", id=request.name, after={"role": role})
    return make(rt, OPERATION, request, change, "Whoever has the link can join with this role, once.", work)


def require_not_above(rt: Runtime, role: Role) -> None:
    """Nobody makes somebody more than they are. Raises Fault E_FORBIDDEN."""
    if rt.principal is not None and ROLES.index(role) > ROLES.index(rt.principal.role):
        raise Fault(
            E_FORBIDDEN,
            f"Only an {role} gives the role {role}. Nothing was done.",
            details={"needed": f"the role {role}", "given": f"the role {rt.principal.role}"},
            hint="Ask an owner of the workspace.",
        )


OPERATION = Operation(
    name="team.invite",
    effect="create",
    summary="Make a link with which somebody joins a workspace, once.",
    input=InviteMember,
    output=Invitation,
    perform=invite_member,
    shape=Shape(levels={"minimal": ("id", "link"), "standard": None, "full": None}, select="top"),
    value_rules=NAME_RULE,
    errors=DATABASE_ERRORS,
)
