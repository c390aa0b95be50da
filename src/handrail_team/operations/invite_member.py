"""`team invite`: make a link with which a person joins a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.accounts import Role
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Success
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun
from handrail_team.operations.invitations import Invitation, require_not_above
from handrail_team.operations.team_scope import (
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

if TYPE_CHECKING:
    pass


class InviteMember(TeamChange, frozen=True, kw_only=True):
    """The person's name and role."""

    name: Annotated[Name, Meta(description="Who is invited, for those who look at the list.")]
    role: Annotated[Role, Meta(description="What they may do; member by default.")] | UnsetType = UNSET
    origin: Origin | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET


def invite_member(rt: Runtime, request: InviteMember) -> DryRun | Success | Answer:
    """Make an invitation. Raises Fault E_FORBIDDEN for a role above the caller's own."""
    role: Role = given(request.role, "member")
    require_not_above(rt, role)
    team = find_team(rt, request)

    def work() -> Invitation:
        made = team.directory.invite(
            team.workspace.id, role, request.name, team.by, request_id=given(request.request_id, "")
        )
        spelled = spell_invitation(rt, team.directory, request.origin, made)
        return Invitation(id=made.id, role=role, **spelled)

    change = Change(action="create", resource="invitation", id=request.name, after={"role": role})
    return make(rt, OPERATION, request, change, "Whoever has the link can join with this role, once.", work)


OPERATION = Operation(
    name="team.invite",
    effect="create",
    summary="Make a link with which somebody joins a workspace, once.",
    input=InviteMember,
    output=Invitation,
    perform=invite_member,
    shape=Shape(levels={"minimal": ("id", "link")}),
    value_rules=NAME_RULE,
    errors=DATABASE_ERRORS,
)
