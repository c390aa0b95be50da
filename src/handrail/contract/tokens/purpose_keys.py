"""Purpose keys: HKDF-SHA256 (RFC 5869) from a ring key, so that no purpose can be used for another. Pure."""

from __future__ import annotations

import hmac

KEY_LENGTH = 32
"""Bytes of a ring key and of every key derived from it."""

WORKFLOW = "workflow"
CURSOR = "cursor"
CONFIRM = "confirm"

_HASH_LENGTH = 32
_RING_SALT = b"handrail.keyring"
_SECRET_SALT = b"handrail.secret"


def purpose_key(ring_key: bytes, purpose: str) -> bytes:
    """The key of one purpose; knowing it tells nothing about the ring key or another purpose."""
    assert len(ring_key) == KEY_LENGTH, "a ring key has 32 bytes"
    assert purpose, "a purpose key needs a purpose"
    return hkdf_sha256(ring_key, _RING_SALT, purpose.encode(), KEY_LENGTH)


def continuation_purpose(repo_root_digest: str, version: int) -> str:
    """Binds continuation tokens to one checkout and one token version (CONT 2.3)."""
    return f"continuation:{repo_root_digest}:{version}"


def ring_key_of_secret(secret: bytes) -> bytes:
    """The ring key that a secret from outside stands for, whatever its length."""
    return hkdf_sha256(secret, _SECRET_SALT, b"ring", KEY_LENGTH)


def hkdf_sha256(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    """RFC 5869, extract then expand."""
    assert 0 < length <= 255 * _HASH_LENGTH, "HKDF-SHA256 gives 1 to 8160 bytes"
    # HMAC pads a short key with zeros, so an empty salt is the RFC's default salt.
    pseudorandom_key = hmac.digest(salt, secret, "sha256")
    block, output = b"", b""
    for counter in range(1, -(-length // _HASH_LENGTH) + 1):
        block = hmac.digest(pseudorandom_key, block + info + bytes((counter,)), "sha256")
        output += block
    return output[:length]
