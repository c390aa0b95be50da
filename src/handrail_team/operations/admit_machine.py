"""`team admit`: approve a machine; its agent then belongs to the caller."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    E_NOT_FOUND,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import NextCall
from handrail.contract.parameters import TokenText
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.views.team import AdmittedMachine
from handrail_team.operations.team_scope import TeamQuestion, find_team


class AdmitMachine(TeamQuestion, frozen=True, kw_only=True):
    """The machine to approve."""

    code: Annotated[TokenText, Meta(description="What `handrail login` shows.", min_length=1, max_length=20)]
    show: Annotated[bool, Meta(description="Only say which machine it is.")] | UnsetType = UNSET


def admit_machine(rt: Runtime, request: AdmitMachine) -> AdmittedMachine:
    """Approve the machine for the caller, in their workspace."""
    from handrail_team.accounts.machines import admit, find_asking  # noqa: PLC0415 - as above
    from handrail_team.accounts.role_guard import account_of  # noqa: PLC0415 - a plain install has no database

    team = find_team(rt, request)
    if request.show is True:
        machine = find_asking(team.directory, request.code)
        return AdmittedMachine(machine=machine, code=request.code, is_admitted=False)
    machine = admit(team.directory, request.code, team.workspace.id, account_of(team.by))
    rt.commits.note(NextCall(operation="team.tokens", params={}))
    text = f"{machine} is let in. Run there: handrail login {rt.origin} --resume"
    return AdmittedMachine(machine=machine, code=request.code, is_admitted=True, next=text)


OPERATION = Operation(
    name="team.admit",
    effect="record",
    summary="Let a machine in that runs `handrail login`; a person does this in the Console.",
    input=AdmitMachine,
    output=AdmittedMachine,
    perform=admit_machine,
    reads_with=("show",),
    shape=Shape(levels={"minimal": ("machine", "is_admitted")}),
    errors=(E_NOT_FOUND.code, "FEATURE_DISABLED"),
)
