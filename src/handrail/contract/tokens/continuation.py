"""Continuation tokens, strictly: CONT's payload, its size rules, its seal. Pure.

A token is base64url(payload + signature). The payload is canonical JSON, or the same deflated when the
token would not stay under 2 KB; the signature is HMAC-SHA256 over the payload bytes as they are carried,
so nothing is inflated or parsed before it is known to be ours. Key purpose: `continuation_purpose`.
"""

from __future__ import annotations

import hmac
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256

import msgspec

from handrail.contract.canonical import canonical_bytes, digest
from handrail.contract.outcome import Json
from handrail.contract.tokens import base64url

VERSION = 1
LIFETIME_SECONDS = 3600
LENGTH_LIMIT = 2047
"""CONT 5.1: a token stays under 2 KB."""
INFLATED_LIMIT = 64 * 1024
"""A payload that does not end before this when inflated is not one of ours."""
DIGEST_KEY = "$digest"
"""A parameter that did not fit is `{"$digest": "sha256:…"}`; re-fetching brings the value back."""

_SIGNATURE_BYTES = 32
_DIGEST_SIZE = len(f'{{"{DIGEST_KEY}":"sha256:{"0" * 64}"}}')


class ContinuationContext(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the token came from (CONT 2.2 `context`)."""

    request_id: str = ""
    source_token: str = ""
    """`token_digest` of the parent: enough to trace a chain, not enough to act."""
    results_digest: str = ""
    """The digest of the results that the token was minted with; empty when there were none."""
    can_refetch: bool = False
    """Parameters were replaced by digests; the caller repeats them and adds `--refetch`."""


class NextAction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing the token allows (CONT 2.2 `next_actions`)."""

    id: str
    label: str
    description: str = ""
    guard: bool = False
    """It writes, so it needs `--fix` as well."""


class ContinuationMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """How the token may be used (CONT 2.2 `metadata`)."""

    ttl_seconds: int = LIFETIME_SECONDS
    replayable: bool = True
    idempotent: bool = True
    file_safe: bool = True


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, with which parameters, and what may be done next (CONT 2.2)."""

    issued_at: int
    expires_at: int
    command: str
    action: str
    """What was just done."""
    context: ContinuationContext
    parameters: dict[str, Json]
    next_actions: tuple[NextAction, ...]
    metadata: ContinuationMetadata = ContinuationMetadata()
    version: int = VERSION


def mint_continuation(key: bytes, continuation: Continuation) -> str:
    """The token, in the fullest form that stays under 2 KB."""
    for form in _forms(continuation):
        token = base64url.encode(form + hmac.digest(key, form, "sha256"))
        if len(token) <= LENGTH_LIMIT:
            return token
    raise AssertionError("a token has few next actions, and their ids and labels are short")


def mint_each(key: bytes, continuation: Continuation, actions: Sequence[NextAction]) -> dict[str, str]:
    """CONT's `continuation_tokens`: per action id a token that allows this action and no other.

    A guarded action writes, so its token is neither replayable nor idempotent.
    """
    return {action.id: mint_continuation(key, _for_action(continuation, action)) for action in actions}


def open_continuation(keys: Sequence[bytes], token: str) -> Continuation | None:
    """The continuation of a token that one of the keys signed; None for anything else."""
    framed = frame(token)
    if framed is None:
        return None
    payload, signature = framed
    matches = [hmac.compare_digest(hmac.digest(key, payload, "sha256"), signature) for key in keys]
    return parse(payload) if any(matches) else None


def frame(token: str) -> tuple[bytes, bytes] | None:
    """Payload and signature, as bytes that nobody has looked into."""
    data = base64url.decode(token) if len(token) <= LENGTH_LIMIT else None
    if data is None or len(data) <= _SIGNATURE_BYTES:
        return None
    return data[:-_SIGNATURE_BYTES], data[-_SIGNATURE_BYTES:]


def parse(payload: bytes) -> Continuation | None:
    """What the payload says; proves nothing about who wrote it."""
    text = payload if payload.startswith(b"{") else _inflated(payload)
    if text is None:
        return None
    try:
        continuation = msgspec.json.decode(text, type=Continuation)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return continuation if continuation.version == VERSION else None


def token_digest(token: str) -> str:
    """How a child token names its parent."""
    return "sha256:" + sha256(token.encode()).hexdigest()


def missing_parameters(continuation: Continuation) -> tuple[str, ...]:
    """The names of the parameters that must be re-fetched."""
    return tuple(name for name, value in continuation.parameters.items() if _is_digest(value))


def with_refetched(continuation: Continuation, parameters: dict[str, Json]) -> Continuation | None:
    """The continuation with its left-out parameters back; None if one is absent or not the original."""
    restored = dict(continuation.parameters)
    for name in missing_parameters(continuation):
        if name not in parameters or digest(parameters[name]) != restored[name][DIGEST_KEY]:
            return None
        restored[name] = parameters[name]
    return msgspec.structs.replace(continuation, parameters=restored)


def _for_action(continuation: Continuation, action: NextAction) -> Continuation:
    metadata = continuation.metadata
    if action.guard:
        metadata = msgspec.structs.replace(metadata, replayable=False, idempotent=False)
    return msgspec.structs.replace(continuation, next_actions=(action,), metadata=metadata)


def _forms(continuation: Continuation) -> Iterator[bytes]:
    """From full to lean (CONT 5.2): plain, deflated, parameters as digests, no descriptions."""
    plain = _payload(continuation)
    yield plain
    yield from _deflated(plain)
    lean = continuation
    sizes = {name: len(canonical_bytes(value)) for name, value in continuation.parameters.items()}
    large = [name for name, size in sizes.items() if size > _DIGEST_SIZE]
    for name in sorted(large, key=lambda name: (-sizes[name], name)):
        parameters = lean.parameters | {name: {DIGEST_KEY: digest(lean.parameters[name])}}
        context = msgspec.structs.replace(lean.context, can_refetch=True)
        lean = msgspec.structs.replace(lean, parameters=parameters, context=context)
        yield from _deflated(_payload(lean))
    silent = tuple(msgspec.structs.replace(action, description="") for action in lean.next_actions)
    yield from _deflated(_payload(msgspec.structs.replace(lean, next_actions=silent)))


def _payload(continuation: Continuation) -> bytes:
    return canonical_bytes(msgspec.to_builtins(continuation))


def _deflated(plain: bytes) -> Iterator[bytes]:
    if len(plain) < INFLATED_LIMIT:
        yield zlib.compress(plain, 9)


def _inflated(payload: bytes) -> bytes | None:
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(payload, INFLATED_LIMIT)
    except zlib.error:
        return None
    return text if inflater.eof and not inflater.unused_data else None


def _is_digest(value: Json) -> bool:
    return isinstance(value, dict) and value.keys() == {DIGEST_KEY} and isinstance(value[DIGEST_KEY], str)
