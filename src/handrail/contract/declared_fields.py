"""Which field names a payload can have, by its types and never by what one answer holds. Pure.

So a name can be refused before anything is done. Below an open value any name may stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from handrail.contract.cli_envelope import PLACE_KEYS
from handrail.contract.fields import MARKS, Path, path_of
from handrail.contract.selection import ITEMS, PAGING_KEYS, entity_key
from handrail.contract.shape import Shape

FieldTree: TypeAlias = "dict[str, FieldTree | None]"
"""The names of an object and what lies below each: None is open, an empty tree has no names at all."""

_MOST_NAMES = 100


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What names may mean in the answers of one operation."""

    payload: FieldTree
    inner: FieldTree | None = {}
    """Of each item of a list, or of the entity, where the shape selects one: names are relative to it."""


def declared_by(types: Sequence[type[Any]], item: type[Any] | None, shape: Shape) -> Declared:
    """The names of payloads of these types; `item` is the row of a list that they hold."""
    payload = _tree_of(types)
    assert payload is not None, "a payload is an object"
    if shape.rows:
        payload = {**{name: {} for name in PLACE_KEYS}, **payload}
    if item is not None:
        payload = {**payload, **{name: {} for name in PAGING_KEYS}, ITEMS: _tree_of([item])}
    selected = entity_key(shape) or (ITEMS if shape.select == ITEMS else shape.rows)
    inner = payload.get(selected, {}) if selected else {}
    return Declared(payload=payload, inner=inner)


def unknown_names(names: Iterable[str], declared: Declared) -> list[str]:
    """Those that no answer can have."""
    trees = (declared.payload, declared.inner)
    return [name for name in names if not any(_leads(path_of(name), tree) for tree in trees)]


def known_names(declared: Declared) -> list[str]:
    """The names to choose from, the most useful first."""
    inner = list(declared.inner or ())
    return list(dict.fromkeys([*inner, *declared.payload]))[:_MOST_NAMES]


def _leads(path: Path, tree: FieldTree | None) -> bool:
    if tree is None or not path:
        return True
    return path[0] in MARKS or (path[0] in tree and _leads(path[1:], tree[path[0]]))


def _tree_of(types: Sequence[type[Any]]) -> FieldTree | None:
    return _joined(_names_of(one, ()) for one in inspect.multi_type_info(types))


def _joined(trees: Iterable[FieldTree | None]) -> FieldTree | None:
    joined: FieldTree = {}
    for tree in trees:
        if tree is None:
            return None
        for name, below in tree.items():
            joined[name] = _joined((joined[name], below)) if name in joined else below
    return joined


def _names_of(one: inspect.Type, above: tuple[type[Any], ...]) -> FieldTree | None:
    """A type that holds itself is open from there on."""
    match one:
        case inspect.Metadata(type=inner):
            return _names_of(inner, above)
        case inspect.StructType(cls=cls, fields=fields, tag_field=tag_field):
            if cls in above:
                return None
            tree: FieldTree = {tag_field: {}} if tag_field else {}
            return tree | {field.encode_name: _names_of(field.type, (*above, cls)) for field in fields}
        case inspect.UnionType(types=types):
            return _joined(_names_of(inner, above) for inner in types)
        case inspect.ListType(item_type=inner) | inspect.VarTupleType(item_type=inner):
            return _names_of(inner, above)
        case inspect.TupleType(item_types=types):
            return _joined(_names_of(inner, above) for inner in types)
        case inspect.DictType() | inspect.AnyType() | inspect.RawType() | inspect.CustomType():
            return None
        case _:
            return {}
