"""`receipt.key`: the public key of this user's receipts, and the keys of other people
that are trusted here.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_HUMAN_REQUIRED, FEATURE_DISABLED
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, NextCall
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts, Runtime
from handrail.runtime.who_confirms import require_yes

_TRUST = "Receipts that the key {} signed are believed on this machine from now on."
_ROTATE = "Your receipts are signed with a new key from now on: whoever checks them needs its public half."


class ShowKey(Input, frozen=True, kw_only=True):
    """What to do with the keys; without an option, only show them."""

    trust: (
        Annotated[str, Meta(description="Trust receipts of this public key on this machine.", max_length=200)]
        | UnsetType
    ) = UNSET
    rotate: Annotated[bool, Meta(description="Sign with a new key from now on.")] | UnsetType = UNSET


class ReceiptKey(Answer, frozen=True, kw_only=True):
    """Every key that is known here."""

    public: str
    """The key to give to people who check your receipts."""
    key_id: str
    previous: list[str]
    """Public halves of keys that signed earlier, newest first."""
    trusted: list[str]
    """Keys of other people."""


def show_key(rt: Runtime, request: ShowKey) -> ReceiptKey:
    """Make the requested change, then show the keys.

    A person is asked first: these keys decide which receipts are accepted. Raise Fault E_CONFIG without the
    extra, VALIDATION_ERROR for a text that is not a key, KEYRING_INVALID, and E_HUMAN_REQUIRED if the person
    does not agree.
    """
    require_local(rt)
    keys = rt.receipt_keys()
    trusted = None if request.trust is UNSET else keys.read(request.trust)
    changes = [_TRUST.format(trusted.text)] if trusted is not None else []
    flags = [f"--trust {trusted.text}"] if trusted is not None else []
    if request.rotate is True:
        changes, flags = [*changes, _ROTATE], [*flags, "--rotate"]
    if changes:
        command = " ".join(["handrail receipt key", *flags])
        text = f"\n{' '.join(changes)}\nAgree? [y/n] "
        require_yes(rt, text, command=command, resume="handrail receipt key")
    is_changed = trusted is not None and keys.trust(trusted)
    if request.rotate is True or not keys.list_own():
        keys.rotate()
        is_changed = True
    if is_changed:
        rt.commits.note(NextCall(operation="receipt.key"))
    own, *previous = keys.list_own()
    return ReceiptKey(
        public=own.text,
        key_id=own.key_id,
        previous=[one.text for one in previous],
        trusted=[one.text for one in keys.list_trusted()],
    )


OPERATION = Operation(
    name="receipt.key",
    effect="record",
    where="client",
    summary="Show the public key of your receipts, trust another one, or make a new one.",
    input=ShowKey,
    output=ReceiptKey,
    perform=show_key,
    shape=Shape(
        levels={"minimal": ("public", "key_id"), "standard": None, "full": None},
        id_field="key_id",
        select="top",
    ),
    errors=("KEYRING_INVALID", E_HUMAN_REQUIRED.code),
)


def require_local(rt: ReadPorts) -> None:
    """Raise Fault FEATURE_DISABLED on a server, because its callers must not sign as its user."""
    if rt.is_served:
        raise Fault(
            FEATURE_DISABLED,
            "No server uses the keys of receipts.",
            hint="Run it on the command line.",
        )
