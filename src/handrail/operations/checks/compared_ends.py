"""The two ends of a change that is proven: the files at its start, and those at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from handrail.contract.outcome import Fault, refuse_argument
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import list_names, make_readable, quote
from handrail.ports.trees import GitEntry, TakenTree
from handrail.ports.workspace import DeclaredCheck
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import ReadPorts

_T = TypeVar("_T")
SETTINGS_FILE = ".handrail/config.json"


class Untried(Exception):
    """Why nothing can be proven, as the end of a sentence."""


class Ends(msgspec.Struct, frozen=True, kw_only=True):
    """The files at both ends of a change, and the remarks about them."""

    before: Mapping[str, GitEntry]
    after: Mapping[str, GitEntry]
    base: str
    """The tree at the start."""
    head: str
    """The tree at the end."""
    start: str
    """The start, as people name it."""
    taken: TakenTree | None
    """The working tree, if it is the end."""
    remarks: tuple[str, ...] = ()


def find_ends(rt: ReadPorts, project: str, base: str, head: str, start_tree: str | None = None) -> Ends:
    """Return the ends by the names of two commits.

    An empty name means the merge base with the default branch, or the working tree. Without a name, the
    change of a run begins with `start_tree`; an empty tree means that the files of its start are unknown.

    Raise Fault VALIDATION_ERROR for a name that git does not know, and Untried.
    """
    trees = rt.trees()
    taken = None
    if not head:
        taken = _require(trees.take(project))
    end = taken.tree if taken is not None else _resolve(rt, project, head, "head")
    if base:
        begun, start = _resolve(rt, project, base, "base"), base
    elif start_tree is not None:
        if not start_tree:
            raise Untried("the files of the start of the run were not recorded")
        if not trees.has_tree(project, start_tree):
            raise Untried("the files of the start of the run are not on this machine")
        begun, start = start_tree, "the start of the run"
    else:
        found = trees.find_merge_base(project)
        if isinstance(found, Unseen):
            raise Untried(f"{found.reason}; name the start with --base")
        begun, start = found.tree, f"the merge base with {found.name}"
    before = {one.path: one for one in _require(trees.list_entries(project, begun))}
    after = {one.path: one for one in _require(trees.list_entries(project, end))}
    remarks = []
    if taken is not None:
        remarks = _describe_left_out(taken)
        # For these files a commit has a Git LFS pointer, and the working tree has the content.
        before |= {path: after[path] for path in taken.filtered if path in before and path in after}
    return Ends(
        before=before, after=after, base=begun, head=end, start=start, taken=taken, remarks=tuple(remarks)
    )


def _resolve(rt: ReadPorts, project: str, name: str, param: str) -> str:
    found = rt.trees().resolve(project, name)
    if not isinstance(found, Unseen):
        return found.tree
    if "git repository" in found.reason:  # without a repository every name is wrong
        raise Untried(found.reason)
    raise refuse_argument(
        f"There is no commit {quote(name)} in this repository.",
        param,
        "is no commit here",
        "a commit, a branch or a tag",
        hint=f"Fetch it with git fetch, or name another one with --{param}.",
    )


def _require(found: _T | Unseen) -> _T:
    if isinstance(found, Unseen):
        raise Untried(found.reason)
    return found


def _describe_left_out(taken: TakenTree) -> list[str]:
    remarks = []
    if taken.filtered:
        remarks.append(
            f"files that git keeps elsewhere (LFS) are taken from the end in every run: "
            f"{list_names(list(map(make_readable, taken.filtered)))}"
        )
    if taken.left_out:
        paths = [make_readable(one.path) for one in taken.left_out]
        remarks.append(f"not read, because {taken.left_out[0].why}: {list_names(paths)}")
    if taken.nested:
        remarks.append(f"submodules are not in a copy: {list_names(list(map(make_readable, taken.nested)))}")
    return remarks


# Which declaration counts


class FoundCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check by its declaration, with remarks if the declaration does not come from the start."""

    check: DeclaredCheck
    remarks: tuple[str, ...] = ()


def find_declared_checks(
    rt: ReadPorts, project: str, ends: Ends, names: Sequence[str]
) -> tuple[FoundCheck, ...]:
    """Return the checks of these names, or all: as declared at the start, else as declared at the end.

    Raise Fault VALIDATION_ERROR for a name that neither declares, and E_CONFIG.
    """
    before = _read_declared(rt, project, ends.before)
    after = _list_now(rt, project, ends)
    wanted = tuple(dict.fromkeys(names)) or tuple(dict.fromkeys([*before, *after]))
    for name in wanted:
        if name not in before and name not in after:
            raise _refuse_undeclared(name, tuple(dict.fromkeys([*before, *after])))
    return tuple(
        FoundCheck(check=before[name])
        if name in before
        else FoundCheck(check=after[name], remarks=(f"the change itself declares the check {name}",))
        for name in wanted
    )


def _list_now(rt: ReadPorts, project: str, ends: Ends) -> dict[str, DeclaredCheck]:
    if ends.taken is None:
        return _read_declared(rt, project, ends.after)
    return {check.name: check for check in rt.settings.of(project).checks}


def _read_declared(rt: ReadPorts, project: str, entries: Mapping[str, GitEntry]) -> dict[str, DeclaredCheck]:
    """Return the checks that the settings file among these declares; empty if it cannot be used."""
    entry = entries.get(SETTINGS_FILE)
    content = None if entry is None else rt.trees().read(project, entry.object_id)
    try:
        checks = () if content is None else rt.settings.read_checks(content)
    except Fault:
        return {}
    return {check.name: check for check in checks}


def _refuse_undeclared(name: str, names: Sequence[str]) -> Fault:
    known = list_names(names) or "none"
    return refuse_argument(
        f"The project declares no check {quote(name)}.",
        "names",
        "is not declared",
        known,
        did_you_mean=find_nearest(name, list(names)),
        hint="Prove a command without declaring it: handrail prove -- pytest -q."
        if not names
        else "Name one of the declared checks, or put a command after --.",
    )
