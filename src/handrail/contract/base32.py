"""Crockford base32, lower case: the alphabet of ids and workflow tokens. Pure."""

from __future__ import annotations

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"

_PAIRS = tuple(high + low for high in ALPHABET for low in ALPHABET)
_FORGIVEN = str.maketrans("oil", "011")


def encode(number: int, length: int) -> str:
    """`number` as exactly `length` characters, most significant first."""
    assert number >> 5 * length == 0, "the number does not fit into that many characters"
    odd = length % 2
    first = ALPHABET[number >> 5 * (length - 1)] if odd else ""
    return first + "".join(
        [_PAIRS[number >> shift & 1023] for shift in range(5 * (length - odd - 2), -1, -10)]
    )


def encode_digest(digest: bytes, length: int) -> str:
    """The first `5 * length` bits of a digest."""
    bits = len(digest) * 8
    assert length * 5 <= bits, "the digest is too short for that many characters"
    return encode(int.from_bytes(digest, "big") >> (bits - length * 5), length)


def forgive(text: str) -> str:
    """What the writer meant: lower case, and the look-alikes o, i and l as 0, 1 and 1."""
    return text.lower().translate(_FORGIVEN)
