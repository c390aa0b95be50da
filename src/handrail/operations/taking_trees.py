"""Taking the tree of a node: look, pack what is new, and record it as a commit of its own.

It happens after the reply, so it delays nothing, and whatever goes wrong here is said and changes no answer.
"""

from __future__ import annotations

from handrail.contract.catalogue import STORE_CORRUPT
from handrail.contract.ids import BlobRef, NodeId
from handrail.contract.outcome import Fault
from handrail.engine.code_trees import find_latest_tree, list_refs
from handrail.engine.events import TreeCause
from handrail.engine.facts import encode_project
from handrail.engine.history import History, RecordedTree
from handrail.operations.stored_trees import (
    KnownTree,
    PreparedTree,
    StoredTree,
    known_digests,
    plan_tree,
    prepare_tree,
    restore_list,
)
from handrail.ports.log import EventReader
from handrail.ports.worktree import MOST_PACK_BYTES, Packed, Tree, Unseen
from handrail.runtime.runtime import Runtime, TreeDue, keeps_code
from handrail.runtime.sessions import commit, healthy_session, read_session

SERVER_SECONDS = 10.0
"""How long a server looks for one tree, after its reply."""
COMMAND_SECONDS = 0.15
"""The same for a command line, which must end."""
COMMAND_PACK_BYTES = 4_000_000
"""New contents that a command line packs; the next tree takes what is left."""


def take_due_tree(rt: Runtime, due: TreeDue, seconds: float, most_bytes: int = MOST_PACK_BYTES) -> str:
    """Record the tree that a call left to be taken. Returns why not, empty when it is there.

    Raises Fault when the store refuses; a caller after its reply says so and goes on.
    """
    if not keeps_code(rt, due.project):
        return ""
    session = read_session(rt.log, due.session_id)
    if session is None or due.node_id not in session.history.nodes:
        return "the session is gone"
    if not is_project_of(session.history, due.node_id, due.project):
        return "the run belongs to another project"
    tree = rt.worktree().take_tree(due.project, seconds)
    if isinstance(tree, Unseen):
        return tree.reason
    return record_tree(rt, session.history, due.node_id, due.project, tree, due.cause, most_bytes)


def take_for_command(rt: Runtime, due: TreeDue) -> str:
    """The same within the time that a command line has. Returns why not; a store that refuses is a reason."""
    try:
        return take_due_tree(rt, due, COMMAND_SECONDS, COMMAND_PACK_BYTES)
    except Fault as fault:
        return fault.message


def record_tree(
    rt: Runtime,
    history: History,
    node_id: NodeId,
    project: str,
    tree: Tree,
    cause: TreeCause,
    most_bytes: int = MOST_PACK_BYTES,
) -> str:
    """Record a tree at a node, as a commit of its own. Returns why not, empty when it is there.

    Raises Fault when the store refuses.
    """
    if any(held.fact.tree_id == tree.tree_id for held in history.trees.get(node_id, ())):
        return ""
    prepared = prepare_node_tree(rt, history, node_id, project, tree, cause, most_bytes)
    session = read_session(rt.log, history.session_id)
    if session is None:
        return "the session is gone"
    with healthy_session(rt, session, by_token=False) as (current, witness):
        node = current.history.nodes[node_id]
        commit(rt, witness, current, lambda _: [plan_tree(node, prepared)], prepared.blobs)
    return ""


def prepare_node_tree(
    rt: Runtime,
    history: History,
    node_id: NodeId,
    project: str,
    tree: Tree,
    cause: TreeCause,
    most_bytes: int = MOST_PACK_BYTES,
) -> PreparedTree:
    """Everything that recording a tree at a node, or at one that follows it, needs; no lock is held.

    `stored_trees.plan_tree` makes the event; its blobs go into the same commit. Contents are kept only
    where snapshots are on: without, the list of paths and digests is all that is stored.
    """
    base = load_known_tree(rt.log, history, find_latest_tree(history, node_id))
    packed = Packed(content=b"", digests=())
    if keeps_code(rt, project):
        packed = rt.worktree().pack_contents(project, tree, known_digests(base), most_bytes)
    return prepare_tree(tree, packed, base, cause)


def load_known_tree(reader: EventReader, history: History, recorded: RecordedTree | None) -> KnownTree | None:
    """A recorded tree with its list; None when there is none, or the session came without it."""
    if recorded is None:
        return None
    stored = load_tree(reader, history, recorded)
    return None if isinstance(stored, Unseen) else KnownTree(recorded=recorded, stored=stored)


def load_tree(reader: EventReader, history: History, recorded: RecordedTree) -> StoredTree | Unseen:
    """The list of a recorded tree, from its blobs."""
    refs = list_refs(history, recorded)
    if refs is None:
        return Unseen(reason="an earlier tree that it builds on is not in this session")
    contents: dict[BlobRef, bytes] = {}
    for ref in refs:
        content = load_optional(reader, ref)
        if content is None:
            return Unseen(reason="its list of files is not in this store: the session came without its code")
        contents[ref] = content
    stored = restore_list(history, recorded, contents)
    return Unseen(reason="its list of files is damaged") if stored is None else stored


def load_optional(reader: EventReader, ref: BlobRef) -> bytes | None:
    """A blob that may be absent. Raises Fault for other trouble of the store."""
    try:
        return reader.get_blob(ref)
    except Fault as fault:
        if fault.kind is STORE_CORRUPT:
            return None
        raise


def is_project_of(history: History, node_id: NodeId, project: str) -> bool:
    """Whether the run of a node was begun in this project; runs of older versions do not tell."""
    held = history.runs[history.nodes[node_id].run_id].project
    return held is None or held.directory == encode_project(project).directory
