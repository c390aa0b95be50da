"""A list of changed files against what the trees of the run tell. Pure.

A file that the trees do not tell about (ignored, of another repository, too large) is unknown. The word for
a change is compared where both trees are known: with the files that the run began with, and for a file that
an earlier step of the run added also with those that the step began with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.wording import make_readable
from handrail.engine.judge.artifact_spots import find_spots
from handrail.engine.judge.run_claims import OF_ANOTHER_RUN, list_paths
from handrail.engine.judge.witnessed import ChangedPaths, LocatedPath, Sighting
from handrail.workflows.evidence import ChangedInRun

_FIRST_FILES = "the files of this run were first recorded after it began"
_NOT_SINCE = f"unchanged since then; {_FIRST_FILES}"


_Owner: TypeAlias = Literal["own", "commit", "branch", "others", "nobody"]
"""Whose a change is: this branch's; anybody's, by the commit that is checked out now; that of another branch,
which the rewind did not bring back; perhaps that of another run of the session, open in this directory."""


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


def find_named_files(
    rule: ChangedInRun, body: dict[str, Any], *, only_left_out: bool = False
) -> Iterator[str]:
    """Every path that a list of changed files names, in each of its places or in the last of them."""
    places = (rule.left_out,) if only_left_out else (rule.at, rule.also, rule.left_out)
    for at in filter(None, places):
        for _, value, _ in find_spots(body, at):
            if isinstance(value, str):
                yield clean_path(value)


def clean_path(text: str) -> str:
    return text.strip().removeprefix("./")


def locate(sighting: Sighting, text: str) -> LocatedPath:
    """The file that a text means; as it is written where nobody looked."""
    found = sighting.files.get(clean_path(text))
    return LocatedPath(paths=(clean_path(text).rstrip("/"),)) if found is None else found


class Comparison:
    """What changed, asked about each entry of a list; asking is quick however long both are."""

    def __init__(self, changes: ChangedPaths, sighting: Sighting) -> None:
        self._changes = changes
        self._sighting = sighting
        self._arrived = {*changes.arrived}
        self._own = {one: path for path in (*changes.changed, *changes.arrived) for one in _spell(path)}
        self._with_folders = widen(self._own)

    def judge(self, file: ListedFile) -> ListedResult:
        """Whether the file changed, and in the way that the list says."""
        shown, located = make_readable(clean_path(file.path)), locate(self._sighting, file.path)
        if not located.is_inside:
            return ListedResult(verdict="contradicted", fact=f"{shown} is not inside the project")
        if not located.paths:
            return ListedResult(verdict="unknown", fact=f"{shown} is not the path of a file")
        own = next((self._own[path] for path in located.paths if path in self._own), "")
        if own:
            return self._judge_word(file, own)
        if self._has_changed(located):  # a folder
            return ListedResult(verdict="holds")
        doubt = self._sighting.doubts.get(clean_path(file.path), "")
        if not doubt and file.before.casefold() == file.path.casefold():
            doubt = "only the case of its name changed"
        if doubt:
            return ListedResult(verdict="unknown", fact=f"{shown}: {doubt}")
        if self._changes.is_partial:
            return ListedResult(verdict="unknown", fact=_NOT_SINCE)
        return ListedResult(verdict="contradicted", fact=f"{shown} did not change in this run")

    def judge_left_out(self, path: str) -> str:
        """What can be said of a file that the report leaves out: why it did so is the agent's word."""
        shown, located = make_readable(clean_path(path)), locate(self._sighting, path)
        if not located.is_inside:
            return f"{shown} is not inside the project"
        if (
            self._has_changed(located)
            or clean_path(path) in self._sighting.doubts
            or self._changes.is_partial
        ):
            return f"{shown} is left out by the agent's word"
        return f"{shown} did not change in this run"

    def find_unlisted(self, named: Iterable[str], whose: _Owner = "own") -> list[str]:
        """What changed, is theirs, and is neither named nor in a folder that is."""
        listed = {path for text in named for path in locate(self._sighting, text).paths}
        every = (*self._changes.changed, *self._changes.arrived)
        own = [path for path in every if self._find_owner(path) == whose]
        return [path for path in own if listed.isdisjoint(widen(_spell(path)))]

    def _find_owner(self, path: str) -> _Owner:
        is_arrived = path in self._arrived
        if path in self._sighting.elsewhere:
            return "branch"
        if path in self._sighting.others:
            return "nobody" if is_arrived else "others"
        return "commit" if is_arrived else "own"

    def describe_undemanded(self, named: list[str]) -> dict[str, tuple[str, list[str]]]:
        """What is shown where it is not listed, and demanded of nobody, with the paths; by its place."""
        of_others = {OF_ANOTHER_RUN: self.find_unlisted(named, "others")}
        found = {
            "came with a commit of this run": self.find_unlisted(named, "commit"),
            "left by another branch of this run": self.find_unlisted(named, "branch"),
            "changed in this run as ignore rules": list(self._sighting.beside.ignore_rules),
        }
        return {"/-": _describe_unlisted(found), "/-/-": _describe_unlisted(of_others)}

    def _has_changed(self, located: LocatedPath) -> bool:
        return not self._with_folders.isdisjoint(located.paths)

    def _judge_word(self, file: ListedFile, own: str) -> ListedResult:
        """Words of a project's own contract that are none of these four are not compared."""
        shown, changes = make_readable(own), self._changes
        is_added, is_deleted = own in changes.added, own in changes.deleted
        if changes.is_partial and not is_deleted and file.change == ("modified" if is_added else "added"):
            # The run may have begun without the file, or with it.
            return ListedResult(verdict="unknown", fact=_FIRST_FILES)
        fact = ""
        match file.change:
            case "added" if is_deleted:
                fact = f"{shown} is not there any more; it was deleted"
            case "added" if not is_added:
                fact = f"{shown} existed before this run; it was modified"
            case "modified" if is_deleted:
                fact = f"{shown} is not there any more; it was deleted"
            case "modified" if is_added and own not in self._sighting.made_before:
                fact = f"{shown} was not there before this run; it was added"
            case "deleted" if not is_deleted:
                fact = f"{shown} is still there; it was {'added' if is_added else 'modified'}"
            case "renamed" if file.before and not changes.is_partial:
                fact = self._find_unmoved(file.before)
                if not fact and self._was_never(file):
                    return ListedResult(
                        verdict="unknown",
                        fact=f"the run began without {make_readable(clean_path(file.before))}",
                    )
            case _:
                pass
        return ListedResult(verdict="contradicted" if fact else "holds", fact=fact)

    def _was_never(self, file: ListedFile) -> bool:
        """Whether a file is said to have a name before that the run did not begin with, as far as is known.

        An earlier step may have made it, so this is no contradiction.
        """
        located = locate(self._sighting, file.before)
        is_known = located.is_inside and clean_path(file.before) not in self._sighting.doubts
        is_same = clean_path(file.before).casefold() == clean_path(file.path).casefold()
        return is_known and not is_same and not located.is_there and not self._has_changed(located)

    def _find_unmoved(self, before: str) -> str:
        """A file was not renamed if it still stands where it was, unchanged."""
        located = locate(self._sighting, before)
        is_known = located.is_there and located.is_inside and clean_path(before) not in self._sighting.doubts
        if not is_known or self._has_changed(located):
            return ""
        return f"{make_readable(clean_path(before))} is still there, unchanged"


def _describe_unlisted(found: Mapping[str, list[str]]) -> tuple[str, list[str]]:
    parts = [f"{how} and not listed: {list_paths(paths)}" for how, paths in found.items() if paths]
    return "; ".join(parts), [path for paths in found.values() for path in paths]


def widen(paths: Iterable[str]) -> set[str]:
    """The paths, and every folder above them."""
    found: set[str] = set()
    for path in paths:
        here = path
        while here and here not in found:
            found.add(here)
            here = here.rpartition("/")[0]
    return found


def _spell(path: str) -> tuple[str, ...]:
    """The path as it is, and as it is shown where it holds what cannot be."""
    shown = make_readable(path)
    return (path,) if shown == path else (path, shown)
