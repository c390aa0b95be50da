"""Dotted field names on JSON values: keep some, remove one, say whether it is there. Pure.

Every function returns a new value and keeps the payload's order. A name walks through lists into each of
their items. `_untrusted` never names a field that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from handrail.contract.outcome import UNTRUSTED, Json

TRUNCATED = "truncated"
TRUNCATED_FIELDS = "truncated_fields"
MARKS = (TRUNCATED, TRUNCATED_FIELDS, UNTRUSTED)
"""Keys about the payload rather than of it; no projection takes them away."""

Path: TypeAlias = tuple[str, ...]
Object: TypeAlias = dict[str, Json]
NameTree: TypeAlias = "dict[str, NameTree | None]"
"""Names to keep; None keeps the whole value."""
Presence: TypeAlias = Literal["there", "absent", "unclear"]


def path_of(name: str) -> Path:
    return tuple(name.split("."))


def tree_of(names: Iterable[str]) -> NameTree:
    """The names as a tree; `a` beside `a.b` keeps the whole of `a`."""
    tree: NameTree = {}
    for name in names:
        _add(tree, path_of(name))
    return tree


def project(value: Json, tree: NameTree) -> Json:
    """Only the named fields and the marks; what has no fields stays as it is."""
    match value:
        case dict():
            kept = {key: _projected(value[key], key, tree) for key in value if key in tree or key in MARKS}
            return _honest(kept)
        case list() | tuple():
            return [project(item, tree) for item in value]
        case _:
            return value


def project_with_ids(value: Json, tree: NameTree, *, knows_id: bool = False) -> Json:
    """The same with the id of every object that is cut; `knows_id`: the tree names that of the outermost."""
    match value:
        case dict():
            own = "" if knows_id else id_name(value)
            kept: Object = {}
            for key, inner in value.items():
                branch = tree.get(key)
                if branch is not None:
                    kept[key] = project_with_ids(inner, branch)
                elif key in tree or key in MARKS or key == own:
                    kept[key] = inner
            return _honest(kept)
        case list() | tuple():
            return [project_with_ids(item, tree, knows_id=knows_id) for item in value]
        case _:
            return value


def id_name(holder: Object) -> str:
    """The key that tells this object from others of its kind: `id`, else the first that ends so."""
    if "id" in holder:
        return "id"
    return next((key for key in holder if key.endswith(("_id", "Id"))), "")


def without(value: Json, path: Path) -> Json:
    """Everything but the field at `path`."""
    return edit_at(value, path, lambda holder, key: {k: v for k, v in holder.items() if k != key})


def shortened(value: Json, path: Path, length: int) -> Json:
    """The list at `path` cut to its first items."""
    return edit_at(value, path, lambda holder, key: {**holder, key: _head(holder[key], length)})


def edit_at(value: Json, path: Path, edit: Callable[[Object, str], Object]) -> Json:
    """`edit` applied to every object that holds the last part of `path`, if it is there."""
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
    """Whether the field exists; unclear where a null or an empty list hides what would be below."""
    if not path:
        return "there"
    match value:
        case dict():
            return presence(value[path[0]], path[1:]) if path[0] in value else "absent"
        case list() | tuple():
            return any_presence(presence(item, path) for item in value)
        case None:
            return "unclear"
        case _:
            return "absent"


def any_presence(found: Iterable[Presence]) -> Presence:
    """Together: there if anywhere, unclear if nothing was looked at or one was unclear, else absent."""
    seen = set(found)
    if "there" in seen:
        return "there"
    return "unclear" if not seen or "unclear" in seen else "absent"


def stamped(holder: Object, names: Sequence[str]) -> Object:
    """The object with `_untrusted` listing those of `names` that it holds.

    A name that leads through a list is stamped on each item of that list instead.
    """
    here: list[str] = []
    changed = holder
    for name in names:
        path = path_of(name)
        until = _list_on(holder, path)
        if until is not None:
            changed = _stamped_items(changed, path[:until], ".".join(path[until:]))
        elif presence(holder, path) == "there":
            here.append(name)
    listed = list(dict.fromkeys([*_names_in(holder), *here]))
    return {**changed, UNTRUSTED: listed} if listed else changed


def _add(tree: NameTree, path: Path) -> None:
    head, rest = path[0], path[1:]
    branch = tree.setdefault(head, {} if rest else None)
    if not rest:
        tree[head] = None
    elif branch is not None:
        _add(branch, rest)


def _projected(value: Json, key: str, tree: NameTree) -> Json:
    branch = tree.get(key)
    return value if branch is None else project(value, branch)


def _head(value: Json, length: int) -> Json:
    return list(value[:length]) if isinstance(value, list | tuple) else value


def _honest(holder: Object) -> Object:
    """`_untrusted` reduced to the names still present; dropped when none is."""
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
    """How many parts of `path` lead to a list that is not yet its end."""
    value: Json = holder
    for depth, part in enumerate(path):
        if isinstance(value, list | tuple):
            return depth
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return None


def _stamped_items(holder: Object, path: Path, name: str) -> Object:
    def stamp(parent: Object, key: str) -> Object:
        items = [stamped(item, (name,)) if isinstance(item, dict) else item for item in parent[key]]
        return {**parent, key: items}

    changed: Object = edit_at(holder, path, stamp)
    return changed
