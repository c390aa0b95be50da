"""Reads one workflow file: the source model, and everything that is wrong with the file at once. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import msgspec

from handrail.contract.json.places import unescape_key
from handrail.contract.outcome import Fault, Json, make_from
from handrail.contract.wording import quote
from handrail.workflows.dialect.translation import is_foreign, to_native
from handrail.workflows.limits import MAX_JSON_DEPTH, Spelling
from handrail.workflows.model import SourceWorkflow
from handrail.workflows.part_contents import strings_in
from handrail.workflows.problem import (
    NO_EDIT,
    Edit,
    EditOperation,
    Findings,
    Problem,
    apply_operations,
    guess_surely,
    is_within,
    make_problem,
    quote_name,
    rename_key,
    rewrite_text,
    value_at,
)
from handrail.workflows.problem_places import add_places, locate_depth, suggest_repair
from handrail.workflows.reading.build import Origin, build_workflow
from handrail.workflows.reading.compose_overlay import compose, split_known
from handrail.workflows.reading.grammar import OVERLAY, ROOT, SHAPES
from handrail.workflows.reading.meaning import check_size
from handrail.workflows.reading.other_files import name_other_file
from handrail.workflows.reading.shape_check import check_shape
from handrail.workflows.reading.shapes import ID, NAME, PATH, Named, Record
from handrail.workflows.spellings.decoded import NOT_DAMAGED, Decoded
from handrail.workflows.spellings.spelling import decode_file

# A file without what is wrong with it, so that the rest is checked in the same round
#
# What was taken away may have given names to the rest: a problem about such a name is no news.

FindProblems = Callable[[Json], Iterable[Problem]]

_PART = re.compile(r"/steps/[0-9]+(?:/body/[0-9]+)*")
_OPTION = re.compile(r"(.*/options)/[0-9]+/")
_WORD = re.compile(PATH.pattern)
_OWN_KEYS = frozenset(key for one in SHAPES.values() if isinstance(one, Record) for key in one.keys)
_FILLED: dict[str, Json] = {"id": "project.rest", "name": "Rest", "description": "Rest."}
_MOST_BYTES = 64 * 1024
"""A longer file is told in rounds: each one here checks it again."""
_ROUNDS = ("value", "value", "part", "text")
"""What goes in each round: a second one takes the values that only the first one let come to light."""


class SoundRest(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a document, and the names that went with the rest of it."""

    document: Json
    lost: frozenset[str]


def keep_sound(document: Json, check: FindProblems, damaged: Collection[str] = ()) -> SoundRest | None:
    """The document without its problems; None where they cannot be told from the rest.

    First each wrong value goes, or becomes what its edit says; then the part around it, except for its text;
    then the text, too. Items of lists stay, so that pointers stay. `damaged` are parts that were not read
    whole.
    """
    written = msgspec.json.encode(document)
    if len(written) > _MOST_BYTES:
        return None
    made = msgspec.json.decode(written)
    lost: set[str] = set()
    for place in damaged:
        _empty_part(made, place, lost, keeps_text=True)
    for problem in check(made):
        made = _edited(made, problem)
    for goes in _ROUNDS:
        wrong = list(check(made))
        if not wrong:
            return SoundRest(document=made, lost=frozenset(lost))
        for problem in wrong:
            if goes == "value":
                _take_value(made, problem.pointer, lost)
            else:
                _empty_part(made, problem.pointer, lost, keeps_text=goes == "part")
    return None if list(check(made)) else SoundRest(document=made, lost=frozenset(lost))


def is_follow_up(problem: Problem, document: Json, lost: Collection[str]) -> bool:
    """Whether what stands at the place of a problem names something that went with what was taken away."""
    holder, key = _holder_of(document, problem.pointer)
    value = value_at(document, problem.pointer)
    if key == "value" and isinstance(holder, dict):  # what it may be follows from who sets the input
        value = [value, holder.get("input")]
    words = [found[0] for text in strings_in(value) for found in _WORD.finditer(text)]
    # An id is named as a whole; of a value, a member may be.
    heads = [] if problem.code == "unknown_id" else [word.partition(".")[0] for word in words]
    return any(word in lost for word in (*words, *heads))


