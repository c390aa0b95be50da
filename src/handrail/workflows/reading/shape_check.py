"""Checks a decoded document against the grammar and reports everything that does not fit. Pure.

One mistake is one problem: a misspelt key is not also reported as missing, and the inside of a value of the
wrong type is not checked.
"""

from __future__ import annotations

import re
from collections.abc import KeysView
from functools import reduce
from typing import assert_never

import msgspec

from handrail.contract.json.numbers import is_exact_integer
from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.wording import explain_unseen
from handrail.workflows.compiled import json_type
from handrail.workflows.dialect.crossing import as_json
from handrail.workflows.dialect.translation import native_condition
from handrail.workflows.problem import (
    NO_EDIT,
    Findings,
    ProblemCode,
    add_value,
    guess_name,
    guess_surely,
    label_pointer,
    quote_name,
    remove_value,
    rename_key,
    replace_value,
)
from handrail.workflows.reading.grammar import SHAPES, STEP_NAME
from handrail.workflows.reading.meaning import MEANINGS
from handrail.workflows.reading.part_grammar import PARTS
from handrail.workflows.reading.repairs import (
    advise_on_key,
    describe_shape,
    guess_key,
    guess_value,
    guess_word,
    join_pair,
    make_id,
    make_workflow_id,
    name_type,
    shape_types,
)
from handrail.workflows.reading.shapes import (
    CONDITION_ID,
    ID,
    NAME,
    PATH,
    WORKFLOW_ID,
    Anything,
    ByType,
    Flag,
    Items,
    Key,
    Members,
    Named,
    Record,
    Shape,
    Tagged,
    Text,
    Whole,
    Word,
)


def check_shape(found: Findings, shape: Shape, value: Json, pointer: str) -> None:
    """Report what is wrong with a value and with everything inside it."""
    if found.is_full or pointer in found.closed:
        return
    if json_type(value) not in shape_types(shape):
        _wrong_type(found, shape, value, pointer)
        return
    match shape:
        case Named(name=name):
            _named(found, name, value, pointer)
        case ByType(shapes=shapes) if join_pair(value, shape):
            _wrong_type(found, next(one for one in shapes if isinstance(one, Text)), value, pointer)
        case ByType(shapes=shapes):
            fitting = next(one for one in shapes if json_type(value) in shape_types(one))
            check_shape(found, fitting, value, pointer)
        case Tagged():
            _tagged(found, shape, value, pointer)
        case Record():
            _record(found, shape, value, pointer)
        case Members():
            _members(found, shape, value, pointer)
        case Items():
            _items(found, shape, value, pointer)
        case Text():
            _text(found, shape, value, pointer)
        case Word(values=values):
            _word(found, values, value, pointer)
        case Whole():
            _whole(found, shape, value, pointer)
        case Anything(is_hashed=True):
            _numbers(found, value, pointer)
        case Anything() | Flag():
            pass
        case never:
            assert_never(never)


def _wrong_type(found: Findings, shape: Shape, value: Json, pointer: str) -> None:
    message = f"{label_pointer(pointer)} is {name_type(value)}, not {describe_shape(shape)}."
    fix = f"Write {describe_shape(shape)} here."
    if isinstance(shape, Text) and shape.wanted and not shape.pattern:
        fix = shape.wanted
    if isinstance(shape, Members) and isinstance(value, list):
        fix = "Write each of them under its name, in an object instead of a list."
    record = SHAPES[shape.name] if isinstance(shape, Named) else shape
    if isinstance(record, Record) and not isinstance(value, list):
        fix = _show_object(shape, record, value, pointer) or fix
    guesses = (guess_value(value, shape), _guess_whole(record, value))
    made = next((one for one in guesses if one is not msgspec.UNSET and _fits(shape, one)), msgspec.UNSET)
    edit = NO_EDIT
    if made is not msgspec.UNSET:
        edit, fix = replace_value(pointer, made), f"Write {as_json(made)}."
    found.report("wrong_type" if pointer else "not_an_object", pointer, message, fix, edit)


