"""`receipt.verify`: whether a receipt is authentic and about the files of a commit, and its statement."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_CHECK_FAILED, RECEIPT_REFUSED
from handrail.contract.disclosure.fields import Shape
from handrail.contract.dsse import MOST_BYTES, Read, read_envelope
from handrail.contract.outcome import Answer, Fault
from handrail.contract.parameters import MintedId, ProjectPath
from handrail.evidence.proof import LABELS, ProofWord
from handrail.operations.checks.receipt_key import require_local
from handrail.ports.checks import PublicKey
from handrail.ports.trees import Revision
from handrail.ports.worktree import Unseen
from handrail.projections.receipt_statement import FormerReceipt, TreeReceipt, read_statement
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime, project_of

Refusal: TypeAlias = Literal[
    "not_a_receipt",
    "unknown_key",
    "bad_signature",
    "unknown_commit",
    "other_files",
    "other_commit",
    "dirty_tree",
]
_ASK_FOR_KEY = (
    "Ask its author for their public line (handrail receipt key), and give it with --key PUB "
    "or keep it: handrail receipt key --trust PUB."
)
_SENTENCES: dict[Refusal, str] = {
    "not_a_receipt": "The file is not a receipt, byte for byte.",
    "unknown_key": "The key that signed it was neither given nor pinned.",
    "bad_signature": "The signature is not of this statement.",
    "unknown_commit": "This repository has no such commit.",
    "other_files": "It is about other files than those of the commit.",
    "other_commit": "It is about another commit.",
    "dirty_tree": "Its checks ran on other files than those of the commit.",
}
_NOT_PROVEN = [
    "That the tests are good, or that the commands do what their names say.",
    "That nobody else used the account that holds the key.",
    "What is only stated: Handrail quotes it.",
    "What git does not track, and the programs, libraries and services around the checks.",
]
_FORMER = (
    "A receipt of the form before proofs. It judged what the agent reported, so it has a result and no word"
)


class ReceiptFile(Input, frozen=True, kw_only=True):
    """A file with its name."""

    source: str
    text: Annotated[str, Meta(max_length=MOST_BYTES)]


class VerifyReceipt(Input, frozen=True, kw_only=True):
    """The receipt, the commit, and the key to check it with."""

    receipt: Annotated[ReceiptFile, Meta(description="The receipt.")]
    commit: (
        Annotated[
            MintedId, Meta(description="The commit that must have its files; default HEAD.", max_length=256)
        ]
        | UnsetType
    ) = UNSET
    key: (
        Annotated[str, Meta(description="The public key of its author; else pinned ones.", max_length=200)]
        | UnsetType
    ) = UNSET
    expect: Annotated[ProofWord, Meta(description="Fail unless this is the word.")] | UnsetType = UNSET
    project: ProjectPath | UnsetType = UNSET


class VerifiedReceipt(Answer, frozen=True, kw_only=True):
    """An authentic receipt, and its statement."""

    form: Literal["tree", "former"]
    """`former`: made before proofs existed, about one commit."""
    word: ProofWord | None
    """Null for the former form, which has none."""
    sentence: str
    """What the word means here, as a sentence."""
    result: str
    """The result for readers of in-toto: PASSED, WARNED or FAILED."""
    tree: str
    """Git's id of the files that the receipt is about."""
    commit: str
    """The commit that has these files in this repository."""
    made_for: str
    """The commit that had them when the receipt was made."""
    key_id: str
    key_from: str
    """Source of the key: `given`, `pinned` or `own`."""
    statement: dict[str, Any]
    does_not_prove: list[str]