def _edited(document: Json, problem: Problem) -> Json:
    try:
        return apply_operations(document, problem.edit)
    except (LookupError, ValueError, TypeError):
        return document


def _take_value(document: Json, pointer: str, lost: set[str]) -> None:
    """Take a wrong value out of the object that holds it; a part and an item of a list stay for now."""
    holder, key = _holder_of(document, pointer)
    if isinstance(holder, dict) and key in holder and _PART.fullmatch(pointer) is None:
        lost |= {key} - _OWN_KEYS
        lost |= set(_names_in(holder.pop(key)))
        if (options := _OPTION.match(pointer)) is not None:  # one that sets less than was meant
            beside, _ = _holder_of(document, f"{options[1]}/0")
            lost |= {name for one in beside for name in one.get("set", ())} if _are_objects(beside) else set()


def _are_objects(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _empty_part(document: Json, pointer: str, lost: set[str], *, keeps_text: bool) -> None:
    """Leave a plain step or loop in place of a part; elsewhere the whole key goes."""
    # Checking goes on with the rest of the file, so nothing may be made up that brings a problem of its own:
    # what stands for the part is sound, keeps the ids that others name, and whatever names it loses are in
    # `lost`, so that nobody is told that they are unused or unknown.
    found = _PART.match(pointer)
    if found is None:
        key = unescape_key(pointer.split("/")[1]) if pointer else ""
        if isinstance(document, dict) and key in document:
            lost |= set(_names_in(document.pop(key)))
        if isinstance(document, dict) and "extends" not in document:
            document.update({name: one for name, one in _FILLED.items() if name not in document})
        return
    holder, key = _holder_of(document, found[0])
    if not isinstance(holder, list) or not key.isdecimal() or int(key) >= len(holder):
        return
    part = holder[int(key)] if isinstance(holder[int(key)], dict) else {}
    stays = ("body", "id", "when") if keeps_text else ("body",)
    lost |= set(_names_in({name: one for name, one in part.items() if name not in stays}))
    own = part.get("id", part.get("loopId"))
    is_named = isinstance(own, str) and re.fullmatch(ID.pattern, own) is not None and keeps_text
    made: dict[str, Json] = {"id": own if is_named else found[0][1:].replace("/", "_"), "title": "Rest"}
    if "when" in part and "when" in stays:
        made["when"] = part["when"]
    if isinstance(part.get("body"), list) and part["body"]:  # the steps inside are checked on their own
        holder[int(key)] = {**made, "type": "loop", "count": 1, "maxIterations": 1, "body": part["body"]}
        return
    kept = {name: part[name] for name in ("prompt", "promptBlocks") if keeps_text and name in part}
    holder[int(key)] = {**made, **(kept if len(kept) == 1 else {"prompt": "Rest."})}


def _holder_of(document: Json, pointer: str) -> tuple[Json, str]:
    """What holds the value at a pointer, and its key there; nothing where the way ends before."""
    way, _, last = pointer.rpartition("/")
    return value_at(document, way), unescape_key(last)


def _names_in(value: Json) -> Iterator[str]:
    """What may be a name in it: keys that the author chose, and texts that are a single word."""
    if isinstance(value, str):
        if re.fullmatch(PATH.pattern, value):
            yield from {value, value.partition(".")[0]}
    elif isinstance(value, list):
        for one in value:
            yield from _names_in(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name not in _OWN_KEYS and re.fullmatch(NAME.pattern, name):
                yield name
            if name not in ("type", "kind", "op", "title", "prompt"):
                yield from _names_in(one)


# Pointers into a translated document, back to the author's own file


def origin_in(document: Json, pointers: Mapping[str, str]) -> Callable[[str], str]:
    """Make a function from translated to original pointers.

    `pointers` maps places of the translation to those of `document`. The longest known beginning counts;
    what follows it is kept as far as the author's file has it too.
    """

    def origin(pointer: str) -> str:
        start, rest = split_known(pointer, pointers)
        return start + _existing(value_at(document, start), rest)

    return origin


def _existing(value: Json, rest: str) -> str:
    """The beginning of `rest` that leads to something."""
    kept = ""
    for part in rest.split("/")[1:]:
        value = value_at(value, f"/{part}")
        if value is None:
            break
        kept += f"/{part}"
    return kept


def carry_problem(problem: Problem, made: Json, origin: Origin, document: Json) -> Problem:
    """A problem of a made document at its place in the author's own.

    Its edit comes along if each place that it touches holds the same in both: else the edit would say
    something about a text that the author has not written.
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
"""The key that makes a document an overlay."""

_NAMES: dict[Spelling, str] = {"json": "JSON", "yaml": "YAML", "md": "Markdown"}
_FIXES = {
    "bytes": "Split the workflow, or move long texts into the documents that it refers to.",
    "depth": f"Write a flatter document: at most {MAX_JSON_DEPTH} lists and objects inside each other.",
}
"""By the limit that the decoder found exceeded."""


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow made of what is right in a file. It is never run."""

    workflow: SourceWorkflow
    document: Json
    written: Json
    """The document of the file, as far as it was read."""
    lost: frozenset[str]
    """Names that may have been given by what was taken away."""
    origin: Origin
    extends: str = ""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The result of reading a file. There is no workflow if a problem is an error."""

    workflow: SourceWorkflow | None
    problems: tuple[Problem, ...]
    document: Json = None
    """What the workflow was built from: the file, or its translation. A file that is wrong has it too."""
    origin: Origin = str
    """From a pointer into the document to the one into the file."""
    extends: str = ""
    """Of an overlay: the workflow that it changes. Without that one there is a document and no workflow."""
    rest: Rest | None = None
    """Where there is no workflow: what is left without the problems, for whoever looks for others."""


class BaseDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What an overlay changes: the document of a sound workflow, or why there is none."""

    document: Json = None
    has_open_names: bool = False
    trouble: str = ""
    fix: str = ""
    edit: Edit = NO_EDIT


def read_workflow(
    content: bytes, spelling: Spelling = "json", decoded: bytes = b"", base: BaseDocument | None = None
) -> Reading:
    """Decode and check one workflow file, native or from elsewhere. Total: no content makes it raise.

    `decoded` is its document as JSON, where that is known already; `base` is what an overlay changes.
    """
    reading = _read_file(content, spelling, decoded, base)
    other = name_other_file(content, spelling) if reading.workflow is None else ""
    return reading if not other else Reading(workflow=None, problems=(_refuse_other(other),))


def _refuse_other(kind: str) -> Problem:
    """One problem in place of all that its own keys would cause."""
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
        return _read_damaged(found, content, spelling)
    document = found.document
    if isinstance(document, dict) and EXTENDS in document:
        reading = _read_overlay(document, spelling, base)
    elif isinstance(document, dict) and (misspelt := _misspelt_extends(document)):
        reading = _refuse_extends(document, misspelt)
    elif isinstance(document, dict) and is_foreign(document):
        reading = _read_foreign(document)
    else:
        reading = _read_native(document, str, has_rest=True)
    problems = (*reading.problems, *_find_cut_texts(found, content))
    if not problems:
        return reading
    return msgspec.structs.replace(reading, problems=add_places(content, problems, spelling))


def _find_cut_texts(found: Decoded, content: bytes) -> Iterator[Problem]:
    """Unquoted YAML texts that end before a `#`, where what follows does not look like a comment."""
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


def _read_damaged(found: Decoded, content: bytes, spelling: Spelling) -> Reading:
    """A page whose form is wrong in places: those, and what is wrong elsewhere in it."""
    written = found.partial
    reading = Reading(workflow=None, problems=found.problems, document=written)
    if not isinstance(written, dict) or EXTENDS in written or is_foreign(written):
        return reading
    others = [
        one
        for one in _check_native(written)
        if not any(is_within(one.pointer, place) for place in found.damaged)
    ]
    problems = (*found.problems, *add_places(content, others, spelling))
    return msgspec.structs.replace(reading, problems=problems, rest=_find_rest(written, found))


def _find_rest(document: Json, found: Decoded = NOT_DAMAGED) -> Rest | None:
    kept = keep_sound(document, _check_native, found.damaged)
    if kept is None:
        return None
    origin = origin_in(document, {"": ""})
    return Rest(
        workflow=build_workflow(kept.document, origin),
        document=kept.document,
        written=document,
        lost=kept.lost | found.unread,
        origin=origin,
    )


def _unreadable(fault: Fault, content: bytes, spelling: Spelling) -> Problem:
    """The decoder's refusal; those of size and depth come without a place."""
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
    """Translate first; what is wrong with the translation is shown where it came from."""
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
    """The key that was to make this an overlay; a whole workflow has a list of steps."""
    is_whole = isinstance(document.get("steps"), list)
    return "" if is_whole else next((key for key in document if guess_surely(key, (EXTENDS,))), "")


def _refuse_extends(document: dict[str, Json], key: str) -> Reading:
    message, fix = f"The key {quote_name(key)} is not known here.", f"Did you mean {EXTENDS}?"
    edit, place = rename_key(f"/{key}", EXTENDS), f"/{key}"
    problem = make_problem("unknown_key", place, message, fix, edit)
    return Reading(workflow=None, problems=(problem,), document=document)


def _read_overlay(document: dict[str, Json], spelling: Spelling, base: BaseDocument | None) -> Reading:
    """The overlay alone, or composed with its base and then read like any other workflow."""
    found = Findings()
    if spelling == "md":
        fix = "Write it as a .yaml or .json file; Markdown is for whole workflows."
        found.report("bad_source", f"/{EXTENDS}", "An overlay is not written in Markdown.", fix)
    else:
        found.problems += _check_overlay(document)
    if base is not None and base.trouble and not found.problems:
        found.report("unknown_id", f"/{EXTENDS}", base.trouble, base.fix, base.edit)
    if base is None or found.problems:
        # Its base is looked for even if it has problems, so that those with the base are told with them.
        named = [document.get(key, "") for key in (EXTENDS, "id", "name", "description")]
        extends = document[EXTENDS] if spelling != "md" and all(isinstance(one, str) for one in named) else ""
        if base is not None and not base.trouble and (kept := keep_sound(document, _check_overlay)):
            compose(found, kept.document, base.document)
        reading = Reading(workflow=None, problems=tuple(found.problems), document=document, extends=extends)
    else:
        reading = _join(document, base, document)
    if reading.workflow is not None or base is None or base.trouble:
        return reading
    return msgspec.structs.replace(reading, document=document, rest=_rest_of_overlay(document, base))


def _join(overlay: dict[str, Json], base: BaseDocument, written: Json) -> Reading:
    """A sound overlay composed with its base; its places are those of the document that was written."""
    found = Findings()
    composed = compose(found, overlay, base.document)
    if composed is None:
        return Reading(workflow=None, problems=tuple(found.problems), document=overlay)
    origin = origin_in(written, composed.pointers)
    reading = _read_native(composed.document, origin)
    problems = tuple(carry_problem(one, composed.document, origin, written) for one in reading.problems)
    workflow = reading.workflow and msgspec.structs.replace(
        reading.workflow, overlay=composed.overlay, has_open_names=base.has_open_names
    )
    extends = overlay[EXTENDS] if workflow else ""
    return msgspec.structs.replace(reading, workflow=workflow, problems=problems, extends=extends)


def _rest_of_overlay(document: dict[str, Json], base: BaseDocument) -> Rest | None:
    """What is left of the overlay, composed with its base."""
    kept = keep_sound(document, lambda one: _check_overlay(one) or _join(one, base, one).problems)
    reading = None if kept is None else _join(kept.document, base, document)
    if kept is None or reading is None or reading.workflow is None:
        return None
    return make_from(Rest, reading, written=document, lost=kept.lost)


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


def _read_native(document: Json, origin: Origin, *, has_rest: bool = False) -> Reading:
    problems = _check_native(document)
    if problems:
        rest = _find_rest(document) if has_rest and isinstance(document, dict) else None
        return Reading(workflow=None, problems=problems, document=document, rest=rest)
    workflow = build_workflow(document, origin)
    return Reading(workflow=workflow, problems=(), document=document, origin=origin)
