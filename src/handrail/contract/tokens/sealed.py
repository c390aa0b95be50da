"""Building blocks of JSON tokens: base64url text, digests of what they are bound to, a MAC. Pure."""

from __future__ import annotations

import binascii
import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

import msgspec

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Json
from handrail.contract.wording import make_readable_json

T = TypeVar("T")

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = str.maketrans("-_", "+/")


def encode(data: bytes) -> str:
    """Return base64url without padding: one spelling per value."""
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL).decode("ascii")


def decode(text: str) -> bytes | None:
    """Return the bytes, or None for anything but the canonical spelling.

    Padding, line breaks, foreign characters and stray bits after the last byte are all rejected: a
    second spelling of a token would be a second fingerprint of the same permission.
    """
    if text.strip(ALPHABET) or len(text) % 4 == 1:
        return None
    data = binascii.a2b_base64(text.translate(_FROM_URL) + "=" * (-len(text) % 4))
    return data if encode(data) == text else None


_SCOPE_BYTES = 24


def scope_digest(value: Json) -> str:
    """Return 192 bits of SHA-256 over the canonical JSON of a value, in 32 characters.

    Agents copy the tokens that carry it, so it is short, but no two values can be made to share
    one. A path that is not UTF-8 counts as it is shown.
    """
    return encode(sha256(canonical_bytes(make_readable_json(value))).digest()[:_SCOPE_BYTES])


def sign(key: bytes, domain: str, content: bytes, length: int) -> bytes:
    """Return the first `length` bytes of an HMAC-SHA256 over the domain and the content."""
    assert 16 <= length <= 32, "a MAC has 128 to 256 bits"
    return hmac.digest(key, domain.encode() + b"\0" + content, "sha256")[:length]


def open_signed(keys: Sequence[bytes], domain: str, content: bytes, given: bytes, kind: type[T]) -> T | None:
    """Return what one of the keys signed, compared in constant time; None if another release of Handrail
    signed it.
    """
    matches = [hmac.compare_digest(sign(key, domain, content, len(given)), given) for key in keys]
    try:
        return msgspec.json.decode(content, type=kind) if any(matches) else None
    except msgspec.MsgspecError:
        return None
