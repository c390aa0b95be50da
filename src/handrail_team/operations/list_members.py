"""`team members`: list the members and open invitations of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from handrail.contract.accounts import Role
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Success, make_from
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.views.team import MemberList, MemberRow
from handrail_team.operations.team_scope import (
    DATABASE_ERRORS,
    TeamQuestion,
    find_team,
    list_all,
    spell_time,
)

if TYPE_CHECKING:
    pass


class ListMembers(TeamQuestion, frozen=True, kw_only=True):
    """The workspace."""


def list_members(rt: Runtime, request: ListMembers) -> Success:
    """Return the members by name, then the open invitations."""
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


OPERATION = Operation(
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
