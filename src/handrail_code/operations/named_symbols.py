"""Which definition or file a caller means, from wherever the call comes; and what nobody looked at."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress

import msgspec

from handrail.contract.catalogue import E_NOT_FOUND, E_VALIDATION
from handrail.contract.outcome import Answer, Fault, Json, NextCall
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import format_count, quote, shorten
from handrail.runtime.runtime import ReadPorts, project_of
from handrail_code.facts.join import Found
from handrail_code.facts.model import NONE, Definition, FileFacts, Unreadable
from handrail_code.facts.python_words import is_python
from handrail_code.facts.source import Source, line_and_column
from handrail_code.operations.project_source import ProjectSource, count_skipped
from handrail_code.scan.ids import make_id, make_tag, split_id
from handrail_code.scan.search import has_hash

MOST_CHOICES = 20
"""Definitions that a refusal names when a name has several."""


class FoundCode(Answer, frozen=True, kw_only=True):
    """One definition."""

    id: str
    """Names it in later calls, while it stays in its file."""
    file: str
    line: int
    column: int
    end_line: int
    span: list[int]
    """Of its name, in bytes."""
    kind: str
    name: str
    container: str
    """The definition around it; empty at the top of a file."""
    exported: bool
    signature: str
    hash: str
    """Of the bytes of the whole definition; empty for parameters and the like."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller said about the definition."""

    name: str = ""
    """A name, `Container.name`, or an id."""
    file: str = ""
    hashes: tuple[str, ...] = ()
    span: str = ""


def find_one(source: Source, wanted: Wanted) -> Found:
    """The one definition that is meant. Raises Fault E_NOT_FOUND, E_VALIDATION where it may be several."""
    found = narrow(source, list_definitions(source, wanted))
    if not found:
        raise refuse_unknown(source, wanted)
    if len(found) > 1:
        raise _refuse_several(wanted, found)
    return found[0]


def narrow(source: Source, found: Sequence[Found]) -> list[Found]:
    """Those that are nearly always meant: no import where there is a definition, no local at the side of one
    at the top of a file."""
    kept = [one for one in found if not _is_import(source, one)] or list(found)
    at_top = (one for one in kept if one.definition.container == NONE)
    return [one for one in at_top if one.definition.kind != "parameter"] or kept


def _is_import(source: Source, found: Found) -> bool:
    """Also what `require` brings."""
    facts = source.facts(found.path)
    binding = found.definition.binding
    is_required = isinstance(facts, FileFacts) and any(one.binding == binding for one in facts.imports)
    return found.definition.kind == "import" or (binding != NONE and is_required)


def list_definitions(source: Source, wanted: Wanted) -> list[Found]:
    """Every definition that fits; sorted by path and place."""
    path, name, tag = split_id(wanted.name)
    file = check_file(source, wanted.file) if wanted.file else path
    if path and file != path:
        return []
    bare = name.rpartition(".")[2] if not name.startswith("#") else name
    paths: Sequence[str]
    if file:
        paths = [file]
    elif bare:
        paths = source.candidates(bare)
    else:
        paths = source.files()
    found = [
        Found(path=one, index=index, definition=definition)
        for one in paths
        for index, definition in enumerate(_definitions(source, one))
        if not bare or definition.name == bare
    ]
    if name != bare:
        holder = name.rpartition(".")[0]
        found = [one for one in found if name_container(source, one) == holder]
    if wanted.hashes:
        found = [one for one in found if has_hash(one.definition.digest, wanted.hashes)]
    if wanted.span:
        start, end = read_span(wanted.span)
        found = [one for one in found if start <= one.definition.start and one.definition.end <= end]
    if tag:
        exact = [one for one in found if make_tag(one.definition) == tag]
        return exact or (found if len(found) == 1 else [])
    return found


def describe_definition(source: Source, found: Found) -> FoundCode:
    definition = found.definition
    text = source.text(found.path) or b""
    line, column = line_and_column(text, definition.start)
    end_line, _ = line_and_column(text, max(definition.extent_start, definition.extent_end - 1))
    return FoundCode(
        id=make_id(found),
        file=found.path,
        line=line,
        column=column,
        end_line=end_line,
        span=[definition.start, definition.end],
        kind=definition.kind,
        name=definition.name,
        container=name_container(source, found),
        exported=definition.exported,
        signature=definition.signature,
        hash=definition.digest,
    )


