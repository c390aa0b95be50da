"""An invitation, and who may give one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handrail.contract.accounts import ROLES, Role
from handrail.contract.catalogue import E_FORBIDDEN
from handrail.contract.outcome import Answer, Fault
from handrail.runtime.runtime import Runtime

if TYPE_CHECKING:
    pass


class Invitation(Answer, frozen=True, kw_only=True):
    """The link, shown once; it works once."""

    id: str
    link: str
    """Empty where the same request id made it before."""
    role: Role
    expires_at: str
    is_new: bool


def require_not_above(rt: Runtime, role: Role) -> None:
    """Nobody makes somebody more than they are. Raises Fault E_FORBIDDEN."""
    if rt.principal is not None and ROLES.index(role) > ROLES.index(rt.principal.role):
        raise Fault(
            E_FORBIDDEN,
            f"Only an {role} gives the role {role}. Nothing was done.",
            details={"needed": f"the role {role}", "given": f"the role {rt.principal.role}"},
            hint="Ask an owner of the workspace.",
        )
