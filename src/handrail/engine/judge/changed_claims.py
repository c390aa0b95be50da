"""A list of changed files against what the trees of the run tell. Pure.

A file that the trees do not tell about (ignored, of another repository, too large) is unknown. The word for
a change is compared where both trees are known: with the files that the run began with, and for a file that
an earlier step of the run added also with those that the step began with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from handrail.contract.wording import make_readable
from handrail.engine.judge.run_claims import ChangedPaths, LocatedPath, Sighting
from handrail.workflows.compiled import ChangedInRun

_FIRST_FILES = "the files of this run were first recorded after it began"
_NOT_SINCE = f"unchanged since then; {_FIRST_FILES}"


class ListedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the list, as it is written."""

    path: str
    change: str = ""
    before: str = ""
    """Where a renamed file was."""


class ListedResult(msgspec.Struct, frozen=True, kw_only=True):
    verdict: Literal["holds", "contradicted", "unknown"]
    fact: str = ""


def read_listed(rule: ChangedInRun, path: str, around: dict[str, Any]) -> ListedFile:
    """The entry at a place of the list, with what stands beside it."""
    change = around.get(rule.change) if rule.change else None
    row, _, member = rule.also.rpartition("/")
    before = around.get(member) if member and row == rule.at.rpartition("/")[0] else None
    return ListedFile(
        path=path,
        change=change if isinstance(change, str) else "",
        before=before if isinstance(before, str) else "",
    )


def clean_path(text: str) -> str:
    return text.strip().removeprefix("./")


def locate(sighting: Sighting, text: str) -> LocatedPath:
    """The file that a text means; as it is written where nobody looked."""
    found = sighting.files.get(clean_path(text))
    return LocatedPath(paths=(clean_path(text).rstrip("/"),)) if found is None else found


def judge_listed(file: ListedFile, changes: ChangedPaths, sighting: Sighting) -> ListedResult:
    """Whether the file changed, and in the way that the list says."""
    shown, located = make_readable(clean_path(file.path)), locate(sighting, file.path)
    if not located.is_inside:
        return ListedResult(verdict="contradicted", fact=f"{shown} is not inside the project")
    if not located.paths:
        return ListedResult(verdict="unknown", fact=f"{shown} is not the path of a file")
    own = next(_find_changed(located, changes), "")
    if own:
        return _judge_word(file, own, changes, sighting)
    if any(is_covered(path, located) for path in (*changes.changed, *changes.arrived)):
        return ListedResult(verdict="holds")  # a folder
    doubt = sighting.doubts.get(clean_path(file.path), "")
    if doubt or file.before.casefold() == file.path.casefold():
        return ListedResult(verdict="unknown", fact=f"{shown}: {doubt}" if doubt else "")
    if changes.is_partial:
        return ListedResult(verdict="unknown", fact=_NOT_SINCE)
    return ListedResult(verdict="contradicted", fact=f"{shown} did not change in this run")


def is_covered(path: str, located: LocatedPath) -> bool:
    """Whether a path is the located one, as it is or as it is shown, or in it."""
    return any(one in (path, make_readable(path)) or path.startswith(one + "/") for one in located.paths)


def _find_changed(located: LocatedPath, changes: ChangedPaths) -> Iterator[str]:
    for path in (*changes.changed, *changes.arrived):
        if path in located.paths or make_readable(path) in located.paths:
            yield path


def _judge_word(file: ListedFile, own: str, changes: ChangedPaths, sighting: Sighting) -> ListedResult:
    """Words of a project's own contract that are none of these four are not compared."""
    shown = make_readable(own)
    is_added, is_deleted = own in changes.added, own in changes.deleted
    if changes.is_partial and not is_deleted and file.change == ("modified" if is_added else "added"):
        return ListedResult(
            verdict="unknown", fact=_FIRST_FILES
        )  # the run may have begun without it, or with
    fact = ""
    match file.change:
        case "added" if is_deleted:
            fact = f"{shown} is not there any more; it was deleted"
        case "added" if not is_added:
            fact = f"{shown} existed before this run; it was modified"
        case "modified" if is_deleted:
            fact = f"{shown} is not there any more; it was deleted"
        case "modified" if is_added and own not in sighting.made_before:
            fact = f"{shown} was not there before this run; it was added"
        case "deleted" if not is_deleted:
            fact = f"{shown} is still there; it was {'added' if is_added else 'modified'}"
        case "renamed" if file.before:
            fact = _find_unmoved(file.before, changes, sighting)
        case _:
            pass
    return ListedResult(verdict="contradicted" if fact else "holds", fact=fact)


def _find_unmoved(before: str, changes: ChangedPaths, sighting: Sighting) -> str:
    """A file was not renamed if it still stands where it was, unchanged."""
    located = locate(sighting, before)
    is_known = located.is_there and located.is_inside and clean_path(before) not in sighting.doubts
    if not is_known or any(is_covered(path, located) for path in (*changes.changed, *changes.arrived)):
        return ""
    return f"{make_readable(clean_path(before))} is still there, unchanged"
