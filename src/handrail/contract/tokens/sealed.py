"""What cursor and confirm tokens share: digests of what they are bound to, and a MAC over bytes. Pure."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Json
from handrail.contract.tokens import base64url
from handrail.contract.wording import make_readable_json

_SCOPE_BYTES = 24


def scope_digest(value: Json) -> str:
    """192 bits of SHA-256 over the canonical JSON of a value, in 32 characters.

    Agents copy the tokens that carry it, so it is short, but no two values can be made to share one.
    A path that is no UTF-8 counts as it is shown.
    """
    return base64url.encode(sha256(canonical_bytes(make_readable_json(value))).digest()[:_SCOPE_BYTES])


def sign(key: bytes, domain: str, content: bytes, length: int) -> bytes:
    """The first `length` bytes of an HMAC-SHA256 over the domain and the content."""
    assert 16 <= length <= 32, "a MAC has 128 to 256 bits"
    return hmac.digest(key, domain.encode() + b"\0" + content, "sha256")[:length]


def is_signed(keys: Sequence[bytes], domain: str, content: bytes, given: bytes) -> bool:
    """Whether one of the keys made this MAC, compared in constant time."""
    matches = [hmac.compare_digest(sign(key, domain, content, len(given)), given) for key in keys]
    return any(matches)
