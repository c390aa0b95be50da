"""Edits that a program may apply one after the other: each is tried before it is offered. Pure.

An edit is right for its own place; only a check of the edited file shows what it means for the rest. An edit
that causes a new error is not offered, nor is one that overlaps another. The sentence of the fix stays, and
the next check of the file offers what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from handrail.contract.json.places import unescape_key
from handrail.contract.outcome import Json
from handrail.workflows.problem import NO_EDIT, Edit, EditOperation, Problem, is_patch, is_within

_MOST_TRIALS = 20
_FEW_TRIALS = 2
_LARGE_BYTES = 64_000
_OF_THE_SHAPE = frozenset({"wrong_type", "unknown_key", "missing_key", "bad_id", "bad_name", "not_an_object"})
"""What is wrong with a value because of where it stands; a moved value brings its other faults along."""
_OF_THE_HOLDER = frozenset({"missing_key", "duplicate_id", "bad_value"})

Judge = Callable[[bytes], Iterable[Problem]]


def keep_sound_edits(
    document: Json, size: int, problems: Iterable[Problem], judge: Judge
) -> tuple[Problem, ...]:
    """The problems of a file, with those edits that can all be applied in this order.

    `document` is what the file holds, None if it cannot be read, and `size` its bytes. `judge` says what is
    wrong with a JSON file; it must not call this function.
    """
    problems = _apart(tuple(problems))
    edited = [one for one in problems if is_patch(one.edit)]
    if not edited:
        return problems
    if document is None:  # there is nothing to try an edit on
        return tuple(_without_edit(one) if is_patch(one.edit) else one for one in problems)
    known = {_key(one) for one in problems}
    if _is_sound(document, [one.edit for one in edited], known, judge):
        return problems
    most = _FEW_TRIALS if size > _LARGE_BYTES else _MOST_TRIALS
    sound = {_key(one) for one in edited[:most] if _is_sound(document, [one.edit], known, judge)}
    return tuple(
        _without_edit(one) if is_patch(one.edit) and _key(one) not in sound else one for one in problems
    )


def _apart(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Without the edits that touch what an earlier one has touched, unless both say the same."""
    taken: list[EditOperation] = []
    kept: list[Problem] = []
    for one in problems:
        if is_patch(one.edit):
            if any(_meet(ours, theirs) for ours in one.edit for theirs in taken if ours != theirs):
                one = _without_edit(one)
            taken += one.edit
        kept.append(one)
    return tuple(kept)


def _meet(one: EditOperation, other: EditOperation) -> bool:
    ours, theirs = _places(one), _places(other)
    return any(is_within(left, right) or is_within(right, left) for left in ours for right in theirs)


def _places(operation: EditOperation) -> list[str]:
    """What an operation touches; one that takes an item out of a list moves those behind it."""
    places = [one for one in (operation.path, operation.source) if one]
    if operation.op in ("remove", "move"):
        places = [_holder(one) if one.rpartition("/")[2].isdecimal() else one for one in places]
    return places


def _holder(place: str) -> str:
    return place.rpartition("/")[0]


def _is_sound(document: Json, edits: list[Edit], known: set[tuple[str, str, str]], judge: Judge) -> bool:
    operations = [operation for edit in edits for operation in edit]
    try:
        content = msgspec.json.encode(apply_operations(document, operations))
    except (LookupError, ValueError, TypeError):
        return False
    errors = [one for one in judge(content) if one.severity == "error" and _key(one) not in known]
    return not any(_is_caused(error, operation) for error in errors for operation in operations)


def _is_caused(error: Problem, operation: EditOperation) -> bool:
    """Whether an error that was not there before comes from an operation.

    Errors elsewhere were there before: nobody looks for them while a file cannot be read.
    """
    if error.code in _OF_THE_HOLDER and error.pointer == _holder(operation.path):
        return True
    if operation.op == "remove" or not is_within(error.pointer, operation.path):
        return False
    return operation.op != "move" or error.code in _OF_THE_SHAPE


def apply_operations(document: Json, operations: Iterable[EditOperation]) -> Json:
    """The document after operations of a JSON Patch, each on what the one before left.

    Raises LookupError or ValueError where a place is not there.
    """
    whole = [msgspec.json.decode(msgspec.json.encode(document))]
    for operation in operations:
        value = _taken(whole, operation.source) if operation.op == "move" else operation.value
        if operation.op == "remove":
            _taken(whole, operation.path)
            continue
        holder, key = _found(whole, operation.path)
        if isinstance(holder, list) and operation.op != "replace" and operation.path:
            holder.insert(len(holder) if key == "-" else int(key), value)
        elif isinstance(holder, list):
            holder[int(key)] = value
        else:
            holder[key] = value
    return whole[0]


def _taken(whole: list[Json], pointer: str) -> Json:
    holder, key = _found(whole, pointer)
    return holder.pop(int(key) if isinstance(holder, list) else key)


def _found(whole: list[Json], pointer: str) -> tuple[Json, str]:
    """What holds the place, and its key there; the document itself is held by `whole`."""
    holder: Json = whole
    *way, last = ["0", *(unescape_key(part) for part in pointer.split("/")[1:])]
    for part in way:
        holder = holder[int(part) if isinstance(holder, list) else part]
    return holder, last


def _without_edit(problem: Problem) -> Problem:
    return msgspec.structs.replace(problem, edit=NO_EDIT)


def _key(problem: Problem) -> tuple[str, str, str]:
    # Where the other one of two equal ids stands may change with an edit.
    return problem.code, problem.pointer, problem.message.partition(" at line ")[0]
