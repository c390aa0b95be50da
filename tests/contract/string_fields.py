"""The places of an input that can hold a text, read from its type without the code that classifies them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import inspect

from handrail.contract.outcome import Json

LIST = "[]"


def list_text_places(struct: type[Any]) -> list[tuple[str, ...]]:
    """Wire names from the outside in; `[]` stands for an item of a list, and open values count as texts."""
    return list(dict.fromkeys(_find(inspect.type_info(struct), ())))


def _find(kind: inspect.Type, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    match kind:
        case inspect.Metadata(type=inner):
            yield from _find(inner, path)
        case inspect.UnionType(types=types):
            for one in types:
                yield from _find(one, path)
        case inspect.StructType(fields=fields):
            for field in fields:
                yield from _find(field.type, (*path, field.encode_name))
        case inspect.ListType(item_type=inner) | inspect.VarTupleType(item_type=inner):
            yield from _find(inner, (*path, LIST))
        case inspect.DictType() | inspect.AnyType():
            yield (*path, "any")
        case inspect.StrType():
            yield path
        case _:  # a number or a word of a closed set
            return


def put(path: tuple[str, ...], text: str) -> Json:
    """A value with the text at that place, below the first name."""
    value: Json = text
    for name in reversed(path[1:]):
        value = [value] if name == LIST else {name: value}
    return value
