"""One thing wrong with a workflow source: its place, its fix, and an edit that a program can apply. Pure.

A problem has an edit only if it is certain what was meant; advice that leaves a choice stays a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from handrail.contract.json.places import join_pointer, unescape_key
from handrail.contract.outcome import Json

# Edits: operations of a JSON Patch, or a stretch of the text


class EditOperation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"source": "from"}):
    """One operation of RFC 6902, whose `from` is `source`; or `rewrite`, where the text is edited.

    `rewrite` puts `text` in the place of `length` characters at a line and column.
    """

    op: Literal["add", "remove", "replace", "move", "rewrite"]
    path: str = ""
    source: str = ""
    value: Any = UNSET
    line: int = 0
    column: int = 0
    length: int = 0
    text: str = ""


Edit: TypeAlias = tuple[EditOperation, ...]
NO_EDIT: Edit = ()


def is_patch(edit: Edit) -> bool:
    """Whether it changes the document; what changes the text is for one that may have no document yet."""
    return bool(edit) and all(one.op != "rewrite" for one in edit)


def drop_edits(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems of a translation: an edit of it says nothing about the file that the author has."""
    return tuple(msgspec.structs.replace(one, edit=NO_EDIT) if one.edit else one for one in problems)


def replace_value(pointer: str, value: Json) -> Edit:
    return (EditOperation(op="replace", path=pointer, value=value),)


def add_value(pointer: str, value: Json) -> Edit:
    return (EditOperation(op="add", path=pointer, value=value),)


def remove_value(pointer: str) -> Edit:
    return (EditOperation(op="remove", path=pointer),)


def rename_key(pointer: str, key: str) -> Edit:
    """The member under another key of the same object."""
    holder = pointer.rpartition("/")[0]
    return (EditOperation(op="move", source=pointer, path=join_pointer(holder, key)),)


def rewrite_text(line: int, column: int, length: int, text: str) -> Edit:
    return (EditOperation(op="rewrite", line=line, column=column, length=length, text=text),)


def is_within(place: str, holder: str) -> bool:
    """Whether a place is another one, or inside it."""
    return place == holder or place.startswith(f"{holder}/")


def value_at(document: Json, pointer: str) -> Json:
    """What a pointer leads to; None where that is nothing."""
    value = document
    for part in pointer.split("/")[1:]:
        if isinstance(value, dict):
            value = value.get(unescape_key(part))
        elif isinstance(value, list) and part.isdecimal() and len(part) < 9 and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def edit_rows(edit: Edit) -> list[dict[str, Any]]:
    """An edit as answers show it."""
    return [msgspec.to_builtins(operation) for operation in edit]


# Problems

ProblemCode: TypeAlias = Literal[
    "unreadable",
    "not_an_object",
    "missing_key",
    "unknown_key",
    "wrong_type",
    "bad_value",
    "bad_id",
    "bad_name",
    "duplicate_id",
    "no_steps",
    "too_large",
    "too_many_problems",
    "bad_pattern",
    "reserved_id",
    "legacy_id",
    "shadowed_id",
    "unknown_id",
    "template_cycle",
    "bad_argument",
    "loop_without_decision",
    "unreachable_step",
    "impossible_condition",
    "unsatisfiable_contract",
    "flag_only_validation",
    "unused",
    "missing_feature",
    "bad_recommendation",
    "soft_words",
    "bad_source",
    "foreign_spelling",
    "changed_meaning",
    "undeclared_name",
    "bad_placeholder",
    "not_a_list",
    "read_too_early",
    "impassable_gate",
    "broken_contract",
]


Severity: TypeAlias = Literal["error", "warning", "hint"]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`pointer` is an RFC 6901 pointer into the source document."""

    code: ProblemCode
    message: str
    pointer: str
    fix: str
    severity: Severity = "error"
    line: int = 0
    """1-based; 0 while the place is not known."""
    column: int = 0
    edit: tuple[EditOperation, ...] = NO_EDIT
    """The fix for a program; empty if the author has to choose."""
    within: str = ""
    """Of a long text at the pointer, the words that this is about: their place is shown."""
    beside: str = ""
    """Where the other one of two things stands; once known, its line and column end the message."""
