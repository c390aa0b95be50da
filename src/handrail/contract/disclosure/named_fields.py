"""Fields that the caller names: `--fields` keeps some of a payload, `--field` prints one value. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from handrail.contract.catalogue import E_NOT_FOUND, FIELD_UNKNOWN
from handrail.contract.disclosure.fields import (
    ITEMS,
    LONGEST_NAME,
    MARKS,
    PAGING_KEYS,
    NameTree,
    Object,
    Path,
    Shape,
    combine_presence,
    entity_key,
    is_list,
    map_selected,
    path_of,
    presence,
    project,
    replace_data,
    select_objects,
    tree_of,
)
from handrail.contract.envelopes.cli import PLACE_KEYS, encode_document, payload_of
from handrail.contract.outcome import Failure, Fault, Json, Notice, Outcome, Success

# Declared names come from the types of a payload, never from one answer, so an unknown name is rejected
# before anything is done. Below an open value, any name is allowed.

FieldTree: TypeAlias = "dict[str, FieldTree | None]"
"""The names of an object and what lies below each. None allows any name; an empty tree allows none."""

_MOST_DECLARED = 100


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """The names that the answers of one operation can have."""

    payload: FieldTree
    inner: FieldTree | None = {}
    """Names in each item of a list, or in the entity, if the shape selects one; names are relative to it."""


def declare_fields(types: Sequence[type[Any]], item: type[Any] | None, shape: Shape) -> Declared:
    """Return the names of payloads of these types; `item` is the row type of their list."""
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
    """Return the names that no answer can have."""
    trees = (declared.payload, declared.inner)
    return [name for name in names if not any(_leads(path_of(name), tree) for tree in trees)]


def known_names(declared: Declared, unknown: Sequence[str] = ()) -> list[str]:
    """Return the names to choose from, the most useful first: `results.id` for a caller that asked
    for `id`.
    """
    inner = list(declared.inner or ())
    holders = {
        outer: held
        for outer, tree in declared.payload.items()
        if (held := [name for name in unknown if name in (tree or ())])
    }
    best = sorted(holders, key=lambda outer: -len(holders[outer]))
    below = [f"{outer}.{name}" for outer in best for name in holders[outer]]
    return list(dict.fromkeys([*below, *inner, *declared.payload]))[:_MOST_DECLARED]


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
    """Return the names of a type; a type that contains itself allows any name from there on."""
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


# Names in one answer

_MOST_NAMES = 100
_NOTHING = msgspec.UNSET


class _Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What names mean in one payload."""

    objects: list[Object]
    wrapper: tuple[str, ...] = ()
    """Keys around the objects. They are always kept, so naming one is no mistake."""
    prefix: str = ""
    """The optional prefix `items.` or `<entity>.`; the word alone means all of it."""
    declared: tuple[str, ...] = ()
    is_complete: bool = False
    """Whether `declared` lists every field."""
    is_nested: bool = False
    """Whether names refer to objects one level down, because no shape is given and no top-level key
    matches.
    """


def keep_fields(
    success: Success,
    whole: Success,
    shape: Shape | None,
    names: Sequence[str],
    expanded: Sequence[str],
    declared: Declared | None = None,
) -> Outcome:
    """Return only the named fields, ids, what the shape requires, what was expanded, and the marks.

    The declared names exist; without a declaration, those of `whole`, the outcome before anything
    was left out.
    """
    scope = _nested_if_needed(_scope(whole, shape), whole, shape, names)
    unknown = (
        [name for name in names if not _is_known(name, scope)]
        if declared is None
        else unknown_names(names, declared)
    )
    valid = _valid(scope) if declared is None else known_names(declared, unknown)
    if len(unknown) == len(names):
        return _all_unknown(unknown, valid)
    wanted = [".".join(_relative(name, scope)) for name in names if name not in unknown]
    if scope.prefix not in names:
        tree = tree_of([*wanted, *_always(shape), *_unless_named(expanded, wanted)])
        success = _projected(success, shape, scope, tree)
    notices = (*success.notices, _unknown_notice(unknown, valid)) if unknown else success.notices
    return msgspec.structs.replace(success, notices=notices, disclosure="custom")


def refuse_undeclared(names: Sequence[str], declared: Declared) -> Failure | None:
    """Return the refusal if no answer can have any of the names; otherwise None."""
    unknown = unknown_names(names, declared)
    if not names or len(unknown) < len(names):
        return None
    return _all_unknown(unknown, known_names(declared, unknown))


def select_field(success: Success, shape: Shape | None, name: str, declared: Declared | None = None) -> str:
    """Return the bare value of a top-level key, or of the first list item, or of the entity.

    Raises: Fault FIELD_UNKNOWN when no such field exists, E_NOT_FOUND when it exists but not here.
    """
    scope = _scope(success, shape)
    payload = payload_of(success)
    value = _value_at(payload, path_of(name)) if isinstance(payload, dict) else _NOTHING
    if value is _NOTHING and scope.objects:
        value = _value_at(scope.objects[0], _relative(name, scope))
    if value is not _NOTHING:
        return _bare(value)
    shown = name[:LONGEST_NAME]
    is_known = _is_known(name, scope) if declared is None else not unknown_names([name], declared)
    if not is_known:
        details: dict[str, Json] = {"unknown": [shown], "valid": _valid(scope)}
        raise Fault(FIELD_UNKNOWN, "The field asked for does not exist here.", details=details)
    raise Fault(
        E_NOT_FOUND,
        "The field exists, but this answer has no value for it.",
        details={"field": shown},
        hint="Look at the whole answer: the list may be empty, or the field not set.",
    )


