"""What was checked is what is done: members, and who asks, are as they were when a write takes place.

The rows are locked in the transaction of the write, so nobody changes a role between the two.
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
"""Who asks, for `made_by`: the operator, or somebody who must still have the role that was checked."""


class InRole(Protocol):
    """A member as somebody found it."""

    @property
    def account(self) -> str: ...
    @property
    def role(self) -> Role: ...


def account_of(asking: Asking) -> str:
    return asking.account if isinstance(asking, Principal) else asking


def require_as_found(link: Link, workspace: str, member: InRole, role: Role | None, by: Asking = "") -> None:
    """Raises Fault E_CONFLICT for the last owner, and where a member or who asks is no longer as found."""
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
    """Raises Fault E_CONFLICT unless they have the role that was checked, and keeps it theirs until the
    transaction ends.
    """
    rows = link.execute(
        "SELECT role FROM handrail.memberships WHERE workspace = %s AND account = %s FOR SHARE",
        (by.workspace, by.account),
    ).fetchall()
    if rows != [(by.role,)]:
        raise refuse_changed_role()


class LogOfPerson:
    """The log of a workspace for a call of a person: nobody takes their role away between the check and the
    answer that it allows.
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
