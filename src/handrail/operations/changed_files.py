"""The files that changed since a run began, as Handrail observes them."""

from __future__ import annotations

import re

from handrail.contract.wording import make_readable, quote
from handrail.engine.code_trees import find_baseline
from handrail.engine.history import History, Node
from handrail.engine.judge.computed import ChangedFile, FileChange
from handrail.engine.judge.proofs import find_base
from handrail.engine.shared_files import shares_directory
from handrail.operations.stored_trees import load_tree
from handrail.ports.trees import ChangeStatus, TreeChange, TreeReader
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import ReadPorts
from handrail.workflows.compiled import ProofDemand

_REVISION = re.compile(r"[A-Za-z0-9_@][\w./@{}~^+-]{0,249}", re.ASCII)
"""Text that may be the name of a commit; a sentence never matches."""
_SINCE_START = ProofDemand(wants="passes", base="run")
_CHANGES: dict[ChangeStatus, FileChange] = {
    "added": "added",
    "deleted": "deleted",
    "changed": "modified",
    "mode": "modified",
}


def list_changed_files(
    rt: ReadPorts, history: History, node: Node, project: str, tree: str
) -> tuple[ChangedFile, ...] | None:
    """Return every file that differs from the start of the run; None if others may have made the changes."""
    if shares_directory(history, node):
        return None  # another run works in the same directory
    base = find_base(history, node.node_id, _SINCE_START)
    found = rt.trees().diff(project, base, tree) if base else None
    if found is None or isinstance(found, Unseen):
        first = find_baseline(history, node.node_id)
        stored = None if first is None else load_tree(rt, project, history, first)
        if stored is None or isinstance(stored, Unseen):
            return None
        found = rt.trees().diff(project, stored.tree, tree)
    return None if isinstance(found, Unseen) else tuple(_describe(one) for one in found)


def list_differing(
    trees: TreeReader, project: str, before: str, after: str
) -> tuple[ChangedFile, ...] | None:
    """Return every file that differs between two trees; None if one of them is not on this machine."""
    found = trees.diff(project, before, after)
    return None if isinstance(found, Unseen) else tuple(map(_describe, found))


def list_named_change(rt: ReadPorts, project: str, name: str) -> tuple[str, ...] | Unseen:
    """Return the files of a change: `REV` (that commit), `REV..REV`, or empty (merge base to working tree).

    Of a renamed file, the new path.
    """
    trees = rt.trees()
    first, dots, last = name.strip().partition("..")
    if not first and not dots:
        base, taken = trees.find_merge_base(project), trees.take(project)
        if isinstance(base, Unseen) or isinstance(taken, Unseen):
            return Unseen(reason="the files of the change are not known: there is no base to compare with")
        return _list_paths(trees.diff(project, base.tree, taken.tree))
    names = (first, last or "HEAD") if dots else (f"{first}^", first)
    ends = [_resolve(trees, project, one) for one in names]
    if None in ends:
        return Unseen(reason=f"the files of the change are not known: {quote(name)} names no commits here")
    return _list_paths(trees.diff(project, ends[0] or "", ends[1] or ""))


def _resolve(trees: TreeReader, project: str, name: str) -> str | None:
    if not _REVISION.fullmatch(name):
        return None
    found = trees.resolve(project, name)
    return None if isinstance(found, Unseen) else found.tree


def _list_paths(found: tuple[TreeChange, ...] | Unseen) -> tuple[str, ...] | Unseen:
    if isinstance(found, Unseen):
        return found
    arrived = {one.after.object_id for one in found if one.status == "added" and one.after is not None}
    return tuple(
        make_readable(one.path)
        for one in found
        if one.status != "deleted" or one.before is None or one.before.object_id not in arrived
    )


def _describe(one: TreeChange) -> ChangedFile:
    lines = {} if one.is_binary else {"added": one.added, "removed": one.removed}
    return ChangedFile(path=make_readable(one.path), change=_CHANGES[one.status], **lines)