def verify_receipt(rt: Runtime, request: VerifyReceipt) -> VerifiedReceipt:
    """Return what the receipt says, if it is authentic and about the files of the commit.

    Raise Fault RECEIPT_REFUSED with the reason, E_CHECK_FAILED if the word differs from the expected one,
    E_CONFIG without the extra, and VALIDATION_ERROR for a text that is not a key.
    """
    require_local(rt)
    known = _list_keys(rt, request)
    read = read_envelope(request.receipt.text.encode("utf-8", "surrogateescape"))
    if read is None:
        raise _refuse("not_a_receipt")
    key, key_from = known.get(read.key_id, (None, ""))
    if key is None:
        raise _refuse("unknown_key", key_id=read.key_id)
    if not rt.receipt_keys().is_signed_by(key, read.signed, read.signature):
        raise _refuse("bad_signature", key_id=read.key_id)  # repeats nothing of a forged statement
    stated = read_statement(read.statement)
    if stated is None:
        raise _refuse("not_a_receipt", key_id=read.key_id)
    ref = "HEAD" if request.commit is UNSET else request.commit
    found = rt.trees().resolve(project_of(rt, request.project), ref)
    reason = _judge_files(stated, found)
    if reason or isinstance(found, Unseen):
        made_for = stated.commit if isinstance(stated, FormerReceipt) else stated.run.commit
        raise _refuse(reason or "unknown_commit", commit=made_for, key_id=read.key_id)
    verified = _describe(stated, found, read, key_from)
    if request.expect is not UNSET and verified.word != request.expect:
        raise _refuse_word(verified, request.expect)
    return verified


def _list_keys(rt: Runtime, request: VerifyReceipt) -> dict[str, tuple[PublicKey, str]]:
    """Return keys by id: the given key alone, else the pinned keys and the user's own."""
    keys = rt.receipt_keys()
    if request.key is not UNSET:
        given = keys.read(request.key)
        return {given.key_id: (given, "given")}
    own = {one.key_id: (one, "own") for one in keys.list_own()}
    return own | {one.key_id: (one, "pinned") for one in keys.list_trusted()}


def _judge_files(stated: TreeReceipt | FormerReceipt, found: Revision | Unseen) -> Refusal | None:
    """Return why the receipt is not about the files of the commit; None if it is."""
    if isinstance(found, Unseen):
        return "unknown_commit"
    match stated:
        case TreeReceipt():
            return None if stated.tree in (found.tree, found.root) else "other_files"
        case FormerReceipt():
            if (stated.commit, stated.tree) != (found.commit, found.root):
                return "other_commit"
            return None if stated.is_clean else "dirty_tree"


def _describe(
    stated: TreeReceipt | FormerReceipt, found: Revision, read: Read, key_from: str
) -> VerifiedReceipt:
    is_former = isinstance(stated, FormerReceipt)
    return VerifiedReceipt(
        form="former" if is_former else "tree",
        word=None if isinstance(stated, FormerReceipt) else stated.run.word,
        sentence=_FORMER if isinstance(stated, FormerReceipt) else stated.run.sentence,
        result=stated.result,
        tree=stated.tree,
        commit=found.commit,
        made_for=stated.commit if isinstance(stated, FormerReceipt) else stated.run.commit,
        key_id=read.key_id,
        key_from=key_from,
        statement=read.statement,
        does_not_prove=_NOT_PROVEN,
    )


def _refuse(reason: Refusal, *, commit: str = "", key_id: str = "") -> Fault:
    return Fault(
        RECEIPT_REFUSED,
        _SENTENCES[reason],
        details={"reasons": [reason], "commit": commit, "key_id": key_id},
        hint=_ASK_FOR_KEY if reason == "unknown_key" else "",
    )


def _refuse_word(verified: VerifiedReceipt, expected: ProofWord) -> Fault:
    found = "no word" if verified.word is None else LABELS[verified.word]
    return Fault(
        E_CHECK_FAILED,
        f"The receipt says {found}: {verified.sentence}. Expected was {LABELS[expected]}."[:1_000],
        details={"proof": msgspec.to_builtins(verified)},
        hint="The receipt is authentic. Ask its author for one with the word that you expect.",
    )


OPERATION = Operation(
    name="receipt.verify",
    effect="read",
    where="client",
    summary="Verify a receipt offline: authentic, and about the files of a commit.",
    input=VerifyReceipt,
    output=VerifiedReceipt,
    perform=verify_receipt,
    shape=Shape(
        levels={"minimal": ("word", "result", "tree", "commit", "key_id"), "standard": None, "full": None},
        id_field="key_id",
        select="top",
        drop_order=("statement",),
        untrusted=("statement", "sentence"),
    ),
    errors=(RECEIPT_REFUSED.code, E_CHECK_FAILED.code, "KEYRING_INVALID"),
)
