"""Check what a shape cannot express: members that contradict each other or can never be met. Pure.

Every check reads only members that have the right shape; the others have been reported already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from itertools import islice
from typing import TypeAlias

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.conditions import is_same_value
from handrail.workflows.contracts.patterns import explain_refusal
from handrail.workflows.limits import (
    MAX_CONTRACT_SCHEMA_BYTES,
    MAX_LIST_ITEMS,
    MAX_LOOP_DEPTH,
    MAX_PARTS,
    MAX_PATTERN_CHARACTERS,
    MAX_RULES,
)
from handrail.workflows.problem import (
    NO_EDIT,
    Edit,
    Findings,
    guess_name,
    guess_surely,
    label_pointer,
    quote_name,
    remove_value,
    replace_value,
    value_at,
)
from handrail.workflows.reading.grammar import SHAPES
from handrail.workflows.reading.repairs import (
    INPUT_FITS,
    OPERATOR_EXAMPLES,
    OPERATOR_FITS,
    convert_value,
    find_free_id,
    make_id,
)
from handrail.workflows.reading.shapes import Record

# Parts of a document that may still be broken: no shape is trusted


class WrittenPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part as it is in the document; `depth` counts the loops around it."""

    value: dict[str, Json]
    pointer: str
    depth: int

    @property
    def is_loop(self) -> bool:
        return isinstance(self.value.get("body"), list)


def check_size(found: Findings, document: dict[str, Json]) -> None:
    """Report too many parts or loops too deep, and close what would take too long to check."""
    for number, part in enumerate(_parts(document), 1):
        if number > MAX_PARTS:
            fix = "Split the workflow, or move repeated work into a loop."
            found.report("too_large", "/steps", f"The workflow has more than {MAX_PARTS} parts.", fix)
            found.closed.add("/steps")
            return
        if part.is_loop and part.depth >= MAX_LOOP_DEPTH:
            message = f"Loops are nested more than {MAX_LOOP_DEPTH} deep here."
            fix = "Move the inner loops into a routine, or give their work to one step."
            found.report("too_large", part.pointer, message, fix)
            found.closed.add(part.pointer)


def named_ids(document: dict[str, Json]) -> list[tuple[str, str]]:
    """Return ids that share one namespace, with their pointers: conditions, then parts in their order."""
    conditions = document.get("conditions")
    ids = [
        (one["id"], f"/conditions/{index}/id")
        for index, one in enumerate(conditions if isinstance(conditions, list) else ())
        if isinstance(one, dict) and isinstance(one.get("id"), str)
    ]
    for part in islice(_parts(document), MAX_PARTS):
        key = "loopId" if "loopId" in part.value else "id"
        if isinstance(part.value.get(key), str):
            ids.append((part.value[key], join_pointer(part.pointer, key)))
    return ids


def _parts(document: dict[str, Json]) -> Iterator[WrittenPart]:
    """Yield every part in the order of the file; the inside of loops that are nested too deep is skipped."""
    waiting = [_written(document.get("steps"), "/steps", 0)]
    while waiting:
        part = next(waiting[-1], None)
        if part is None:
            waiting.pop()
            continue
        yield part
        if part.is_loop and part.depth < MAX_LOOP_DEPTH:
            waiting.append(_written(part.value["body"], f"{part.pointer}/body", part.depth + 1))


def _written(parts: Json, pointer: str, depth: int) -> Iterator[WrittenPart]:
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        if isinstance(part, dict):
            yield WrittenPart(value=part, pointer=f"{pointer}/{index}", depth=depth)


# Checks by kind of record

Object: TypeAlias = dict[str, Json]
Meaning: TypeAlias = Callable[[Findings, Object, str], None]


def _workflow(found: Findings, value: Object, pointer: str) -> None:
    _unique(found, value, named_ids(value), pointer)
    slots = [(one.value["slot"], f"{one.pointer}/slot") for one in _parts(value) if _is_slot(one.value)]
    _unique(found, value, slots, pointer)
    _has_step(found, value.get("steps"), f"{pointer}/steps")
    for name in ("references", "assessments"):
        _unique(found, value, _ids_in(value, name), pointer)


def _loop(found: Findings, value: Object, pointer: str) -> None:
    _has_step(found, value.get("body"), f"{pointer}/body")


def _has_step(found: Findings, parts: Json, pointer: str) -> None:
    """Check that there is a step besides slots, because empty slots add nothing."""
    if isinstance(parts, list) and parts and all(_is_slot(part) for part in parts):
        message = f"{label_pointer(pointer)} has nothing but slots."
        found.report("no_steps", pointer, message, "Write a step beside them.")


def _is_slot(part: Json) -> bool:
    return isinstance(part, dict) and isinstance(part.get("slot"), str)