def _guess_whole(shape: Shape, value: Json) -> Json | msgspec.UnsetType:
    """Return the list or the object of which a value was meant to be all, or a member; UNSET if unsure."""
    match shape:
        case Items(of=of) if isinstance(value, dict) and not isinstance(of, Anything):
            return [value] if _fits(shape, [value]) else _with_ids(value)
        case Members(of=of) if isinstance(value, list) and not isinstance(of, Anything):
            return _under_names(value)
        case Record(keys={"as": _, "input": _}) if isinstance(value, str) and (
            each := _EACH.fullmatch(value)
        ):
            return {"input": each[2], "as": each[1]}
        case Record(keys=keys) if isinstance(value, str):
            needed = [name for name, key in keys.items() if key.is_required] or shape.any_of
            made: list[Json] = [{name: value} for name in needed]
            fitting = [one for one in made if _fits(shape, one)]
            # What is appended takes nothing away.
            is_sure = len(fitting) == 1 or (bool(fitting) and "append" in fitting[0])
            return fitting[0] if is_sure else msgspec.UNSET
        case ByType(shapes=(Word(values=values), *_)) if isinstance(value, int) and values == _ALL:
            return {"atLeast": value}
        case Items() if shape == PARTS and isinstance(value, str):
            return [{"id": "first_step", "title": "First step", "prompt": value}]
        case _:
            return msgspec.UNSET


_EACH = re.compile(r"(?:each\s+)?([A-Za-z_]\w*)\s+(?:in|of)\s+([A-Za-z_][\w.]*)")
"""Names of a list and its item in other languages."""


def _with_ids(members: dict[str, Json]) -> Json:
    """Return objects under their names as a list, each with its name as its id; `op` is their kind."""
    return [
        {"id": name, **({"kind": "compare"} if "op" in one and "kind" not in one else {}), **one}
        if isinstance(one, dict)
        else one
        for name, one in members.items()
    ]


def _under_names(items: list[Json]) -> Json | msgspec.UnsetType:
    """Return objects of a list as members, each under its own name."""
    made: dict[str, Json] = {}
    for item in items:
        key = next((key for key in ("name", "id") if key in item), "") if isinstance(item, dict) else ""
        if not key or not isinstance(item[key], str) or item[key] in made:
            return msgspec.UNSET
        made[item[key]] = {name: member for name, member in item.items() if name != key}
    return made or msgspec.UNSET


def _show_object(shape: Shape, record: Record, value: Json, pointer: str) -> str:
    """Return an object in the form allowed here; a text in its place becomes the value of its first key."""
    needed = [name for name, key in record.keys.items() if key.is_required]
    made = _example(label_pointer(pointer), shape)
    if made is None or not needed:
        return f"Write an object with {' and '.join(needed)} here." if needed else ""
    held = {**made, needed[0]: value}
    shown = held if _fits(shape, held) else made
    member = as_json({label_pointer(pointer): shown})[1:-1]
    return f"Write an object with {' and '.join(needed)}, such as {member}."


def _fits(shape: Shape, value: Json) -> bool:
    """Whether a value is allowed here as it is."""
    trial = Findings()
    check_shape(trial, shape, value, "")
    return not trial.problems


def _named(found: Findings, name: str, value: Json, pointer: str, kinds: Tagged | None = None) -> None:
    """Check a record; `kinds` is the shape to which it belongs, and its tag has been handled."""
    shape = SHAPES[name]
    if isinstance(shape, Record):
        _record(found, shape, value, pointer, kinds)
    else:
        check_shape(found, shape, value, pointer)
    if name in MEANINGS:
        MEANINGS[name](found, value, pointer)


def _tagged(found: Findings, shape: Tagged, value: dict[str, Json], pointer: str) -> None:
    own = next((record for name, record in shape.own_keys.items() if name in value), "")
    own = own or _misspelt_own(shape, value)
    if own and shape.tag not in value:
        _named(found, own, value, pointer)
        return
    tag = _meant_tag(found, shape, value, pointer)
    if tag:
        _named(found, shape.records[tag], value, pointer, shape)


