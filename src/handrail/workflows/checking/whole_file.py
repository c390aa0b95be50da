"""One file as listing, validating and starting see it: read, and every name in it checked. Pure.

The reader alone accepts more, so that what was pinned under an older rule can still be read.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import make_from
from handrail.workflows.checking.names import check_names
from handrail.workflows.checking.value_checks import UNSURE, check_schema_patterns, slots_in
from handrail.workflows.compiling.shelf import (
    ReadContract,
    find_contract_problems,
    guidance_key,
    is_contract,
    read_contract,
)
from handrail.workflows.limits import Spelling
from handrail.workflows.problem import (
    Findings,
    Problem,
    drop_edits,
    keep_sound_edits,
    make_problem,
    quote_name,
)
from handrail.workflows.problem_places import add_places
from handrail.workflows.reading.reader import (
    BaseDocument,
    Reading,
    Rest,
    carry_problem,
    is_follow_up,
    read_workflow,
)
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


_MISPLACED = make_problem(
    "bad_source",
    "",
    "This is a contract and not a workflow: it has a schema and no steps.",
    "Put the file into .handrail/contracts of the project; it is read as a contract there.",
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
    reported: Iterable[Problem] = found.problems
    if is_open or reading.extends:
        document = decode_document(content, spelling, decoded)
        reported = [carry_problem(one, reading.document, reading.origin, document) for one in reported]
    reported = drop_edits(reported) if is_open else reported
    problems = add_places(content, (*reading.problems, *reported), spelling)
    if not found.has_errors:
        return msgspec.structs.replace(reading, problems=problems)
    written = decode_document(content, spelling, decoded)
    rest = make_from(Rest, reading, written=written, lost=frozenset())
    return msgspec.structs.replace(reading, workflow=None, problems=problems, rest=rest)


def _with_names_of_rest(reading: Reading, content: bytes, spelling: Spelling) -> Reading:
    """The problems of a file that cannot be used, with those of the names in what is right about it."""
    rest = reading.rest
    if rest is None or rest.workflow.has_open_names:
        return reading
    found = Findings()
    check_names(found, rest.document, extends=rest.extends)
    carried = [
        carry_problem(one, rest.document, rest.origin, rest.written)
        for one in found.problems
        if not is_follow_up(one, rest.document, rest.lost)
    ]
    known = {(one.code, one.pointer) for one in reading.problems}
    news = [one for one in carried if (one.code, one.pointer) not in known]
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
    reported: set[str] = set()
    for slot in slots_in(guidance, ()):
        written = guidance[slot.start : slot.end]
        if written in reported:
            continue
        reported.add(written)
        if slot.kind == "name":
            message = f"{quote_name(written)} is filled only where the workflow declares {slot.name}."
            fix = f"Declare {slot.name} in each workflow that uses this contract, or say it in words."
        else:
            kind = "may be a tag of another language" if slot.kind in UNSURE else "is not a placeholder"
            message = f"Nothing fills {quote_name(written)}: it {kind}."
            fix = "Say it in words, or write a name in double braces."
        found.warn("bad_placeholder", pointer, message, fix)