def name_container(source: Source, found: Found) -> str:
    """The name of the definition around this one."""
    if found.definition.container == NONE:
        return ""
    return _definitions(source, found.path)[found.definition.container].name


def check_file(source: Source, path: str) -> str:
    """A file that the caller names, as the source knows it. Raises Fault E_NOT_FOUND, E_VALIDATION."""
    plain = path.removeprefix("./")
    facts = source.facts(plain)
    if isinstance(facts, Unreadable):
        raise Fault(
            E_VALIDATION,
            f"The file {quote(path)} cannot be analysed: {facts.reason.replace('_', ' ')}.",
            details={"param": "file", "expected": "a source file", "got": facts.reason},
        )
    if facts is not None:
        return plain
    skipped = next((one.reason for one in source.skipped() if one.path == plain), "")
    is_unasked = plain in source.unasked()
    why = " is not a source file of this project"
    if skipped:
        why = f" is skipped: {skipped.replace('_', ' ')}"
    elif is_unasked:
        why = f" is {'Python' if is_python(plain) else 'JavaScript'}, which this call leaves out"
    raise Fault(
        E_NOT_FOUND,
        f"The file {quote(path)}{why}.",
        details=_describe_missing("file", path, plain, source.files()),
        hint="Use `handrail code explain` for it."
        if is_unasked
        else "Name a file as the project has it, relative to its root; `handrail code search` finds names.",
    )


def check_scope(source: Source, scope: str) -> str:
    """A folder or file that a search is kept to, as the source knows it. Raises Fault E_NOT_FOUND."""
    plain = posixpath.normpath(scope) if scope else "."
    if plain == ".":
        return ""
    inside = plain + "/"
    if any(path == plain or path.startswith(inside) for path in source.files()):
        return plain
    folders = sorted({posixpath.dirname(path) for path in source.files()} - {""})
    raise Fault(
        E_NOT_FOUND,
        f"No source file of this project is in {quote(scope)}.",
        details=_describe_missing("scope", scope, plain, folders),
        hint="Name a folder or a file relative to the root of the project, or leave the scope out.",
    )


def _describe_missing(resource: str, given: str, name: str, known: Sequence[str]) -> dict[str, Json]:
    near = find_nearest(name, known)
    details: dict[str, Json] = {"resource": resource, "id": shorten(given)}
    return details | {"did_you_mean": near[0]} if near else details


def read_span(text: str) -> tuple[int, int]:
    """`A:B`, offsets in bytes. Raises Fault E_VALIDATION."""
    start, _, end = text.partition(":")
    if start.isdecimal() and end.isdecimal() and int(start) <= int(end):
        return int(start), int(end)
    raise Fault(
        E_VALIDATION,
        f"{quote(text)} is not a span.",
        details={"param": "span", "expected": "A:B, two offsets in bytes", "got": shorten(text)},
    )


def refuse_unknown(source: Source, wanted: Wanted) -> Fault:
    path, name, _ = split_id(wanted.name)
    bare = name.rpartition(".")[2]
    where = f" in {quote(wanted.file or path)}" if wanted.file or path else ""
    shown = quote(name) if name else "that hash or span"
    file = (wanted.file or path).removeprefix("./")
    known = sorted({one.name for one in _definitions(source, file)}) if file and bare else []
    unseen = "" if file else describe_unseen(source)
    return Fault(
        E_NOT_FOUND,
        " ".join(filter(None, (f"There is no definition of {shown}{where}.", unseen))),
        details=_describe_missing("symbol", wanted.name or wanted.span, bare, known),
        hint="Look for a part of the name.",
        next_call=NextCall(operation="code.scan", params={"search": bare}) if bare else None,
    )


