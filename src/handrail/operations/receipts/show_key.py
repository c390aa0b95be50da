"""`receipt.key`: the public half of the key that signs receipts; pin somebody's, or sign with a new one."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, NextCall
from handrail.operations.receipts.signing import require_local
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime


class ShowKey(Input, frozen=True, kw_only=True):
    """What to do with the keys; without either, nothing but show them."""

    trust: (
        Annotated[str, Meta(description="Trust receipts of this public key on this machine.", max_length=200)]
        | UnsetType
    ) = UNSET
    rotate: Annotated[bool, Meta(description="Sign with a new key from now on.")] | UnsetType = UNSET


class ReceiptKey(Answer, frozen=True, kw_only=True):
    """Every key that is known here."""

    public: str
    """Give this to whoever checks your receipts."""
    key_id: str
    previous: list[str]
    """Public halves of keys that signed before, newest first."""
    trusted: list[str]
    """Of others."""


def show_key(rt: Runtime, request: ShowKey) -> ReceiptKey:
    """Show the keys, after what was asked for.

    Raises Fault E_CONFIG without the extra, VALIDATION_ERROR for a text that is no key, KEYRING_INVALID.
    """
    require_local(rt)
    keys = rt.receipt_keys()
    is_changed = request.trust is not UNSET and keys.trust(keys.read(request.trust))
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
    summary="Show the public key of your receipts, trust somebody's, or sign with a new one.",
    input=ShowKey,
    output=ReceiptKey,
    perform=show_key,
    shape=Shape(
        levels={"minimal": ("public", "key_id"), "standard": None, "full": None},
        id_field="key_id",
        select="top",
    ),
    errors=("KEYRING_INVALID",),
)
