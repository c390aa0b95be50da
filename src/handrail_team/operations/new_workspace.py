"""`team workspace create`: make another workspace. For the operator, because roles count per workspace."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Success, make_from
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun, GatedInput
from handrail_team.operations.team_scope import (
    DATABASE_ERRORS,
    NAME_RULE,
    Name,
    RequestId,
    Store,
    given,
    make,
    open_directory,
)


class NewWorkspace(GatedInput, frozen=True, kw_only=True):
    """The name."""

    name: Annotated[Name, Meta(description="What it is called.")]
    store: Store | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET


class MadeWorkspace(Answer, frozen=True, kw_only=True):
    """The new workspace."""

    id: str
    name: str
    made_at: str


def new_workspace(rt: Runtime, request: NewWorkspace) -> DryRun | Success | Answer:
    """Make the workspace. Raises Fault E_CONFLICT if the name is taken."""
    directory = open_directory(rt, request.store)

    def work() -> MadeWorkspace:
        return make_from(MadeWorkspace, directory.make_workspace(request.name, given(request.request_id, "")))

    change = Change(action="create", resource="workspace", id=request.name)
    return make(rt, OPERATION, request, change, "A workspace is added; nobody else is in it.", work)


OPERATION = Operation(
    name="team.new_workspace",
    effect="create",
    where="client",
    summary="Make a workspace of a team; nothing in one is seen from another.",
    input=NewWorkspace,
    output=MadeWorkspace,
    perform=new_workspace,
    shape=Shape(levels={"minimal": ("id", "name")}),
    value_rules=NAME_RULE,
    errors=DATABASE_ERRORS,
)