def _misspelt_own(shape: Tagged, value: dict[str, Json]) -> str:
    """Return the record with a key of its own that was misspelt."""
    if not shape.own_keys or shape.tag in value or not shape.default:
        return ""
    odd = value.keys() - _keys_of(shape.records[shape.default])
    return next((one for name, one in shape.own_keys.items() if guess_surely(name, odd)), "") if odd else ""


def _meant_tag(found: Findings, shape: Tagged, value: dict[str, Json], pointer: str) -> str:
    """Return the record that is meant, even if its tag is misspelt or missing; empty if that is unclear."""
    if shape.tag in value:
        tag = value[shape.tag]
        check_shape(found, Word(values=tuple(shape.records)), tag, join_pointer(pointer, shape.tag))
        return _known_tag(shape, tag)
    if shape.default and value.keys() <= _keys_of(shape.records[shape.default]):
        return shape.default
    misspelt = _misspelt_tag(shape, value)
    if misspelt:
        tag = _known_tag(shape, value[misspelt])
        if not tag:  # otherwise its record reports the key
            _unknown_key(found, misspelt, value, (shape.tag,), pointer, None)
        return tag
    condition = native_condition(value) if "compare" in shape.records.values() else {}
    if condition:
        message = "This is a condition of another dialect."
        fix = f"Write {as_json(condition)}."
        found.report("missing_key", pointer, message, fix, replace_value(pointer, condition))
        return ""
    tag = _likely_tag(shape, value)
    if not tag or tag != shape.default:
        wanted = f'"{tag}"' if tag else "one of " + ", ".join(shape.records)
        edit = add_value(join_pointer(pointer, shape.tag), tag) if tag else NO_EDIT
        fix = f'Add "{shape.tag}": {wanted}.'
        found.report("missing_key", pointer, f"{shape.tag} is missing.", fix, edit)
    return tag


def _known_tag(shape: Tagged, tag: Json) -> str:
    """Return the tag itself, or the one that a word of some length was meant to be."""
    if not isinstance(tag, str):
        return ""
    if tag in shape.records:
        return tag
    return guess_word(tag, tuple(shape.records)) or (guess_name(tag, shape.records) if len(tag) > 2 else "")


def _misspelt_tag(shape: Tagged, value: dict[str, Json]) -> str:
    known = {name for record in shape.records.values() for name in _keys_of(record)}
    strange = [name for name in value if name not in known and len(name) > 2]
    return next((name for name in strange[:20] if guess_name(name, (shape.tag,))), "")


def _likely_tag(shape: Tagged, value: dict[str, Json]) -> str:
    """Return the tag whose record knows most of the keys; the default or nothing if that is not clear."""
    fits = {tag: sum(name in value for name in _keys_of(record)) for tag, record in shape.records.items()}
    best = max(fits.values())
    if shape.default and fits[shape.default] == best:
        return shape.default
    likely = [tag for tag, fit in fits.items() if fit == best]
    return likely[0] if len(likely) == 1 else ""


def _keys_of(record: str) -> KeysView[str]:
    shape = SHAPES[record]
    assert isinstance(shape, Record), "a tag stands for a record"
    return shape.keys.keys()


