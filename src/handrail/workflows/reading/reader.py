"""Read one workflow file: return the source model, and all problems of the file at once. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from handrail.contract.json.places import unescape_key
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quote
from handrail.workflows.dialect.translation import is_foreign, to_native
from handrail.workflows.limits import MAX_JSON_DEPTH, Spelling
from handrail.workflows.model import SourceWorkflow
from handrail.workflows.problem import (
    NO_EDIT,
    Edit,
    EditOperation,
    Findings,
    Problem,
    guess_surely,
    make_problem,
    quote_name,
    rename_key,
    rewrite_text,
    value_at,
)
from handrail.workflows.problem_places import add_places, locate_depth, suggest_repair
from handrail.workflows.reading.build import Origin, build_workflow
from handrail.workflows.reading.compose_overlay import compose, split_known
from handrail.workflows.reading.grammar import OVERLAY, ROOT
from handrail.workflows.reading.meaning import check_size
from handrail.workflows.reading.other_files import name_other_file
from handrail.workflows.reading.shape_check import check_shape
from handrail.workflows.reading.shapes import Named
from handrail.workflows.spellings.decoded import Decoded
from handrail.workflows.spellings.spelling import decode_file

# Pointers into a translated document, back to the author's own file


def origin_in(document: Json, pointers: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function from translated to original pointers.

    `pointers` maps places of the translation to those of `document`. The longest known beginning
    counts; what follows it is kept as far as the author's file has it too.
    """

    def origin(pointer: str) -> str:
        start, rest = split_known(pointer, pointers)
        return start + _existing(value_at(document, start), rest)

    return origin


def _existing(value: Json, rest: str) -> str:
    """Return the beginning of `rest` that leads to a value."""
    kept = ""
    for part in rest.split("/")[1:]:
        value = value_at(value, f"/{part}")
        if value is None:
            break
        kept += f"/{part}"
    return kept


def carry_problem(problem: Problem, made: Json, origin: Origin, document: Json) -> Problem:
    """Return a problem of a generated document at its place in the author's own file.

    Its edit is kept if each place that it touches is equal in both; otherwise it would change text
    that the author has not written.
    """
    edit = [_carry_operation(one, made, origin, document) for one in problem.edit]
    carried = tuple(one for one in edit if one is not None)
    return msgspec.structs.replace(
        problem,
        pointer=origin(problem.pointer),
        beside=origin(problem.beside) if problem.beside else "",
        edit=carried if len(carried) == len(edit) else NO_EDIT,
    )


def _carry_operation(
    operation: EditOperation, made: Json, origin: Origin, document: Json
) -> EditOperation | None:
    if operation.op == "replace":
        place, held = origin(operation.path), value_at(made, operation.path)
        is_same = held is not None and held == value_at(document, place)
        return msgspec.structs.replace(operation, path=place) if is_same else None
    holder, _, key = operation.path.rpartition("/")
    there = value_at(document, origin(holder))
    if operation.op != "add" or not isinstance(there, dict) or unescape_key(key) in there:
        return None
    return msgspec.structs.replace(operation, path=f"{origin(holder)}/{key}")


# Reading a file

EXTENDS = "extends"
"""The key that makes a document a customisation."""

_NAMES: dict[Spelling, str] = {"json": "JSON", "yaml": "YAML", "md": "Markdown"}
_FIXES = {
    "bytes": "Split the workflow, or move long texts into the documents that it refers to.",
    "depth": f"Write a flatter document: at most {MAX_JSON_DEPTH} lists and objects inside each other.",
}
"""Problems by the limit that the decoder found exceeded."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The result of reading a file. There is no workflow if a problem is an error."""

    workflow: SourceWorkflow | None
    problems: tuple[Problem, ...]
    document: Json = None
    """The document from which the workflow was built: the file, or its translation; invalid files
    have it too.
    """
    origin: Origin = str
    """Maps a pointer into the document to the one in the file."""
    extends: str = ""
    """For a customisation: the workflow that it changes. Without it there is a document and no workflow."""
    misnamed: SourceWorkflow | None = None
    """In place of a workflow: one with a valid form that reads names without a value. It is never run."""


class BaseDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a customisation changes: the document of a valid workflow, or why there is none."""

    document: Json = None
    has_open_names: bool = False
    trouble: str = ""
    fix: str = ""
    edit: Edit = NO_EDIT


def read_workflow(
    content: bytes, spelling: Spelling = "json", decoded: bytes = b"", base: BaseDocument | None = None
) -> Reading:
    """Decode and check one workflow file, native or from elsewhere. Total: no content makes it
    raise.

    `decoded` is its document as JSON, if it is known already; `base` is what a customisation
    changes.
    """
    reading = _read_file(content, spelling, decoded, base)
    other = name_other_file(content, spelling) if reading.workflow is None else ""
    return reading if not other else Reading(workflow=None, problems=(_refuse_other(other),))


def _refuse_other(kind: str) -> Problem:
    """Return one problem for a foreign file, in place of all those that its keys would cause."""
    return Problem(
        code="unreadable",
        message=f"This file is {kind}, not a workflow of Handrail.",
        pointer="",
        fix="Run `handrail workflow new` and move what its steps say into the prompts of the new file.",
        line=1,
        column=1,
    )


def _read_file(content: bytes, spelling: Spelling, decoded: bytes, base: BaseDocument | None) -> Reading:
    try:
        found = decode_file(content, spelling, decoded)
    except Fault as fault:
        return Reading(workflow=None, problems=(_unreadable(fault, content, spelling),))
    if found.problems:
        return Reading(workflow=None, problems=found.problems)
    document = found.document
    if isinstance(document, dict) and EXTENDS in document:
        reading = _read_overlay(document, spelling, base)
    elif isinstance(document, dict) and (misspelt := _misspelt_extends(document)):
        reading = _refuse_extends(document, misspelt)
    elif isinstance(document, dict) and is_foreign(document):
        reading = _read_foreign(document)
    else:
        reading = _read_native(document, str)
    problems = (*reading.problems, *_find_cut_texts(found, content))
    if not problems:
        return reading
    return msgspec.structs.replace(reading, problems=add_places(content, problems, spelling))


def _find_cut_texts(found: Decoded, content: bytes) -> Iterator[Problem]:
    """Report unquoted YAML texts that end before a `#`, if what follows does not look like a comment."""
    cut = {at: one.beside for at, one in found.comments.items() if one.beside[:1].strip()}
    lines = content.decode().split("\n") if cut else []
    for pointer, words in cut.items():
        value, (line, column) = value_at(found.document, pointer), found.values.get(pointer, (0, 0))
        if (
            isinstance(value, str)
            and line
            and lines[line - 1][column - 1 : column] not in ("'", '"', "|", ">")
        ):
            message = f"The text ends before {quote('#' + words)}: a # behind a space begins a comment."
            fix = "Put the text into quotes; a comment has a space after its #."
            yield make_problem("changed_meaning", pointer, message, fix, severity="warning")


def _unreadable(fault: Fault, content: bytes, spelling: Spelling) -> Problem:
    """Return the decoder's refusal; those of size and depth have no place."""
    line, column = fault.details.get("line", 1), fault.details.get("column", 1)
    over = fault.details.get("what", "")
    if over == "depth":
        line, column = locate_depth(content.decode(), MAX_JSON_DEPTH)
    fix, edit = (_FIXES[over], NO_EDIT) if over else ("", NO_EDIT)
    if spelling == "json" and not over:
        fix, edit = suggest_repair(content)
    elif content.startswith("\ufeff".encode()):
        fix, edit = "Remove the byte order mark.", rewrite_text(1, 1, 1, "")
    return Problem(
        code="unreadable",
        message=fault.message.replace("JSON", _NAMES[spelling], 1),
        pointer="",
        fix=fix or fault.hint,
        line=line,
        column=column,
        edit=edit,
    )


