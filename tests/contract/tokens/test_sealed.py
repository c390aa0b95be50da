"""Base64url: what we write, and that each value has one spelling only."""

from __future__ import annotations

import base64

from handrail.contract.tokens import sealed
from tests.cases import every_case


@every_case("data", [b"", b"f", b"fo", b"foo", b"\xfb\xff\xfe", bytes(range(256))])
def test_encoding_agrees_with_the_standard_library(data: bytes) -> None:
    text = sealed.encode(data)

    assert text == base64.urlsafe_b64encode(data).decode().rstrip("=")
    assert sealed.decode(text) == data


@every_case(
    "text",
    [
        "Zg==",  # padding
        "Zh",  # stray bits after the last byte
        "Zm9",  # the same for two bytes
        "Z",  # no byte at all
        "Zm+v",  # the other alphabet
        "Zm/v",
        "Zm9v\n",
        " Zm9v",
        "Zm9vé",
        "Zm\0v",
    ],
)
def test_any_other_spelling_is_refused(text: str) -> None:
    assert sealed.decode(text) is None
