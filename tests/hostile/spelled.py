"""Whether a text carries a secret, however it is spelled: escaped, encoded, backwards, or in pieces."""

from __future__ import annotations

import base64
import re
import urllib.parse

_ESCAPE = re.compile(rb"\\u00([0-9a-fA-F]{2})|\\x([0-9a-fA-F]{2})|%([0-9a-fA-F]{2})")
_BETWEEN = re.compile(rb"(?:\\[nrt])|[^0-9A-Za-z]+")


def carries(content: bytes, secret: bytes) -> bool:
    """Whether the secret is in there as it is, or in a form from which anybody gets it back.

    What stands between letters and digits does not count: a separator, a line end or a quotation mark within
    hides nothing, and neither does the case of a letter.
    """
    texts = (_squeeze(content), _squeeze(_ESCAPE.sub(_unescape, content)))
    return any(form in text for form in _forms(secret) for text in texts)


def _forms(secret: bytes) -> set[bytes]:
    both = (secret, secret[::-1])
    spelled = [
        form
        for one in both
        for form in (one, urllib.parse.quote_from_bytes(one).encode(), one.hex().encode())
    ]
    spelled += [_core(one, shift) for one in both for shift in range(3)]
    spelled += [base64.b32encode(one).rstrip(b"=")[:-1] for one in both]
    spelled += [one.hex().encode()[::-1] for one in both] + [
        base64.b64encode(one).rstrip(b"=")[::-1] for one in both
    ]
    return {squeezed for form in spelled if len(squeezed := _squeeze(form)) >= 8}


def _core(secret: bytes, shift: int) -> bytes:
    """The part of the Base64 text that is the same wherever the secret begins."""
    encoded = base64.b64encode(bytes(shift) + secret).rstrip(b"=")
    return encoded[(0, 2, 3)[shift] : -1]


def _squeeze(content: bytes) -> bytes:
    return _BETWEEN.sub(b"", content).lower()


def _unescape(found: re.Match[bytes]) -> bytes:
    return bytes([int(next(filter(None, found.groups())), 16)])