def _refuse_several(wanted: Wanted, found: Sequence[Found]) -> Fault:
    ids = [make_id(one) for one in found[:MOST_CHOICES]]
    return Fault(
        E_VALIDATION,
        f"{len(found)} definitions are named {quote(split_id(wanted.name)[1] or wanted.span)}.",
        details={
            "param": "name",
            "valid": ids,
            "expected": "one of the ids in valid",
            "got": wanted.name[:80],
        },
        hint="Give one of the valid ids in place of the name, or add --file or --hash.",
    )


def _definitions(source: Source, path: str) -> tuple[Definition, ...]:
    facts = source.facts(path)
    return facts.definitions if isinstance(facts, FileFacts) else ()


_NAMED = ("file", "outline", "deps")
_TARGETS = ("to_module", "toModule")


def settle_files(
    rt: ReadPorts, project: str, source: ProjectSource, given: Mapping[str, Json]
) -> dict[str, Json]:
    """What the caller gave, with each file as the project has it.

    A file is named from the root of the project, by its absolute path, or from the folder of the call.
    Raises Fault E_VALIDATION where a name means two files.
    """
    here = _find_folder(rt, project)
    settled = dict(given)
    is_from_here = False
    for name in _NAMED:
        if isinstance(given.get(name), str):
            settled[name] = _settle(project, here, source.known, given[name])
            is_from_here |= settled[name] != _shorten(project, given[name])
    for name in _TARGETS:
        if isinstance(given.get(name), str):
            settled[name] = _settle_target(project, here if is_from_here else "", source.known, given[name])
    if isinstance(given.get("changes"), list):
        settled["changes"] = [
            settle_files(rt, project, source, one) if isinstance(one, dict) else one
            for one in given["changes"]
        ]
    return settled


def _find_folder(rt: ReadPorts, project: str) -> str:
    """Where the call comes from, below the root; empty at the root and outside of it."""
    with suppress(Fault):
        working = project_of(rt, ".")
        if working.startswith(project.rstrip("/") + "/"):
            return working[len(project.rstrip("/")) + 1 :]
    return ""


def _settle(project: str, here: str, known: Container[str], path: str) -> str:
    plain = _shorten(project, path)
    near = posixpath.normpath(posixpath.join(here, path))
    if not here or posixpath.isabs(path) or near == plain or near not in known:
        return plain
    if plain not in known:
        return near
    whole = [posixpath.join(project, one) for one in (plain, near)]
    raise Fault(
        E_VALIDATION,
        f"{quote(path)} names two files: {quote(plain)} from the root and {quote(near)} from this folder.",
        details={"param": "file", "valid": whole, "expected": "one of valid", "got": shorten(path)},
        hint="Give one of the valid paths.",
    )


def _settle_target(project: str, here: str, known: Container[str], path: str) -> str:
    """A module that need not be there yet is where the file is that something moves out of."""
    plain = _shorten(project, path)
    is_near = bool(here) and not posixpath.isabs(path) and plain not in known
    return posixpath.normpath(posixpath.join(here, path)) if is_near else plain


def _shorten(project: str, path: str) -> str:
    """From the root of the project; a path outside of it stays as it is."""
    normal = posixpath.normpath(path) if path else path
    root = project.rstrip("/") + "/"
    return normal[len(root) :] if normal.startswith(root) else normal


def describe_unseen(source: Source) -> str:
    """What a question did not look at: other languages, and files that are skipped. Empty for nothing."""
    unasked, skipped = source.unasked(), source.skipped()
    parts = []
    if unasked:
        language = "Python" if is_python(unasked[0]) else "JavaScript"
        parts.append(f"{_count(len(unasked), f'{language} source')} left out: use `handrail code search`.")
    if skipped:
        counts = ", ".join(f"{n} {why.replace('_', ' ')}" for why, n in count_skipped(skipped).items())
        parts.append(f"{_count(len(skipped), 'file')} skipped ({counts}): look there with a text search.")
    return " ".join(parts)


def _count(number: int, one: str) -> str:
    return f"{format_count(number, one)} {'was' if number == 1 else 'were'}"


def describe_nothing(source: Source) -> str:
    """Why a search has no result."""
    text = "No name holds this text; try a part of it, or --text."
    if not source.files() and not source.skipped():
        text = "No source is here that this looks at." if source.unasked() else "No source is in this folder."
    return " ".join(filter(None, (text, describe_unseen(source))))
