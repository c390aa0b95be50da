"""Check artifacts against the schemas of their contracts, and contracts for usability. Pure.

Every violation is found, always in the same order, and its message is made here: the messages of a
library change with its releases, and they repeat whole documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any, cast

import msgspec

from handrail.contract.catalogue import WORK_LIMIT_EXCEEDED
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Fault, Json
from handrail.contract.suggest import find_nearest, find_same_word
from handrail.contract.wording import end_sentence, explain_unseen, quote
from handrail.workflows.compiled import (
    TYPE_WORDS,
    Contract,
    Schema,
    json_type,
    resolve_ref,
)
from handrail.workflows.contracts.patterns import count_atoms
from handrail.workflows.contracts.schema_subset import (
    broken,
    find_unsupported,
)
from handrail.workflows.limits import (
    MAX_CHECK_WORK,
    MAX_CONTRACT_SCHEMA_BYTES,
    MAX_LISTED_WORK,
    MAX_PATTERN_SIZE,
    MAX_SCHEMA_PLACES,
    Effort,
)
from handrail.workflows.problem import Problem, replace_value, value_at

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError


# The work of a check, estimated before a library starts that cannot be stopped: schema times document

_MOVING = frozenset({"$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor"})
"""Keywords that give references another meaning, so the text alone does not show where they lead."""
_CHARACTERS = 32
"""Characters that count as one more value."""


def count_schema_places(schema: Json) -> int:
    """Return the values inside a schema with every reference followed; a document's place meets each at
    most once.

    Raises: Fault WORK_LIMIT_EXCEEDED; for a schema that contains itself, too.
    """
    effort = Effort(
        MAX_SCHEMA_PLACES,
        f"The schema has more than {MAX_SCHEMA_PLACES} places when its references are followed.",
        "Name fewer definitions from inside definitions; shorten lists, counts in patterns and levels.",
    )
    waiting = [schema]
    while waiting:
        held = waiting.pop()
        effort.spend()
        if isinstance(held, list):
            waiting += held
        elif isinstance(held, dict):
            for keyword, inner in held.items():
                if keyword == "$ref" and isinstance(inner, str):
                    waiting.append(_led_to(inner, schema, effort))
                elif keyword == "pattern" and isinstance(inner, str):
                    effort.spend(min(count_atoms(inner), MAX_SCHEMA_PLACES))
                elif keyword in _MOVING and isinstance(inner, str):
                    effort.trouble = f"With the keyword {keyword} it is unknown how large the schema is."
                    effort.advice = "Put what is named under $defs, and write #/$defs/ with its name."
                    raise effort.fault()
                waiting.append(inner)
    return MAX_SCHEMA_PLACES - effort.left


def is_light(places: int, document: Json, work: int = MAX_CHECK_WORK) -> bool:
    """Whether checking a document against a schema with this many places stays within the work limit."""
    try:
        size = len(msgspec.json.encode(document))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        return True  # no JSON: the check itself says so
    return places * size <= work or places * _values(document) <= work


def _values(document: Json) -> int:
    count, waiting = 0, [document]
    while waiting:
        held = waiting.pop()
        count += 1
        if isinstance(held, list | tuple):
            waiting += held
        elif isinstance(held, dict):
            waiting += held.values()
            count += len(held)
        elif isinstance(held, str):
            count += len(held) // _CHARACTERS
    return count


def _led_to(reference: str, root: Json, effort: Effort) -> Json:
    """Return what a reference names inside the same document; empty if it names nothing there."""
    effort.where = reference[:80]
    if not reference.startswith("#") or reference[1:2] not in ("", "/"):
        return {}
    found = value_at(root, reference[1:])
    return {} if found is None else found


def find_schema_fault(schema: Json) -> Fault | None:
    """Return why a schema is too large to check anything against; None if it is not."""
    try:
        count_schema_places(schema)
    except Fault as fault:
        return fault
    return None


# Violations

MAX_VIOLATIONS = 50
MAX_KEPT_SCHEMAS = 64
"""Schemas whose validators are kept for the next document."""
MAX_SUGGESTIONS = 10
"""Names of one document for which a similar one is searched."""
_ABOUT_TEXT = ("minLength", "pattern")
_INVISIBLE = "It has only invisible characters; write text that can be read."


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of a schema that a document breaks; `rule` is the keyword."""

    pointer: str
    """The place in the document; for a missing member, its future place."""
    rule: str
    message: str
    meant: str = ""
    """For an unknown member: the known one that it resembles."""


