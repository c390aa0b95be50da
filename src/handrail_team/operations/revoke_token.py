"""`team token revoke`: end credentials on every server within seconds. Needs a confirmation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_NOT_FOUND, E_USAGE
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, NextCall, Success
from handrail.contract.parameters import MintedId
from handrail.contract.wording import quote
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun, Plan, preview_or_write
from handrail_team.operations.list_tokens import own_credentials
from handrail_team.operations.team_scope import (
    DATABASE_ERRORS,
    TeamChange,
    find_team,
)

if TYPE_CHECKING:
    from handrail_team.accounts.directory import Credential


class RevokeToken(TeamChange, frozen=True, kw_only=True):
    """The credentials."""

    token: (
        Annotated[MintedId, Meta(description="Its id, or the name of the agent.", max_length=128)] | UnsetType
    ) = UNSET
    machine: (
        Annotated[str, Meta(description="Or every token of this machine.", max_length=128)] | UnsetType
    ) = UNSET


class Revoked(Answer, frozen=True, kw_only=True):
    """The credentials that ended."""

    ids: list[str]


def revoke_token(rt: Runtime, request: RevokeToken) -> DryRun | Success:
    """Show or end them. Raises the same Fault E_NOT_FOUND for other people's credentials and for unknown
    ids.
    """
    if (request.token is UNSET) == (request.machine is UNSET):
        raise Fault(
            E_USAGE, "Name one token, or a machine.", details={"usage": "TOKEN_ID, or --machine MACHINE"}
        )
    team = find_team(rt, request)

    def resolve() -> Plan[list[str]]:
        now = rt.clock.unix_seconds()
        found = [
            held
            for held in own_credentials(rt, team, ("agent", "page", "invitation"))
            if _is_meant(held, request)
        ]
        if not found:
            named = request.machine if request.token is UNSET else request.token
            raise Fault(
                E_NOT_FOUND,
                f"There is no token {quote(str(named))} here.",
                hint="`handrail team token list` names them.",
            )
        return Plan(
            action="revoke",
            changes=tuple(
                Change(
                    action="delete" if held.is_good(now) else "none",
                    resource="credential",
                    id=held.id,
                    before={"name": held.name, "owner": held.owner},
                )
                for held in found
            ),
            targets=tuple(held.id for held in found),
            versions={held.id: str(held.ended_at) for held in found},
            blast_radius="Whoever works with it is refused from then on; nothing that it did is changed.",
            found=[held.id for held in found],
        )

    def write(ids: list[str]) -> Revoked:
        team.directory.end(team.workspace.id, ids)
        rt.commits.note(NextCall(operation="team.tokens", params={}))
        return Revoked(ids=ids)

    return preview_or_write(rt, OPERATION, request, workspace=team.workspace.id, resolve=resolve, write=write)


def _is_meant(held: Credential, request: RevokeToken) -> bool:
    if request.token is UNSET:
        return bool(held.machine) and held.machine == request.machine
    return request.token == held.id or (held.kind == "agent" and held.name == request.token)


OPERATION = Operation(
    name="team.revoke_token",
    effect="gated",
    summary="End a token, an invitation, or every token of a machine.",
    input=RevokeToken,
    output=Revoked,
    perform=revoke_token,
    shape=Shape(levels={"minimal": ("ids",)}),
    errors=DATABASE_ERRORS,
)
