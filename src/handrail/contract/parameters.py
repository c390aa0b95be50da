"""What a parameter of an operation contains, declared with its type: an id, a path, a token, or free text.
Pure.

A text field without a marker is free text, so a new field is safe by default. An audit shows only ids,
numbers, words of a closed set and paths; for free text it shows the size and a digest. A server finds the
paths that it must check against its roots by the same markers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, inspect

from handrail.contract.outcome import Json
from handrail.contract.redaction import REDACTED, redact_shapes
from handrail.contract.wording import make_readable

Holding: TypeAlias = Literal["id", "number", "word", "path", "token", "text"]
"""Kinds of content of a parameter. The first four may be shown in an audit."""

_KEY = "holds"
_SHAPE = "shape"

# Markers: the second argument of `Annotated`, or a type that replaces a text

_MINTED = r"(?:ses|run|nod|evt|bnd|rcp|gap|out|acc|ws|cred)_[0-9a-z]{7,40}"
_DIGEST = r"(?:sha1:|sha256:)?[0-9a-f]{12,128}"
_DOTTED = r"[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64})*"
_KEYED = r"[A-Za-z0-9._:-]{1,128}"


def _mark(held: Holding, shape: str = "") -> Meta:
    return Meta(extra={_KEY: held, _SHAPE: shape})


MINTED_ID = _mark("id", rf"{_MINTED}|{_DIGEST}")
"""An id that Handrail made, or a digest. Other content in its place is hidden like free text."""
NAMED_ID = _mark("id", _DOTTED)
"""An id that people choose: of a workflow, a check, a setting."""
REQUEST_KEY = _mark("id", _KEYED)
PATH = _mark("path")
"""A file or a directory, relative to the project unless absolute."""
TOKEN = _mark("token")

MintedId = Annotated[str, MINTED_ID]
NamedId = Annotated[str, NAMED_ID]
PathText = Annotated[str, PATH]
TokenText = Annotated[str, TOKEN]
RequestKey = Annotated[str, REQUEST_KEY]
ProjectPath = Annotated[str, Meta(description="Project directory."), PATH]
Cursor = Annotated[str, Meta(description="next_cursor of the page before."), TOKEN]


# What the type of an input declares


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One place of an input that holds a value."""

    path: tuple[str, ...]
    """Wire names from the outside in; `[]` stands for each item of a list."""
    held: Holding
    is_marked: bool
    """Whether its type has a marker; text without one is free text."""


class _ParameterPlace(msgspec.Struct, frozen=True, kw_only=True):
    """What one place of an input may contain."""

    held: Holding = "text"
    is_marked: bool = False
    shape: re.Pattern[str] | None = None
    words: frozenset[str] = frozenset()
    is_plain: bool = True
    """Whether it may contain something that is neither an object nor a list."""
    members: Mapping[str, _ParameterPlace] | None = None
    items: _ParameterPlace | None = None


_TEXT = _ParameterPlace()


@cache
def _place_of(struct: type[msgspec.Struct]) -> _ParameterPlace:
    return _read(inspect.type_info(struct), {})


def _read(kind: inspect.Type, extra: Mapping[str, Any]) -> _ParameterPlace:
    match kind:
        case inspect.Metadata(type=inner, extra=more):
            return _read(inner, {**extra, **(more or {})})
        case inspect.UnionType(types=types):
            return _join([_read(one, extra) for one in types])
        case inspect.StructType(fields=fields):
            inside = {field.encode_name: _read(field.type, {}) for field in fields}
            return _ParameterPlace(members=inside, is_plain=False)
        case inspect.ListType(item_type=inner) | inspect.VarTupleType(item_type=inner):
            return _ParameterPlace(items=_read(inner, extra), is_plain=False)
        case inspect.LiteralType(values=values):
            words = frozenset(value for value in values if isinstance(value, str))
            return _ParameterPlace(held="word" if words else "number", is_marked=True, words=words)
        case inspect.BoolType() | inspect.IntType() | inspect.FloatType() | inspect.NoneType():
            return _ParameterPlace(held="number", is_marked=True)
        case inspect.StrType() if _KEY in extra:
            shape = re.compile(extra[_SHAPE]) if extra[_SHAPE] else None
            return _ParameterPlace(held=extra[_KEY], is_marked=True, shape=shape)
        case _:
            return _TEXT