def find_violations(schema: Schema, document: Json) -> list[Violation]:
    """Return everything that is wrong with a document, by place; empty if it is valid. Never raises."""
    visible, unseen = _blank_unseen(document)
    try:
        errors = _errors(schema, document)
        stricter = _errors(schema, visible) if unseen else []
    except Fault as fault:  # a contract of an older version, or of somebody else
        return [Violation(pointer="", rule="too_large", message=f"It cannot be checked. {fault.message}")]
    except ValueError as error:  # an unusable schema, or a document that is no JSON: both are findings
        return [
            Violation(pointer="", rule="unreadable", message=f"It cannot be checked: {_first_line(error)}")
        ]
    suggesting = Effort(MAX_SUGGESTIONS, "", "")
    found = {violation for error in errors for violation in _word_violations(error, schema, suggesting)}
    lacking = {_pointer_to(error) for error in stricter if error.kind.name in _ABOUT_TEXT} & unseen
    for place in lacking - {each.pointer for each in found}:
        found.add(Violation(pointer=place, rule="invisible", message=_INVISIBLE))
    ordered = sorted(found, key=lambda each: (_order(each.pointer), each.rule, each.message))
    if len(ordered) > MAX_VIOLATIONS:
        rest = len(ordered) - MAX_VIOLATIONS
        more = Violation(pointer="", rule="more", message=f"There are {rest} more; fix these first.")
        return [*ordered[:MAX_VIOLATIONS], more]
    return ordered


def _errors(schema: Schema, document: Json) -> list[ValidationError]:
    """Return the library's errors, within the limits.

    Raises: Fault WORK_LIMIT_EXCEEDED, and ValueError for an unusable schema or a document that is
    no JSON.
    """
    content = _content_of(schema)
    places = _places_of(content) if content else count_schema_places(schema)
    if not is_light(places, document):
        message = f"It is too large for a schema of {places} places; send less in it."
        raise Fault(WORK_LIMIT_EXCEEDED, message, details={"limit": MAX_CHECK_WORK, "where": ""})
    validator = _validator_of(content) if content else _validator(schema)
    if validator.is_valid(document):
        return []
    if is_light(places, document, MAX_LISTED_WORK):
        return list(validator.iter_errors(document))
    try:
        validator.validate(document)
    except ValueError as error:
        return [cast("ValidationError", error)]
    return []


def _blank_unseen(document: Json) -> tuple[Json, set[str]]:
    """Return the document with each invisible text replaced by an empty one, and the places of
    those texts.

    A pattern takes an invisible character for text, and a length counts it; white space is left to
    them.
    """
    content = _content_of(document)
    if content.isascii() and b"\\u" not in content:
        return document, set()
    copy: Any = msgspec.json.decode(content)
    places: set[str] = set()
    waiting = [("", copy)] if isinstance(copy, dict | list) else []
    while waiting:
        pointer, held = waiting.pop()
        for step, value in list(held.items() if isinstance(held, dict) else enumerate(held)):
            place = join_pointer(pointer, step)
            if isinstance(value, dict | list):
                waiting.append((place, value))
            elif isinstance(value, str) and explain_unseen(value) not in ("", "is blank"):
                held[step] = ""
                places.add(place)
    return copy, places


def _content_of(document: Json) -> bytes:
    """Return a schema's content as a cache key; empty if it is not plain JSON."""
    try:
        return msgspec.json.encode(document)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return b""


