"""Shared by the operations about accounts: which directory and workspace a call is about, and who calls.

The operator has the address of the database and can ask about everything. A person who is signed in sees
only their own workspace.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    E_NOT_FOUND,
    E_USAGE,
    FEATURE_DISABLED,
    STORE_IO_ERROR,
    STORE_PERMISSION_DENIED,
    STORE_UNAVAILABLE,
    STORE_UNSUPPORTED_VERSION,
)
from handrail.contract.outcome import Answer, Fault, NextCall, Page, Success
from handrail.contract.parameters import MintedId, RequestKey
from handrail.contract.wording import quote
from handrail.runtime.operation import Input, Operation, ValueRule
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write
from handrail_team.accounts.names import NAME_EXPECTED, is_name

if TYPE_CHECKING:
    from handrail_team.accounts.directory import Directory, Made, Member, Workspace
    from handrail_team.accounts.role_guard import Asking

OPERATOR = "operator"
"""The operator's name in `made_by`."""
DATABASE_ERRORS = (
    STORE_UNAVAILABLE.code,
    STORE_PERMISSION_DENIED.code,
    STORE_IO_ERROR.code,
    STORE_UNSUPPORTED_VERSION.code,
)
"""The errors of reading the directory: the database is away, rejects the role or statement, or is too new."""
REQUEST_ID = r"^[A-Za-z0-9._:-]{1,128}$"
DEFAULT_ORIGIN = "http://127.0.0.1:7245"

_T = TypeVar("_T")

Store = Annotated[
    str, Meta(description="The database of the team; HANDRAIL_STORE by default.", max_length=2_048)
]
InWorkspace = Annotated[
    MintedId, Meta(description="The workspace, by id or name; the only one by default.", max_length=128)
]
Origin = Annotated[
    str,
    Meta(
        description="Where the team is reached, for the link; by default as its server says. A server names "
        "itself, whatever is given.",
        pattern=r"^https?://[^\s/]+$",
    ),
]
RequestId = Annotated[
    RequestKey, Meta(description="Your key; a repeat makes nothing new.", pattern=REQUEST_ID)
]
Name = Annotated[str, Meta(min_length=1, max_length=128)]
NAME_RULE = {"name": ValueRule(fits=is_name, problem="it is no name", expected=NAME_EXPECTED)}


class TeamQuestion(Input, frozen=True, kw_only=True):
    """The team."""

    store: Store | UnsetType = UNSET
    workspace: InWorkspace | UnsetType = UNSET


class TeamChange(GatedInput, frozen=True, kw_only=True):
    """The team."""

    store: Store | UnsetType = UNSET
    workspace: InWorkspace | UnsetType = UNSET


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """A directory, and one workspace of it."""

    directory: Directory
    workspace: Workspace
    by: Asking
    """The caller: an account with the role that was checked, or the operator."""


def open_directory(rt: Runtime, store: str | UnsetType) -> Directory:
    """Return the directory of the server, or of the database that the operator names.

    Raises Fault FEATURE_DISABLED at a server without accounts, and E_USAGE if no database is named.
    """
    from_server = cast("Directory | None", rt.accounts)
    if rt.is_served or from_server is not None:
        if from_server is None or store is not UNSET:
            raise Fault(
                FEATURE_DISABLED,
                "This server has no accounts."
                if from_server is None
                else "A server has one database, its own.",
                hint="Start one with: handrail serve --team --store URI.",
            )
        return from_server
    address = os.environ.get("HANDRAIL_STORE", "") if store is UNSET else store
    if not address.startswith(("postgresql://", "postgres://")):
        raise Fault(
            E_USAGE,
            "Name the database of the team: --store postgresql://HOST/DATABASE, or HANDRAIL_STORE.",
            details={"usage": "--store postgresql://HOST/DATABASE"},
        )
    opened: Directory = rt.registry.adapter("team_directory")(address, rt.clock, rt.randomness, rt.secrets)
    return opened


def find_team(rt: Runtime, request: TeamQuestion | TeamChange) -> Team:
    """Return the workspace of a call. Raises the same Fault E_NOT_FOUND for foreign and unknown ones."""
    directory = open_directory(rt, request.store)
    named = "" if request.workspace is UNSET else request.workspace
    if rt.principal is None:
        return Team(directory=directory, workspace=directory.find_workspace(named), by=OPERATOR)
    own = [one for one in directory.workspaces(rt.principal.account) if one.id == rt.principal.workspace]
    if not own or (named and named not in (own[0].id, own[0].name)):
        raise refuse_workspace(named)
    return Team(directory=directory, workspace=own[0], by=rt.principal)


def refuse_workspace(named: str) -> Fault:
    return Fault(
        E_NOT_FOUND,
        f"There is no workspace {quote(named)}.",
        hint="`handrail team workspace list` names them.",
    )


def make(
    rt: Runtime,
    called: Operation,
    request: GatedInput,
    change: Change,
    blast_radius: str,
    work: Callable[[], Answer],
    about: Member | None = None,
) -> DryRun | Success | Answer:
    """With a request id make it at once; otherwise show it, and make it after a confirmation.

    `about` is the member that it is for: a token stays bound to that account, not to its name.
    """

    def done() -> Answer:
        made = work()
        rt.commits.note(NextCall(operation="team.members", params={}))
        return made

    if request.dry_run is not True and request.confirm is UNSET:
        return done()
    plan = Plan[None](
        action=change.action,
        changes=(change,),
        targets=(change.id,),
        versions={} if about is None else {about.account: about.role},
        blast_radius=blast_radius,
        found=None,
    )
    return preview_or_write(rt, called, request, workspace="", resolve=lambda: plan, write=lambda _: done())


def list_all(rows: Sequence[Answer], data: dict[str, Any]) -> Success:
    """Return all rows as one page."""
    items = tuple(map(msgspec.to_builtins, rows))
    return Success(data=data, page=Page(items=items, style="none", limit=max(1, len(items))))


def spell_invitation(
    rt: Runtime, directory: Directory, origin: str | UnsetType, made: Made
) -> dict[str, Any]:
    """Return the fields of every answer with an invitation: its link, its end, and whether it is new.

    The secret follows the `#`, which browsers do not send to a server.
    """
    link = ""
    if made.secret:
        # A server leads to itself alone: a caller could have it lead to somewhere that keeps the secret.
        place = rt.origin or (directory.find_origin() or DEFAULT_ORIGIN if origin is UNSET else origin)
        link = f"{place}/join#invitation={made.secret}"
    return {"link": link, "expires_at": spell_time(made.expires_at), "is_new": bool(made.secret)}


def spell_time(unix_seconds: int) -> str:
    """Return a time as text; an empty text means never."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(unix_seconds)) if unix_seconds else ""


def given(value: _T | UnsetType, otherwise: _T) -> _T:
    return otherwise if value is UNSET else value
