"""Keep roles as they were checked until the write that they allow is done.

The rows are locked in the transaction of the write, so no role can change in between.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol, TypeAlias

from handrail.contract.accounts import Principal, Role
from handrail.contract.ids import SessionId
from handrail.contract.tokens.confirm import refusal
from handrail.runtime.sessions import HotLog
from handrail_team.accounts.refusals import refuse_changed_role, refuse_last_owner
from handrail_team.store.database import Link
from handrail_team.store.log import TeamHold, TeamLog

Asking: TypeAlias = str | Principal
"""The caller, for `made_by`: the operator, or a person who must still have the checked role."""


class InRole(Protocol):
    """A member as it was read."""

    @property
    def account(self) -> str: ...
    @property
    def role(self) -> Role: ...


def account_of(asking: Asking) -> str:
    return asking.account if isinstance(asking, Principal) else asking


def require_as_found(link: Link, workspace: str, member: InRole, role: Role | None, by: Asking = "") -> None:
    """Raise Fault E_CONFLICT for the last owner, and if the member or the caller changed since they were
    read.
    """
    rows = link.execute(
        "SELECT account, role FROM handrail.memberships WHERE workspace = %s FOR UPDATE", (workspace,)
    ).fetchall()
    found: list[InRole] = [member, by] if isinstance(by, Principal) else [member]
    if any((one.account, one.role) not in rows for one in found):
        raise refusal("target_changed")
    owners = [one for one, held in rows if held == "owner"]
    if role != "owner" and owners == [member.account]:
        raise refuse_last_owner()


def require_same_role(by: Principal, link: Link) -> None:
    """Raise Fault E_CONFLICT unless the account has the checked role, and lock it until the transaction
    ends.
    """
    rows = link.execute(
        "SELECT role FROM handrail.memberships WHERE workspace = %s AND account = %s FOR SHARE",
        (by.workspace, by.account),
    ).fetchall()
    if rows != [(by.role,)]:
        raise refuse_changed_role()


class LogOfPerson:
    """The log of a workspace for a person's call: their role cannot change between the check and the
    commit.
    """

    def __init__(self, log: HotLog, person: Principal) -> None:
        assert isinstance(log.log, TeamLog), "a team keeps its sessions in its database"
        self._hot, self._log = log, log.log
        self._guard = partial(require_same_role, person)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hot, name)

    def hold(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[TeamHold]:
        return self._log.hold(session_id, wait_ms, known, self._guard)

    def hold_existing(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[TeamHold]:
        return self._log.hold_existing(session_id, wait_ms, known, self._guard)
