"""The permissions of people and agents: one table, checked before every operation. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from handrail.contract.accounts import ROLES, Principal, Role
from handrail.contract.catalogue import E_FORBIDDEN, FEATURE_DISABLED
from handrail.contract.outcome import Fault
from handrail.runtime.operation import Effect, Operation

READ, WORK = "read", "work"
SCOPES: Final = (READ, WORK)
"""The scopes of a token."""


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What an operation requires of its caller."""

    role: Role
    is_persons: bool = False
    """Only a person may call it, not an agent of theirs."""


_READER = Need(role="viewer")
_WORKER = Need(role="member")
_PERSON = Need(role="member", is_persons=True)
_ADMIN = Need(role="admin", is_persons=True)
NEEDS: dict[str, Need] = {
    **dict.fromkeys(("workflow.list", "workflow.inspect", "preferences.show", "ledger.show"), _READER),
    **dict.fromkeys(("session.list", "session.show", "session.inbox", "session.search"), _READER),
    **dict.fromkeys(("session.timeline", "session.resume", "session.gaps", "session.events"), _READER),
    **dict.fromkeys(("session.export", "run.graph", "run.node", "run.compare"), _READER),
    **dict.fromkeys(("store.verify", "store.du"), _READER),
    **dict.fromkeys(("team.whoami", "team.members", "team.workspaces"), _READER),
    **dict.fromkeys(("session.start", "run.start", "run.continue", "run.checkpoint", "run.close"), _WORKER),
    # What a team client did on its machine, and the server records.
    **dict.fromkeys(("check.run", "check.approve", "session.work"), _WORKER),
    "code.note": _WORKER,
    "preferences.set": _WORKER,
    **dict.fromkeys(("run.answer", "session.resolve_gap", "session.rename"), _PERSON),
    **dict.fromkeys(("team.admit", "team.new_token"), _PERSON),
    **dict.fromkeys(("team.revoke_token", "team.tokens"), Need(role="viewer", is_persons=True)),
    **dict.fromkeys(("session.import", "session.delete", "store.gc"), _ADMIN),
    **dict.fromkeys(("team.invite", "team.set_member", "team.reset", "team.audit"), _ADMIN),
    "keys.rotate": Need(role="owner", is_persons=True),
}
"""Every operation that a team server offers. It rejects all others: whatever reads or changes the home, the
settings or the disk of the server belongs to its operator, on its machine.
"""
_ALWAYS: Final = frozenset({"team.audit", "team.tokens"})
"""Reading that needs its own right. Other read-only calls need only the right to read."""


def need_of(called: Operation, effect: Effect) -> Need | None:
    """Return what a call requires of its caller; None if a team server does not offer it."""
    need = None if called.where == "client" else NEEDS.get(called.name)
    is_plain = need is not None and effect == "read" and called.name not in _ALWAYS
    return _READER if is_plain else need


def require_right(principal: Principal, called: Operation, effect: Effect) -> None:
    """Raise Fault E_FORBIDDEN if this caller may not call it, and FEATURE_DISABLED if nobody can at a
    server.
    """
    need = need_of(called, effect)
    if need is None:
        raise Fault(
            FEATURE_DISABLED,
            "This operation is about files, programs or settings of a machine; the server of a team offers "
            "nobody its own.",
            hint="Run it on the machine that you mean; what is the server's is done by its operator there.",
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
