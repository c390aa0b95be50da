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

# RFC 5869, appendix A.1 to A.3: secret, salt, info, length, output.
VECTORS = [
    (
        "0b" * 22,
        "000102030405060708090a0b0c",
        "f0f1f2f3f4f5f6f7f8f9",
        42,
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ),
    (
        bytes(range(0x50)).hex(),
        bytes(range(0x60, 0xB0)).hex(),
        bytes(range(0xB0, 0x100)).hex(),
        82,
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
        "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
        "cc30c58179ec3e87c14c01d5c1f3434f1d87",
    ),
    (
        "0b" * 22,
        "",
        "",
        42,
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    ),
]


@pytest.mark.parametrize(("secret", "salt", "info", "length", "output"), VECTORS)
def test_derivation_gives_the_vectors_of_the_rfc(
    secret: str, salt: str, info: str, length: int, output: str
) -> None:
    derived = hkdf_sha256(bytes.fromhex(secret), bytes.fromhex(salt), bytes.fromhex(info), length)

    assert derived.hex() == output


def test_a_purpose_key_is_the_derivation_with_the_purpose_as_info() -> None:
    expected = hkdf_sha256(RING_KEY, b"handrail.keyring", b"workflow", 32)

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


def test_a_continuation_purpose_names_the_checkout_and_the_version() -> None:
    assert continuation_purpose("0f3a", 1) == "continuation:0f3a:1"


@pytest.mark.parametrize("length", [0, 255 * 32 + 1])
def test_a_length_that_the_rfc_does_not_allow_is_a_broken_assumption(length: int) -> None:
    with pytest.raises(AssertionError):
        hkdf_sha256(b"secret", b"", b"", length)


def test_a_ring_key_of_another_size_is_a_broken_assumption() -> None:
    with pytest.raises(AssertionError):
        purpose_key(b"short", "workflow")
