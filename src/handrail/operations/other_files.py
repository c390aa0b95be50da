"""An older step that is read or continued again: how many files differ from those that it saw.

A step that is read again is compared with the present files. A reply to an attempt tells what was recorded
with it, so that its replay tells the same.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from handrail.contract.outcome import Fault
from handrail.contract.wording import format_count
from handrail.engine.code_trees import find_nearest_tree
from handrail.engine.history import History, Node
from handrail.engine.reply import ReplyWarning
from handrail.operations.kept_trees import PreparedTree, load_tree, prepare_node_tree
from handrail.ports.log import EventReader
from handrail.ports.worktree import Tree, TreeLook, Unseen
from handrail.runtime.runtime import ReadPorts, RehydratePorts

ADVANCE_SECONDS = 2.0
"""How long an attempt that may fork looks at the files; longer, and nothing is said of them."""
REREAD_SECONDS = 0.5
"""The same for a step that is only read again."""


class _Differing(msgspec.Struct, frozen=True, kw_only=True):
    seen_at: str
    """The node whose tree the step saw."""
    count: int
    project: str
    tree: Tree
    """The present files."""


def look_at_present(rt: ReadPorts, history: History, node: Node, project: str | None) -> PreparedTree | None:
    """The present files of the run's project with the count of those that differ.

    None when none does, or nothing can be said.
    """
    found = _compare(rt.log, rt.worktree, history, node, project, ADVANCE_SECONDS)
    if found is None:
        return None
    prepared = prepare_node_tree(rt, history, node.node_id, found.project, found.tree, "look")
    fact = msgspec.structs.replace(prepared.fact, differs_from=found.seen_at, differing=found.count)
    return msgspec.structs.replace(prepared, fact=fact)


def warn_of_recorded(history: History, node: Node) -> tuple[ReplyWarning, ...]:
    """What the reply to an attempt says, from what was recorded with it."""
    held = history.trees.get(node.node_id, ())
    if not held or held[0].fact.differs_from is None:
        return ()
    return (_warn(held[0].fact.differs_from, held[0].fact.differing),)


def warn_of_present(
    ports: RehydratePorts, history: History, node: Node, project: str | None
) -> tuple[ReplyWarning, ...]:
    """What an older step that is read again says, from a look at the files."""
    found = _compare(ports.log, ports.worktree, history, node, project, REREAD_SECONDS)
    return () if found is None else (_warn(found.seen_at, found.count),)


def _compare(
    reader: EventReader,
    worktree: Callable[[], TreeLook],
    history: History,
    node: Node,
    project: str | None,
    seconds: float,
) -> _Differing | None:
    recorded = find_nearest_tree(history, node.node_id)
    if recorded is None or project is None:
        return None
    try:
        stored = load_tree(reader, history, recorded)
    except Fault:  # a store that refuses does not withhold the reply
        return None
    tree = worktree().take_tree(project, seconds)
    if isinstance(stored, Unseen) or isinstance(tree, Unseen):
        return None
    changes = worktree().compare(project, stored.tree, tree, seconds)
    if isinstance(changes, Unseen) or not (changes.changed or changes.arrived):
        return None
    count = len(changes.changed) + len(changes.arrived)
    return _Differing(seen_at=recorded.fact.node_id, count=count, project=project, tree=tree)


def _warn(seen_at: str, count: int) -> ReplyWarning:
    command = f"handrail code restore {seen_at} --dry-run"
    differ = "differs" if count == 1 else "differ"
    message = (
        f"{format_count(count, 'file')} of the project {differ} from what this step saw. "
        f"To bring them back: {command}"
    )
    details = {"differing": count, "nodeId": seen_at, "command": command}
    return ReplyWarning(code="FILES_DIFFER", message=message, details=details)
