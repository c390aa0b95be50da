"""From a pointer into a translated document back to the one into the author's own file. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from handrail.contract.outcome import Json


def origin_in(document: Json, pointers: Mapping[str, str]) -> Callable[[str], str]:
    """A function from translated to original pointers.

    `pointers` maps places of the translation to those of `document`. The longest known beginning counts;
    what follows it is kept as far as the author's file has it, too.
    """

    def origin(pointer: str) -> str:
        known, rest = pointer, ""
        while known and known not in pointers:
            known, _, last = known.rpartition("/")
            rest = f"/{last}{rest}"
        start = pointers.get(known, "")
        return start + _existing(_value_at(document, start), rest)

    return origin


def _value_at(document: Json, pointer: str) -> Json:
    value = document
    for part in pointer.split("/")[1:]:
        value = _member(value, part)
    return value


def _existing(value: Json, rest: str) -> str:
    """The beginning of `rest` that leads to something."""
    kept = ""
    for part in rest.split("/")[1:]:
        value = _member(value, part)
        if value is None:
            break
        kept += f"/{part}"
    return kept


def _member(value: Json, part: str) -> Json:
    """A member or an item; None where there is none."""
    if isinstance(value, dict):
        return value.get(part.replace("~1", "/").replace("~0", "~"))
    if isinstance(value, list) and part.isdecimal() and len(part) < 9 and int(part) < len(value):
        return value[int(part)]
    return None