@lru_cache(maxsize=MAX_KEPT_SCHEMAS)
def _places_of(content: bytes) -> int:
    return count_schema_places(msgspec.json.decode(content))


@lru_cache(maxsize=MAX_KEPT_SCHEMAS)
def _validator_of(content: bytes) -> Draft202012Validator:
    """Return a cached validator: a run checks many documents, and making a validator costs more
    than a check.
    """
    return _validator(msgspec.json.decode(content))


def check_contract_schema(schema: Json) -> list[Problem]:
    """Return why a project's schema cannot be used as a contract, all reasons; empty if it can."""
    try:
        size = len(canonical_bytes(schema))
    except (Fault, RecursionError):
        fix = "Write it with texts, whole numbers and lists only."
        return [broken("", "The schema is not plain JSON.", fix)]
    if size > MAX_CONTRACT_SCHEMA_BYTES:
        limit = f"The schema has {size} bytes; the limit is {MAX_CONTRACT_SCHEMA_BYTES}."
        return [broken("", limit, "Ask for less, or split it into contracts of several steps.")]
    troubles = list(find_unsupported(schema))
    if troubles:
        return troubles
    heavy = find_schema_fault(schema)
    if heavy is not None:
        return [broken("", heavy.message, heavy.hint)]
    try:
        _validator(schema)
    except ValueError as error:
        return [_misused(error)]
    return []


def check_rule_schema(schema: Schema) -> Problem | None:
    """Return why a rule's schema cannot be used; None if it can. It may use more keywords than a contract."""
    heavy = find_schema_fault(schema)
    if heavy is not None:
        return broken("", heavy.message, heavy.hint)
    try:
        _validator(schema)
    except ValueError as error:
        return _misused(error)
    return None


def fitting_example(contract: Contract) -> dict[str, Any]:
    """Return the contract's example; empty if it has none, or one that is invalid.

    Agents copy what is shown, so nothing invalid is shown.
    """
    if not contract.example or find_violations(contract.schema, contract.example):
        return {}
    return dict(msgspec.to_builtins(contract.example))


def _validator(schema: Schema) -> Draft202012Validator:
    from jsonschema_rs import Draft202012Validator, RegexOptions  # noqa: PLC0415 - only a check pays for it

    return Draft202012Validator(
        schema,
        offline=True,  # no $ref makes us fetch anything
        validate_formats=False,  # formats differ between implementations; the subset has none
        pattern_options=RegexOptions(size_limit=MAX_PATTERN_SIZE),  # linear time, whatever the pattern
    )


def _word_violations(error: ValidationError, schema: Schema, suggesting: Effort) -> Iterator[Violation]:
    """Yield one violation per fact: the library lists all unexpected members in one error."""
    pointer = _pointer_to(error)
    rule = error.kind.name
    details = error.kind.as_dict()
    if rule == "required":
        name = details["property"]
        yield Violation(pointer=join_pointer(pointer, name), rule=rule, message=f"{quote(name)} is missing.")
    elif rule == "additionalProperties":
        known = _known_members(schema, error.schema_path)
        there = error.instance if isinstance(error.instance, dict) else {}
        takes = ", ".join(known[:MAX_VIOLATIONS]) or "no members"
        for name in details["unexpected"]:
            is_near = suggesting.affords()
            near = find_nearest(name, known, most=1) if is_near else []
            advice = f"did you mean {near[0]}?" if near else f"it takes {takes}."
            yield Violation(
                pointer=join_pointer(pointer, name),
                rule=rule,
                message=f"{quote(name)} is not known; {advice}",
                meant=find_same_word(name, [one for one in known if one not in there]) if is_near else "",
            )
    else:
        suggests = rule != "enum" or suggesting.affords()
        message = _sentence(rule, details, error.instance, suggests=suggests)
        yield Violation(pointer=pointer, rule=rule, message=message)


