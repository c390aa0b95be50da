"""What a caller may ask to see (Shape, Ask), and how dotted names select and edit fields. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from handrail.contract.catalogue import E_USAGE
from handrail.contract.outcome import UNTRUSTED, Fault, Json, Success

# Shape and Ask, and the flags that write them as text

Level: TypeAlias = Literal["minimal", "standard", "full"]

LONGEST_NAME = 80
"""Characters of outside text that a message repeats at most."""

_AMOUNT = "[0-9]{1,15}"
_BUDGET_USAGE = "--budget tokens=N,bytes=N,items=N"


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Limits the caller declared (LAFS 9.5.1). Every given one must hold."""

    max_tokens: int | None = None
    max_bytes: int | None = None
    max_items: int | None = None


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How the payload of one operation may be reduced. Names may be dotted.

    All names are relative to what `select` picks: each item of a list, one entity under a key of the
    payload, or the payload itself.
    """

    levels: dict[Level, tuple[str, ...] | None] = {}
    """Field names per disclosure level; None, or a level that is not listed, means everything."""
    id_field: str = ""
    """Field that every projection and every cut keeps. Without one, `--fields` keeps the first name that is
    an id.
    """
    required: tuple[str, ...] = ()
    """Fields that `--fields` keeps beside the id, because the next call needs them (LAFS 9.2)."""
    select: str = "top"
    """`items`, `entity:<key>` or `top`."""
    rows: str = ""
    """For a document that pages a list of its own: the name of that list."""
    relations: tuple[str, ...] = ()
    """Fields that appear only when `--expand` asks for them."""
    on_demand: tuple[str, ...] = ()
    """Fields of the level full, too heavy for the others; `--expand` adds them to any level."""
    drop_order: tuple[str, ...] = ()
    """Fields that a budget may drop, in this order. With `items`: keys of the wrapper, without a page."""
    windows: tuple[str, ...] = ()
    """Inner lists that a budget may cut, in this order. With `items`: keys of the wrapper, without a page."""
    untrusted: tuple[str, ...] = ()
    """Fields that hold text from outside; they are listed in `_untrusted` beside them."""
    trusted_where: tuple[str, str] = ("", "")
    """The field and value that mark an object whose text came with the program; empty if there are none."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller wants to see."""

    mvi: Level = "standard"
    fields: tuple[str, ...] | None = None
    field: str | None = None
    expand: tuple[str, ...] = ()
    budget: Budget | None = None