def _input(found: Findings, value: Object, pointer: str) -> None:
    """Check that `enum` and `default` have the declared type, and that the default is in the enum."""
    declared = value.get("type", "any")
    if not isinstance(declared, str) or declared not in INPUT_FITS:
        return
    fits, words = INPUT_FITS[declared]
    enum = value.get("enum")
    members = enum[:MAX_LIST_ITEMS] if isinstance(enum, list) else []
    for index, member in enumerate(members):
        place = join_pointer(f"{pointer}/enum", index)
        if not fits(member):
            edit = _converted(declared, member, place)
            found.report(
                "bad_value", place, f"{label_pointer(place)} is not {words}.", f"Write {words}.", edit
            )
        elif any(is_same_value(member, earlier) for earlier in members[:index]):
            message = f"{label_pointer(place)} repeats a value."
            found.report("bad_value", place, message, "Remove one of them.", remove_value(place))
    place = f"{pointer}/default"
    default = value.get("default", msgspec.UNSET)
    if default is msgspec.UNSET:
        return
    if not fits(default):
        fix = f"Write {words}, or change the type."
        found.report(
            "bad_value", place, f"default is not {words}.", fix, _converted(declared, default, place)
        )
    elif members and not any(is_same_value(default, member) for member in members):
        texts = [member for member in members if isinstance(member, str)]
        near = guess_name(default, texts) if isinstance(default, str) else ""
        fix = f"Did you mean {quote_name(near)}?" if near else "Write one of the enum's values."
        edit = replace_value(place, near) if near and near == guess_surely(default, texts) else NO_EDIT
        found.report("bad_value", place, "default is not in the enum.", fix, edit)


def _converted(declared: str, value: Json, pointer: str) -> Edit:
    made = convert_value(declared, value)
    return NO_EDIT if made is None else replace_value(pointer, made)


def _compare(found: Findings, value: Object, pointer: str) -> None:
    """Check that the value matches the operator, and that a field belongs to an artifact."""
    operator = value.get("op")
    if "field" in value and "artifact" not in value and "input" in value:
        fix = "Write the member behind the input's name, with a dot between them, or name an artifact."
        message, edit = "field goes with artifact, not with input.", NO_EDIT
        if isinstance(value["input"], str) and isinstance(value["field"], str):
            joined = f"{value['input']}.{value['field']}"
            edit = (
                *replace_value(f"{pointer}/input", joined),
                *remove_value(f"{pointer}/field"),
            )
        found.report("bad_value", f"{pointer}/field", message, fix, edit)
    if not isinstance(operator, str) or operator not in OPERATOR_FITS:
        return
    is_artifact = "artifact" in value and "input" not in value
    if is_artifact and operator != "exists" and _lacks(value, "field", "compare"):
        found.report(
            "missing_key", pointer, "field is missing.", 'Add "field": "verdict". A member of the artifact.'
        )
    fits, words = OPERATOR_FITS[operator]
    if "value" in value:
        if not fits(value["value"]):
            message = f"value does not suit {operator}: it must be {words}."
            place, given = f"{pointer}/value", value["value"]
            edit = replace_value(place, [given]) if operator == "in" and fits([given]) else NO_EDIT
            found.report("bad_value", place, message, f"Write {words}.", edit)
    elif operator != "exists" and _lacks(value, "value", "compare"):
        found.report(
            "missing_key",
            pointer,
            "value is missing.",
            f'Add "value": {OPERATOR_EXAMPLES[operator]}. It must be {words}.',
        )


def _regex(found: Findings, value: Object, pointer: str) -> None:
    pattern = value.get("pattern")
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN_CHARACTERS:
        return
    found.patterns += 1
    if found.patterns > MAX_RULES:
        return  # the compiler refuses as many; looking at each would take as long as they ask for
    trouble = explain_refusal(pattern)
    if trouble:
        fix = "Close what is open, and write \\ before a sign that means itself."
        if "is not a regular expression" not in trouble:
            fix = "Write a plainer Python regular expression, or several rules."
        found.report("bad_pattern", f"{pointer}/pattern", trouble, fix)


def _length(found: Findings, value: Object, pointer: str) -> None:
    least, most = value.get("minimum"), value.get("maximum")
    if isinstance(least, int | float) and isinstance(most, int | float) and least > most:
        fix = "Swap the two, or leave one out."
        edit = (
            *replace_value(f"{pointer}/minimum", most),
            *replace_value(f"{pointer}/maximum", least),
        )
        found.report("bad_value", f"{pointer}/maximum", "maximum is below minimum.", fix, edit)


def _schema(found: Findings, value: Object, pointer: str) -> None:
    schema = value.get("schema")
    size = len(msgspec.json.encode(schema)) if isinstance(schema, dict) else 0
    if size > MAX_CONTRACT_SCHEMA_BYTES:
        message = f"schema has {size} bytes; the limit is {MAX_CONTRACT_SCHEMA_BYTES}."
        found.report("too_large", f"{pointer}/schema", message, "Ask for fewer things.")


def _user_only(found: Findings, value: Object, pointer: str) -> None:
    """Check that a choice, and only a choice, has a kind (EXEC "Reasons")."""
    reason = value.get("reason")
    if reason == "needs_user_choice" and _lacks(value, "choiceKind", "user_only"):
        fix = 'Add "choiceKind": "irreversible_action". Why nobody may choose for the user.'
        found.report("missing_key", pointer, "choiceKind is missing.", fix)
    elif isinstance(reason, str) and reason != "needs_user_choice" and "choiceKind" in value:
        message = "choiceKind goes with the reason needs_user_choice only."
        place = f"{pointer}/choiceKind"
        found.report("bad_value", place, message, "Remove it.", remove_value(place))