def _record(
    found: Findings, record: Record, value: dict[str, Json], pointer: str, kinds: Tagged | None = None
) -> None:
    assumed = "" if kinds is None else kinds.tag
    dealt_with = {assumed}
    strange = [name for name in value if name not in record.keys]
    lost = [name for name in strange if not guess_key(name, value, tuple(record.keys))]
    if lost and (inner := _find_inner(record, value, lost)):
        _report_beside(found, inner, lost, value, pointer)
        dealt_with.update((inner, *record.any_of))
        strange = [name for name in strange if name not in lost]
    for name in strange:
        if found.is_full:
            break
        dealt_with.add(_unknown_key(found, name, value, tuple(record.keys), pointer, kinds))
    for name, key in record.keys.items():
        if name in value and name != assumed:
            check_shape(found, key.shape, value[name], join_pointer(pointer, name))
        elif key.is_required and name not in value and name not in dealt_with:
            _missing(found, name, key, value, pointer)
    for group in (record.one_of, record.any_of):
        if group and not any(name in value or name in dealt_with for name in group):
            listed = ", ".join(group)
            found.report("missing_key", pointer, f"None of {listed} is there.", _add_one_of(record, group))
    there = [name for name in value if name in record.one_of]
    if len(there) > 1:
        message = f"{' and '.join(there)} exclude each other."
        found.report("bad_value", join_pointer(pointer, there[1]), message, "Keep exactly one of them.")


def _find_inner(record: Record, value: dict[str, Json], strange: list[str]) -> str:
    """Return the one key of the record whose object was meant to contain all unknown members."""
    held = {name: value[name] for name in strange}
    absent = {name: key.shape for name, key in record.keys.items() if name not in value}
    inner = [name for name, shape in absent.items() if isinstance(shape, Named) and _fits(shape, held)]
    return inner[0] if len(inner) == 1 else ""


def _report_beside(
    found: Findings, inner: str, strange: list[str], value: dict[str, Json], pointer: str
) -> None:
    held = {name: value[name] for name in strange}
    gone = tuple(one for name in strange for one in remove_value(join_pointer(pointer, name)))
    verb = "belongs" if len(strange) == 1 else "belong"
    message = f"{' and '.join(map(quote_name, strange[:4]))} {verb} to {inner}, which is missing."
    fix = f"Write {as_json({inner: held})[1:-1]}."
    place = join_pointer(pointer, strange[0])
    found.report("unknown_key", place, message, fix, (*gone, *add_value(join_pointer(pointer, inner), held)))


def _example(name: str, shape: Shape) -> Json:
    return next((one for one in EXAMPLES.get(name, ()) if _fits(shape, one)), None)


def _add_one_of(record: Record, group: tuple[str, ...]) -> str:
    made = ({name: _example(name, record.keys[name].shape)} for name in group)
    shown = next((f", such as {as_json(one)[1:-1]}" for one in made if None not in one.values()), "")
    return f"Add one of {', '.join(group)}{shown}."


def _missing(found: Findings, name: str, key: Key, value: dict[str, Json], pointer: str) -> None:
    """Report a missing key. If the other keys determine its value, so does the fix."""
    made: Json = None
    if name == "id" and isinstance(value.get("title"), str) and "prompt" in value:
        made = make_id(value["title"]) or None
    elif name in ("title", "name") and isinstance(value.get("id"), str):
        own_id = value["id"].rpartition(".")[2]
        made = own_id.replace("_", " ").replace("-", " ").strip().capitalize() or None
    elif name == "maxIterations" and type(value.get("count")) is int:
        made = value["count"]
    usable = made is not None and _fits(key.shape, made)
    shown = made if usable else _example(name, key.shape)
    fix = f'Add "{name}": {key.description}' if shown is None else f'Add "{name}": {as_json(shown)}.'
    if not usable and shown is not None:
        fix = f"{fix} {key.description}"
    edit = add_value(join_pointer(pointer, name), made) if usable else NO_EDIT
    found.report("missing_key", pointer, f"{name} is missing.", fix, edit)


def _unknown_key(
    found: Findings,
    name: str,
    value: dict[str, Json],
    known: tuple[str, ...],
    pointer: str,
    kinds: Tagged | None,
) -> str:
    """Report an unknown key, with the key that was probably meant if there is one."""
    tags = [] if kinds is None else [tag for tag, one in kinds.records.items() if name in _keys_of(one)]
    belongs = f'"{kinds.tag}": ' + " or ".join(f'"{tag}"' for tag in tags) if kinds and tags else ""
    near, fix, edit = advise_on_key(name, value, known, pointer, belongs)
    message = f"The key {quote_name(name)} is not known here."
    found.report("unknown_key", join_pointer(pointer, name), message, fix, edit)
    return near


