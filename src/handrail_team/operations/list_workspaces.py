"""`team workspace list`: list the workspaces of a team, or those of the caller."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Success, make_from
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.views.team import WorkspaceList, WorkspaceRow
from handrail_team.operations.team_scope import (
    DATABASE_ERRORS,
    Store,
    list_all,
    open_directory,
)


class ListWorkspaces(Input, frozen=True, kw_only=True):
    """The team."""

    store: Store | UnsetType = UNSET


def list_workspaces(rt: Runtime, request: ListWorkspaces) -> Success:
    """Return the workspaces by name."""
    directory = open_directory(rt, request.store)
    account = "" if rt.principal is None else rt.principal.account
    here = "" if rt.principal is None else rt.principal.workspace
    rows = [
        make_from(WorkspaceRow, one, role=one.role or "", is_here=one.id == here)
        for one in directory.workspaces(account)
    ]
    return list_all(rows, {})


OPERATION = Operation(
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
