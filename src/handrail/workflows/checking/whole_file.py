"""One file as listing, validating and starting see it: read, and every name in it checked. Pure.

The reader alone accepts more, so that what was pinned under an older rule can still be read.
"""

from __future__ import annotations

import msgspec

from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Fault
from handrail.workflows.checking.contract_texts import check_guidance
from handrail.workflows.checking.names import check_names
from handrail.workflows.checking.pattern_forms import check_schema_patterns
from handrail.workflows.compiling.shelf import (
    ReadContract,
    find_contract_problems,
    guidance_key,
    is_contract,
    read_contract,
)
from handrail.workflows.limits import MAX_JSON_DEPTH, MAX_SOURCE_BYTES
from handrail.workflows.places import add_places
from handrail.workflows.problem import Problem
from handrail.workflows.reading.findings import Findings
from handrail.workflows.reading.reader import Reading, read_workflow
from handrail.workflows.sound_edits import keep_sound_edits


def read_checked(content: bytes) -> Reading:
    """The file with all its problems; without a workflow where one of them is an error."""
    reading = _read(content)
    if not reading.problems:
        return reading
    problems = keep_sound_edits(content, reading.problems, _problems_of)
    return msgspec.structs.replace(reading, problems=problems)


_MISPLACED = Problem(
    code="bad_source",
    message="This is a contract and not a workflow: it has a schema and no steps.",
    pointer="",
    fix="Put the file into .handrail/contracts of the project; it is read as a contract there.",
)


def _holds_contract(content: bytes) -> bool:
    try:
        return is_contract(decode_json(content, max_bytes=MAX_SOURCE_BYTES, max_depth=MAX_JSON_DEPTH))
    except Fault:
        return False


def _problems_of(content: bytes) -> tuple[Problem, ...]:
    return _read(content).problems


def _read(content: bytes) -> Reading:
    reading = read_workflow(content)
    if reading.workflow is None and _holds_contract(content):
        # Held against the rules of workflows, everything in it would be wrong.
        problems = (_MISPLACED, *read_checked_contract(content, "").problems)
        return Reading(workflow=None, problems=add_places(content.decode(), problems))
    if reading.workflow is None or not isinstance(reading.document, dict):
        return reading
    found = Findings("warning" if reading.is_foreign else "error")
    check_names(found, reading.document, is_foreign=reading.is_foreign)
    if not found.problems:
        return reading
    if reading.is_foreign:
        # An edit of the translation says nothing about the file that the author has.
        told = [
            msgspec.structs.replace(one, pointer=reading.origin(one.pointer), edit=())
            for one in found.problems
        ]
    else:
        told = found.problems
    problems = add_places(content.decode(), (*reading.problems, *told))
    kept = None if found.has_errors else reading.workflow
    return msgspec.structs.replace(reading, workflow=kept, problems=problems)


def read_checked_contract(content: bytes, file_name: str) -> ReadContract:
    """A contract file with all its problems; without a contract where one of them is an error."""
    read = _read_contract(content, file_name)
    if not read.problems:
        return read

    def judge(edited: bytes) -> tuple[Problem, ...]:
        return _read_contract(edited, file_name).problems

    return msgspec.structs.replace(read, problems=keep_sound_edits(content, read.problems, judge))


def _read_contract(content: bytes, file_name: str) -> ReadContract:
    read = read_contract(content, file_name)
    if read.contract is None:
        return read
    problems = find_contract_problems(read.contract)
    if not problems:
        found = Findings("error")
        check_schema_patterns(found, read.contract.schema, "/schema")
        key = guidance_key(decode_json(content, max_bytes=len(content)))
        check_guidance(found, read.contract.guidance, f"/{key}")
        problems = found.problems
    is_sound = all(problem.severity != "error" for problem in problems)
    return ReadContract(
        id=read.id,
        contract=read.contract if is_sound else None,
        problems=add_places(content.decode(), problems) if problems else (),
    )