def parse_fields(text: str, flag: str = "--fields") -> tuple[str, ...]:
    """Return the names of a comma list, trimmed, without empty ones and duplicates. `--expand` uses
    it too.

    Raises: Fault E_USAGE when no name is left.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise Fault(
            E_USAGE,
            f"{flag} names no field.",
            details={"usage": f"{flag} a,b.c"},
            hint=f"Give {flag} at least one name, or leave it out to get the default fields.",
        )
    return names


def parse_budget(text: str) -> Budget:
    """Return a budget from `tokens=N,bytes=N,items=N`, in any order, each part at most once.

    Raises: Fault E_USAGE when a part is unknown, given twice, or not a positive whole number.
    """
    amounts: dict[str, int] = {}
    for part in text.split(","):
        name, _, amount = part.strip().partition("=")
        if name not in ("tokens", "bytes", "items"):
            raise _bad_budget("--budget takes the parts tokens, bytes and items.")
        if name in amounts:
            raise _bad_budget(f"--budget names {name} twice.")
        if re.fullmatch(_AMOUNT, amount) is None or int(amount) == 0:
            raise _bad_budget(f"--budget {name} must be a whole number from 1 to 999999999999999.")
        amounts[name] = int(amount)
    return Budget(
        max_tokens=amounts.get("tokens"), max_bytes=amounts.get("bytes"), max_items=amounts.get("items")
    )


def _bad_budget(message: str) -> Fault:
    return Fault(E_USAGE, message, details={"usage": _BUDGET_USAGE}, hint=f"Write {_BUDGET_USAGE}.")


# Dotted names on JSON values
#
# Every function returns a new value and keeps the payload's order. A name passes through a list into each of
# its items. `_untrusted` never names a field that is gone.

TRUNCATED = "truncated"
TRUNCATED_FIELDS = "truncated_fields"
MARKS = (TRUNCATED, TRUNCATED_FIELDS, UNTRUSTED)
"""Keys that describe the payload; no projection removes them."""

Path: TypeAlias = tuple[str, ...]
Object: TypeAlias = dict[str, Json]
NameTree: TypeAlias = "dict[str, NameTree | None]"
"""Names to keep; None keeps the whole value."""
Presence: TypeAlias = Literal["there", "absent", "unclear"]


def path_of(name: str) -> Path:
    return tuple(name.split("."))


def tree_of(names: Iterable[str]) -> NameTree:
    """Return the names as a tree; `a` beside `a.b` keeps the whole of `a`."""
    tree: NameTree = {}
    for name in names:
        _add(tree, path_of(name))
    return tree


def project(value: Json, tree: NameTree, *, has_ids: bool = False, knows_id: bool = False) -> Json:
    """Return only the named fields and the marks; a value without fields is returned unchanged.

    `has_ids` also keeps the id of every object that is cut; `knows_id` means that the tree names
    the outermost id.
    """
    match value:
        case dict():
            own = id_name(value) if has_ids and not knows_id else None
            kept: Object = {}
            for key, inner in value.items():
                branch = tree.get(key)
                if branch is not None:
                    kept[key] = project(inner, branch, has_ids=has_ids)
                elif key in tree or key in MARKS or key == own:
                    kept[key] = inner
            return _honest(kept)
        case list() | tuple():
            return [project(item, tree, has_ids=has_ids, knows_id=knows_id) for item in value]
        case _:
            return value


def id_name(holder: Object) -> str:
    """Return the key of the object's id: `id`, else the first key that ends in `_id` or `Id`."""
    if "id" in holder:
        return "id"
    return next((key for key in holder if key.endswith(("_id", "Id"))), "")


def remove_field(value: Json, path: Path) -> Json:
    """Return everything but the field at `path`."""
    return edit_at(value, path, lambda holder, key: {k: v for k, v in holder.items() if k != key})


def shorten_list(value: Json, path: Path, length: int) -> Json:
    """Return the list at `path` cut to its first items."""
    return edit_at(value, path, lambda holder, key: {**holder, key: _head(holder[key], length)})


def edit_at(value: Json, path: Path, edit: Callable[[Object, str], Object]) -> Json:
    """Return the value with `edit` applied to every object that has the last part of `path`."""
    match value:
        case dict() if path[0] in value:
            key, rest = path[0], path[1:]
            edited = {**value, key: edit_at(value[key], rest, edit)} if rest else edit(value, key)
            return _honest(edited)
        case list() | tuple():
            return [edit_at(item, path, edit) for item in value]
        case _:
            return value


def presence(value: Json, path: Path) -> Presence:
    """Return whether the field exists; `unclear` if a null or an empty list hides what would be below."""
    if not path:
        return "there"
    match value:
        case dict():
            return presence(value[path[0]], path[1:]) if path[0] in value else "absent"
        case list() | tuple():
            return combine_presence(presence(item, path) for item in value)
        case None:
            return "unclear"
        case _:
            return "absent"


def combine_presence(found: Iterable[Presence]) -> Presence:
    """Return `there` if any is; `unclear` if nothing was checked or one was unclear; otherwise `absent`."""
    seen = set(found)
    if "there" in seen:
        return "there"
    return "unclear" if not seen or "unclear" in seen else "absent"


def stamp_untrusted(holder: Object, names: Sequence[str]) -> Object:
    """Return the object with `_untrusted` listing those of `names` that it holds.

    A name that leads through a list is stamped on each item of that list instead.
    """
    here: list[str] = []
    inside: dict[Path, list[str]] = {}
    for name in names:
        path = path_of(name)
        if path[0] not in holder:
            continue
        until = _list_on(holder, path) if len(path) > 1 else None
        if until is not None:
            inside.setdefault(path[:until], []).append(".".join(path[until:]))
        elif presence(holder, path) == "there":
            here.append(name)
    changed = holder
    for path, below in inside.items():  # each list once, because the drawing of a run has thousands of items
        changed = _stamped_items(changed, path, below)
    listed = list(dict.fromkeys([*_names_in(holder), *here]))
    return {**changed, UNTRUSTED: listed} if listed else changed


