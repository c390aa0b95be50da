"""The files that a caller names, from wherever the call comes; and in words what nobody looked at."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Mapping
from contextlib import suppress

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import format_count, quote, shorten
from handrail.runtime.runtime import ReadPorts, project_of
from handrail_code.facts.python_words import is_python
from handrail_code.facts.source import Source
from handrail_code.operations.project_source import ProjectSource, count_skipped

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
    told = []
    if unasked:
        language = "Python" if is_python(unasked[0]) else "JavaScript"
        told.append(f"{_count(len(unasked), f'{language} source')} left out: use `handrail code search`.")
    if skipped:
        counts = ", ".join(f"{n} {why.replace('_', ' ')}" for why, n in count_skipped(skipped).items())
        told.append(f"{_count(len(skipped), 'file')} skipped ({counts}): look there with a text search.")
    return " ".join(told)


def _count(number: int, one: str) -> str:
    return f"{format_count(number, one)} {'was' if number == 1 else 'were'}"


def describe_nothing(source: Source) -> str:
    """Why a search has no result."""
    told = "No name holds this text; try a part of it, or --text."
    if not source.files() and not source.skipped():
        told = "No source is here that this looks at." if source.unasked() else "No source is in this folder."
    return " ".join(filter(None, (told, describe_unseen(source))))
