"""Reads one workflow file: the source model, and everything that is wrong with the file at once. Pure."""

from __future__ import annotations

import msgspec

from handrail.contract.outcome import Fault, Json
from handrail.contract.strict_json import decode_json
from handrail.workflows.dialect.detection import is_foreign
from handrail.workflows.dialect.translation import to_native
from handrail.workflows.edits import NO_EDIT
from handrail.workflows.limits import MAX_JSON_DEPTH, MAX_SOURCE_BYTES
from handrail.workflows.model import SourceWorkflow
from handrail.workflows.places import place_of_depth, repair_of, with_places
from handrail.workflows.problem import Problem
from handrail.workflows.reading.authored_parts import check_size
from handrail.workflows.reading.build_conditions import Origin
from handrail.workflows.reading.build_workflow import build_workflow
from handrail.workflows.reading.findings import Findings
from handrail.workflows.reading.grammar import ROOT
from handrail.workflows.reading.origin import origin_in
from handrail.workflows.reading.shape_check import check_shape
from handrail.workflows.reading.shapes import Named

_FIX = "Correct the text at that place: one JSON object in UTF-8, without a byte order mark."
_FIXES = {
    "bytes": "Split the workflow, or move long texts into the documents that it refers to.",
    "depth": f"Write a flatter document: at most {MAX_JSON_DEPTH} lists and objects inside each other.",
}
"""By the limit that the decoder found exceeded."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What reading a file gave. There is no workflow where a problem is an error."""

    workflow: SourceWorkflow | None
    problems: tuple[Problem, ...]
    document: Json = None
    """What the workflow was built from: the file, or its translation."""
    origin: Origin = str
    """From a pointer into the document to the one into the file."""
    is_foreign: bool = False


def read_workflow(content: bytes) -> Reading:
    """Decode and check one workflow file, native or from elsewhere. Total: no content makes it raise."""
    try:
        document = decode_json(content, max_bytes=MAX_SOURCE_BYTES, max_depth=MAX_JSON_DEPTH)
    except Fault as fault:
        return Reading(workflow=None, problems=(_unreadable(fault, content),))
    foreign = isinstance(document, dict) and is_foreign(document)
    reading = _read_foreign(document) if foreign else _read_native(document, str)
    if not reading.problems:
        return reading
    return msgspec.structs.replace(reading, problems=with_places(content.decode(), reading.problems))


def _unreadable(fault: Fault, content: bytes) -> Problem:
    """The decoder's refusal; those of size and depth come without a place."""
    line, column = fault.details.get("line", 1), fault.details.get("column", 1)
    over = fault.details.get("what", "")
    if over == "depth":
        line, column = place_of_depth(content.decode(), MAX_JSON_DEPTH)
    fix, edit = repair_of(content) if not over else (_FIXES[over], NO_EDIT)
    return Problem(
        code="unreadable",
        message=fault.message,
        pointer="",
        fix=fix or _FIX,
        line=line,
        column=column,
        edit=edit,
    )


def _read_foreign(document: dict[str, Json]) -> Reading:
    """Translate first; what is wrong with the translation is shown where it came from."""
    translated = to_native(document)
    origin = origin_in(document, translated.pointers)
    reading = _read_native(translated.document, origin, is_foreign=True)
    # An edit of the translation says nothing about the file that the author has.
    wrong = [msgspec.structs.replace(one, pointer=origin(one.pointer), edit=()) for one in reading.problems]
    return msgspec.structs.replace(reading, problems=(*translated.problems, *wrong))


def _read_native(document: Json, origin: Origin, *, is_foreign: bool = False) -> Reading:
    found = Findings()
    if isinstance(document, dict):
        check_size(found, document)
    check_shape(found, Named(name=ROOT), document, "")
    if found.problems:
        return Reading(workflow=None, problems=tuple(found.problems))
    return Reading(
        workflow=build_workflow(document, origin),
        problems=(),
        document=document,
        origin=origin,
        is_foreign=is_foreign,
    )
