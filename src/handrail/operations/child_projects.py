"""Where a run that was handed out works, and what it begins with.

A child works where its parent does, or in another worktree of the same repository. Its first call that
writes decides that, and it is recorded once.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec import UNSET, UnsetType

from handrail.contract.ids import NodeId
from handrail.contract.outcome import Fault
from handrail.engine.children.joins import list_children
from handrail.engine.children.shared_files import plan_helper
from handrail.engine.facts import Helper, encode_project
from handrail.engine.history import Node, Run
from handrail.operations.kept_trees import COMMAND_PACK_BYTES, FIRST_SECONDS, record_tree
from handrail.ports.workspace import Workspace
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import ReadPorts, WritePorts, looks_at_code
from handrail.runtime.sessions import Session, commit, healthy_session


def settle_project(rt: ReadPorts, run: Run, asked: str | UnsetType, own: str | None) -> str | None:
    """The directory that a child's first writing call is made in, if it may be the child's own.

    None: it has one, or the call comes from elsewhere, and the parent's directory stays.
    """
    if run.parent is None or run.has_own_project or run.project is None:
        return None
    try:
        here = rt.workspace.project("" if asked is UNSET else asked)
    except Fault:
        return None
    if here == own:
        return here
    main = rt.places.find(run.project.directory) if own is None else own
    if not main or not is_same_repository(rt.workspace, here, main):
        return None
    rt.places.keep(encode_project(here).directory, here)
    return here


def keep_own_project(
    rt: WritePorts, session: Session, node_id: NodeId, asked: str | UnsetType, own: str | None
) -> Session:
    """Record where a child works, for a check that comes before its first report."""
    run = session.history.runs[session.history.nodes[node_id].run_id]
    settled = settle_project(rt, run, asked, own)
    if settled is None:
        return session
    with healthy_session(rt, session, by_token=True) as (current, witness):
        node = current.history.nodes[node_id]
        planned = plan_helper(current.history, node, Helper(project=encode_project(settled)))
        return (commit(rt, witness, current, lambda _: planned) if planned else None) or current


def keep_first_trees(rt: WritePorts, session: Session, node: Node, project: str) -> None:
    """Record what the children of a step begin with, before anybody has the reply that names them."""
    if rt.trees_due is None or not looks_at_code(rt, project):
        return
    children = list_children(session.history, node)
    first = [one.first_node for one in children if one.parent and one.parent.node_id == node.node_id]
    tree = rt.worktree().take_tree(project, FIRST_SECONDS) if first else None
    if tree is None or isinstance(tree, Unseen):
        return
    for node_id in first:
        if not session.history.trees.get(node_id):
            with suppress(Fault):  # what a child began with is then unknown, and its start succeeds
                record_tree(rt, session.history, node_id, project, tree, "start", COMMAND_PACK_BYTES)


def is_same_repository(workspace: Workspace, one: str, other: str) -> bool:
    """Whether two directories are worktrees of one repository, by their common git directory."""
    held = workspace.repository(one)
    return bool(held) and held == workspace.repository(other)
