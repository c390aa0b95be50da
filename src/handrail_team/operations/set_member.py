"""`team set`: change a member's role or end the membership. Needs a confirmation; the last owner stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.accounts import Role
from handrail.contract.catalogue import E_USAGE
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, NextCall, Success
from handrail.contract.parameters import MintedId
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun, Plan, preview_or_write
from handrail_team.accounts.refusals import refuse_last_owner
from handrail_team.operations.invitations import require_not_above
from handrail_team.operations.team_scope import (
    DATABASE_ERRORS,
    TeamChange,
    find_team,
)

if TYPE_CHECKING:
    from handrail_team.accounts.directory import Member

_REMOVED = "Every token of theirs in this workspace ends."
_ERASED = (
    f"{_REMOVED} Once they belong to no workspace, their name and their ways to sign in are cleared for good;"
    " what they did stays, under an id."
)


class SetMember(TeamChange, frozen=True, kw_only=True):
    """The member and the new role."""

    member: Annotated[MintedId, Meta(description="The account, by id or name.", min_length=1, max_length=128)]
    role: Annotated[Role, Meta(description="The new role.")] | UnsetType = UNSET
    remove: (
        Annotated[bool, Meta(description="Or end the membership, and every token of theirs here.")]
        | UnsetType
    ) = UNSET
    erase: (
        Annotated[
            bool,
            Meta(description="Or remove them and, with their last workspace, clear their name and sign-in."),
        ]
        | UnsetType
    ) = UNSET


class ChangedMember(Answer, frozen=True, kw_only=True):
    """The member after the change."""

    account: str
    role: str
    """Empty if the membership ended."""


def set_member(rt: Runtime, request: SetMember) -> DryRun | Success:
    """Show or change. Raises Fault E_NOT_FOUND, E_CONFLICT for the last owner, E_FORBIDDEN."""
    is_erased = request.erase is True
    is_removal = request.remove is True or is_erased
    if [request.remove is True, is_erased, request.role is not UNSET].count(True) != 1:
        usage = "--role ROLE, --remove or --erase"
        raise Fault(E_USAGE, f"Give one of {usage}.", details={"usage": usage})
    team = find_team(rt, request)
    role: Role | None = None if request.role is UNSET else request.role

    def resolve() -> Plan[Member]:
        held = team.directory.find_member(team.workspace.id, request.member)
        require_not_above(rt, held.role)
        if role is not None:
            require_not_above(rt, role)
        owners = [one.account for one in team.directory.members(team.workspace.id) if one.role == "owner"]
        change = Change(
            action="delete" if is_removal else "update",
            resource="member",
            id=held.account,
            before={"name": held.name, "role": held.role},
            after=None if is_removal else {"name": held.name, "role": role},
        )
        return Plan(
            action="erase" if is_erased else "remove" if is_removal else "update",
            changes=(change,),
            targets=(held.account,),
            versions={held.account: held.role},
            blast_radius=_ERASED if is_erased else _REMOVED if is_removal else "Their agents follow.",
            found=held,
            obstacle=refuse_last_owner() if role != "owner" and owners == [held.account] else None,
        )

    def write(held: Member) -> ChangedMember:
        if is_erased:
            team.directory.erase(team.workspace.id, held, team.by)
        else:
            team.directory.set_member(team.workspace.id, held, role, team.by)
        rt.commits.note(NextCall(operation="team.members", params={}))
        return ChangedMember(account=held.account, role=role or "")

    return preview_or_write(rt, OPERATION, request, workspace=team.workspace.id, resolve=resolve, write=write)


OPERATION = Operation(
    name="team.set_member",
    effect="gated",
    summary="Give a member another role, or remove or erase them; the last owner stays.",
    input=SetMember,
    output=ChangedMember,
    perform=set_member,
    shape=Shape(levels={"minimal": ("account", "role")}),
    errors=DATABASE_ERRORS,
)
