"""`team audit`: list the changes of a workspace and the rejected calls, newest first."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Success
from handrail.contract.wording import quote
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.views.team import AuditList, AuditRow
from handrail_team.operations.team_scope import (
    DATABASE_ERRORS,
    OPERATOR,
    TeamQuestion,
    find_team,
    given,
    list_all,
)

ROWS = 100
_GATE = ("dryRun", "confirm")
"""Parameters about the request itself, such as confirmation tokens; the audit leaves them out."""
MOST_ROWS = 1_000


class ListAudit(TeamQuestion, frozen=True, kw_only=True):
    """The workspace, and the number of rows."""

    limit: (
        Annotated[int, Meta(description="How many rows, 100 by default.", ge=1, le=MOST_ROWS)] | UnsetType
    ) = UNSET


def list_audit(rt: Runtime, request: ListAudit) -> Success:
    """Return the newest rows."""
    team = find_team(rt, request)
    names = {one.account: one.name for one in team.directory.members(team.workspace.id)}
    rows = [
        _row(key, msgspec.json.decode(line), names)
        for key, line in team.directory.audit(team.workspace.id, given(request.limit, ROWS))
    ]
    return list_all(rows, {"workspace_id": team.workspace.id})


def _row(key: str, line: dict[str, Any], names: dict[str, str]) -> AuditRow:
    who = str(line.get("account", ""))
    args: dict[str, Any] = line.get("args") or {}
    return AuditRow(
        id=key,
        at=str(line.get("at", "")),
        who=names.get(who, who) or OPERATOR,
        command=str(line.get("command", "")),
        about=", ".join(_spell(name, held, names) for name, held in args.items() if name not in _GATE),
        effect=str(line.get("effect", "")),
        code=str(line.get("code") or ""),
        is_dry_run=line.get("dry_run") is True,
    )


def _spell(name: str, held: Any, names: dict[str, str]) -> str:
    text = held if isinstance(held, str) else msgspec.json.encode(held).decode()
    return f"{name} {quote(names.get(text, text))}" if isinstance(held, str) else f"{name} {text}"


OPERATION = Operation(
    name="team.audit",
    effect="read",
    summary="List what was changed in a workspace, and what was refused.",
    input=ListAudit,
    output=AuditList,
    item=AuditRow,
    perform=list_audit,
    shape=Shape(
        levels={"minimal": ("at", "who", "command", "about")},
        id_field="id",
        select="items",
        untrusted=("who", "about"),
    ),
    default_sort="-at",
    errors=DATABASE_ERRORS,
)
