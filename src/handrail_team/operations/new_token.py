"""`team token create`: a token for an agent of a person, shown once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_NOT_FOUND, E_USAGE
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, Success
from handrail.contract.parameters import MintedId
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun
from handrail_team.accounts.roles import READ, SCOPES
from handrail_team.operations.team_scope import (
    DATABASE_ERRORS,
    NAME_RULE,
    Name,
    RequestId,
    TeamChange,
    find_team,
    given,
    make,
    spell_time,
)

if TYPE_CHECKING:
    pass


DAYS = 90
MOST_DAYS = 366


class NewToken(TeamChange, frozen=True, kw_only=True):
    """The agent's name, and how long the token is valid."""

    name: Annotated[Name, Meta(description="What the agent is called.")]
    machine: Annotated[str, Meta(description="Where it works.", max_length=128)] | UnsetType = UNSET
    read_only: Annotated[bool, Meta(description="It may read, and nothing else.")] | UnsetType = UNSET
    days: Annotated[int, Meta(description="How long it is good.", ge=1, le=MOST_DAYS)] | UnsetType = UNSET
    account: (
        Annotated[MintedId, Meta(description="Of the operator alone: whose agent it is.", max_length=128)]
        | UnsetType
    ) = UNSET
    request_id: RequestId | UnsetType = UNSET


class MadeToken(Answer, frozen=True, kw_only=True):
    """The token, shown only now."""

    id: str
    bearer: str
    """The value for `Authorization: Bearer`; empty if the same request id made it before."""
    name: str
    expires_at: str
    is_new: bool


def new_token(rt: Runtime, request: NewToken) -> DryRun | Success | Answer:
    """Make a token for an agent of the caller; the operator names the account."""
    if rt.principal is None and request.account is UNSET:
        raise Fault(E_USAGE, "Say whose agent it is: --account NAME.", details={"usage": "--account NAME"})
    if rt.principal is not None and request.account not in (UNSET, rt.principal.account):
        raise Fault(
            E_NOT_FOUND,
            "Everybody makes tokens for agents of their own.",
            hint="Leave account out.",
        )
    team = find_team(rt, request)

    held = None
    if rt.principal is None:
        held = team.directory.find_member(team.workspace.id, given(request.account, ""))

    def work() -> MadeToken:
        made = team.directory.make_token(
            team.workspace.id,
            team.by if held is None else held.account,
            request.name,
            given(request.machine, ""),
            (READ,) if request.read_only is True else SCOPES,
            given(request.days, DAYS),
            request_id=given(request.request_id, ""),
        )
        return MadeToken(
            id=made.id,
            bearer=made.secret,
            name=request.name,
            expires_at=spell_time(made.expires_at),
            is_new=bool(made.secret),
        )

    change = Change(action="create", resource="credential", id=request.name)
    return make(rt, OPERATION, request, change, "Whoever has it works as an agent of its person.", work, held)


OPERATION = Operation(
    name="team.new_token",
    effect="create",
    summary="Make a token for an agent; it is shown once.",
    input=NewToken,
    output=MadeToken,
    perform=new_token,
    shape=Shape(levels={"minimal": ("id", "bearer")}),
    value_rules=NAME_RULE,
    errors=DATABASE_ERRORS,
)
