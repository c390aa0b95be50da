"""Errors of a failed sign-in: the same words whatever is wrong. Pure."""

from __future__ import annotations

from handrail.contract.catalogue import E_AUTH, E_CONFLICT, E_VALIDATION
from handrail.contract.outcome import Fault, refuse_argument
from handrail.contract.wording import quote
from handrail_team.accounts.names import NAME_EXPECTED


def refuse_credential() -> Fault:
    return Fault(
        E_AUTH,
        "This address needs a credential of the team, as `Authorization: Bearer …`; this one is missing, "
        "expired or revoked.",
        hint="Sign in to the Console; an agent asks its person for a new token.",
    )


def refuse_sign_in() -> Fault:
    return Fault(
        E_AUTH,
        "Nobody can sign in with this name and passphrase.",
        hint="Try again, or ask an admin of the workspace to reset your account.",
    )


def refuse_invitation() -> Fault:
    return Fault(
        E_AUTH,
        "This invitation is not good: it was used, it has expired, or it was never made.",
        hint="Ask who sent it for another one.",
    )


def refuse_other_name() -> Fault:
    return Fault(
        E_CONFLICT,
        "This link is for a new passphrase of another name. Nothing was changed, and the link stays good.",
        details={"reason": "other_name"},
        hint="Give the name that you sign in with; who sent the link knows it.",
    )


def refuse_taken(what: str, name: str, hint: str = "Choose another one.") -> Fault:
    return Fault(
        E_CONFLICT,
        f"There is a {what} {quote(name)} already.",
        details={"reason": "exists"},
        hint=hint,
    )


def refuse_name() -> Fault:
    return refuse_argument(
        f"A name has {NAME_EXPECTED}.", "name", "it is no name", NAME_EXPECTED, kind=E_VALIDATION
    )


def refuse_changed_role() -> Fault:
    return Fault(
        E_CONFLICT,
        "Your role in this workspace was changed during this call. Nothing was recorded.",
        details={"reason": "role_changed"},
        hint="Load the page again: it shows what you may do now.",
    )


def refuse_last_owner() -> Fault:
    return Fault(
        E_CONFLICT,
        "The last owner cannot leave. Nothing was changed.",
        details={"reason": "last_owner"},
        hint="Make somebody else an owner first.",
    )
