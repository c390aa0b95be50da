"""Confirm tokens (`ct_`): permission to make exactly the change that a dry run showed, once and
soon. Pure.

Three digests are bound, so that a refusal can say what changed. Single use is enforced by the store
of consumed fingerprints, not here: `already_used` is decided where the fingerprint is recorded.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Literal, TypeAlias

import msgspec

from handrail.contract import catalogue
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault, Json
from handrail.contract.tokens import sealed
from handrail.contract.tokens.workflow import unwrap

LIFETIME_SECONDS = 900
NONCE_BYTES = 8

ConfirmReason: TypeAlias = Literal[
    "expired", "already_used", "arguments_changed", "target_changed", "not_from_this_machine"
]

_PREFIX = "ct_"
_DOMAIN = "handrail.confirm"
_MAC_BYTES = 16
_LENGTH_LIMIT = 512
_AGAIN = "Run the command again with --dry-run, look at the preview, then confirm with its token."
_SENTENCES: dict[ConfirmReason, str] = {
    "expired": "The confirm token has expired.",
    "already_used": "The confirm token was already used, or refused as expired.",
    "arguments_changed": "The confirm token belongs to another command line, account or workspace.",
    "target_changed": "What the preview showed has changed since the dry run.",
    "not_from_this_machine": "The confirm token was not made on this machine, or was changed.",
}


class ConfirmScope(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a call, besides its targets, that must be the same at `--confirm`."""

    command_path: tuple[str, ...]
    arguments: dict[str, Json]
    """The arguments, parsed and with defaults, without those that only shape the output."""
    account: str
    max_effect: str
    workspace: str
    request_id: str = ""


class ConfirmClaims(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one dry run showed; the field names are those of the payload."""

    arguments: str
    """Digest from `arguments_digest`."""
    targets: str
    """Digest from `targets_digest`."""
    versions: str
    """Digest from `versions_digest`."""
    expires_at: int
    nonce: str
    """16 hex digits, so that two dry runs within one second give two tokens."""


class ReadConfirm(msgspec.Struct, frozen=True, kw_only=True):
    """A confirm token of this machine that has not expired."""

    claims: ConfirmClaims
    fingerprint: str
    """The name under which its use is recorded."""


def arguments_digest(scope: ConfirmScope) -> str:
    return sealed.scope_digest({"arguments": msgspec.to_builtins(scope)})


def targets_digest(targets: Sequence[Json]) -> str:
    """Return the digest of the resolved targets; their order counts."""
    return sealed.scope_digest({"targets": list(targets)})


def versions_digest(versions: Mapping[str, str]) -> str:
    """Return the digest of the version (content hash, log head) of each resource that the dry run read."""
    return sealed.scope_digest({"versions": dict(versions)})


def mint_confirm(key: bytes, claims: ConfirmClaims) -> str:
    assert len(claims.nonce) == 2 * NONCE_BYTES, "a nonce has 8 bytes, in hex"
    content = canonical_bytes(msgspec.to_builtins(claims))
    mac = sealed.sign(key, _DOMAIN, content, _MAC_BYTES)
    return f"{_PREFIX}{sealed.encode(content)}.{sealed.encode(mac)}"


def read_confirm(keys: Sequence[bytes], text: str, *, now: int) -> ReadConfirm:
    """Return the fields of a token; they are not compared with the call yet, and the token is not
    used up.

    Raises: Fault E_CONFLICT with reason `not_from_this_machine` or `expired`.
    """
    token = unwrap(text) if len(text) <= 2 * _LENGTH_LIMIT else ""
    claims = _open(keys, token)
    if claims is None:
        raise refusal("not_from_this_machine")
    check_expiry(claims, now)
    return ReadConfirm(claims=claims, fingerprint=fingerprint(token))


def check_expiry(claims: ConfirmClaims, now: int) -> None:
    """Raise a Fault if it expired; also called after the fingerprint is recorded, because disks can
    be slow.
    """
    if now >= claims.expires_at:
        raise refusal("expired")


def check_arguments(claims: ConfirmClaims, scope: ConfirmScope) -> None:
    if not hmac.compare_digest(claims.arguments, arguments_digest(scope)):
        raise refusal("arguments_changed")


def check_targets(claims: ConfirmClaims, targets: Sequence[Json], versions: Mapping[str, str]) -> None:
    is_same_set = hmac.compare_digest(claims.targets, targets_digest(targets))
    is_same_state = hmac.compare_digest(claims.versions, versions_digest(versions))
    if not (is_same_set and is_same_state):
        raise refusal("target_changed")


def fingerprint_of(text: str) -> str:
    """Return the fingerprint of a token as a caller sent it."""
    return fingerprint(unwrap(text))


def fingerprint(token: str) -> str:
    """Return the SHA-256 of the canonical token, in hex. It is not secret, and no one can act with it."""
    return sha256(token.encode()).hexdigest()


def refusal(reason: ConfirmReason) -> Fault:
    message = f"{_SENTENCES[reason]} Nothing was done. {_AGAIN}"
    return Fault(catalogue.E_CONFLICT, message, details={"reason": reason}, hint=_AGAIN)


def _open(keys: Sequence[bytes], token: str) -> ConfirmClaims | None:
    if not token.startswith(_PREFIX) or len(token) > _LENGTH_LIMIT:
        return None
    left, dot, right = token[len(_PREFIX) :].partition(".")
    content, given = sealed.decode(left), sealed.decode(right)
    if not dot or content is None or given is None or len(given) != _MAC_BYTES:
        return None
    return sealed.open_signed(keys, _DOMAIN, content, given, ConfirmClaims)