def _read_foreign(document: dict[str, Json]) -> Reading:
    """Translate first; problems of the translation are shown at the original place."""
    translated = to_native(document)
    origin = origin_in(document, translated.pointers)
    reading = _read_native(translated.document, origin)
    wrong = [carry_problem(one, translated.document, origin, document) for one in reading.problems]
    problems = (*translated.problems, *wrong)
    if reading.workflow is None:
        return Reading(workflow=None, problems=problems)
    workflow = msgspec.structs.replace(reading.workflow, has_open_names=True)
    return msgspec.structs.replace(reading, workflow=workflow, problems=problems)


def _misspelt_extends(document: dict[str, Json]) -> str:
    """Return the misspelt `extends` key of a customisation; a whole workflow has a list of steps."""
    is_whole = isinstance(document.get("steps"), list)
    return "" if is_whole else next((key for key in document if guess_surely(key, (EXTENDS,))), "")


def _refuse_extends(document: dict[str, Json], key: str) -> Reading:
    message, fix = f"The key {quote_name(key)} is not known here.", f"Did you mean {EXTENDS}?"
    edit, place = rename_key(f"/{key}", EXTENDS), f"/{key}"
    problem = make_problem("unknown_key", place, message, fix, edit)
    return Reading(workflow=None, problems=(problem,), document=document)


def _read_overlay(document: dict[str, Json], spelling: Spelling, base: BaseDocument | None) -> Reading:
    """Read the customisation alone, or composed with its base and then read like any other workflow."""
    found = Findings()
    if spelling == "md":
        fix = "Write it as a .yaml or .json file; Markdown is for whole workflows."
        found.report("bad_source", f"/{EXTENDS}", "A customisation is not written in Markdown.", fix)
    else:
        found.problems += _check_overlay(document)
    if base is not None and base.trouble and not found.problems:
        found.report("unknown_id", f"/{EXTENDS}", base.trouble, base.fix, base.edit)
    if base is None or found.problems:
        extends = "" if found.problems else document[EXTENDS]
        return Reading(workflow=None, problems=tuple(found.problems), document=document, extends=extends)
    return _join(document, base)


def _join(overlay: dict[str, Json], base: BaseDocument) -> Reading:
    """Return a valid customisation composed with its base; its places are those of the customisation."""
    found = Findings()
    composed = compose(found, overlay, base.document)
    if composed is None:
        return Reading(workflow=None, problems=tuple(found.problems), document=overlay)
    origin = origin_in(overlay, composed.pointers)
    reading = _read_native(composed.document, origin)
    problems = tuple(carry_problem(one, composed.document, origin, overlay) for one in reading.problems)
    workflow = reading.workflow and msgspec.structs.replace(
        reading.workflow, overlay=composed.overlay, has_open_names=base.has_open_names
    )
    if workflow is None:
        return Reading(workflow=None, problems=problems, document=overlay)
    return msgspec.structs.replace(reading, workflow=workflow, problems=problems, extends=overlay[EXTENDS])


def _check_overlay(document: Json) -> tuple[Problem, ...]:
    found = Findings()
    check_shape(found, Named(name=OVERLAY), document, "")
    return tuple(found.problems)


def _check_native(document: Json) -> tuple[Problem, ...]:
    found = Findings()
    if isinstance(document, dict):
        found.document = document
        check_size(found, document)
    check_shape(found, Named(name=ROOT), document, "")
    return tuple(found.problems)


def _read_native(document: Json, origin: Origin) -> Reading:
    problems = _check_native(document)
    if problems:
        return Reading(workflow=None, problems=problems, document=document)
    workflow = build_workflow(document, origin)
    return Reading(workflow=workflow, problems=(), document=document, origin=origin)
