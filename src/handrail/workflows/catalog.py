"""Every workflow of every source under its name: those that can be used, and what is wrong with the rest.
Pure.

Listing, validating and starting treat a file alike: they read it and check every name in it. The reader
alone accepts more, so that what was pinned under an older rule can still be read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

import msgspec

from handrail.contract.ids import SourceKind
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import make_from
from handrail.contract.suggest import find_nearest, find_same_word
from handrail.contract.wording import quote
from handrail.workflows.checking.names import check_names
from handrail.workflows.checking.value_checks import UNSURE, check_schema_patterns, slots_in
from handrail.workflows.compiled import Contract, InputSpec
from handrail.workflows.compiling.shelf import (
    ReadContract,
    find_contract_problems,
    guidance_key,
    is_contract,
    read_contract,
)
from handrail.workflows.limits import (
    RESERVED_NAMESPACE,
    IdStatus,
    Spelling,
    WorkflowKind,
    id_status,
    rename_namespace,
    spelling_of,
)
from handrail.workflows.problem import (
    NO_EDIT,
    Findings,
    Problem,
    drop_edits,
    keep_sound_edits,
    make_problem,
    quote_name,
    replace_value,
)
from handrail.workflows.problem_places import add_places
from handrail.workflows.reading.reader import (
    BaseDocument,
    Reading,
    carry_problem,
    read_workflow,
)
from handrail.workflows.spellings.spelling import decode_document

if TYPE_CHECKING:
    from handrail.contract.workflow_files import WorkflowFile
    from handrail.workflows.checking.operations import Operations


def read_checked(
    content: bytes, spelling: Spelling = "json", decoded: bytes = b"", base: BaseDocument | None = None
) -> Reading:
    """Return the file with all its problems; without a workflow if one of them is an error.

    A customisation has a workflow only together with its base.
    """
    reading = _read(content, spelling, decoded, base)
    if not reading.problems:
        return reading
    document = decode_document(content, spelling, decoded)

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
        # Checked against the rules of workflows, everything in it would be wrong.
        beside = read_checked_contract(content, "").problems if spelling == "json" else ()
        return Reading(workflow=None, problems=add_places(content, (_MISPLACED, *beside), spelling))
    if reading.workflow is None or not isinstance(reading.document, dict):
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
    return msgspec.structs.replace(reading, workflow=None, misnamed=reading.workflow, problems=problems)


def read_checked_contract(content: bytes, file_name: str) -> ReadContract:
    """Return a contract file with all its problems; without a contract if one of them is an error."""
    read = _check_contract(content, file_name)
    if not read.problems:
        return read

    def judge(edited: bytes) -> tuple[Problem, ...]:
        return _check_contract(edited, file_name).problems

    problems = keep_sound_edits(decode_document(content, "json"), len(content), read.problems, judge)
    return msgspec.structs.replace(read, problems=problems)


def _check_contract(content: bytes, file_name: str) -> ReadContract:
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


# The library

_SUFFIX_DIGITS = 6


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a listing needs to know about one file. It depends only on the content, so it can be cached."""

    id: str = ""
    """The id; empty if the file cannot be read as a workflow."""
    name: str = ""
    description: str = ""
    kind: WorkflowKind = "workflow"
    tags: tuple[str, ...] = ()
    inputs: dict[str, InputSpec] = {}
    extends: str = ""
    """For a customisation: the id of its base, which provides what is empty here."""
    problems: tuple[Problem, ...] = ()


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the library. A broken one is listed under its file name, never hidden."""

    id: str
    own_id: str = ""
    """The id in the file, if the user gave its source another namespace."""
    name: str
    description: str
    kind: WorkflowKind | Literal["contract"] = "workflow"
    source_kind: SourceKind
    source_ref: str
    address: str = ""
    """For a repository: its path or its URL, as the user's settings have it."""
    content: bytes
    spelling: Spelling = "json"
    decoded: bytes = b""
    """The document as JSON, if it came with the file."""
    tags: tuple[str, ...] = ()
    """Search words that the author provides."""
    inputs: dict[str, InputSpec] = {}
    problems: tuple[Problem, ...] = ()
    is_usable: bool
    """Whether it can be started, judged by its content and its name."""
    suggested_id: str = ""
    """For a legacy id: the id that it should get."""
    extends: str = ""
    base: BaseDocument | None = None
    """For a customisation: the workflow that it changes, as the other sources have it."""

    @property
    def id_status(self) -> IdStatus:
        return id_status(self.id)


