"""`team reset`: make a new invitation for a person who cannot sign in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_FORBIDDEN
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, Success
from handrail.contract.parameters import MintedId
from handrail.contract.tokens.confirm import refusal
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun
from handrail_team.operations.invitations import Invitation, require_not_above
from handrail_team.operations.team_scope import (
    DATABASE_ERRORS,
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


class ResetAccount(TeamChange, frozen=True, kw_only=True):
    """The person."""

    member: Annotated[MintedId, Meta(description="The account, by id or name.", min_length=1, max_length=128)]
    origin: Origin | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET


def reset_account(rt: Runtime, request: ResetAccount) -> DryRun | Success | Answer:
    """Make the invitation. The person chooses a passphrase with it, and their pages are signed out.

    Raises Fault E_FORBIDDEN for a role above the caller's own, and for a member of other workspaces: the
    link would open those too.
    """
    team = find_team(rt, request)
    held = team.directory.find_member(team.workspace.id, request.member)
    require_not_above(rt, held.role)

    def work() -> Invitation:
        if team.directory.find_member(team.workspace.id, held.account) != held:
            raise refusal("target_changed")
        if rt.principal is not None and len(team.directory.workspaces(held.account)) > 1:
            raise Fault(
                E_FORBIDDEN,
                "This account is reset by the operator, who has the database. Nothing was done.",
                details={"needed": "the operator", "given": "an account"},
                hint="Ask them for: handrail team reset NAME --store URI.",
            )
        made = team.directory.invite(
            team.workspace.id,
            held.role,
            held.name,
            team.by,
            request_id=given(request.request_id, ""),
            account=held.account,
        )
        spelled = spell_invitation(rt, team.directory, request.origin, made)
        return Invitation(id=made.id, role=held.role, **spelled)

    change = Change(action="create", resource="invitation", id=request.member)
    return make(rt, OPERATION, request, change, "Whoever has the link becomes this person, once.", work, held)


OPERATION = Operation(
    name="team.reset",
    effect="create",
    summary="Make a link with which a member chooses a new passphrase.",
    input=ResetAccount,
    output=Invitation,
    perform=reset_account,
    shape=Shape(levels={"minimal": ("id", "link")}),
    errors=DATABASE_ERRORS,
)
