"""Invitations, and the roles that a member may give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handrail.contract.accounts import ROLES, Role
from handrail.contract.catalogue import E_FORBIDDEN
from handrail.contract.outcome import Answer, Fault
from handrail.runtime.runtime import Runtime

if TYPE_CHECKING:
    pass


class Invitation(Answer, frozen=True, kw_only=True):
    """An invitation, shown once and valid once."""

    id: str
    link: str
    """Empty if the same request id made it before."""
    role: Role
    expires_at: str
    is_new: bool


def require_not_above(rt: Runtime, role: Role) -> None:
    """Raise Fault E_FORBIDDEN if the role is above the caller's own."""
    if rt.principal is not None and ROLES.index(role) > ROLES.index(rt.principal.role):
        raise Fault(
            E_FORBIDDEN,
            f"Only an {role} gives the role {role}. Nothing was done.",
            details={"needed": f"the role {role}", "given": f"the role {rt.principal.role}"},
            hint="Ask an owner of the workspace.",
        )
