"""Canonical JSON (RFC 8785), digests over it, and strict reading of JSON from outside. Pure.

Everything that is hashed, signed or compared by digest goes through `canonical_bytes`; everything that
a caller or a file hands over as JSON text comes in through `decode_json`.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from json import JSONDecodeError, JSONDecoder
from json.encoder import encode_basestring as _string
from math import isfinite
from typing import NoReturn

import msgspec

from handrail.contract.json_numbers import float_text, integer_text
from handrail.contract.json_trouble import (
    DEEPEST,
    broken_syntax,
    broken_text,
    refused_text,
    refused_value,
    too_many_bytes,
)
from handrail.contract.outcome import Json

DEPTH_LIMIT = 64
"""Arrays and objects inside each other that `decode_json` takes unless told otherwise."""


def canonical_bytes(value: Json) -> bytes:
    """The RFC 8785 bytes of a JSON value; tuples count as arrays.

    Numbers are written as ECMAScript writes them, keys are sorted by UTF-16 code units. RFC 8785 takes
    I-JSON only, so these have no canonical form: NaN and the infinities, integers that a double does
    not hold digit for digit (from 2^53 + 1 on; rounding them would give two documents one digest), lone
    surrogates, keys that are not strings, and anything that is not JSON.

    Raises: Fault E_VALIDATION that names the place.
    """
    try:
        return _text(value).encode()
    except (ValueError, TypeError, KeyError, RecursionError):  # a lone surrogate is a ValueError, too
        pass
    raise refused_value(value)


def digest(value: Json) -> str:
    """`sha256:` and the hex SHA-256 of the canonical bytes."""
    return "sha256:" + sha256(canonical_bytes(value)).hexdigest()


def decode_json(data: bytes | str, *, max_bytes: int, max_depth: int = DEPTH_LIMIT) -> Json:
    """One JSON value from outside text, or a refusal that says where the trouble is.

    Refused: more than `max_bytes`, more than `max_depth` arrays and objects inside each other, a byte
    order mark, bytes that are not UTF-8, a key twice in one object, NaN and the infinities (also as a
    number that overflows), lone surrogates, and everything else that is not JSON. Integers keep all
    their digits; those that no other reader would keep are refused where they are hashed.

    Raises: Fault E_VALIDATION or REQUEST_TOO_LARGE.
    """
    assert max_depth <= DEEPEST, "deeper values would exhaust the stack"
    text = _utf8_text(data, max_bytes)
    try:
        value = _DECODER.decode(text)
    except JSONDecodeError as error:
        raise broken_syntax(text, error.pos, error.msg) from None
    except (ValueError, RecursionError):  # what the hooks refuse, endless digits, endless nesting
        raise refused_text(text, max_depth) from None
    if text.count("[") + text.count("{") > max_depth and _is_deeper(value, max_depth):
        raise refused_text(text, max_depth)
    if ("\\ud" in text or "\\uD" in text) and not _has_whole_characters(value):
        raise refused_text(text, max_depth)
    return value


def _text(value: Json) -> str:
    return _WRITERS[type(value)](value)


def _object(value: dict[str, Json]) -> str:
    keys = sorted(value)
    if not "".join(keys).isascii():
        keys.sort(key=_utf16)
    return "{" + ",".join([_string(key) + ":" + _WRITERS[type(value[key])](value[key]) for key in keys]) + "}"


def _array(value: list[Json]) -> str:
    return "[" + ",".join([_WRITERS[type(item)](item) for item in value]) + "]"


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


_WRITERS: dict[type, Callable[[Json], str]] = {
    str: _string,
    dict: _object,
    list: _array,
    tuple: _array,
    int: integer_text,
    float: float_text,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): {None: "null"}.__getitem__,
}
"""By exact type, looked up in place: this is the inner loop of every digest."""


def _utf8_text(data: bytes | str, max_bytes: int) -> str:
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > max_bytes:
        raise too_many_bytes(len(raw), max_bytes)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        sound = raw[: error.start].decode()
        raise broken_text(sound, len(sound), "this is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise broken_text(text, 0, "it begins with a byte order mark")
    return text


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError
    return number


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError


_DECODER = JSONDecoder(object_pairs_hook=_members, parse_float=_finite, parse_constant=_refuse_constant)


_CONTAINERS = (dict, list)


def _is_deeper(value: Json, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _CONTAINERS)
        ]
    return bool(level)


def _has_whole_characters(value: Json) -> bool:
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True
