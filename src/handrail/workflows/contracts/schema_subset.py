"""What a contract file may use: its part of JSON Schema (2020-12), and its rules of evidence. Pure.

The schema is small enough to check whether it can be satisfied, and to make up documents for it.
The rules are data of a closed set; each names places of the artifact by a path such as
`/files/*/path`. A place that the schema does not know is a mistake, because such a rule would never
apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_nearest, find_only_near, find_same_word
from handrail.contract.wording import quote
from handrail.workflows.compiled import DEFINITIONS, MAX_DEPTH, Schema, list_definitions, resolve_ref
from handrail.workflows.contracts.own_members import find_unfilled
from handrail.workflows.contracts.patterns import explain_refusal
from handrail.workflows.evidence import (
    ChangedInRun,
    Consistent,
    CoversChange,
    Evidence,
    Person,
    PlaceExists,
    Ran,
    RedThenGreen,
    Term,
)
from handrail.workflows.problem import (
    NO_EDIT,
    Edit,
    Problem,
    ProblemCode,
    make_problem,
    rename_key,
    replace_value,
)

# The schema

TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
CHECKS = frozenset(
    {
        *("type", "properties", "required", "enum", "const", "items", "minItems", "maxItems"),
        *("minLength", "maxLength", "minimum", "maximum", "additionalProperties", "pattern"),
    }
)
REMARKS = frozenset({"title", "description", "$comment", "examples", "default", "deprecated", "readOnly"})
AT_THE_ROOT = frozenset({"$schema", "$defs"})
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def broken(pointer: str, message: str, fix: str, edit: Edit = NO_EDIT) -> Problem:
    """Return a problem of the schema; pointers are into the schema."""
    return make_problem("broken_contract", pointer, message, fix, edit)


def find_unsupported(schema: Json) -> Iterator[Problem]:
    """Yield every keyword, type name and reference that contracts may not use."""
    is_other = not isinstance(schema, dict) or schema.get("type") in (None, *TYPES)
    if is_other and (not isinstance(schema, dict) or schema.get("type") != "object"):
        message = "The schema does not describe an object."
        fix = 'Write {"type": "object", "properties": {...}}: an artifact is an object with a kind.'
        yield broken("", message, fix)
    yield from _outside(schema, "", 0)
    if isinstance(schema, dict):
        yield from _root_keys(schema)
        yield from find_unfilled(schema)
        yield from _circles(schema)


def _root_keys(schema: Schema) -> Iterator[Problem]:
    if schema.get("$schema", DIALECT) != DIALECT:
        message = f"The dialect {quote(str(schema['$schema']))} is not known."
        fix = f"Remove $schema or write {DIALECT}."
        yield broken("/$schema", message, fix)
    for name, inner in list_definitions(schema).items():
        yield from _outside(inner, join_pointer("/$defs", name), 1)


def _outside(schema: Json, pointer: str, depth: int) -> Iterator[Problem]:
    if isinstance(schema, bool) and pointer:
        return
    if not isinstance(schema, dict):
        is_truth = schema in ("true", "false") and bool(pointer)
        message = "A schema must be an object."
        fix = f"Write {schema}." if is_truth else "Write an object with a type."
        edit = replace_value(pointer, schema == "true") if is_truth else NO_EDIT
        yield broken(pointer, message, fix, edit)
        return
    if depth > MAX_DEPTH:
        message = f"The schema is nested deeper than {MAX_DEPTH} levels."
        fix = "Flatten it: an agent fills it in by hand."
        yield broken(pointer, message, fix)
        return
    if "$ref" in schema:
        yield from _reference(schema, pointer)
        return
    yield from _keywords(schema, pointer, is_root=not pointer)
    for place, inner in _inner_schemas(schema):
        yield from _outside(inner, pointer + place, depth + 1)


def _inner_schemas(schema: Schema) -> Iterator[tuple[str, Json]]:
    """Yield the schemas directly inside a schema, with their places relative to it."""
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        yield join_pointer("/properties", name), inner
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            yield "/" + keyword, schema[keyword]


def _keywords(schema: Schema, pointer: str, *, is_root: bool) -> Iterator[Problem]:
    allowed = CHECKS | REMARKS | {"$ref"} | (AT_THE_ROOT if is_root else frozenset())
    for keyword in sorted(set(schema) - allowed):
        near, sure = (
            find_only_near(keyword, CHECKS - set(schema)),
            find_same_word(keyword, CHECKS - set(schema)),
        )
        advice = (
            f"Did you mean {near}?" if near else f"Use only {', '.join(sorted(CHECKS))}, and $ref into $defs."
        )
        place = join_pointer(pointer, keyword)
        message = f"Contracts do not use the keyword {quote(keyword)}."
        edit = rename_key(place, sure) if sure else NO_EDIT
        yield broken(place, message, advice, edit)
    yield from _unknown_types(schema, pointer)
    yield from _required(schema, pointer)
    pattern = schema.get("pattern")
    reason = explain_refusal(pattern) if isinstance(pattern, str) else ""
    if reason:
        yield broken(pointer + "/pattern", reason, "Write a shorter, plainer pattern.")


def _unknown_types(schema: Schema, pointer: str) -> Iterator[Problem]:
    named = schema.get("type", [])
    for name in named if isinstance(named, list) else [named]:
        if name not in TYPES:
            sure = _OTHER_TYPES.get(str(name).lower(), "") or find_same_word(str(name), TYPES)
            near = sure or find_only_near(str(name), TYPES)
            message = f"{quote(str(name))} is not a type."
            fix = f"Did you mean {near}?" if near else f"Use one of {', '.join(TYPES)}."
            edit = replace_value(pointer + "/type", sure) if sure and isinstance(named, str) else NO_EDIT
            yield broken(pointer + "/type", message, fix, edit)


_OTHER_TYPES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "none": "null",
}
"""Names of the types in other languages."""


def _required(schema: Schema, pointer: str) -> Iterator[Problem]:
    """Report a required member that is nearly the same as a declared one."""
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or not isinstance(properties, dict):
        return
    for place, name in enumerate(required):
        is_new = isinstance(name, str) and name not in properties
        near = find_same_word(name, [one for one in properties if one not in required]) if is_new else ""
        if near:
            here = f"{pointer}/required/{place}"
            message = f"{quote(name)} is required and not declared under properties."
            fix = f"Did you mean {near}?"
            yield broken(here, message, fix, replace_value(here, near))


def _reference(schema: Schema, pointer: str) -> Iterator[Problem]:
    if not str(schema["$ref"]).startswith(DEFINITIONS):
        older = str(schema["$ref"]).removeprefix("#/definitions/")
        is_older = older != schema["$ref"]
        shown = older if is_older else " with its name"
        message = f"The reference {quote(str(schema['$ref']))} {_why_not(str(schema['$ref']))}."
        fix = f"Put the schema under $defs and write {DEFINITIONS}{shown}."
        edit = replace_value(pointer + "/$ref", DEFINITIONS + older) if is_older else NO_EDIT
        yield broken(pointer + "/$ref", message, fix, edit)
    for keyword in sorted(set(schema) - REMARKS - {"$ref"}):
        message = f"{quote(keyword)} stands beside a $ref."
        fix = "Move it into the definition that the $ref names."
        yield broken(join_pointer(pointer, keyword), message, fix)


def _why_not(reference: str) -> str:
    if not reference.startswith("#"):
        return "leaves the document"
    return "names the schema that it stands in" if reference in ("#", "#/") else "names nothing under $defs"


def _circles(schema: Schema) -> Iterator[Problem]:
    """Report definitions that are unknown or contain themselves, because no document can satisfy those."""
    definitions = list_definitions(schema)
    named = {
        name: list(_names_in(inner, join_pointer("/$defs", name), MAX_DEPTH))
        for name, inner in definitions.items()
    }
    uses = {name: {used for _, used in found} for name, found in named.items()}
    body = {keyword: inner for keyword, inner in schema.items() if keyword != "$defs"}
    everywhere = [*_names_in(body, "", MAX_DEPTH), *(one for found in named.values() for one in found)]
    for place, name in sorted(one for one in everywhere if one[1] not in definitions):
        unused = [one for one in definitions if not any(used == one for _, used in everywhere)]
        sure = find_same_word(name, definitions) or _find_scrambled(name, unused)
        near = sure or find_only_near(name, definitions)
        message = f"There is no definition {quote(name)}."
        fix = f"Did you mean {near}?" if near else "Add it under $defs."
        edit = replace_value(place, DEFINITIONS + sure) if sure else NO_EDIT
        yield broken(place, message, fix, edit)
    for name in sorted(uses):
        reached: set[str] = set()
        waiting = set(uses[name])
        while waiting:
            step = waiting.pop()
            reached.add(step)
            waiting |= uses.get(step, set()) - reached
        if name in reached:
            message = f"The definition {quote(name)} contains itself."
            fix = "Write the levels out; an artifact has a fixed depth."
            yield broken(join_pointer("/$defs", name), message, fix)


def _find_scrambled(name: str, unused: list[str]) -> str:
    """Return the only unused definition, if it has the same letters."""
    return unused[0] if len(unused) == 1 and sorted(unused[0]) == sorted(name) else ""


def _names_in(schema: Json, pointer: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield every definition that is named inside a schema, with the place of its `$ref`."""
    if not isinstance(schema, dict) or depth < 0:
        return
    if "$ref" in schema:
        if str(schema["$ref"]).startswith(DEFINITIONS):
            yield f"{pointer}/$ref", str(schema["$ref"]).removeprefix(DEFINITIONS)
        return
    for place, inner in _inner_schemas(schema):
        yield from _names_in(inner, pointer + place, depth - 1)


