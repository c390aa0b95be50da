"""A step that is continued again: how many files differ from those that it saw, recorded with the attempt."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UnsetType

from handrail.contract.outcome import Fault
from handrail.contract.wording import format_count
from handrail.engine.code_trees import find_nearest_tree
from handrail.engine.events import NodeCreated, PlannedEvent
from handrail.engine.history import History, Node
from handrail.engine.reply import ReplyWarning
from handrail.operations.kept_trees import (
    PreparedTree,
    is_project_of,
    load_tree,
    plan_tree_at,
    prepare_node_tree,
)
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import Runtime, project_of

LOOKING_SECONDS = 2.0
"""How long an attempt that may fork looks at the files; longer, and nothing is said of them."""


def look_at_fork(rt: Runtime, history: History, node: Node, asked: str | UnsetType) -> PreparedTree | None:
    """The present files with the count of those that differ; None when none does, or nothing can be said."""
    recorded = find_nearest_tree(history, node.node_id)
    if recorded is None:
        return None
    try:
        project = project_of(rt, asked)
    except Fault:
        return None
    if not is_project_of(history, node.node_id, project):
        return None
    stored = load_tree(rt.log, history, recorded)
    tree = rt.worktree().take_tree(project, LOOKING_SECONDS)
    if isinstance(stored, Unseen) or isinstance(tree, Unseen):
        return None
    changes = rt.worktree().compare(project, stored.tree, tree)
    if isinstance(changes, Unseen) or not (changes.changed or changes.arrived):
        return None
    prepared = prepare_node_tree(rt, history, node.node_id, project, tree, "look")
    fact = msgspec.structs.replace(
        prepared.fact,
        differs_from=recorded.fact.node_id,
        differing=len(changes.changed) + len(changes.arrived),
    )
    return msgspec.structs.replace(prepared, fact=fact)


def plan_fork_tree(plan: Sequence[PlannedEvent], prepared: PreparedTree) -> list[PlannedEvent]:
    """The event for the node that a plan makes."""
    return [
        plan_tree_at(event.scope.run_id, event.scope.node_id, prepared)
        for event in plan
        if isinstance(event.data, NodeCreated)
        and event.scope.run_id is not None
        and event.scope.node_id is not None
    ]


def warn_of_other_files(history: History, node: Node) -> tuple[ReplyWarning, ...]:
    """What a reply says of it, from what was recorded with the attempt."""
    held = history.trees.get(node.node_id, ())
    if not held or held[0].fact.differs_from is None:
        return ()
    fact = held[0].fact
    command = f"handrail code restore {fact.differs_from} --dry-run"
    differ = "differs" if fact.differing == 1 else "differ"
    message = (
        f"{format_count(fact.differing, 'file')} of the project {differ} from what this step saw. "
        f"To bring them back: {command}"
    )
    details = {"differing": fact.differing, "nodeId": fact.differs_from, "command": command}
    return (ReplyWarning(code="FILES_DIFFER", message=message, details=details),)
