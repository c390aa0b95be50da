"""Key derivation: the vectors of RFC 5869, and that purposes stay apart."""

from __future__ import annotations

import pytest

from handrail.contract.tokens.workflow import (
    continuation_purpose,
    hkdf_sha256,
    purpose_key,
    ring_key_of_secret,
)

RING_KEY = bytes(range(32))

# RFC 5869, appendix A.1 to A.3: secret, salt, info, and the first block of the output.
VECTORS = [
    (
        "0b" * 22,
        "000102030405060708090a0b0c",
        "f0f1f2f3f4f5f6f7f8f9",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf",
    ),
    (
        bytes(range(0x50)).hex(),
        bytes(range(0x60, 0xB0)).hex(),
        bytes(range(0xB0, 0x100)).hex(),
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c",
    ),
    ("0b" * 22, "", "", "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"),
]


@pytest.mark.parametrize(("secret", "salt", "info", "output"), VECTORS)
def test_derivation_gives_the_vectors_of_the_rfc(secret: str, salt: str, info: str, output: str) -> None:
    derived = hkdf_sha256(bytes.fromhex(secret), bytes.fromhex(salt), bytes.fromhex(info))

    assert derived.hex() == output


def test_purpose_key_is_derived_with_the_purpose_as_info() -> None:
    expected = hkdf_sha256(RING_KEY, b"handrail.keyring", b"workflow")

    assert purpose_key(RING_KEY, "workflow") == expected


def test_every_purpose_and_every_ring_key_gives_another_key() -> None:
    purposes = [
        "workflow",
        "cursor",
        "confirm",
        continuation_purpose("aa", 1),
        continuation_purpose("aa", 2),
        continuation_purpose("bb", 1),
    ]
    ring_keys = [RING_KEY, bytes(32), ring_key_of_secret(RING_KEY)]

    derived = {purpose_key(ring_key, purpose) for ring_key in ring_keys for purpose in purposes}

    assert len(derived) == len(purposes) * len(ring_keys)
    assert derived.isdisjoint(ring_keys)


def test_continuation_purpose_names_checkout_and_version() -> None:
    assert continuation_purpose("0f3a", 1) == "continuation:0f3a:1"


def test_a_ring_key_of_another_size_is_a_broken_assumption() -> None:
    with pytest.raises(AssertionError):
        purpose_key(b"short", "workflow")