# Rules of evidence

MOST_RULES = 50
NOT_EXAMPLE = "not_example"
EVIDENCE_CHECKS: tuple[str, ...] = tuple(str(shape.__struct_config__.tag) for shape in get_args(Evidence))
"""What a rule may check. `not_example`, of earlier versions, is read and has no effect."""


class ReadEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a contract; none if there is a problem."""

    rules: tuple[Evidence, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_evidence(written: list[Json], schema: Schema) -> ReadEvidence:
    """Read the rules of a contract file, and report places that its schema does not know."""
    if len(written) > MOST_RULES:
        message = f"evidence has {len(written)} rules; {MOST_RULES} at most."
        return ReadEvidence(problems=(_problem("too_large", "", message, f"Write at most {MOST_RULES}."),))
    rules: list[Evidence] = []
    problems: list[Problem] = []
    for place, value in enumerate(written):
        pointer = f"/{place}"
        try:
            rule = msgspec.convert(value, Evidence)
        except msgspec.ValidationError as error:
            is_earlier = value == {"check": NOT_EXAMPLE}
            problems += [] if is_earlier else [_explain_misfit(value, pointer, error)]
            continue
        found = list(_check_places(rule, pointer, schema))
        problems += found
        rules += [] if found else [rule]
    return ReadEvidence(problems=tuple(problems)) if problems else ReadEvidence(rules=tuple(rules))


def _problem(code: ProblemCode, pointer: str, message: str, fix: str, edit: Edit = NO_EDIT) -> Problem:
    return make_problem(code, f"/evidence{pointer}", message, fix, edit)


def _explain_misfit(value: Json, pointer: str, error: msgspec.ValidationError) -> Problem:
    if not isinstance(value, dict):
        fix = 'Write a rule such as {"check": "path_exists", "at": "/files/*/path"}.'
        return _problem("wrong_type", pointer, "A rule of evidence is an object.", fix)
    named = value.get("check")
    if named not in EVIDENCE_CHECKS:
        near = find_nearest(named, EVIDENCE_CHECKS, 1) if isinstance(named, str) else []
        message = f"{quote(named)} is not a check." if isinstance(named, str) else "check is missing."
        known = f"Write one of {', '.join(EVIDENCE_CHECKS)}."
        edit = replace_value(f"/evidence{pointer}/check", near[0]) if near else NO_EDIT
        fix = f"Did you mean {near[0]}?" if near else known
        return _problem("bad_value", f"{pointer}/check" if "check" in value else pointer, message, fix, edit)
    message = str(error).replace(" - at `$`", "").replace("`$.", "`")
    return _problem("bad_value", pointer, f"{named}: {message}.", "Write the rule as the reference shows it.")


def _check_places(rule: Evidence, pointer: str, schema: Schema) -> Iterator[Problem]:
    match rule:
        case Consistent(when=when, then=then):
            for key, term in (("when", when), ("then", then)):
                yield from _check_term(term, f"{pointer}/{key}", schema)
        case CoversChange(at=paths):
            for place, path in enumerate(paths):
                yield from _check_path(path, f"{pointer}/at/{place}", schema)
        case Person() | ChangedInRun() | Ran() | RedThenGreen():
            return  # the last three, of earlier versions, have no effect
        case rows:
            yield from _check_path(rows.at, f"{pointer}/at", schema)
            members = list(rows.where)
            if isinstance(rows, PlaceExists):
                members += [rows.line, rows.quote, rows.quoted_in]
            row = rows.at.rpartition("/")[0]
            for name in members:
                yield from _check_path(f"{row}/{name}", pointer, schema) if name else ()


def _check_term(term: Term, pointer: str, schema: Schema) -> Iterator[Problem]:
    yield from _check_path(term.at, f"{pointer}/at", schema)
    if [term.equals, term.differs, term.exists].count(None) != 2:
        fix = 'Write one of equals, differs and exists, such as {"at": "/verdict", "equals": "passed"}.'
        yield _problem("bad_value", pointer, "A term says exactly one thing about its place.", fix)


def _check_path(path: str, pointer: str, schema: Schema) -> Iterator[Problem]:
    """Check that the schema names the place, so that the rule can apply."""
    if not path.startswith("/"):
        fix = "Begin with / and write * for every item of a list, such as /files/*/path."
        yield _problem("bad_value", pointer, f"{quote(path)} is not a place of the artifact.", fix)
        return
    here: Json = schema
    for name in path[1:].split("/"):
        here = resolve_ref(here, schema)
        members = here.get("properties", {}) if isinstance(here, dict) else {}
        if name == "*":
            here = here.get("items") if isinstance(here, dict) else None
        else:
            here = members.get(name) if isinstance(members, dict) else None
        if not isinstance(here, dict):
            near = find_nearest(name, list(members), 1) if name != "*" else []
            fix = f"Did you mean {near[0]}?" if near else "Write a place that the schema names."
            message = f"The schema has no {quote(path)}: nothing is known at {quote(name)}."
            yield _problem("broken_contract", pointer, message, fix)
            return