def _add(tree: NameTree, path: Path) -> None:
    head, rest = path[0], path[1:]
    branch = tree.setdefault(head, {} if rest else None)
    if not rest:
        tree[head] = None
    elif branch is not None:
        _add(branch, rest)


def _head(value: Json, length: int) -> Json:
    return list(value[:length]) if isinstance(value, list | tuple) else value


def _honest(holder: Object) -> Object:
    """Return `_untrusted` reduced to the names still present, or without it if none is."""
    if UNTRUSTED not in holder:
        return holder
    names = [name for name in _names_in(holder) if presence(holder, path_of(name)) == "there"]
    if names:
        return {**holder, UNTRUSTED: names}
    return {key: value for key, value in holder.items() if key != UNTRUSTED}


def _names_in(holder: Object) -> list[str]:
    listed = holder.get(UNTRUSTED)
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list | tuple) else []


def _list_on(holder: Object, path: Path) -> int | None:
    """Return how many parts of `path` lead to a list that is not yet its end."""
    value: Json = holder
    for depth, part in enumerate(path):
        if isinstance(value, list | tuple):
            return depth
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return None


def _stamped_items(holder: Object, path: Path, names: Sequence[str]) -> Object:
    def stamp(parent: Object, key: str) -> Object:
        items = [stamp_untrusted(item, names) if isinstance(item, dict) else item for item in parent[key]]
        return {**parent, key: items}

    changed: Object = edit_at(holder, path, stamp)
    return changed


# The objects that a Shape is about: the items of a list, one entity, or the payload

ITEMS = "items"
_ENTITY = "entity:"

PAGING_KEYS = (ITEMS, "count", "next_cursor", "has_more")
"""Keys of a list's wrapper in the CLI form; no projection removes them."""


def is_list(success: Success, shape: Shape | None) -> bool:
    """Whether names mean fields of items: a page, a plain array, or a payload declared as `items`."""
    return (
        success.page is not None
        or isinstance(success.data, list)
        or (shape is not None and shape.select == ITEMS and isinstance(success.data.get(ITEMS), list | tuple))
    )


def entity_key(shape: Shape | None) -> str:
    """Return the key that holds the entity; empty when the shape selects none."""
    return shape.select[len(_ENTITY) :] if shape is not None and shape.select.startswith(_ENTITY) else ""


def select_objects(success: Success, shape: Shape | None) -> list[Object]:
    """Return the objects that field names are relative to."""
    values = _values(success, shape)
    return [value for value in values if isinstance(value, dict)]


def map_selected(success: Success, shape: Shape | None, change: Callable[[Object], Object]) -> Success:
    """Return the same outcome with every selected object changed; everything around them stays."""

    def changed(value: Json) -> Json:
        return change(value) if isinstance(value, dict) else value

    data, key = success.data, entity_key(shape)
    if success.page is not None:
        page = msgspec.structs.replace(success.page, items=tuple(map(changed, success.page.items)))
        return msgspec.structs.replace(success, page=page)
    if isinstance(data, list):
        return msgspec.structs.replace(success, data=[changed(item) for item in data])
    if is_list(success, shape):
        key = ITEMS
    if not key:
        return msgspec.structs.replace(success, data=change(data))
    inner = data.get(key)
    if isinstance(inner, list | tuple):
        return replace_data(success, {**data, key: [changed(item) for item in inner]})
    return replace_data(success, {**data, key: changed(inner)}) if key in data else success


def replace_data(success: Success, data: Object) -> Success:
    return msgspec.structs.replace(success, data=data)


def _values(success: Success, shape: Shape | None) -> list[Json]:
    data = success.data
    if success.page is not None:
        return list(success.page.items)
    if isinstance(data, list):
        return data
    key = ITEMS if is_list(success, shape) else entity_key(shape)
    if not key:
        return [data]
    inner = data.get(key)
    return list(inner) if isinstance(inner, list | tuple) else [inner]