class BrokenContract(msgspec.Struct, frozen=True, kw_only=True):
    """A contract file with its problems."""

    id: str
    source_kind: SourceKind
    source_ref: str
    content: bytes
    problems: tuple[Problem, ...]


class Catalog(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a project can use."""

    entries: tuple[CatalogEntry, ...]
    operations: Operations | None = None
    """Known operations; None if actions are not checked against them."""
    contracts: dict[str, Contract] = {}
    broken_contracts: tuple[BrokenContract, ...] = ()
    """Contract files that cannot be used, by source and name."""
    contract_warnings: dict[str, tuple[Problem, ...]] = {}
    """Warnings about contracts that can be used."""


def build_catalog(files: Iterable[WorkflowFile]) -> Catalog:
    """Return the catalog with unique names: `wr.*` is bundled only, no file hides one of an earlier source,
    and two files of one source cannot have the same name.
    """
    found = list(files)
    alone = [_entry(file) for file in found if file.holds == "workflow"]
    read = [with_base(entry, alone) for entry in alone]
    twins: dict[tuple[str, str], list[CatalogEntry]] = {}
    for entry in read:
        if entry.is_usable:
            twins.setdefault((source_of(entry), entry.id), []).append(entry)
    entries: list[CatalogEntry] = []
    taken: dict[str, str] = {}
    for one in read:
        beside = [twin for twin in twins.get((source_of(one), one.id), ()) if twin is not one]
        entry = _named(one, taken, beside)
        if entry.is_usable:
            taken[entry.id] = f"{entry.source_kind} {entry.source_ref}"
        entries.append(entry)
    ids = frozenset(entry.id for entry in entries)
    catalog = Catalog(
        entries=tuple(sorted((_with_suggestion(entry, ids) for entry in entries), key=catalog_order))
    )
    return _with_contracts(catalog, [file for file in found if file.holds == "contract"])


def summarise(content: bytes, spelling: Spelling = "json", decoded: bytes = b"") -> Summary:
    """Return the summary of a file for a listing."""
    reading = read_checked(content, spelling, decoded)
    source = reading.workflow
    if source is None and reading.extends and isinstance(reading.document, dict):
        named = {key: reading.document.get(key, "") for key in ("id", "name", "description")}
        return Summary(**named, extends=reading.extends)
    if source is None:
        return Summary(problems=reading.problems)
    return make_from(Summary, source, problems=reading.problems)


def encode_summary(summary: Summary) -> bytes:
    return msgspec.json.encode(summary)


def suggest_id(
    workflow_id: str, source_kind: SourceKind, source_ref: str = "", taken: Collection[str] = ()
) -> str:
    """Suggest a namespaced id for a legacy one, from its source, with a suffix if it is taken."""
    namespace = {"user": "user", "project": "project"}.get(source_kind, "repo")
    wanted = f"{namespace}.{workflow_id}"
    if wanted not in taken:
        return wanted
    digest = sha256(f"{source_kind}\0{source_ref}".encode()).hexdigest()
    return f"{wanted}_{digest[:_SUFFIX_DIGITS]}"


def catalog_order(entry: CatalogEntry) -> tuple[str, ...]:
    """Return the sort key (EXEC "Discovery"): namespace, kind (workflow first), name; the source last, to
    be total.

    Foreign namespaces come last, so that a collection never displaces the reader's own workflows or bundled
    ones.
    """
    namespace, _, name = entry.id.rpartition(".")
    return (
        "1" if entry.source_kind in ("git", "plugin") else "0",
        namespace,
        "0" if entry.kind == "workflow" else "1",
        name,
        f"{entry.source_kind}:{entry.source_ref}",
    )


def _entry(file: WorkflowFile) -> CatalogEntry:
    spelling = spelling_of(file.source_ref)
    summary = (
        _trouble(file)
        if file.trouble
        else _remembered(file) or summarise(file.content, spelling, file.decoded)
    )
    name = file.source_ref.rsplit("/", 1)[-1]
    return make_from(
        CatalogEntry,
        summary,
        id=rename_namespace(summary.id, file.namespaces) if summary.id else name,
        own_id=summary.id if file.namespaces else "",
        name=summary.name or name,
        source_kind=file.source_kind,
        source_ref=file.source_ref,
        address=file.address,
        content=file.content,
        spelling=spelling,
        decoded=file.decoded,
        is_usable=bool(summary.id),
    )


def with_base(entry: CatalogEntry, others: Iterable[CatalogEntry]) -> CatalogEntry:
    """Return a customisation together with the workflow that it changes; any other entry as it is."""
    if not entry.extends:
        return entry
    base = _find_base(entry, list(others))
    reading = read_checked(entry.content, entry.spelling, entry.decoded, base)
    source, name = reading.workflow, entry.source_ref.rsplit("/", 1)[-1]
    problems = (*entry.problems, *reading.problems)
    if source is None:
        own = {"id": name, "name": entry.name or name, "is_usable": False}
        return make_from(CatalogEntry, entry, base=base, problems=problems, **own)
    return make_from(CatalogEntry, source, entry, id=entry.id, base=base, problems=problems)


def claims_id(entry: CatalogEntry, workflow_id: str) -> bool:
    """Whether an unusable file, which is listed under its file name, was meant to have this id."""
    if entry.is_usable:
        return False
    document = decode_document(entry.content, entry.spelling, entry.decoded)
    return isinstance(document, dict) and document.get("id") == workflow_id


def _find_base(entry: CatalogEntry, others: list[CatalogEntry]) -> BaseDocument:
    """Return the base from the first source that has it, which is also the one that a start uses."""
    if entry.extends == entry.id:
        own = suggest_id(
            entry.id.rpartition(".")[2], entry.source_kind, entry.source_ref, [one.id for one in others]
        )
        fix = f"Give the customisation another id, such as {own}."
        return BaseDocument(
            trouble=f"The customisation has the id of what it extends, {quote(entry.id)}.", fix=fix
        )
    beside = [one for one in others if one is not entry]
    named = [one for one in beside if one.is_usable and one.id == entry.extends]
    named = named or [one for one in beside if claims_id(one, entry.extends)]
    if not named:
        ids = [one.id for one in beside if one.is_usable and not one.extends]
        near = find_nearest(entry.extends, ids)
        fix = f"Did you mean {' or '.join(near)}?" if near else "Name a workflow that a source has."
        sure = find_same_word(entry.extends, ids)
        return BaseDocument(
            trouble=f"There is no workflow {quote(entry.extends)} to extend.",
            fix=fix,
            edit=replace_value("/extends", sure) if sure else NO_EDIT,
        )
    base = named[0]
    if base.extends:
        trouble = f"{base.id} is a customisation itself, and a base has no extends."
        return BaseDocument(trouble=trouble, fix=f"Extend {base.extends}, and repeat the changes here.")
    reading = read_checked(base.content, base.spelling, base.decoded)
    if reading.workflow is None:
        trouble = f"{entry.extends} ({base.source_ref}) has errors, so nothing can extend it."
        return BaseDocument(trouble=trouble, fix=f"Correct it: handrail workflow validate {base.id}")
    return BaseDocument(document=reading.document, has_open_names=reading.workflow.has_open_names)


def _remembered(file: WorkflowFile) -> Summary | None:
    """Return the cached summary, or read the file again if the cache is damaged."""
    if not file.summary:
        return None
    try:
        return _SUMMARY.decode(file.summary)
    except msgspec.MsgspecError:
        return None


def _trouble(file: WorkflowFile) -> Summary:
    problem = make_problem("bad_source", "", file.trouble, file.remedy)
    return Summary(problems=(problem,))


def source_of(entry: CatalogEntry | BrokenContract) -> str:
    """Return the source of an entry; each repository and each plugin is a source of its own."""
    return f"{entry.source_kind} {name_source(entry)}".rstrip()


def name_source(entry: CatalogEntry | BrokenContract) -> str:
    """Return the name of a repository or plugin; empty for kinds with only one source."""
    return entry.source_ref.partition("/")[0] if entry.source_kind in ("git", "plugin") else ""


def _named(entry: CatalogEntry, taken: dict[str, str], twins: list[CatalogEntry]) -> CatalogEntry:
    """Return the entry; marked unusable if it may not have its name."""
    problem = _name_problem(entry, taken, twins) if entry.is_usable else None
    if problem is None:
        return entry
    return msgspec.structs.replace(entry, is_usable=False, problems=(*entry.problems, problem))


def _name_problem(entry: CatalogEntry, taken: dict[str, str], twins: list[CatalogEntry]) -> Problem | None:
    if entry.id.startswith(RESERVED_NAMESPACE) and entry.source_kind != "bundled":
        message = f"{entry.id}: ids that begin with wr. are reserved for bundled workflows."
        fix = f"Name it {_own_id(entry)}."
        return make_problem("reserved_id", "/id", message, fix, replace_value("/id", _own_id(entry)))
    if entry.id in taken:
        return _shadowed(entry.id, taken[entry.id])
    if twins:
        message = f"{entry.id} is the id of {twins[0].source_ref} too, so neither of them can be used."
        fix = "Remove one of the files, or give one of them another id."
        return make_problem("shadowed_id", "/id", message, fix)
    return None


def _own_id(entry: CatalogEntry) -> str:
    namespace = "user" if entry.source_kind == "user" else "project"
    return f"{namespace}.{entry.id.removeprefix(RESERVED_NAMESPACE)}"


def _is_legacy(entry: CatalogEntry) -> bool:
    return entry.is_usable and entry.id_status != "namespaced"


def _with_suggestion(entry: CatalogEntry, ids: frozenset[str]) -> CatalogEntry:
    """Return the entry with a suggested namespaced id, if its id has no namespace."""
    if not _is_legacy(entry):
        return entry
    better = suggest_id(entry.id, entry.source_kind, entry.source_ref, ids)
    return msgspec.structs.replace(entry, suggested_id=better)


def _with_contracts(catalog: Catalog, files: list[WorkflowFile]) -> Catalog:
    contracts: dict[str, Contract] = {}
    defined: dict[str, tuple[SourceKind, str]] = {}
    warnings: dict[str, tuple[Problem, ...]] = {}
    broken: list[BrokenContract] = []
    for file in files:
        read = _read_contract(file)
        problems = read.problems
        if read.contract is not None and read.id not in contracts:
            contracts[read.id] = read.contract
            defined[read.id] = (file.source_kind, file.source_ref)
            if problems:
                warnings[read.id] = problems
            continue
        if read.contract is not None:
            problems = (_shadowed(read.id, " ".join(defined[read.id])),)
        broken.append(
            BrokenContract(
                id=read.id,
                source_kind=file.source_kind,
                source_ref=file.source_ref,
                content=file.content,
                problems=problems,
            )
        )
    return msgspec.structs.replace(
        catalog,
        contracts=contracts,
        broken_contracts=tuple(sorted(broken, key=lambda one: (one.source_kind, one.source_ref))),
        contract_warnings=warnings,
    )


def _read_contract(file: WorkflowFile) -> ReadContract:
    """Return the contract. A cached summary of the same bytes under the same name is reused."""
    if file.trouble:
        name = file.source_ref.rsplit("/", 1)[-1].removesuffix(".json")
        return ReadContract(id=name, problems=_trouble(file).problems)
    remembered = _remembered(file)
    if remembered is None:
        return read_checked_contract(file.content, file.source_ref)
    read = read_contract(file.content, file.source_ref)
    is_sound = all(problem.severity != "error" for problem in remembered.problems)
    return ReadContract(
        id=remembered.id, contract=read.contract if is_sound else None, problems=remembered.problems
    )


def summarise_contract(content: bytes, source_ref: str) -> Summary:
    """Return the problems of a contract file; they depend on the content and on the file's name."""
    read = read_checked_contract(content, source_ref)
    return Summary(id=read.id, problems=read.problems)


def _shadowed(name: str, by: str) -> Problem:
    message = f"{name} is already defined by {by}."
    fix = "Give this one an id of its own; nothing shadows another."
    return make_problem("shadowed_id", "/id", message, fix)


_SUMMARY = msgspec.json.Decoder(Summary)
