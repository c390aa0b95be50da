"""Which objects of a payload a Shape talks about: the items of a list, one entity, or the payload. Pure."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from handrail.contract.fields import Object
from handrail.contract.outcome import Json, Success
from handrail.contract.shape import Shape

ITEMS = "items"
_ENTITY = "entity:"

PAGING_KEYS = (ITEMS, "count", "next_cursor", "has_more")
"""Keys of a list's wrapper in the CLI form; no projection takes them away."""


def is_list(success: Success, shape: Shape | None) -> bool:
    """Whether names mean fields of items: a page, a plain array, or a payload declared as `items`."""
    return (
        success.page is not None
        or isinstance(success.data, list)
        or (shape is not None and shape.select == ITEMS and isinstance(success.data.get(ITEMS), list | tuple))
    )


def entity_key(shape: Shape | None) -> str:
    """The key that holds the entity; empty when the shape selects none."""
    return shape.select[len(_ENTITY) :] if shape is not None and shape.select.startswith(_ENTITY) else ""


def selected(success: Success, shape: Shape | None) -> list[Object]:
    """The objects that field names are relative to."""
    values = _values(success, shape)
    return [value for value in values if isinstance(value, dict)]


def over_selected(success: Success, shape: Shape | None, change: Callable[[Object], Object]) -> Success:
    """The same outcome with every selected object changed; everything around them stays."""

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
        return with_data(success, {**data, key: [changed(item) for item in inner]})
    return with_data(success, {**data, key: changed(inner)}) if key in data else success


def with_data(success: Success, data: Object) -> Success:
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
