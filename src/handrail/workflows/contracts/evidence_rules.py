"""The `evidence` of a contract file: what can be checked beyond its schema, read and checked. Pure.

The rules are data of a closed set. Each names places of the artifact by a path such as `/files/*/path`, and a
place that the schema does not know is a mistake: such a rule would never be asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from handrail.contract.outcome import Json
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.workflows.compiled import Schema, resolve_ref
from handrail.workflows.evidence import ChangedInRun, Consistent, Evidence, Person, PlaceExists, Ran, Term
from handrail.workflows.problem import NO_EDIT, Problem, replace_value

MOST_RULES = 50
NOT_EXAMPLE = "not_example"
CHECKS: tuple[str, ...] = tuple(str(shape.__struct_config__.tag) for shape in get_args(Evidence))
"""What a rule may check. `not_example` holds for every contract and needs no rule."""


class ReadEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a contract; none if there is a problem."""

    rules: tuple[Evidence, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_evidence(written: list[Json], schema: Schema) -> ReadEvidence:
    """Read the rules of a contract file, and find the places that its schema does not know."""
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
            problems += [] if _is_always_on(value) else [_explain_misfit(value, pointer, error)]
            continue
        found = list(_check_places(rule, pointer, schema))
        problems += found
        rules += [] if found else [rule]
    return ReadEvidence(problems=tuple(problems)) if problems else ReadEvidence(rules=tuple(rules))


def _is_always_on(value: Json) -> bool:
    return bool(value == {"check": NOT_EXAMPLE})


def _problem(code: Any, pointer: str, message: str, fix: str, edit: Any = NO_EDIT) -> Problem:
    return Problem(code=code, pointer=f"/evidence{pointer}", message=message, fix=fix, edit=edit)


def _explain_misfit(value: Json, pointer: str, error: msgspec.ValidationError) -> Problem:
    if not isinstance(value, dict):
        fix = 'Write a rule such as {"check": "path_exists", "at": "/files/*/path"}.'
        return _problem("wrong_type", pointer, "A rule of evidence is an object.", fix)
    named = value.get("check")
    if named not in CHECKS:
        near = find_nearest(named, CHECKS, 1) if isinstance(named, str) else []
        said = f"{quote(named)} is not a check." if isinstance(named, str) else "check is missing."
        known = f"Write one of {', '.join(CHECKS)}."
        edit = replace_value(f"/evidence{pointer}/check", near[0]) if near else NO_EDIT
        fix = f"Did you mean {near[0]}?" if near else known
        return _problem("bad_value", f"{pointer}/check" if "check" in value else pointer, said, fix, edit)
    said = str(error).replace(" - at `$`", "").replace("`$.", "`")
    return _problem("bad_value", pointer, f"{named}: {said}.", "Write the rule as the reference shows it.")


def _check_places(rule: Evidence, pointer: str, schema: Schema) -> Iterator[Problem]:
    match rule:
        case Consistent(when=when, then=then):
            for key, term in (("when", when), ("then", then)):
                yield from _check_term(term, f"{pointer}/{key}", schema)
        case ChangedInRun(at=at, change=change, also=also, left_out=left_out):
            yield from _check_path(at, f"{pointer}/at", schema)
            beside = f"{at.rpartition('/')[0]}/{change}" if change else ""
            for key, path in (("change", beside), ("also", also), ("leftOut", left_out)):
                yield from _check_path(path, f"{pointer}/{key}", schema) if path else ()
        case Person():
            return
        case rows:
            yield from _check_path(rows.at, f"{pointer}/at", schema)
            members = list(rows.where)
            if isinstance(rows, PlaceExists):
                members += [rows.line, rows.quote, rows.quoted_in]
            if isinstance(rows, Ran):
                members += [rows.status, rows.receipt]
                yield from _check_term(rows.passes, f"{pointer}/passes", schema) if rows.passes else ()
            row = rows.at.rpartition("/")[0]
            for name in members:
                yield from _check_path(f"{row}/{name}", pointer, schema) if name else ()


def _check_term(term: Term, pointer: str, schema: Schema) -> Iterator[Problem]:
    yield from _check_path(term.at, f"{pointer}/at", schema)
    if [term.equals, term.differs, term.exists].count(None) != 2:
        fix = 'Write one of equals, differs and exists, such as {"at": "/verdict", "equals": "passed"}.'
        yield _problem("bad_value", pointer, "A term says exactly one thing about its place.", fix)


def _check_path(path: str, pointer: str, schema: Schema) -> Iterator[Problem]:
    """A place must be one that the schema names, so that the rule can be asked."""
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
