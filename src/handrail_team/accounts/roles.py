"""Who may do what: one table for people and agents, asked before every operation. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from handrail.contract.accounts import ROLES, Principal, Role
from handrail.contract.catalogue import E_FORBIDDEN, FEATURE_DISABLED
from handrail.contract.outcome import Fault
from handrail.runtime.operation import Effect, Operation

READ, WORK = "read", "work"
SCOPES: Final = (READ, WORK)
"""What a token may be for."""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What an operation asks of its caller."""

    role: Role
    is_persons: bool = False
    """No agent may, whatever its person may."""


_BY_EFFECT: dict[Effect, Need] = {
    "read": Need(role="viewer"),
    "record": Need(role="member"),
    "create": Need(role="member"),
    "ack": Need(role="member"),
    "gated": Need(role="admin", is_persons=True),
    "dangerous": Need(role="admin", is_persons=True),
}
_BY_NAME: dict[str, Need] = {
    "run.confirm": Need(role="member", is_persons=True),
    "session.settle_gap": Need(role="member", is_persons=True),
    "session.rename": Need(role="member", is_persons=True),
    "preferences.set": Need(role="member"),
    "keys.rotate": Need(role="owner", is_persons=True),
    "team.invite": Need(role="admin", is_persons=True),
    "team.admit": Need(role="member", is_persons=True),
    "team.new_token": Need(role="member", is_persons=True),
    "team.revoke_token": Need(role="viewer", is_persons=True),
    "team.set_member": Need(role="admin", is_persons=True),
    "team.reset": Need(role="admin", is_persons=True),
    "team.audit": Need(role="admin", is_persons=True),
    "team.tokens": Need(role="viewer", is_persons=True),
}
"""Where the effect alone does not say it; a call of these that only reads asks what reading asks."""
_ALWAYS: Final = frozenset({"team.audit", "team.tokens"})
"""What is more than any other reading."""


def need_of(called: Operation, effect: Effect) -> Need | None:
    """What a call asks of its caller; None: no server of a team offers it."""
    if called.where == "companion" or effect not in _BY_EFFECT:
        return None
    if effect == "read" and called.name not in _ALWAYS:
        return _BY_EFFECT["read"]
    return _BY_NAME.get(called.name, _BY_EFFECT[effect])


def require_right(principal: Principal, called: Operation, effect: Effect) -> None:
    """Raises Fault E_FORBIDDEN where the caller may not, FEATURE_DISABLED where nobody may at a server."""
    need = need_of(called, effect)
    if need is None:
        raise Fault(
            FEATURE_DISABLED,
            "This operation looks at files or starts programs, which the server of a team never does.",
            hint="Run it on the machine where the work is done.",
        )
    if ROLES.index(principal.role) < ROLES.index(need.role):
        raise _forbidden(
            f"the role {need.role}", f"the role {principal.role}", "Ask an owner of the workspace."
        )
    if principal.kind == "person":
        return
    if need.is_persons:
        raise _forbidden(
            "a person", "an agent", "Ask the person whose agent you are to do it in the Console, signed in."
        )
    wanted = READ if effect == "read" else WORK
    if wanted not in principal.scopes:
        raise _forbidden(
            f"the scope {wanted}",
            " ".join(principal.scopes) or "no scope",
            "Ask your person for a token with this scope.",
        )


def _forbidden(needed: str, given: str, hint: str) -> Fault:
    return Fault(
        E_FORBIDDEN,
        f"This call needs {needed}; this credential stands for {given}. Nothing was done.",
        details={"needed": needed, "given": given},
        hint=hint,
    )
