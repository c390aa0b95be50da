"""Progressive disclosure: the only step between an operation's outcome and a renderer. Pure.

Order: level, expand, fields, window, budget.
"""

# ruff: noqa: PLC0415 - few calls name fields or a budget, and the estimate is expensive to load

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from handrail.contract.catalogue import BUDGET_EXCEEDED, EXPAND_UNKNOWN, FIELD_CONFLICT
from handrail.contract.disclosure.fields import (
    LONGEST_NAME,
    Ask,
    Object,
    Shape,
    map_selected,
    path_of,
    project,
    remove_field,
    stamp_untrusted,
    tree_of,
)
from handrail.contract.outcome import UNTRUSTED, Failure, Json, Outcome, Success
from handrail.contract.wording import quote

if TYPE_CHECKING:  # few calls name fields, and reading the types of a payload is expensive
    from handrail.contract.disclosure.named_fields import Declared

MAX_EXPANSION_DEPTH = 3


def refuse_ask(ask: Ask, shape: Shape | None, declared: Declared | None = None) -> Failure | None:
    """Return the refusal of a request that no answer could satisfy, before anything is done;
    otherwise None.
    """
    refusal = _field_conflict(ask) or _expansion_refused(ask.expand, shape)
    if refusal is not None or declared is None:
        return refusal
    from handrail.contract.disclosure.named_fields import refuse_undeclared

    return refuse_undeclared((ask.field,) if ask.field is not None else ask.fields or (), declared)


def disclose(
    outcome: Outcome,
    shape: Shape | None,
    ask: Ask,
    measure: Callable[[Success], int],
    *,
    declared: Declared | None = None,
    narrower: Callable[[int], Success] | None = None,
) -> Outcome:
    """Return the part of an outcome that the caller may and wants to see; a Failure is never
    reduced.

    `measure` returns the bytes of the whole document as it would be written, with everything that
    is not yet known (cursor, duration) at its widest. `declared` are the names that exist; without
    it, those of the outcome do. `narrower` repeats the query for fewer rows, if a page cannot
    simply be cut.
    """
    if isinstance(outcome, Failure):
        return outcome
    refusal = refuse_ask(ask, shape)
    if refusal is not None:
        return refusal
    shown = _show(outcome, shape, ask, declared)
    if ask.budget is None or isinstance(shown, Failure):
        return shown
    from handrail.contract.disclosure.budget import fit

    def fewer(count: int) -> Success:
        assert narrower is not None, "only a page that can be asked for again is narrowed"
        again = _show(narrower(count), shape, ask, declared)
        assert isinstance(again, Success), "the same request was met before"
        return again

    return fit(shown, shape, ask.budget, measure, None if narrower is None else fewer)


def _show(outcome: Success, shape: Shape | None, ask: Ask, declared: Declared | None) -> Outcome:
    """Return the outcome at its level, with its fields, before any budget applies."""
    expanded = _with_parents(ask.expand)
    # Marked before cutting, because the field that marks a text as ours may be cut.
    marked = _stamp(outcome, shape)
    plain = _without_relations(_at_level(marked, shape, ask, expanded), shape, expanded)
    shown: Outcome = plain
    if ask.fields is not None:
        from handrail.contract.disclosure.named_fields import keep_fields

        shown = keep_fields(plain, outcome, shape, ask.fields, expanded, declared)
    return shown if isinstance(shown, Failure) else _apply_window(shown)


def _field_conflict(ask: Ask) -> Failure | None:
    if ask.field is None or ask.fields is None:
        return None
    details: dict[str, Json] = {"field": ask.field[:LONGEST_NAME], "fields": _cut(ask.fields)}
    message = "One bare field and a list of fields cannot both be asked for."
    return Failure(kind=FIELD_CONFLICT, message=message, details=details)