def _choice(found: Findings, value: Object, pointer: str) -> None:
    _unique(found, value, _ids_in(value, "options"), pointer)
    options = value.get("options")
    rows = options if isinstance(options, list) else []
    advised = [at for at, one in enumerate(rows) if isinstance(one, dict) and one.get("recommended") is True]
    for at in advised[1:]:
        place = f"{pointer}/options/{at}/recommended"
        message = "Another option is recommended already."
        found.report("bad_value", place, message, "Remove one of them.", remove_value(place))


_BESIDE_DELEGATE = frozenset({"type", "id", "title", "when", "delegate"})


def _step(found: Findings, value: Object, pointer: str) -> None:
    _unique(found, value, _ids_in(value, "promptFragments"), pointer)
    if "delegate" not in value:
        return
    reported = {one.pointer for one in found.problems}
    for name in value:
        place = join_pointer(pointer, name)
        if name not in _BESIDE_DELEGATE and name not in ("prompt", "promptBlocks") and place not in reported:
            message = f"{quote_name(name)} does not go with delegate: nobody does this step itself."
            found.report("bad_value", place, message, "Move it into a step before or after.")


_BESIDE_EACH = {"as": '"as": "item"', "child": '"child": {"id": "part", "workflow": "project.my_check"}'}


def _delegate(found: Findings, value: Object, pointer: str) -> None:
    """Check which keys go together, and how many children a need can ask for."""
    _unique(found, value, _ids_in(value, "children"), pointer)
    for name in ("as", "child"):
        if "forEach" in value and _lacks(value, name, "delegate"):
            found.report(
                "missing_key", pointer, f"{name} is missing.", f"Add {_BESIDE_EACH[name]} beside forEach."
            )
        elif "forEach" not in value and name in value:
            place = join_pointer(pointer, name)
            found.report("bad_value", place, f"{name} goes with forEach.", "Remove it.", remove_value(place))
    needs, children = value.get("needs"), value.get("children")
    least = needs.get("atLeast") if isinstance(needs, dict) else None
    if not isinstance(least, int) or not isinstance(children, list):
        return
    place = join_pointer(f"{pointer}/needs", "atLeast")
    if least > len(children):
        message = f"At least {least} of {len(children)} can never be done."
        found.report("bad_value", place, message, f"Write {len(children)} at most, or all.")


def _child(found: Findings, value: Object, pointer: str) -> None:
    _unique(found, value, named_ids(value), pointer)


def _lacks(value: Object, key: str, record: str) -> bool:
    """Whether a key is missing; a misspelt one has been reported."""
    shape = SHAPES[record]
    assert isinstance(shape, Record), "only records have keys"
    absent = [name for name in shape.keys if name not in value]
    return key in absent and not any(
        guess_name(name, absent) == key for name in islice(value, MAX_LIST_ITEMS) if name not in shape.keys
    )


def _unique(found: Findings, value: Object, ids: list[tuple[str, str]], pointer: str) -> None:
    """Report every id in a value that an earlier one has; `ids` are ids and their pointers in the value."""
    first: dict[str, str] = {}
    taken = {name for name, _ in ids}
    for name, place in ids:
        if name in first:
            message = f"The id {quote_name(name)} is already used."
            # Which of two conditions was meant by their id, only the author knows.
            own = "" if place.startswith("/conditions/") else _own_id(value, place, name, taken)
            fix = f"Give each its own id, such as {own} here." if own else "Give each its own id."
            edit = replace_value(pointer + place, own) if own else NO_EDIT
            found.report("duplicate_id", pointer + place, message, fix, edit, beside=pointer + first[name])
        first.setdefault(name, place)


def _own_id(value: Object, place: str, name: str, taken: Set[str]) -> str:
    """Return a free id for a part: made from its title, as for a part without an id, or the id with
    a number.
    """
    holder = value_at(value, place.rpartition("/")[0])
    made = make_id(str(holder.get("title", "")))
    return made if made and made not in taken else find_free_id(name, taken)


def _ids_in(value: Object, key: str) -> list[tuple[str, str]]:
    items = value.get(key)
    return [
        (item["id"], f"/{key}/{index}/id")
        for index, item in enumerate(items if isinstance(items, list) else ())
        if isinstance(item, dict) and isinstance(item.get("id"), str)
    ]


MEANINGS: dict[str, Meaning] = {
    "workflow": _workflow,
    "loop": _loop,
    "input": _input,
    "compare": _compare,
    "declared_compare": _compare,
    "regex_rule": _regex,
    "length_rule": _length,
    "schema_rule": _schema,
    "user_only": _user_only,
    "choice": _choice,
    "step": _step,
    "delegate": _delegate,
    "child": _child,
}
"""Checks by the name of a record."""
