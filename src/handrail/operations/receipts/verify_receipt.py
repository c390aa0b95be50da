"""`receipt.verify`: whether a receipt is whole, signed by a known key, and about this commit. Offline."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import RECEIPT_REFUSED
from handrail.contract.disclosure.fields import Shape
from handrail.contract.dsse import MOST_BYTES, Read, read_envelope
from handrail.contract.outcome import Answer, Fault
from handrail.operations.receipts.show_key import require_local
from handrail.ports.receipts import NamedCommit, PublicKey
from handrail.projections.receipt_statement import Stated, read_statement
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime, project_of

Refusal: TypeAlias = Literal[
    "not_a_receipt", "unknown_key", "bad_signature", "unknown_commit", "other_commit", "dirty_tree"
]
_SAID: dict[Refusal, str] = {
    "not_a_receipt": "The file is not a receipt, byte for byte.",
    "unknown_key": "Nobody pinned or gave the key that signed it.",
    "bad_signature": "The signature is not of this statement.",
    "unknown_commit": "This repository has no such commit.",
    "other_commit": "It is about another commit.",
    "dirty_tree": "Its checks ran on other files than those of the commit.",
}
DIRTY: tuple[Refusal, ...] = ("dirty_tree",)
NOT_PROVEN = [
    "That the checks are good ones, or that the commands do what their names say.",
    "That nobody else used the account that holds the key.",
    "Anything under onlyAgentsWord: it is what the agent said.",
    "What git does not track, and the programs, libraries and services around the checks.",
]


class ReceiptFile(Input, frozen=True, kw_only=True):
    """A file with its name."""

    source: str
    text: Annotated[str, Meta(max_length=MOST_BYTES)]


class VerifyReceipt(Input, frozen=True, kw_only=True):
    """Which receipt, about which commit, and whose key."""

    receipt: Annotated[ReceiptFile, Meta(description="The receipt.")]
    commit: Annotated[str, Meta(description="The commit that it must be about.", max_length=256)]
    key: (
        Annotated[str, Meta(description="The public key of its author; else pinned ones.", max_length=200)]
        | UnsetType
    ) = UNSET
    project: Annotated[str, Meta(description="The project directory.")] | UnsetType = UNSET


class VerifiedReceipt(Answer, frozen=True, kw_only=True):
    """A receipt that holds, and what it says."""

    commit: str
    result: str
    key_id: str
    key_from: str
    """`given`, `pinned` or `own`."""
    statement: dict[str, Any]
    does_not_prove: list[str]


def verify_receipt(rt: Runtime, request: VerifyReceipt) -> VerifiedReceipt:
    """What the receipt says, if it holds.

    Raises Fault RECEIPT_REFUSED with every reason why not, E_CONFIG without the extra, and VALIDATION_ERROR
    for a key that is none.
    """
    require_local(rt)
    known = _list_keys(rt, request)
    named = rt.committed().find(project_of(rt, request.project), request.commit)
    read = read_envelope(request.receipt.text.encode("utf-8", "surrogateescape"))
    if read is None:
        raise _refuse(["not_a_receipt"], "", "")
    key, key_from = known.get(read.key_id, (None, ""))
    reasons = _judge_signature(rt, read, key)
    if reasons:  # what a forged statement says is not worth telling
        raise _refuse(reasons, "", read.key_id)
    stated = read_statement(read.statement)
    if stated is None:
        raise _refuse(["not_a_receipt"], "", read.key_id)
    reasons = [*_judge_commit(stated, named), *(() if stated.is_clean else DIRTY)]
    if reasons:
        raise _refuse(reasons, stated.commit, read.key_id)
    return VerifiedReceipt(
        commit=stated.commit,
        result=stated.result,
        key_id=read.key_id,
        key_from=key_from,
        statement=read.statement,
        does_not_prove=NOT_PROVEN,
    )


def _list_keys(rt: Runtime, request: VerifyReceipt) -> dict[str, tuple[PublicKey, str]]:
    """By their ids: the given key alone, else those that are pinned, and this user's own."""
    keys = rt.receipt_keys()
    if request.key is not UNSET:
        given = keys.read(request.key)
        return {given.key_id: (given, "given")}
    own = {one.key_id: (one, "own") for one in keys.list_own()}
    return own | {one.key_id: (one, "pinned") for one in keys.list_trusted()}


def _judge_signature(rt: Runtime, read: Read, key: PublicKey | None) -> list[Refusal]:
    if key is None:
        return ["unknown_key"]
    is_signed = rt.receipt_keys().is_signed_by(key, read.signed, read.signature)
    return [] if is_signed else ["bad_signature"]


def _judge_commit(stated: Stated, named: NamedCommit | None) -> list[Refusal]:
    if named is None:
        return ["unknown_commit"]
    is_same = (stated.commit, stated.tree) == (named.commit, named.tree)
    return [] if is_same else ["other_commit"]


def _refuse(reasons: list[Refusal], commit: str, key_id: str) -> Fault:
    return Fault(
        RECEIPT_REFUSED,
        " ".join(_SAID[one] for one in reasons),
        details={"reasons": list(reasons), "commit": commit, "key_id": key_id},
    )


OPERATION = Operation(
    name="receipt.verify",
    effect="read",
    where="companion",
    summary="Check a receipt offline: whole, signed by a known key, and about this commit.",
    input=VerifyReceipt,
    output=VerifiedReceipt,
    perform=verify_receipt,
    shape=Shape(
        levels={"minimal": ("commit", "result", "key_id", "key_from"), "standard": None, "full": None},
        id_field="key_id",
        select="top",
        drop_order=("statement",),
        untrusted=("statement",),
    ),
    errors=(RECEIPT_REFUSED.code, "KEYRING_INVALID"),
)
