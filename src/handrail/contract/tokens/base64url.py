"""Base64url without padding, one spelling per value: the text form of JSON tokens. Pure."""

from __future__ import annotations

import binascii

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = str.maketrans("-_", "+/")


def encode(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL).decode("ascii")


def decode(text: str) -> bytes | None:
    """The bytes, or None for anything but the canonical spelling.

    Padding, line breaks, foreign characters and stray bits after the last byte are all refused:
    a second spelling of a token would be a second fingerprint of the same permission.
    """
    if text.strip(ALPHABET) or len(text) % 4 == 1:
        return None
    data = binascii.a2b_base64(text.translate(_FROM_URL) + "=" * (-len(text) % 4))
    return data if encode(data) == text else None
