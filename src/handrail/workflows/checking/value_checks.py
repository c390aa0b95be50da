"""Checks of a single text or value: placeholders, values of inputs, names that are set, patterns. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from json import dumps
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.suggest import count_edits
from handrail.contract.wording import quote
from handrail.workflows.builtins.placement import PLACEHOLDER
from handrail.workflows.conditions import Compare, Facts, holds, is_same_value
from handrail.workflows.model import value_named
from handrail.workflows.problem import (
    NO_EDIT,
    Edit,
    Findings,
    guess_name,
    guess_surely,
    label_pointer,
    quote_name,
    rename_key,
    replace_value,
)
from handrail.workflows.reading.repairs import INPUT_FITS, convert_value

# Placeholders of a text: `{{name}}`, and what looks like one and is never filled

SlotKind: TypeAlias = Literal["name", "filter", "block", "dollar", "loose", "tag"]
UNSURE: tuple[SlotKind, ...] = ("loose", "tag")
"""Forms that may be placeholders and tags of another language, or plain text."""

_SLOT = re.compile(r"(?P<dollar>\$)?\{\{(?P<inner>[^{}\n]{0,200})\}\}|\$\{(?P<shell>[^{}\n]{1,100})\}")
_DOTTED = r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*"
_LOOSE = re.compile(
    rf"(?<![{{$\w\\])\{{(?P<braced>{_DOTTED})\}}"
    rf"|%\((?P<percent>{_DOTTED})\)[a-z]"
    rf"|(?<!\{{)\{{\{{\s*(?P<unclosed>(?>{_DOTTED}))(?![^{{}}\n]*\}}\}})(?!\s*\}}\}})\}}?"
    rf"|\$(?P<bare>[A-Za-z_]\w*)(?![\w({{])"
    r"|\{%(?P<tag>[^%\n]{1,200})%\}|<%(?P<mark>[^%\n]{1,200})%>"
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_NAME = re.compile(_DOTTED)
_LEADING_NAME = re.compile(rf"\s*({_DOTTED})\s*[|:?(]")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """One placeholder of a text."""

    kind: SlotKind
    path: str
    """The dotted name that it asks for, as far as one can be read."""
    start: int
    end: int

    @property
    def name(self) -> str:
        return self.path.partition(".")[0]


def slots_in(text: str, known: Collection[str]) -> Iterator[Slot]:
    """Yield every placeholder, and everything that was meant to be one.

    Between backticks, a dollar or a word of another template language is plain text unless it names
    a known value. A loose form is reported only if it names such a value; a tag of a template
    language is always reported outside code.
    """
    if not any(sign in text for sign in _SIGNS):
        return
    code = [match.span() for match in _CODE.finditer(text)]
    for match in _SLOT.finditer(text):
        slot = _slot(match)
        if slot is None:
            continue
        is_code = any(start <= slot.start < end for start, end in code)
        is_of_shell = slot.kind == "dollar" and slot.path.isupper()  # such as ${HOME}
        if slot.kind == "name" or slot.name in known or not (is_code or is_of_shell):
            yield slot
    for match in _LOOSE.finditer(text):
        slot = _loose_slot(match, known)
        is_code = any(start <= slot.start < end for start, end in code)
        is_tag, is_bare = slot.kind == "tag", match.lastgroup == "bare"
        if (slot.name in known and not (is_bare and is_code)) or (is_tag and not is_code):
            yield slot


def name_slots(text: str) -> str:
    """Return the text with each placeholder as words: `{{changed_files}}` becomes `changed files`."""
    for slot in reversed([one for one in slots_in(text, ()) if one.kind == "name"]):
        words = " ".join(_WORD.findall(slot.path.rpartition(".")[2])).lower()
        text = f"{text[: slot.start]}{words}{text[slot.end :]}"
    return text


_FILTER = re.compile(rf"\{{\{{\s*({_DOTTED})\s*\|\s*(\w+)\s*\}}\}}")
_SHOWN_AS = {
    **dict.fromkeys(("upper", "uppercase"), " (in upper case)"),
    **dict.fromkeys(("lower", "lowercase"), " (in lower case)"),
    **dict.fromkeys(("trim", "strip"), ""),
}
_CONDITION = re.compile(rf"\{{\{{#if ({_DOTTED})\}}\}}([^{{}}]*)\{{\{{/if\}}\}}")


def word_filter(written: str) -> str:
    """Return a placeholder without its filter, and a hint on how to show the value; empty if it has none."""
    found = _FILTER.fullmatch(written)
    return f"{{{{{found[1]}}}}}{_SHOWN_AS[found[2]]}" if found and found[2] in _SHOWN_AS else ""


def word_conditions(text: str, flags: Collection[str]) -> str:
    """Return the text with each conditional part as words that say on which flag it depends."""

    def spell(found: re.Match[str]) -> str:
        name, words = found.groups()
        return f"(only if {name} is true, and it is {{{{{name}}}}}: {words})" if name in flags else found[0]

    return _CONDITION.sub(spell, text)


_SIGNS = ("{", "%(", "$", "<%")


def _loose_slot(match: re.Match[str], known: Collection[str]) -> Slot:
    """Return a placeholder in another notation, with the first known name in it."""
    kind = match.lastgroup or ""
    names = [found[0] for found in _NAME.finditer(match[kind])]
    path = next((one for one in names if one.partition(".")[0] in known), "")
    is_tag = kind in ("tag", "mark")
    return Slot(kind="tag" if is_tag else "loose", path=path, start=match.start(), end=match.end())


def _slot(match: re.Match[str]) -> Slot | None:
    if match["shell"] is not None:
        found = _NAME.match(match["shell"].strip())
        return None if found is None else _made(match, "dollar", found[0])
    whole = PLACEHOLDER.fullmatch(f"{{{{{match['inner']}}}}}")
    if whole is not None:
        return _made(match, "dollar" if match["dollar"] else "name", whole[1])
    leading = _LEADING_NAME.match(match["inner"])
    if leading is not None:
        return _made(match, "filter", leading[1])
    inside = _NAME.search(match["inner"].lstrip(" #/^!&>").partition(" ")[2] or match["inner"])
    return _made(match, "block", inside[0] if inside else "")


def _made(match: re.Match[str], kind: SlotKind, path: str) -> Slot:
    start = match.start() + (1 if match["dollar"] and kind != "dollar" else 0)
    return Slot(kind=kind, path=path, start=start, end=match.end())


# Values

Object: TypeAlias = dict[str, Json]

_ORDERINGS = ("gt", "gte", "lt", "lte")
_LISTS = ("array", "any")
_NUMBERS = ("number", "integer", "any")


def check_set_value(found: Findings, spec: Object, value: Json, pointer: str) -> None:
    """Check that an option sets a value that the input may have."""
    if value is not None:  # null takes a value back
        _check_value(found, spec, value, pointer, "sets", is_lenient=False)


def check_comparison(found: Findings, spec: Object, condition: Object, pointer: str) -> None:
    """Check that a condition compares with a value that the input may have; otherwise it never decides."""
    operator, value, place = condition["op"], condition.get("value"), f"{pointer}/value"
    is_lenient = condition.get("lenient") is True
    if "value" not in condition or operator == "exists" or (value is None and operator != "in"):
        return
    if operator in ("equals", "not_equals"):
        _check_value(found, spec, value, place, "compares with", is_lenient=is_lenient)
    elif operator == "in":
        for index, one in enumerate(value if isinstance(value, list) else ()):
            if one is not None:
                _check_value(found, spec, one, f"{place}/{index}", "compares with", is_lenient=is_lenient)
    elif operator in _ORDERINGS:
        _check_order(found, spec, value, place)


def check_count(found: Findings, inputs: Object, name: str) -> None:
    """Check that a counted list is a list without a value of its own, and that a number counts it."""
    spec, pointer = inputs[name], join_pointer("/inputs", name)
    counter: str = spec["countedBy"]
    counting = inputs.get(counter, {})
    kind, place = counting.get("type", "any"), f"{pointer}/countedBy"
    if spec.get("type", "any") not in _LISTS:
        message = f"countedBy makes a list, but the input is declared as {spec['type']}."
        found.report("bad_value", place, message, 'Write "type": "array", or remove countedBy.')
    elif counter == name or "countedBy" in counting:
        message = f"countedBy reads {quote_name(counter)}, which is a counted list and not a number."
        found.report("bad_value", place, message, "Name an input that is a number.")
    elif kind not in _NUMBERS:
        message = f"countedBy reads {quote_name(counter)}, which is declared as {kind} and not as a number."
        found.report("bad_value", place, message, "Name an input that is a number, or declare it as one.")
    elif "default" in spec:
        message = "The list has a default, so countedBy never counts."
        found.report("bad_value", place, message, "Remove countedBy or the default.")


def check_goal(found: Findings, spec: Object, pointer: str) -> None:
    """Check that only an input of any text is filled from the goal, because a goal is any text."""
    if spec.get("type", "any") not in ("any", "string") or "enum" in spec:
        message = "fromGoal fills the input with a text, and the input does not take every text."
        fix = 'Write "type": "string" without enum, or remove fromGoal.'
        found.report("bad_value", f"{pointer}/fromGoal", message, fix)


def _check_value(
    found: Findings, spec: Object, value: Json, pointer: str, does: str, *, is_lenient: bool
) -> None:
    fits, words = INPUT_FITS[spec.get("type", "any")]
    enum = spec.get("enum", [])
    if any(_is_same(value, member, is_lenient=is_lenient) for member in enum):
        return
    if enum:
        texts = [member for member in enum if isinstance(member, str)]
        near = guess_name(value, texts) if isinstance(value, str) else ""
        sure = guess_surely(value, texts) if near else ""
        listed = ", ".join(_as_json(member) for member in enum[:12])
        fix = f"Did you mean {quote_name(near)}?" if near else f"Write one of {listed}."
        edit = replace_value(pointer, sure) if sure else _converted_edit(spec, value, pointer, enum)
        message = f"It {does} {_as_json(value)}, which the input cannot be."
        found.report("bad_value", pointer, message, fix, edit)
    elif not fits(value) and not is_lenient:
        message = f"It {does} {_as_json(value)}, but the input is {words}."
        found.report(
            "bad_value", pointer, message, f"Write {words}.", _converted_edit(spec, value, pointer, [])
        )


def _check_order(found: Findings, spec: Object, value: Json, pointer: str) -> None:
    declared = spec.get("type", "any")
    is_text = isinstance(value, str)
    if declared in ("number", "integer") and is_text:
        edit = _converted_edit(spec, value, pointer, [])
        message = f"It compares a number with the text {_as_json(value)}."
        found.report("bad_value", pointer, message, "Write a number.", edit)
    elif declared == "string" and not is_text:
        message = f"It compares a text with the number {_as_json(value)}; that never holds."
        found.report("bad_value", pointer, message, "Declare the input as a number, or write a text.")


def _converted_edit(spec: Object, value: Json, pointer: str, enum: list[Json]) -> Edit:
    """Return an edit to the same value in the declared type, if there is exactly one."""
    made = convert_value(spec.get("type", "any"), value)
    if made is None or (enum and not any(is_same_value(made, member) for member in enum)):
        return NO_EDIT
    return replace_value(pointer, made)


def _is_same(value: Json, member: Json, *, is_lenient: bool) -> bool:
    if not is_lenient:
        return is_same_value(value, member)
    return holds(Compare(input="x", op="equals", value=value, lenient=True), Facts(values={"x": member}))


def _as_json(value: Json) -> str:
    return dumps(value, ensure_ascii=False)[:64]


# Patterns written as in another language: between slashes, with flags at the end

_BETWEEN = re.compile(r"/(?P<inner>.+)/(?P<flags>(?!.*(.).*\3)[gimsuy]{0,4})", re.DOTALL)
_ONLY_IN_PATTERNS = re.compile(r"[\\\[\](){}|^$*+?]")
_OUR_FLAGS = "ims"


def check_slashes(
    found: Findings, pattern: str, pointer: str, contract: str = "", *, in_schema: bool = False
) -> None:
    """Report a pattern that includes its slashes; in a schema, flags come before it.

    It is an error if no text can match: with `^` after a slash, or `$` before one.
    """
    whole = _BETWEEN.fullmatch(pattern)
    if whole is None or not (whole["flags"] or _ONLY_IN_PATTERNS.search(whole["inner"])):
        return  # they may mean themselves
    inner, ours = whole["inner"], "".join(flag for flag in _OUR_FLAGS if flag in whole["flags"])
    fix = f"Write {quote(f'(?{ours}){inner}' if ours and in_schema else inner)}"
    beside = f' and "flags": "{ours}" beside it' if ours and not in_schema else ""
    what = "slashes and flags" if whole["flags"] else "slashes"
    message = (
        f"{contract}{': ' if contract else ''}The {what} of {quote(pattern)} count as part of the pattern."
    )
    is_lost = inner.startswith(("^", r"\A")) or (inner.endswith("$") and not inner.endswith(r"\$"))
    report = found.report if is_lost else found.warn
    report("bad_pattern", pointer, message, f"{fix}{beside}.")


def check_schema_patterns(found: Findings, schema: Json, pointer: str, contract: str = "") -> None:
    """Report such patterns in a schema.

    One of a `contract` is in another file, so the pointer is that of the contract's name.
    """
    pattern = schema.get("pattern") if isinstance(schema, dict) else None
    if isinstance(pattern, str):
        place = pointer if contract else f"{pointer}/pattern"
        check_slashes(found, pattern, place, contract, in_schema=True)
    inside = (
        schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ()
    )
    for name, inner in inside:
        check_schema_patterns(found, inner, pointer if contract else join_pointer(pointer, name), contract)


def check_dimensions(found: Findings, dimensions: dict[str, list[str]], pointer: str) -> None:
    """Check that every assessment has a dimension, and no dimension the same level twice."""
    if not dimensions:
        message = "The assessment has no dimension, so there is nothing to report."
        found.report("bad_value", pointer, message, 'Add one, such as "risk": ["low", "high"].')
    for name, levels in dimensions.items():
        for index, level in enumerate(levels):
            if level in levels[:index]:
                place = join_pointer(join_pointer(pointer, name), index)
                message = f"{label_pointer(place)} repeats the level {quote_name(level)}."
                found.report("bad_value", place, message, "Remove one of them, or rename it.")


# Names that options, actions and reports set. A value may be set only for the record, so an unread name is
# a problem only if another one is nearly the same. What an action writes must have been set by an earlier
# one.

_MOST_SLIPS = 2
_LEAST_LETTERS = 4
"""Shortest name that is compared; shorter ones are similar by chance."""


class SetName(msgspec.Struct, frozen=True, kw_only=True):
    """One place where a name gets a value."""

    pointer: str
    name: str
    beside: frozenset[str] = frozenset()
    """Names that the same option sets."""
    instead: frozenset[str] = frozenset()
    """Names that the other options of the choice set and this one does not."""
    is_key: bool = False
    prefix: str = ""
    """Text before the name in the key."""


def check_edit_action(found: Findings, part: Mapping[str, Any], pointer: str) -> None:
    """Report an action that writes without the plan that an earlier one saved, because it can never
    be done.
    """
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
    """Report a saved name that is also set by a choice, because a result must not replace a decision."""
    saved = {"saveAs": part.get("saveAs"), "delegate/collect": part.get("delegate", {}).get("collect")}
    for place, name in saved.items():
        if isinstance(name, str) and name in set_inside:
            message = f"{quote_name(name)} is what an option sets, and a result never replaces it."
            fix = "Save the result under a name that no option sets."
            found.report("bad_value", f"{pointer}/{place}", message, fix)


def check_required(
    found: Findings, required: Iterable[str], pointer: str, declared: Iterable[str], closed: Iterable[str]
) -> Iterator[SetName]:
    """Report values that a step must deliver and nothing declares, and `closed`, which no report may set."""
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
    """Report each unused name that is nearly the same as one in use."""
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
    """Return the name with the same letters: a slip, however short, if the other options set that one."""
    return min((other for other in others if sorted(other) == sorted(name)), default="")


def _is_near(name: str, near: str) -> bool:
    return (
        bool(near)
        and len(name) >= _LEAST_LETTERS
        and count_edits(name.lower(), near.lower(), _MOST_SLIPS) <= _MOST_SLIPS
    )