def _scope(success: Success, shape: Shape | None) -> _Scope:
    keys = tuple(success.data) if isinstance(success.data, dict) else ()
    list_key = ITEMS if success.page is None else success.page.list_key
    prefix = list_key if is_list(success, shape) else entity_key(shape)
    levels = shape.levels if shape is not None else {}
    full = levels.get("full")
    named = [name for level in (full, *levels.values()) for name in level or ()]
    extra = (*shape.relations, *([shape.id_field] if shape.id_field else [])) if shape is not None else ()
    return _Scope(
        objects=select_objects(success, shape),
        wrapper=(prefix, *_paging_keys(success), *keys) if prefix else (),
        prefix=prefix,
        declared=tuple(dict.fromkeys([*named, *extra])),
        is_complete=full is not None,
    )


def _paging_keys(success: Success) -> tuple[str, ...]:
    """Return the keys around the rows, depending on the kind of list."""
    if success.page is None:
        return ()
    return PAGING_KEYS if success.page.list_key == ITEMS else PLACE_KEYS


def _nested_if_needed(scope: _Scope, success: Success, shape: Shape | None, names: Sequence[str]) -> _Scope:
    data = success.data
    if shape is not None or scope.prefix or not isinstance(data, dict):
        return scope
    if any(path_of(name)[0] in data for name in names):
        return scope
    values = [value if isinstance(value, list | tuple) else [value] for value in data.values()]
    objects = [item for inner in values for item in inner if isinstance(item, dict)]
    if not objects:  # a flat object has nothing one level down
        return scope
    return _Scope(objects=objects, wrapper=tuple(data), is_nested=True)


def _is_known(name: str, scope: _Scope) -> bool:
    if name in scope.wrapper or name in scope.declared:
        return True
    path = _relative(name, scope)
    if ".".join(path) in scope.declared:
        return True
    is_root_declared = path[0] in scope.declared
    looked_at = [holder for holder in scope.objects if path[0] in holder or not is_root_declared]
    found = combine_presence(presence(holder, path) for holder in looked_at)
    # Without an object to check, only a complete declaration can rule a name out.
    if found == "unclear" and not looked_at:
        return is_root_declared or not scope.is_complete
    return found != "absent"


def _relative(name: str, scope: _Scope) -> Path:
    path = path_of(name)
    return path[1:] if len(path) > 1 and path[0] == scope.prefix else path


def _always(shape: Shape | None) -> Sequence[str]:
    if shape is None:
        return ()
    return (*shape.required, *([shape.id_field] if shape.id_field else []))


def _unless_named(expanded: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the expanded names, without those inside which the caller named fields."""
    roots = {path_of(name)[0] for name in wanted}
    return [name for name in expanded if path_of(name)[0] not in roots]


def _projected(success: Success, shape: Shape | None, scope: _Scope, tree: NameTree) -> Success:
    if not scope.is_nested:
        knows_id = shape is not None and bool(shape.id_field)
        return map_selected(
            success, shape, lambda holder: project(holder, tree, has_ids=True, knows_id=knows_id)
        )
    assert isinstance(success.data, dict), "only an object has objects one level down"
    return replace_data(success, {key: _nested(value, tree) for key, value in success.data.items()})


def _nested(value: Json, tree: NameTree) -> Json:
    match value:
        case dict() | list() | tuple():
            return project(value, tree)
        case _:
            return value


def _all_unknown(unknown: Sequence[str], valid: list[str]) -> Failure:
    details: dict[str, Json] = {"unknown": [name[:LONGEST_NAME] for name in unknown], "valid": valid}
    message = "None of the fields asked for exists here."
    return Failure(kind=FIELD_UNKNOWN, message=message, details=details)


def _unknown_notice(unknown: Sequence[str], valid: list[str]) -> Notice:
    names = "1 unknown field name" if len(unknown) == 1 else f"{len(unknown)} unknown field names"
    extra: dict[str, Json] = {"names": [name[:LONGEST_NAME] for name in unknown], "valid": valid}
    return Notice(type="unknown_fields", message=f"{names} ignored", extra=extra)


def _valid(scope: _Scope) -> list[str]:
    observed = [key for holder in scope.objects for key in holder if key not in MARKS]
    first, then = (scope.declared, observed) if scope.is_complete else (observed, scope.declared)
    return list(dict.fromkeys([*first, *then]))[:_MOST_NAMES]


def _value_at(value: Json, path: Path) -> Json:
    """Return the value of the field, from the first item of each list on the way; `_NOTHING` if
    there is none.
    """
    if not path:
        return value
    match value:
        case dict() if path[0] in value:
            return _value_at(value[path[0]], path[1:])
        case [first, *_]:
            return _value_at(first, path)
        case _:
            return _NOTHING


def _bare(value: Json) -> str:
    """Return text as it is, everything else as JSON on one line."""
    match value:
        case str():
            return value
        case int() if not isinstance(value, bool):
            return str(value)
        case _:
            return encode_document(value, compact=True).decode("utf-8").removesuffix("\n")
