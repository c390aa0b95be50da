"""Tokens of agents: making one, listing them with the pages that are signed in, ending them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.accounts import ROLES
from handrail.contract.catalogue import E_NOT_FOUND, E_USAGE
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, NextCall, Success, make_from
from handrail.contract.parameters import MintedId
from handrail.contract.wording import quote
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun, Plan, preview_or_write
from handrail_team.accounts.roles import READ, SCOPES
from handrail_team.operations.asked import (
    DATABASE_ERRORS,
    NAME_RULE,
    Name,
    RequestId,
    Team,
    TeamChange,
    TeamQuestion,
    find_team,
    given,
    list_all,
    make,
    spell_time,
)

if TYPE_CHECKING:
    from handrail_team.accounts.credentials import CredentialKind
    from handrail_team.accounts.directory import Credential


# `team.new_token`: a token for an agent of a person, shown once.


DAYS = 90
MOST_DAYS = 366


class NewToken(TeamChange, frozen=True, kw_only=True):
    """Of which agent."""

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
    """The token, which nobody can show again."""

    id: str
    bearer: str
    """What goes behind `Authorization: Bearer`; empty where the same request id made it before."""
    name: str
    expires_at: str
    is_new: bool


def new_token(rt: Runtime, request: NewToken) -> DryRun | Success | Answer:
    """Make a token for an agent of oneself; the operator says whose it is."""
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
    return make(rt, NEW_TOKEN, request, change, "Whoever has it works as an agent of its person.", work, held)


NEW_TOKEN = Operation(
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


# `team.tokens`: which agents may work, and which pages are signed in; never what they show.


class ListTokens(TeamQuestion, frozen=True, kw_only=True):
    """Of which workspace."""


class TokenRow(Answer, frozen=True, kw_only=True):
    """One credential."""

    id: str
    name: str
    kind: str
    """`agent`, or `page`: a person who is signed in."""
    owner: str
    """The name of its person."""
    machine: str
    scopes: str
    state: str
    """`good`, `expired` or `revoked`."""
    used_at: str
    """To the minute; empty: never."""
    expires_at: str
    is_mine: bool


class TokenList(Answer, frozen=True, kw_only=True):
    """Beside the items: where they are good."""

    workspace_id: str


def list_tokens(rt: Runtime, request: ListTokens) -> Success:
    """One's own; those of everybody for an admin and the operator."""
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
        for held in _mine(rt, team, ("agent", "page"))
    ]
    return list_all(rows, {"workspace_id": team.workspace.id})


TOKENS = Operation(
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


# `team.revoke_token`: end credentials, everywhere within seconds. Gated.


class RevokeToken(TeamChange, frozen=True, kw_only=True):
    """Which ones."""

    token: (
        Annotated[MintedId, Meta(description="Its id, or the name of the agent.", max_length=128)] | UnsetType
    ) = UNSET
    machine: (
        Annotated[str, Meta(description="Or every token of this machine.", max_length=128)] | UnsetType
    ) = UNSET


class Revoked(Answer, frozen=True, kw_only=True):
    """What ended."""

    ids: list[str]


def revoke_token(rt: Runtime, request: RevokeToken) -> DryRun | Success:
    """Show or end them. Raises Fault E_NOT_FOUND, alike for somebody else's and for none."""
    if (request.token is UNSET) == (request.machine is UNSET):
        raise Fault(
            E_USAGE, "Name one token, or a machine.", details={"usage": "TOKEN_ID, or --machine MACHINE"}
        )
    team = find_team(rt, request)

    def resolve() -> Plan[list[str]]:
        now = rt.clock.unix_seconds()
        found = [
            held for held in _mine(rt, team, ("agent", "page", "invitation")) if _is_meant(held, request)
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

    return preview_or_write(
        rt, REVOKE_TOKEN, request, workspace=team.workspace.id, resolve=resolve, write=write
    )


def _mine(rt: Runtime, team: Team, kinds: tuple[CredentialKind, ...]) -> list[Credential]:
    """One's own; those of everybody for an admin and the operator."""
    sees_all = rt.principal is None or ROLES.index(rt.principal.role) >= ROLES.index("admin")
    account = "" if sees_all or rt.principal is None else rt.principal.account
    return team.directory.credentials(team.workspace.id, kinds, account)


def _is_meant(held: Credential, request: RevokeToken) -> bool:
    if request.token is UNSET:
        return bool(held.machine) and held.machine == request.machine
    return request.token == held.id or (held.kind == "agent" and held.name == request.token)


REVOKE_TOKEN = Operation(
    name="team.revoke_token",
    effect="gated",
    summary="End a token, an invitation, or every token of a machine.",
    input=RevokeToken,
    output=Revoked,
    perform=revoke_token,
    shape=Shape(levels={"minimal": ("ids",)}),
    errors=DATABASE_ERRORS,
)
