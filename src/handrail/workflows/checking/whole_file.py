"""One file as listing, validating and starting see it: read, and every name in it checked. Pure.

The reader alone accepts more, so that what was pinned under an older rule can still be read. The compiler
reports names that lead nowhere in a document that can be read; one whose shape is wrong is checked here as it
is, and parts without the expected shape are skipped, because the reader has reported them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Json
from handrail.workflows.builtins.registry import all_features, all_refs
from handrail.workflows.checking.names import check_names
from handrail.workflows.checking.slots import UNSURE, slots_in
from handrail.workflows.checking.value_checks import check_schema_patterns
from handrail.workflows.compiling.compilation import Trail
from handrail.workflows.compiling.shelf import (
    ReadContract,
    find_contract_problems,
    guidance_key,
    is_contract,
    read_contract,
)
from handrail.workflows.limits import Spelling
from handrail.workflows.problem import Problem, drop_edits
from handrail.workflows.problem_places import add_places
from handrail.workflows.reading.findings import Findings, quote_name
from handrail.workflows.reading.reader import BaseDocument, Reading, carry_problem, read_workflow
from handrail.workflows.reading.shapes import CONDITION_ID
from handrail.workflows.reading.sound_rest import is_follow_up
from handrail.workflows.sound_edits import keep_sound_edits
from handrail.workflows.spellings.spelling import decode_document, decode_partly


def read_checked(
    content: bytes, spelling: Spelling = "json", decoded: bytes = b"", base: BaseDocument | None = None
) -> Reading:
    """The file with all its problems; without a workflow where one of them is an error.

    An overlay has one only together with its base.
    """
    reading = _read(content, spelling, decoded, base)
    if not reading.problems:
        return reading
    document = decode_partly(content, spelling, decoded)

    def judge(edited: bytes) -> tuple[Problem, ...]:
        return _read(edited, "json", b"", base).problems

    problems = keep_sound_edits(document, len(content), reading.problems, judge)
    return msgspec.structs.replace(reading, problems=problems)


_MISPLACED = Problem(
    code="bad_source",
    message="This is a contract and not a workflow: it has a schema and no steps.",
    pointer="",
    fix="Put the file into .handrail/contracts of the project; it is read as a contract there.",
)


def _read(content: bytes, spelling: Spelling, decoded: bytes, base: BaseDocument | None) -> Reading:
    reading = read_workflow(content, spelling, decoded, base)
    if reading.workflow is None and is_contract(decode_document(content, spelling, decoded)):
        # Held against the rules of workflows, everything in it would be wrong.
        beside = read_checked_contract(content, "").problems if spelling == "json" else ()
        return Reading(workflow=None, problems=add_places(content, (_MISPLACED, *beside), spelling))
    if reading.workflow is None:
        return _with_names_of_rest(reading, content, spelling)
    if not isinstance(reading.document, dict):
        return reading
    is_open = reading.workflow.has_open_names
    found = Findings("warning" if is_open else "error")
    check_names(found, reading.document, has_open_names=is_open, extends=reading.extends)
    if not found.problems:
        return reading
    told: Iterable[Problem] = found.problems
    if is_open or reading.extends:
        document = decode_document(content, spelling, decoded)
        told = [carry_problem(one, reading.document, reading.origin, document) for one in told]
    told = drop_edits(told) if is_open else told
    problems = add_places(content, (*reading.problems, *told), spelling)
    kept = None if found.has_errors else reading.workflow
    return msgspec.structs.replace(reading, workflow=kept, problems=problems)


def _with_names_of_rest(reading: Reading, content: bytes, spelling: Spelling) -> Reading:
    """The problems of a file that cannot be used, with those of the names in what is right about it."""
    rest = reading.rest
    if rest is None or rest.workflow.has_open_names:
        return reading
    found = Findings()
    check_names(found, rest.document, extends=rest.extends)
    told = [
        carry_problem(one, rest.document, rest.origin, rest.written)
        for one in found.problems
        if not is_follow_up(one, rest.document, rest.lost)
    ]
    known = {(one.code, one.pointer) for one in reading.problems}
    news = [one for one in told if (one.code, one.pointer) not in known]
    problems = sorted(
        (*reading.problems, *add_places(content, news, spelling)), key=lambda one: (one.line, one.column)
    )
    return msgspec.structs.replace(reading, problems=tuple(problems))


def read_checked_contract(content: bytes, file_name: str) -> ReadContract:
    """A contract file with all its problems; without a contract where one of them is an error."""
    read = _read_contract(content, file_name)
    if not read.problems:
        return read

    def judge(edited: bytes) -> tuple[Problem, ...]:
        return _read_contract(edited, file_name).problems

    problems = keep_sound_edits(decode_document(content, "json"), len(content), read.problems, judge)
    return msgspec.structs.replace(read, problems=problems)


def _read_contract(content: bytes, file_name: str) -> ReadContract:
    read = read_contract(content, file_name)
    if read.contract is None:
        return read
    problems = find_contract_problems(read.contract)
    if not problems:
        found = Findings("error")
        check_schema_patterns(found, read.contract.schema, "/schema")
        key = guidance_key(decode_json(content, max_bytes=len(content)))
        _check_guidance(found, read.contract.guidance, f"/{key}")
        problems = found.problems
    is_sound = all(problem.severity != "error" for problem in problems)
    return ReadContract(
        id=read.id,
        contract=read.contract if is_sound else None,
        problems=add_places(content, problems) if problems else (),
    )


def _check_guidance(found: Findings, guidance: str, pointer: str) -> None:
    """Warn of each placeholder once. In a workflow that does not declare its name it is an error."""
    told: set[str] = set()
    for slot in slots_in(guidance, ()):
        written = guidance[slot.start : slot.end]
        if written in told:
            continue
        told.add(written)
        if slot.kind == "name":
            message = f"{quote_name(written)} is filled only where the workflow declares {slot.name}."
            fix = f"Declare {slot.name} in each workflow that uses this contract, or say it in words."
        else:
            kind = "may be a tag of another language" if slot.kind in UNSURE else "is not a placeholder"
            message = f"Nothing fills {quote_name(written)}: it {kind}."
            fix = "Say it in words, or write a name in double braces."
        found.warn("bad_placeholder", pointer, message, fix)


# Names that lead nowhere in a document whose shape is wrong

_BLOCKS = ("goal", "constraints", "procedure", "outputRequired", "verify")
_CONDITION_KEYS = ("when", "while", "until", "requireConfirmation")


def find_dangling_names(
    document: Json, contracts: Iterable[str], templates: Iterable[str]
) -> tuple[Problem, ...]:
    """Every condition, contract, template, function, assessment, feature and ref that does not exist."""
    if not isinstance(document, dict):
        return ()
    trail = Trail()
    known: dict[str, set[str]] = {
        "condition": _ids(document.get("conditions")),
        "assessment": _ids(document.get("assessments")),
        "function": set(_object(document.get("functions"))),
        "contract": set(contracts),
        "template": set(templates),
        "feature": {feature.id for feature in all_features()},
        "ref": {ref.id for ref in all_refs()},
    }
    for what, name, pointer in (*_features(document), *_steps(document.get("steps"), "/steps")):
        if name not in known[what]:
            trail.unknown(what, name, known[what], pointer, "")
    return tuple(trail.problems)


_Name = tuple[str, str, str]
"""What is named, its name, and where."""


def _features(document: dict[str, Any]) -> Iterator[_Name]:
    for place, feature in enumerate(_list(document.get("features"))):
        pointer = f"/features/{place}"
        if isinstance(feature, dict) and isinstance(feature.get("id"), str):
            yield "feature", feature["id"], f"{pointer}/id"
        elif isinstance(feature, str):
            yield "feature", feature, pointer


def _steps(steps: Json, pointer: str) -> Iterator[_Name]:
    for place, step in enumerate(_list(steps)):
        if isinstance(step, dict):
            here = f"{pointer}/{place}"
            yield from _conditions(step, here)
            yield from _named_by(step, here)
            yield from _refs(step, here)
            yield from _steps(step.get("body"), f"{here}/body")


def _conditions(step: dict[str, Any], pointer: str) -> Iterator[_Name]:
    for key in _CONDITION_KEYS:
        yield from _condition(step.get(key), f"{pointer}/{key}")
    for place, fragment in enumerate(_list(step.get("promptFragments"))):
        yield from _condition(_object(fragment).get("when"), f"{pointer}/promptFragments/{place}/when")


def _condition(when: Json, pointer: str) -> Iterator[_Name]:
    if isinstance(when, str):
        if re.fullmatch(CONDITION_ID.pattern, when):  # anything else is not a name and has been reported
            yield "condition", when, pointer
    elif isinstance(when, dict) and isinstance(when.get("conditionId"), str):
        yield "condition", when["conditionId"], f"{pointer}/conditionId"


def _named_by(step: dict[str, Any], pointer: str) -> Iterator[_Name]:
    contract = _object(step.get("output")).get("contractRef")
    if isinstance(contract, str):
        yield "contract", contract, f"{pointer}/output/contractRef"
    if isinstance(step.get("templateId"), str):
        yield "template", step["templateId"], f"{pointer}/templateId"
    for place, name in enumerate(_list(step.get("functionRefs"))):
        if isinstance(name, str):
            yield "function", name, f"{pointer}/functionRefs/{place}"
    for place, gate in enumerate(_list(step.get("gates"))):
        if isinstance(_object(gate).get("assessmentId"), str):
            yield "assessment", gate["assessmentId"], f"{pointer}/gates/{place}/assessmentId"


def _refs(step: dict[str, Any], pointer: str) -> Iterator[_Name]:
    blocks = _object(step.get("promptBlocks"))
    for block in _BLOCKS:
        parts = blocks.get(block)
        here = f"{pointer}/promptBlocks/{block}"
        named = [(here, parts)]
        named += [(f"{here}/{place}", part) for place, part in enumerate(_list(parts))]
        for place, part in named:
            if isinstance(part, dict) and part.get("kind") == "ref" and isinstance(part.get("refId"), str):
                yield "ref", part["refId"], f"{place}/refId"


def _ids(declared: Json) -> set[str]:
    if isinstance(declared, dict):  # told already, and each is known by its name
        return set(declared)
    return {one["id"] for one in _list(declared) if isinstance(one, dict) and isinstance(one.get("id"), str)}


def _list(value: Json) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
