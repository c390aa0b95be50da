"""What was checked is what is done: members, and who asks, are as they were when a write takes place.

The rows are locked in the transaction of the write, so nobody changes a role between the two.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from handrail.contract.accounts import Principal, Role
from handrail.contract.tokens.confirm import refusal
from handrail_team.accounts.refusals import refuse_last_owner
from handrail_team.store.database import Link

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