def _join(places: list[_ParameterPlace]) -> _ParameterPlace:
    """Return a place that allows any of these; text of two possible kinds is free text."""
    plain = [one for one in places if one.is_plain]
    texts = [one for one in plain if one.held not in ("number", "word")]
    words = frozenset(word for one in plain for word in one.words)
    held = (
        texts[0]
        if len(texts) == 1
        else _TEXT
        if texts
        else _ParameterPlace(held="word" if words else "number", is_marked=True)
    )
    return msgspec.structs.replace(
        held,
        words=words,
        is_plain=bool(plain),
        members=next((one.members for one in places if one.members is not None), None),
        items=next((one.items for one in places if one.items is not None), None),
    )


def list_fields(struct: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return every place of an input that holds a value, in the order of its type."""
    return tuple(_walk(_place_of(struct), ()))


def _walk(place: _ParameterPlace, path: tuple[str, ...]) -> Iterator[Field]:
    if place.members is not None:
        for name, inner in place.members.items():
            yield from _walk(inner, (*path, name))
    if place.items is not None:
        yield from _walk(place.items, (*path, "[]"))
    if place.is_plain:
        yield Field(path=path, held=place.held, is_marked=place.is_marked)


def list_paths(struct: type[msgspec.Struct], params: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return the paths that a call names, each with the name of its parameter: `changes[].file`."""
    return list(_find_paths(_place_of(struct), dict(params), ""))


def _find_paths(place: _ParameterPlace, value: Json, name: str) -> Iterator[tuple[str, str]]:
    match value:
        case str() if place.held == "path":
            yield name, value
        case dict() if place.members is not None:
            for key, inner in place.members.items():
                if key in value:
                    yield from _find_paths(inner, value[key], f"{name}.{key}" if name else key)
        case list() if place.items is not None:
            for one in value:
                yield from _find_paths(place.items, one, f"{name}[]")


# What an audit may store of a call

MOST_ITEMS = 50
LONGEST = 256
"""Characters of an id or a path in an audit; for longer ones it shows the size."""
UNKNOWN = "unknown_fields"


def describe_params(struct: type[msgspec.Struct], params: Mapping[str, Json]) -> dict[str, Json]:
    """Return a call's parameters as an audit may store them; names that the operation lacks are
    only counted.
    """
    described = _describe(_place_of(struct), dict(params))
    assert isinstance(described, dict), "an input has members"
    return described


def _describe(place: _ParameterPlace, value: Json) -> Json:
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return _describe_text(place, value)
        case dict() if place.members is not None:
            known = {
                key: _describe(place.members[key], one) for key, one in value.items() if key in place.members
            }
            unknown = {key: one for key, one in value.items() if key not in place.members}
            return known | ({UNKNOWN: {"count": len(unknown), **measure(unknown)}} if unknown else {})
        case list() if place.items is not None and len(value) <= MOST_ITEMS:
            if place.items.held == "text" and place.items.members is None:
                return measure(value)
            return [_describe(place.items, one) for one in value]
        case _:
            return measure(value)


def _describe_text(place: _ParameterPlace, text: str) -> Json:
    if text in place.words:
        return text
    if place.held == "token":
        return REDACTED
    if len(text) <= LONGEST and _is_shown(place, text):
        return redact_shapes(make_readable(text))
    if place.held == "id":  # no id of ours; perhaps a name, which its digest would reveal
        return {"bytes": len(text.encode("utf-8", "surrogatepass"))}
    return measure(text)


def _is_shown(place: _ParameterPlace, text: str) -> bool:
    match place.held:
        case "path":
            return text.isprintable()
        case "id":
            return place.shape is None or place.shape.fullmatch(text) is not None
        case _:
            return False


def measure(value: Json) -> dict[str, Json]:
    """Return the size and digest of a value; for a value that is not JSON its type."""
    if isinstance(value, str):
        encoded = value.encode("utf-8", "surrogatepass")
    else:
        try:
            encoded = msgspec.json.encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return {"not_json": type(value).__name__}
    return {"bytes": len(encoded), "sha256": sha256(encoded).hexdigest()}
