"""Strict reading of JSON from outside: every text from a caller or a file is decoded here. Pure."""

from __future__ import annotations

from json import JSONDecodeError, JSONDecoder
from math import isfinite
from typing import NoReturn

from handrail.contract.json.trouble import (
    DEEPEST,
    explain_broken_syntax,
    explain_broken_text,
    explain_refused_text,
    explain_too_many_bytes,
)
from handrail.contract.outcome import Json
from handrail.contract.wording import has_whole_characters

DEPTH_LIMIT = 64
"""Default limit of `decode_json` for nested arrays and objects."""


def decode_json(data: bytes | str, *, max_bytes: int, max_depth: int = DEPTH_LIMIT) -> Json:
    """Return one JSON value from outside text, or raise a Fault that says where the error is.

    It rejects more than `max_bytes`, more than `max_depth` nested arrays and objects, a byte order
    mark, bytes that are not UTF-8, a key twice in one object, NaN and the infinities (also as a
    number that overflows), lone surrogates, and everything else that is not JSON. Integers keep all
    their digits; those that other readers would round are rejected where they are hashed.

    Raises: Fault E_VALIDATION or REQUEST_TOO_LARGE.
    """
    assert max_depth <= DEEPEST, "deeper values would exhaust the stack"
    text = utf8_text(data, max_bytes)
    try:
        value = _DECODER.decode(text)
    except JSONDecodeError as error:
        raise explain_broken_syntax(text, error.pos, error.msg) from None
    except (ValueError, RecursionError):  # what the hooks reject, endless digits, endless nesting
        raise explain_refused_text(text, max_depth) from None
    if text.count("[") + text.count("{") > max_depth and is_deeper(value, max_depth):
        raise explain_refused_text(text, max_depth)
    has_half_escapes = "\\ud" in text or "\\uD" in text
    if has_half_escapes and not has_whole_characters(value):
        raise explain_refused_text(text, max_depth)
    return value


def check_json(text: str, max_depth: int) -> None:
    """Reject a long text that `decode_json` rejects, in little memory, for a reader that decodes
    its parts.

    Halves of surrogate pairs are left to that reader.

    Raises: Fault E_VALIDATION or REQUEST_TOO_LARGE.
    """
    try:
        depth = _measure_depth(_MEASURING.decode(text))
    except JSONDecodeError as error:
        raise explain_broken_syntax(text, error.pos, error.msg) from None
    except (ValueError, RecursionError):
        raise explain_refused_text(text, max_depth) from None
    if depth > max_depth:
        raise explain_refused_text(text, max_depth)


def repeats_a_key(text: str) -> bool:
    """Whether an object has a key twice, for a reader that is otherwise more lenient."""
    try:
        _REPEATS.decode(text)
    except _RepeatedKeyError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


_UTF_8 = "Write it as UTF-8, without a byte order mark."


def utf8_text(data: bytes | str, max_bytes: int) -> str:
    """Return the text, if it is short enough, UTF-8, and begins with no byte order mark.

    Raises: Fault E_VALIDATION or REQUEST_TOO_LARGE.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > max_bytes:
        raise explain_too_many_bytes(len(raw), max_bytes)
    try:
        text = data if isinstance(data, str) and data.isascii() else raw.decode()
    except UnicodeDecodeError as error:
        sound = raw[: error.start].decode()
        raise explain_broken_text(sound, len(sound), "this is not UTF-8", _UTF_8) from None
    if text.startswith("\ufeff"):
        raise explain_broken_text(text, 0, "it begins with a byte order mark", _UTF_8)
    return text


class _RepeatedKeyError(ValueError):
    """Raised for a repeated key, because a reader must not guess which value is meant."""


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RepeatedKeyError
    return members


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError
    return number


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError


_DECODER = JSONDecoder(object_pairs_hook=_members, parse_float=_finite, parse_constant=_refuse_constant)
_REPEATS = JSONDecoder(object_pairs_hook=_members, parse_float=str, parse_int=str, strict=False)


class _Depth(int):
    """Depth of nesting at an object."""


def _measure_depth(value: Json) -> int:
    if isinstance(value, list):
        return 1 + max(map(_measure_depth, value), default=0)
    return value if isinstance(value, _Depth) else 0


def _measured(pairs: list[tuple[str, Json]]) -> _Depth:
    return _Depth(1 + max(map(_measure_depth, _members(pairs).values()), default=0))


_MEASURING = JSONDecoder(object_pairs_hook=_measured, parse_float=_finite, parse_constant=_refuse_constant)


_CONTAINERS = (dict, list)


def is_deeper(value: Json, limit: int) -> bool:
    """Whether arrays and objects are nested deeper than `limit`."""
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _CONTAINERS)
        ]
    return bool(level)