def _members(found: Findings, shape: Members, value: dict[str, Json], pointer: str) -> None:
    if len(value) > shape.most:
        _too_many(found, len(value), shape.most, pointer)
        return
    for name, member in value.items():
        trouble = Findings()
        _text(trouble, shape.name, name, "")
        if not trouble.problems:
            check_shape(found, shape.of, member, join_pointer(pointer, name))
            continue
        # What is declared under a name of the author's choice is read by that name elsewhere.
        meant = "" if shape.name == NAME else _form_meant(shape.name, name)
        place, is_sure = join_pointer(pointer, name), bool(meant) and meant not in value
        fix = f"Write {meant}." if is_sure else trouble.problems[0].fix
        edit = rename_key(place, meant) if is_sure else NO_EDIT
        message = f"The name {quote_name(name)} cannot be used here."
        found.report("bad_name", place, message, fix, edit)


def _items(found: Findings, shape: Items, value: list[Json], pointer: str) -> None:
    if len(value) > shape.most:
        _too_many(found, len(value), shape.most, pointer)
    elif len(value) < shape.least:
        message = f"{label_pointer(pointer)} has {len(value)} of at least {shape.least} items."
        found.report(shape.trouble, pointer, message, f"Write {shape.least} or more items.")
    else:
        for place, item in enumerate(value):
            check_shape(found, shape.of, item, f"{pointer}/{place}")


def _too_many(found: Findings, measured: int, most: int, pointer: str) -> None:
    message = f"{label_pointer(pointer)} has {measured} entries; the limit is {most}."
    found.report("too_large", pointer, message, f"Keep at most {most}, or split the workflow.")


def _text(found: Findings, shape: Text, value: str, pointer: str) -> None:
    size = len(value) if shape.unit == "characters" else len(value.encode())
    if size > shape.most:
        message = f"{label_pointer(pointer)} has {size} {shape.unit}; the limit is {shape.most}."
        found.report("too_large", pointer, message, f"Shorten it to {shape.most} {shape.unit}.")
    elif not shape.may_be_blank and (why := explain_unseen(value)):
        message = f"{label_pointer(pointer)} {why}."
        found.report("bad_value", pointer, message, "Write something, or leave it out.")
    elif shape.pattern and not re.fullmatch(shape.pattern, value, re.ASCII):
        message = f"{label_pointer(pointer)} has a form that is not allowed: {quote_name(value)}."
        made = _form_meant(shape, value)
        fix = f"Write {made}." if made else shape.wanted
        edit = replace_value(pointer, made) if made else NO_EDIT
        found.report(shape.trouble, pointer, message, fix, edit)


def _form_meant(shape: Text, value: str) -> str:
    """Return the text in the required form, if one has the same letters."""
    if shape == ID:
        made = make_id(value)
    elif shape == WORKFLOW_ID:
        made = make_workflow_id(value)
    elif shape == STEP_NAME:
        made = "/".join(map(make_id, value.split("/")))
    else:
        is_name = shape in (PATH, NAME, CONDITION_ID)
        made = value.strip().removeprefix("{{").removesuffix("}}").strip() if is_name else ""
    return made if made and re.fullmatch(shape.pattern, made, re.ASCII) else ""


_ALL = ("all",)
_ANY = ("any", "one", "first", "some")
"""Accepted counts, and other words for one of them."""


def _word(found: Findings, values: tuple[str, ...], value: str, pointer: str) -> None:
    if value not in values:
        near = guess_word(value, values)
        perhaps = near or guess_name(value, values)
        fix = f"Did you mean {perhaps}?" if perhaps else f"Write one of {', '.join(values)}."
        edit = replace_value(pointer, near) if near else NO_EDIT
        if values == _ALL:
            fix = 'Write "all", or {"atLeast": 1} for fewer.'
            edit = replace_value(pointer, {"atLeast": 1}) if value in _ANY else NO_EDIT
        message = f"{label_pointer(pointer)} cannot be {quote_name(value)}."
        found.report("bad_value", pointer, message, fix, edit)


