"""`team token list`: list tokens of agents and signed-in pages, without their secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handrail.contract.accounts import ROLES
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Success, make_from
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.views.team import TokenList, TokenRow
from handrail_team.operations.team_scope import (
    DATABASE_ERRORS,
    Team,
    TeamQuestion,
    find_team,
    list_all,
    spell_time,
)

if TYPE_CHECKING:
    from handrail_team.accounts.credentials import CredentialKind
    from handrail_team.accounts.directory import Credential


class ListTokens(TeamQuestion, frozen=True, kw_only=True):
    """The workspace."""


def list_tokens(rt: Runtime, request: ListTokens) -> Success:
    """Return the caller's own credentials; an admin and the operator get all."""
    team = find_team(rt, request)
    me = "" if rt.principal is None else rt.principal.account
    now = rt.clock.unix_seconds()
    rows = [
        make_from(
            TokenRow,
            held,
            scopes=" ".join(held.scopes),
            state="good"
            if held.is_good(now)
            else "expired"
            if now >= held.expires_at and not held.ended_at
            else "revoked",
            used_at=spell_time(held.used_at),
            expires_at=spell_time(held.expires_at),
            is_mine=held.account == me,
        )
        for held in own_credentials(rt, team, ("agent", "page"))
    ]
    return list_all(rows, {"workspace_id": team.workspace.id})


OPERATION = Operation(
    name="team.tokens",
    effect="read",
    summary="List the tokens of agents and the pages that are signed in.",
    input=ListTokens,
    output=TokenList,
    item=TokenRow,
    perform=list_tokens,
    shape=Shape(
        levels={"minimal": ("id", "name", "state")},
        id_field="id",
        select="items",
        untrusted=("name", "owner", "machine"),
    ),
    default_sort="-made_at",
    errors=DATABASE_ERRORS,
)


def own_credentials(rt: Runtime, team: Team, kinds: tuple[CredentialKind, ...]) -> list[Credential]:
    """Return the caller's own credentials; an admin and the operator get all."""
    sees_all = rt.principal is None or ROLES.index(rt.principal.role) >= ROLES.index("admin")
    account = "" if sees_all or rt.principal is None else rt.principal.account
    return team.directory.credentials(team.workspace.id, kinds, account)
