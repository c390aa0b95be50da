"""A file without what is wrong with it, so that the rest is checked in the same round. Pure.

What was taken away may have given names to the rest: a problem about such a name is no news.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator

import msgspec

from handrail.contract.json.places import unescape_key
from handrail.contract.outcome import Json
from handrail.workflows.part_contents import strings_in
from handrail.workflows.problem import Problem, value_at
from handrail.workflows.reading.grammar import SHAPES
from handrail.workflows.reading.shapes import ID, NAME, PATH, Record
from handrail.workflows.sound_edits import apply_operations

FindProblems = Callable[[Json], Iterable[Problem]]

_PART = re.compile(r"/steps/[0-9]+(?:/body/[0-9]+)*")
_OPTION = re.compile(r"(.*/options)/[0-9]+/")
_WORD = re.compile(PATH.pattern)
_OWN_KEYS = frozenset(key for one in SHAPES.values() if isinstance(one, Record) for key in one.keys)
_FILLED: dict[str, Json] = {"id": "project.rest", "name": "Rest", "description": "Rest."}
_MOST_BYTES = 64 * 1024
"""A longer file is told in rounds: each one here checks it again."""
_ROUNDS = ("value", "value", "part", "text")
"""What goes in each round: a second one takes the values that only the first one let come to light."""


class SoundRest(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a document, and the names that went with the rest of it."""

    document: Json
    lost: frozenset[str]


def keep_sound(document: Json, check: FindProblems, damaged: Collection[str] = ()) -> SoundRest | None:
    """The document without its problems; None where they cannot be told from the rest.

    First each wrong value goes, or becomes what its edit says; then the part around it, except for its text;
    then the text, too. Items of lists stay, so that pointers stay. `damaged` are parts that were not read
    whole.
    """
    written = msgspec.json.encode(document)
    if len(written) > _MOST_BYTES:
        return None
    made = msgspec.json.decode(written)
    lost: set[str] = set()
    for place in damaged:
        _empty_part(made, place, lost, keeps_text=True)
    for problem in check(made):
        made = _edited(made, problem)
    for goes in _ROUNDS:
        wrong = list(check(made))
        if not wrong:
            return SoundRest(document=made, lost=frozenset(lost))
        for problem in wrong:
            if goes == "value":
                _take_value(made, problem.pointer, lost)
            else:
                _empty_part(made, problem.pointer, lost, keeps_text=goes == "part")
    return None if list(check(made)) else SoundRest(document=made, lost=frozenset(lost))


def is_follow_up(problem: Problem, document: Json, lost: Collection[str]) -> bool:
    """Whether what stands at the place of a problem names something that went with what was taken away."""
    holder, key = _holder_of(document, problem.pointer)
    value = value_at(document, problem.pointer)
    if key == "value" and isinstance(holder, dict):  # what it may be follows from who sets the input
        value = [value, holder.get("input")]
    said = [found[0] for text in strings_in(value) for found in _WORD.finditer(text)]
    # An id is named as a whole; of a value, a member may be.
    heads = [] if problem.code == "unknown_id" else [word.partition(".")[0] for word in said]
    return any(word in lost for word in (*said, *heads))


def _edited(document: Json, problem: Problem) -> Json:
    try:
        return apply_operations(document, problem.edit)
    except (LookupError, ValueError, TypeError):
        return document


def _take_value(document: Json, pointer: str, lost: set[str]) -> None:
    """Take a wrong value out of the object that holds it; a part and an item of a list stay for now."""
    holder, key = _holder_of(document, pointer)
    if isinstance(holder, dict) and key in holder and _PART.fullmatch(pointer) is None:
        lost |= {key} - _OWN_KEYS
        lost |= set(_names_in(holder.pop(key)))
        if (options := _OPTION.match(pointer)) is not None:  # one that sets less than was meant
            beside, _ = _holder_of(document, f"{options[1]}/0")
            lost |= {name for one in beside for name in one.get("set", ())} if _are_objects(beside) else set()


def _are_objects(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _empty_part(document: Json, pointer: str, lost: set[str], *, keeps_text: bool) -> None:
    """Leave a plain step or loop in place of a part; elsewhere the whole key goes."""
    # Checking goes on with the rest of the file, so nothing may be made up that brings a problem of its own:
    # what stands for the part is sound, keeps the ids that others name, and whatever names it loses are in
    # `lost`, so that nobody is told that they are unused or unknown.
    found = _PART.match(pointer)
    if found is None:
        key = unescape_key(pointer.split("/")[1]) if pointer else ""
        if isinstance(document, dict) and key in document:
            lost |= set(_names_in(document.pop(key)))
        if isinstance(document, dict) and "extends" not in document:
            document.update({name: one for name, one in _FILLED.items() if name not in document})
        return
    holder, key = _holder_of(document, found[0])
    if not isinstance(holder, list) or not key.isdecimal() or int(key) >= len(holder):
        return
    part = holder[int(key)] if isinstance(holder[int(key)], dict) else {}
    stays = ("body", "id", "when") if keeps_text else ("body",)
    lost |= set(_names_in({name: one for name, one in part.items() if name not in stays}))
    own = part.get("id", part.get("loopId"))
    is_named = isinstance(own, str) and re.fullmatch(ID.pattern, own) is not None and keeps_text
    made: dict[str, Json] = {"id": own if is_named else found[0][1:].replace("/", "_"), "title": "Rest"}
    if "when" in part and "when" in stays:
        made["when"] = part["when"]
    if isinstance(part.get("body"), list) and part["body"]:  # the steps inside are checked on their own
        holder[int(key)] = {**made, "type": "loop", "count": 1, "maxIterations": 1, "body": part["body"]}
        return
    kept = {name: part[name] for name in ("prompt", "promptBlocks") if keeps_text and name in part}
    holder[int(key)] = {**made, **(kept if len(kept) == 1 else {"prompt": "Rest."})}


def _holder_of(document: Json, pointer: str) -> tuple[Json, str]:
    """What holds the value at a pointer, and its key there; nothing where the way ends before."""
    way, _, last = pointer.rpartition("/")
    return value_at(document, way), unescape_key(last)


def _names_in(value: Json) -> Iterator[str]:
    """What may be a name in it: keys that the author chose, and texts that are a single word."""
    if isinstance(value, str):
        if re.fullmatch(PATH.pattern, value):
            yield from {value, value.partition(".")[0]}
    elif isinstance(value, list):
        for one in value:
            yield from _names_in(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name not in _OWN_KEYS and re.fullmatch(NAME.pattern, name):
                yield name
            if name not in ("type", "kind", "op", "title", "prompt"):
                yield from _names_in(one)
