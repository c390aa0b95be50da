"""What options, actions and reports set: names that nothing reads, where another is nearly the same. Pure.

A value may be set only for the record, so a name that nobody reads is not a problem by itself. What an action
writes must have been set by an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.suggest import count_edits
from handrail.workflows.model import value_named
from handrail.workflows.problem import rename_key, replace_value
from handrail.workflows.reading.findings import Findings, guess_name, guess_surely, quote_name

_MOST_SLIPS = 2
_LEAST_LETTERS = 4
"""Shorter names are near to each other by chance."""


class SetName(msgspec.Struct, frozen=True, kw_only=True):
    """One place where a name gets a value."""

    pointer: str
    name: str
    beside: frozenset[str] = frozenset()
    """What the same option sets."""
    instead: frozenset[str] = frozenset()
    """What the other options of the choice set and this one does not."""
    is_key: bool = False
    prefix: str = ""
    """What stands before the name in the key."""


def check_edit_action(found: Findings, part: Mapping[str, Any], pointer: str) -> None:
    """An action that writes needs the plan that an earlier one has saved: it can never be done without."""
    params = part.get("params", {})
    if part.get("operation") == "code.edit" and params.get("fix") is True and not params.get("continuation"):
        found.report(
            "missing_key",
            f"{pointer}/params",
            "An edit with fix writes the plan of an earlier preview, and names none.",
            'Preview it in an action with "saveAs": "shown" and without fix, then give '
            '"continuation": "{{shown.plan}}" and fix alone.',
        )


def check_saved_name(
    found: Findings, part: Mapping[str, Any], pointer: str, set_inside: Mapping[str, Any]
) -> None:
    """What is found does not replace what somebody chose: the two have names of their own."""
    saved = {"saveAs": part.get("saveAs"), "delegate/collect": part.get("delegate", {}).get("collect")}
    for place, name in saved.items():
        if isinstance(name, str) and name in set_inside:
            message = f"{quote_name(name)} is what an option sets, and a result never replaces it."
            fix = "Save the result under a name that no option sets."
            found.report("bad_value", f"{pointer}/{place}", message, fix)


def check_required(
    found: Findings, required: Iterable[str], pointer: str, declared: Iterable[str], closed: Iterable[str]
) -> Iterator[SetName]:
    """The values that a step must deliver and nothing declares; none is `closed`, which no report may set."""
    for key in required:
        name, here = value_named(key), join_pointer(pointer, key)
        if name in closed:
            message = f"{quote_name(name)} comes from an action, an option or a loop, and no report sets it."
            found.report("bad_value", here, message, "Remove it, or give the value a name of its own.")
        elif name and name not in declared:
            yield SetName(pointer=here, name=name, is_key=True, prefix="context.")
        elif key.strip() == "context":
            message = "context names no value, so the call of the step has a place for none."
            found.warn("bad_name", here, message, "Write one for each value, such as `context.size`.")


def check_set_names(
    found: Findings, names: Iterable[SetName], relied_on: frozenset[str], document_kind: str
) -> None:
    """Report each name that nothing uses and that is nearly the same as one in use."""
    for one in names:
        if one.name in relied_on:
            continue
        known = relied_on - one.beside
        sure, near = guess_surely(one.name, known), guess_name(one.name, known)
        if not sure and not _is_near(one.name, near):
            near = _find_swapped(one.name, one.instead & relied_on)
        if not sure and not near:
            continue
        message = f"{quote_name(one.name)} is set here, and nothing reads it."
        fix = f"Did you mean {sure or near}?"
        # What calls a routine may read what the routine sets; and one letter makes many things of one.
        is_plural = sure in (f"{one.name}s", one.name.removesuffix("s"))
        if not sure or is_plural or document_kind == "routine":
            found.warn("undeclared_name", one.pointer, message, fix)
        else:
            renamed = one.prefix + sure
            edit = rename_key(one.pointer, renamed) if one.is_key else replace_value(one.pointer, sure)
            found.report("undeclared_name", one.pointer, message, fix, edit)


def _find_swapped(name: str, others: frozenset[str]) -> str:
    """The name with the same letters: a slip, however short it is, where the other options set that one."""
    return min((other for other in others if sorted(other) == sorted(name)), default="")


def _is_near(name: str, near: str) -> bool:
    return (
        bool(near)
        and len(name) >= _LEAST_LETTERS
        and count_edits(name.lower(), near.lower(), _MOST_SLIPS) <= _MOST_SLIPS
    )