def _pointer_to(error: ValidationError) -> str:
    return reduce(join_pointer, error.instance_path, "")


def _known_members(schema: Schema, path: list[str | int]) -> list[str]:
    """Return the members that the object with this `additionalProperties` declares."""
    here: Any = schema
    for step in path[:-1]:
        try:
            here = resolve_ref(here, schema)[step]
        except (KeyError, IndexError, TypeError):
            return []
    here = resolve_ref(here, schema)
    declared = here.get("properties") if isinstance(here, dict) else None
    return list(declared) if isinstance(declared, dict) else []


def _sentence(rule: str, details: dict[str, Any], value: Any, *, suggests: bool = True) -> str:
    limit = details.get("limit")
    match rule:
        case "type":
            wanted = " or ".join(TYPE_WORDS[name] for name in details["types"])
            return f"It must be {wanted}, not {_kind_of(value)}."
        case "enum":
            return _one_of(details["options"], value if suggests else None)
        case "const":
            return f"It must be {_show_value(details['expected_value'])}."
        case "minItems":
            return f"It needs at least {_counted(limit, 'item')}; it has {len(value)}."
        case "maxItems":
            return f"It may have at most {_counted(limit, 'item')}; it has {len(value)}."
        case "minLength":
            return f"It needs at least {_counted(limit, 'character')}."
        case "maxLength":
            return f"It may have at most {_counted(limit, 'character')}; it has {len(value)}."
        case "minimum":
            return f"It must be at least {limit}."
        case "maximum":
            return f"It must be at most {limit}."
        case "pattern" if details["pattern"] == r"\S":
            return "It must not be blank."
        case "pattern":
            return f"It must match the pattern {quote(details['pattern'])}."
        case "false schema" | "falseSchema":
            return "Nothing is allowed here."
        case _:
            return f"It breaks the rule {quote(rule)} of the schema."


def _one_of(options: list[Any], value: Any) -> str:
    listed = ", ".join(_show_value(option) for option in options[:20])
    texts = [option for option in options if isinstance(option, str)]
    near = find_nearest(value, texts, most=1) if isinstance(value, str) else []
    advice = f" Did you mean {quote(near[0])}?" if near else ""
    return f"It must be one of {listed}.{advice}"


def _show_value(value: Any) -> str:
    return quote(value) if isinstance(value, str) else quote(canonical_bytes(value).decode()).strip('"')


def _counted(number: Any, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _kind_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else TYPE_WORDS[json_type(value)]


def _order(pointer: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that orders places as people count them: item 2 before item 10."""
    steps = pointer.split("/")[1:]
    return tuple((0, int(step), "") if step.isascii() and step.isdigit() else (1, 0, step) for step in steps)


def _first_line(error: ValueError) -> str:
    text = str(error).strip().partition("\n")[0]
    return end_sentence(quote(text).strip('"'))


def _misused(error: ValueError) -> Problem:
    """Return the error for a keyword with an impossible value; the library knows the place."""
    path, kind = getattr(error, "instance_path", None), getattr(error, "kind", None)
    if not path or kind is None:
        return broken("", f"The schema is not valid: {_first_line(error)}", "Correct that keyword.")
    pointer = reduce(join_pointer, path, "")
    sentence = _sentence(kind.name, kind.as_dict(), getattr(error, "instance", None))
    message = f"The keyword {quote(str(path[-1]))} cannot have this value. {sentence}"
    written = getattr(error, "instance", None)
    meant: Json = None
    if kind.name == "type" and isinstance(written, str):
        meant = int(written) if re.fullmatch("[0-9]{1,9}", written) else None
        meant = [written] if path[-1] == "required" else meant
    if meant is None:
        return broken(pointer, message, "Correct the value of that keyword.")
    fix, edit = f"Write {canonical_bytes(meant).decode()}.", replace_value(pointer, meant)
    return broken(pointer, message, fix, edit)
