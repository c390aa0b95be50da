"""The files that changed since a run began, found out by Handrail."""

from __future__ import annotations

from handrail.contract.wording import make_readable
from handrail.engine.children.shared_files import shares_directory
from handrail.engine.code_trees import find_baseline
from handrail.engine.history import History, Node
from handrail.engine.judge.computed import ChangedFile, FileChange
from handrail.engine.judge.proofs import find_base
from handrail.operations.kept_trees import load_tree
from handrail.operations.proof_trees import take_git_tree
from handrail.ports.trees import ChangeStatus, TreeChange
from handrail.ports.worktree import Tree, Unseen
from handrail.runtime.runtime import ReadPorts
from handrail.workflows.compiled import ProofDemand

_SINCE_START = ProofDemand(wants="passes", base="run")
_CHANGES: dict[ChangeStatus, FileChange] = {
    "added": "added",
    "deleted": "deleted",
    "changed": "modified",
    "mode": "modified",
}


def list_changed_files(
    rt: ReadPorts, history: History, node: Node, project: str, tree: Tree, head: str = ""
) -> tuple[ChangedFile, ...] | None:
    """Return every file that differs from the start of the run; None: nobody can tell whose change it is.

    Without the git trees of both moments the files are known, and their lines are not.
    """
    if shares_directory(history, node):
        return None  # whose change it is cannot be seen
    base = find_base(history, node.node_id, _SINCE_START)
    head = head or (take_git_tree(rt, project) if base else "")
    if base and head:
        found = rt.trees().diff(project, base, head)
        if not isinstance(found, Unseen):
            return tuple(_describe(one) for one in found)
    return _compare_lists(rt, history, node, project, tree)


def _describe(one: TreeChange) -> ChangedFile:
    lines = {} if one.is_binary else {"added": one.added, "removed": one.removed}
    return ChangedFile(path=make_readable(one.path), change=_CHANGES[one.status], **lines)


def _compare_lists(
    rt: ReadPorts, history: History, node: Node, project: str, tree: Tree
) -> tuple[ChangedFile, ...] | None:
    first = find_baseline(history, node.node_id)
    stored = None if first is None else load_tree(rt.log, history, first)
    if stored is None or isinstance(stored, Unseen):
        return None
    found = rt.worktree().compare(project, stored.tree, tree)
    if isinstance(found, Unseen):
        return None
    added, deleted = set(found.added), set(found.deleted)
    return tuple(
        ChangedFile(
            path=make_readable(path),
            change="added" if path in added else "deleted" if path in deleted else "modified",
        )
        for path in sorted({*found.changed, *found.arrived})
    )
