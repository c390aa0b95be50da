"""Canonical JSON (RFC 8785), digests over it, and the hash chain over a session's events. Pure.

Everything that is hashed, signed or compared by digest goes through `canonical_bytes`, so bytes and digests
are the same in every store.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from hashlib import sha256

import msgspec

from handrail.contract.json.numbers import float_text, integer_text
from handrail.contract.outcome import Json

_UNSURE_NUMBERS = tuple(before + rb"-?(?:[0-9]+[.eE]|[0-9]{16})" for before in (rb'":', rb",", rb"\[", rb"^"))
"""In compact JSON: a fraction, an exponent, or more digits than a double is sure to hold. Text in a string
may look like one; then the long way is taken without need. One pattern for all would search much longer.
"""


def canonical_bytes(value: Json) -> bytes:
    """Return the RFC 8785 bytes of a JSON value; tuples count as arrays.

    Numbers are written as ECMAScript writes them, keys are sorted by UTF-16 code units. RFC 8785 takes
    I-JSON only, so these have no canonical form: NaN and the infinities, integers that a double does
    not hold digit for digit (from 2^53 + 1 on; rounding them would give two documents one digest), lone
    surrogates, keys that are not strings, and anything that is not JSON.

    Raises: Fault E_VALIDATION that names the place.
    """
    try:
        return _WRITERS[type(value)](value)
    except (ValueError, TypeError, KeyError, RecursionError):  # a lone surrogate is a ValueError, too
        pass
    # Finding the place costs time, so it is done only for a rejected value.
    from handrail.contract.json.trouble import explain_refused_value  # noqa: PLC0415 - see above

    raise explain_refused_value(value)


def canonical_bytes_of_decoded(value: Json) -> bytes:
    """Return the RFC 8785 bytes of decoded JSON, in which every key is a string; large documents take a
    short way.

    msgspec sorts and escapes as RFC 8785 does as long as all is ASCII, and writes small integers alike.

    Raises: Fault E_VALIDATION.
    """
    try:
        content = msgspec.json.encode(value, order="sorted")
    except (ValueError, TypeError, RecursionError):
        return canonical_bytes(value)
    if content.isascii() and not any(re.search(number, content) for number in _UNSURE_NUMBERS):
        return content
    return canonical_bytes(value)


def digest(value: Json) -> str:
    """Return `sha256:` and the hex SHA-256 of the canonical bytes."""
    return "sha256:" + sha256(canonical_bytes(value)).hexdigest()


# RFC 8785 escapes exactly what msgspec escapes; a lone surrogate is refused by both.
_string = msgspec.json.encode


def _object(value: dict[str, Json]) -> bytes:
    keys = sorted(value)
    if not "".join(keys).isascii():
        keys.sort(key=lambda key: key.encode("utf-16-be"))
    return (
        b"{"
        + b",".join([_string(key) + b":" + _WRITERS[type(value[key])](value[key]) for key in keys])
        + b"}"
    )


def _array(value: list[Json]) -> bytes:
    return b"[" + b",".join([_WRITERS[type(item)](item) for item in value]) + b"]"


_WRITERS: dict[type, Callable[[Json], bytes]] = {
    str: _string,
    dict: _object,
    list: _array,
    tuple: _array,
    int: lambda value: integer_text(value).encode(),
    float: lambda value: float_text(value).encode(),
    bool: {True: b"true", False: b"false"}.__getitem__,
    type(None): {None: b"null"}.__getitem__,
}
"""Writers by exact type, looked up without a call, because this is the inner loop of every digest."""


# The hash chain


def genesis(session_id: str) -> str:
    """Return the digest before the first event; binds the chain to its session."""
    return hashlib.sha256(b"handrail.log.v1\0" + session_id.encode()).hexdigest()


def chain_digest(previous: str, dedupe_key: str, body: bytes) -> str:
    """Return the digest after one more event."""
    return hashlib.sha256(bytes.fromhex(previous) + dedupe_key.encode() + b"\n" + body).hexdigest()
