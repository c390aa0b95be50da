"""Who belongs to a workspace: inviting, listing, changing and resetting members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.accounts import ROLES, Role
from handrail.contract.catalogue import E_FORBIDDEN, E_USAGE
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, NextCall, Success, make_from
from handrail.contract.parameters import MintedId
from handrail.contract.tokens.confirm import refusal
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun, Plan, preview_or_write
from handrail_team.accounts.refusals import refuse_last_owner
from handrail_team.operations.asked import (
    DATABASE_ERRORS,
    NAME_RULE,
    Name,
    Origin,
    RequestId,
    TeamChange,
    TeamQuestion,
    find_team,
    given,
    list_all,
    make,
    spell_invitation,
    spell_time,
)

if TYPE_CHECKING:
    from handrail_team.accounts.directory import Member


# `team.invite`: a link with which somebody joins a workspace.


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
        spelled = spell_invitation(rt, team.directory, request.origin, made)
        return Invitation(id=made.id, role=role, **spelled)

    change = Change(action="create", resource="invitation", id=request.name, after={"role": role})
    return make(rt, INVITE, request, change, "Whoever has the link can join with this role, once.", work)


def require_not_above(rt: Runtime, role: Role) -> None:
    """Nobody makes somebody more than they are. Raises Fault E_FORBIDDEN."""
    if rt.principal is not None and ROLES.index(role) > ROLES.index(rt.principal.role):
        raise Fault(
            E_FORBIDDEN,
            f"Only an {role} gives the role {role}. Nothing was done.",
            details={"needed": f"the role {role}", "given": f"the role {rt.principal.role}"},
            hint="Ask an owner of the workspace.",
        )


INVITE = Operation(
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


# `team.members`: who belongs to a workspace, and who is invited.


class ListMembers(TeamQuestion, frozen=True, kw_only=True):
    """Of which workspace."""


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


def list_members(rt: Runtime, request: ListMembers) -> Success:
    """Everybody, by name; then the invitations that are open."""
    team = find_team(rt, request)
    me = "" if rt.principal is None else rt.principal.account
    rows: list[MemberRow] = [
        make_from(MemberRow, one, id=one.account, state="member", is_me=one.account == me, expires_at="")
        for one in team.directory.members(team.workspace.id)
    ]
    now = rt.clock.unix_seconds()
    for held in team.directory.credentials(team.workspace.id, ("invitation",)):
        if held.is_good(now):
            rows.append(
                MemberRow(
                    id=held.id,
                    name=held.name,
                    role=msgspec.convert(held.offered, Role),
                    state="invited",
                    since="",
                    is_me=False,
                    expires_at=spell_time(held.expires_at),
                )
            )
    totals = MemberList(
        workspace_id=team.workspace.id,
        workspace=team.workspace.name,
        my_role="" if rt.principal is None else rt.principal.role,
    )
    return list_all(rows, msgspec.to_builtins(totals))


MEMBERS = Operation(
    name="team.members",
    effect="read",
    summary="List who belongs to a workspace of a team, and who is invited.",
    input=ListMembers,
    output=MemberList,
    item=MemberRow,
    perform=list_members,
    shape=Shape(
        levels={"minimal": ("id", "name", "role")},
        id_field="id",
        select="items",
        untrusted=("name",),
    ),
    default_sort="name",
    errors=DATABASE_ERRORS,
)


# `team.set_member`: another role for a member, or none any more. Gated; the last owner stays.


_REMOVED = "Every token of theirs in this workspace ends."
_ERASED = (
    f"{_REMOVED} Once they belong to no workspace, their name and their ways to sign in are cleared for good;"
    " what they did stays, under an id."
)


class SetMember(TeamChange, frozen=True, kw_only=True):
    """Whose, and which."""

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
    """As it is now."""

    account: str
    role: str
    """Empty: no member any more."""


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

    return preview_or_write(
        rt, SET_MEMBER, request, workspace=team.workspace.id, resolve=resolve, write=write
    )


SET_MEMBER = Operation(
    name="team.set_member",
    effect="gated",
    summary="Give a member another role, or remove or erase them; the last owner stays.",
    input=SetMember,
    output=ChangedMember,
    perform=set_member,
    shape=Shape(levels={"minimal": ("account", "role")}),
    errors=DATABASE_ERRORS,
)


# `team.reset`: a new invitation for somebody who cannot sign in any more.


class ResetAccount(TeamChange, frozen=True, kw_only=True):
    """Whose."""

    member: Annotated[MintedId, Meta(description="The account, by id or name.", min_length=1, max_length=128)]
    origin: Origin | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET


def reset_account(rt: Runtime, request: ResetAccount) -> DryRun | Success | Answer:
    """Make the invitation; with it they choose a passphrase, and their pages are signed out.

    Raises Fault E_FORBIDDEN for somebody above oneself, or who is in other workspaces too: whoever has the
    link is that person there as well.
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
    return make(rt, RESET, request, change, "Whoever has the link becomes this person, once.", work, held)


RESET = Operation(
    name="team.reset",
    effect="create",
    summary="Make a link with which a member chooses a new passphrase.",
    input=ResetAccount,
    output=Invitation,
    perform=reset_account,
    shape=Shape(levels={"minimal": ("id", "link")}),
    errors=DATABASE_ERRORS,
)
