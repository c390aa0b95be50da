"""Compiled structs as plain JSON values in one form only: what equals its default is left out. Pure.

The library's own `omit_defaults` compares by identity, so a default that an author wrote out could stay or
go with the way its text was read. A hash must not depend on that.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from handrail.contract.outcome import Json


class _Field(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    encode_name: str
    default: Any


def plain_form(value: Any) -> Json:
    """Structs become objects with wire names; tuples become lists."""
    if isinstance(value, msgspec.Struct):
        return _object(value)
    if isinstance(value, dict):
        return {key: plain_form(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_form(inner) for inner in value]
    return value


def _object(value: msgspec.Struct) -> dict[str, Json]:
    config = value.__struct_config__
    form: dict[str, Json] = {config.tag_field: config.tag} if config.tag_field is not None else {}
    for field in _fields(type(value)):
        held = getattr(value, field.name)
        if held is msgspec.UNSET or (config.omit_defaults and _is_default(held, field.default)):
            continue
        form[field.encode_name] = plain_form(held)
    return form


def _is_default(held: Any, default: Any) -> bool:
    return type(held) is type(default) and held == default


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[_Field, ...]:
    return tuple(
        _Field(
            name=field.name,
            encode_name=field.encode_name,
            default=field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory(),
        )
        for field in msgspec.structs.fields(kind)
    )