def _whole(found: Findings, shape: Whole, value: float, pointer: str) -> None:
    if not shape.least <= value <= shape.most or value != int(value):
        allowed = f"a whole number from {shape.least} to {shape.most}"
        code: ProblemCode = "too_large" if value > shape.most else "bad_value"
        found.report(code, pointer, f"{label_pointer(pointer)} is not {allowed}.", f"Write {allowed}.")


def _numbers(found: Findings, value: Json, pointer: str) -> None:
    """Report integers that a double would round, because RFC 8785 has no form for them and so no
    hash.

    Only the first one is reported: names inside such a value can be of any length, and so can their
    pointers.
    """
    waiting: list[tuple[Json, tuple[str | int, ...]]] = [(value, ())]
    while waiting:
        current, path = waiting.pop()
        if isinstance(current, dict):
            waiting += [(member, (*path, name)) for name, member in current.items()]
        elif isinstance(current, list):
            waiting += [(item, (*path, index)) for index, item in enumerate(current)]
        elif type(current) is int and not is_exact_integer(current):
            place = reduce(join_pointer, path, pointer)
            message = f"{label_pointer(place)} is an integer that JSON readers would round."
            found.report("bad_value", place, message, "Write it as a text.")
            return


# What a key that is missing may hold, so that a fix can be written as it stands

_STEP: dict[str, Json] = {"id": "look", "title": "Look", "prompt": "Say what is there."}
_COMPARE: dict[str, Json] = {"kind": "compare", "input": "size", "op": "equals", "value": "large"}

EXAMPLES: dict[str, tuple[Json, ...]] = {
    "id": ("project.my_check", "look"),
    "name": ("My check",),
    "description": ("What it is for.",),
    "steps": ([_STEP],),
    "body": ([_STEP],),
    "step": (_STEP,),
    "title": ("Look",),
    "label": ("Go on",),
    "prompt": ("Say what is there.",),
    "text": ("Say what is there.",),
    "promptBlocks": ({"goal": "What is true when the step is done."},),
    "goal": ("What is true when the step is done.",),
    "options": ([{"id": "go_on", "label": "Go on"}, {"id": "stop", "label": "Stop"}],),
    "maxIterations": (5,),
    "count": (3,),
    "times": (3,),
    "atLeast": (1,),
    "while": (_COMPARE,),
    "forEach": ({"input": "files", "as": "file"}, "{{files}}"),
    "input": ("files",),
    "as": ("file",),
    "of": ([_COMPARE, {**_COMPARE, "value": "small"}], _COMPARE, [{"type": "contains", "value": "Done"}]),
    "op": ("equals",),
    "value": ("Done",),
    "pattern": ("^Done",),
    "minimum": (20,),
    "schema": ({"type": "object"},),
    "conditionId": ("is_large",),
    "slot": ("before_report",),
    "templateId": ("wr.templates.verification_pass",),
    "operation": ("workflow.list",),
    "refId": ("wr.refs.notes_first",),
    "contractRef": ("wr.contracts.plan",),
    "assessmentId": ("quality",),
    "purpose": ("What is judged, and why.",),
    "dimensions": ({"quality": ["low", "high"]},),
    "source": ("docs/rules.md",),
    "check": ("tests",),
    "reason": ("needs_user_approval",),
    "by": ("other",),
    "kind": ("ref", "condition_ref"),
    "default": ("quick",),
    "extends": ("wr.code_review",),
    "append": ("Read docs/rules.md first.",),
    "before": ("report",),
    "children": ([{"id": "part", "steps": [_STEP]}],),
    "child": ({"id": "part", "steps": [_STEP]},),
    "workflow": ("project.my_check",),
    "required": (["summary"],),
    "loopId": ("rounds",),
}
"""Replacements by key; the first with the shape of the place counts."""