def _expansion_refused(names: Sequence[str], shape: Shape | None) -> Failure | None:
    offered = (*shape.relations, *shape.on_demand) if shape is not None else ()
    roots = {path_of(name)[0] for name in offered}
    deep = [name for name in names if len(path_of(name)) > MAX_EXPANSION_DEPTH and path_of(name)[0] in roots]
    unknown = [name for name in names if name not in offered and name not in deep]
    if unknown:
        details: dict[str, Json] = {"unknown": _cut(unknown), "valid": list(offered)}
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        message = f"{quote(unknown[0])}{more} cannot be expanded here."
        return Failure(kind=EXPAND_UNKNOWN, message=message, details=details)
    if deep:
        depth = max(len(path_of(name)) for name in deep)
        details = {"constraint": "depth", "budget": MAX_EXPANSION_DEPTH, "measured": depth}
        message = f"The expansion reaches {depth} relations deep; the limit is {MAX_EXPANSION_DEPTH}."
        hint = "Expand fewer relations in one call, and ask for the inner ones by their ids."
        return Failure(kind=BUDGET_EXCEEDED, message=message, details=details, hint=hint)
    return None


def _with_parents(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names and their parents: expanding `runs.nodes` shows `runs` too."""
    paths = [path_of(name) for name in names]
    return tuple(dict.fromkeys(".".join(path[:end]) for path in paths for end in range(1, len(path) + 1)))


def _at_level(success: Success, shape: Shape | None, ask: Ask, expanded: Sequence[str]) -> Success:
    """Return the fields of the level. Fields that the caller named are not bound to a level (LAFS 9.2)."""
    success = msgspec.structs.replace(success, disclosure=ask.mvi)
    names = shape.levels.get(ask.mvi) if shape is not None else None
    if shape is None or names is None or ask.fields is not None or ask.field is not None:
        return success
    tree = tree_of([*names, *expanded, *([shape.id_field] if shape.id_field else [])])
    return map_selected(success, shape, lambda holder: project(holder, tree))


def _without_relations(success: Success, shape: Shape | None, expanded: Sequence[str]) -> Success:
    hidden = [path_of(name) for name in (shape.relations if shape else ()) if name not in expanded]

    def plain(holder: Object) -> Object:
        for path in hidden:
            holder = remove_field(holder, path)
        return holder

    return map_selected(success, shape, plain) if hidden else success


def _stamp(success: Success, shape: Shape | None) -> Success:
    if shape is None or not shape.untrusted:
        return success
    if shape.rows:
        return _named_beside(success, shape.untrusted)
    name, value = shape.trusted_where

    def marked(holder: Object) -> Object:
        return holder if name and holder.get(name) == value else stamp_untrusted(holder, shape.untrusted)

    return map_selected(success, shape, marked)


def _named_beside(success: Success, names: Sequence[str]) -> Success:
    """Mark the document instead of its rows, because a checksum covers the rows and they must not change."""
    data, page = success.data, success.page
    assert isinstance(data, dict), "a document with rows is an object"
    whole = data if page is None else {**data, page.list_key: list(page.items)}
    held = [name for name in names if _is_held(whole, path_of(name))]
    return msgspec.structs.replace(success, data={**data, UNTRUSTED: held}) if held else success


def _is_held(value: Json, path: Sequence[str]) -> bool:
    if isinstance(value, list | tuple):
        return any(_is_held(item, path) for item in value) if path else bool(value)
    if not path:
        return value not in (None, "", {})
    return isinstance(value, dict) and path[0] in value and _is_held(value[path[0]], path[1:])


def _apply_window(success: Success) -> Success:
    """Cut a page to its limit, however many rows the operation returned."""
    page = success.page
    if page is None or len(page.items) <= page.limit:
        return success
    is_paged = page.style != "none"
    window = msgspec.structs.replace(
        page,
        items=page.items[: page.limit],
        sort_keys=page.sort_keys[: page.limit],
        has_more=is_paged,
        truncated=page.truncated or not is_paged,
    )
    return msgspec.structs.replace(success, page=window)


def _cut(names: Sequence[str]) -> list[str]:
    return [name[:LONGEST_NAME] for name in names]
