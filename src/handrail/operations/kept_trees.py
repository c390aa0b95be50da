"""The file snapshots of nodes: how one is stored, and how it is taken.

The first one of a run is taken before the reply, each later one after it.

A file snapshot is a git tree. Its new contents are one git pack, a blob of the session. It is stored after
the reply is sent, as a commit of its own: it delays nothing, and trouble here changes no answer. A call that
had to read all files anyway passes on the tree, so the files are read once. The files at the start of a run
are stored before the reply, because they cannot be read later.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from handrail.contract.ids import BlobRef, NodeId, blob_ref
from handrail.contract.outcome import Fault
from handrail.contract.wording import format_count
from handrail.engine.children.joins import list_children
from handrail.engine.code_trees import (
    LONGEST_CHAIN,
    find_baseline,
    find_latest_tree,
    find_nearest_tree,
)
from handrail.engine.events import Scope, TreeCause, TreeRecorded
from handrail.engine.history import History, Node, RecordedTree
from handrail.engine.judge.computed import sum_changes
from handrail.engine.plans import plan_tree
from handrail.engine.reply import ReplyWarning
from handrail.operations.changed_files import list_changed_files, list_differing
from handrail.operations.earlier_trees import is_earlier
from handrail.operations.proof_trees import drop_kept_trees, may_begin_change, take_present
from handrail.operations.same_project import is_project
from handrail.operations.stored_trees import as_file_tree, encode_left_out, load_tree
from handrail.ports.log import Blob
from handrail.ports.trees import MOST_READ_BYTES, MOST_STEP_BYTES, NO_GIT, TakenTree, TreeReader
from handrail.ports.workspace import Workspace
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import ReadPorts, RehydratePorts, TreeDue, WritePorts, keeps_code, looks_at_code
from handrail.runtime.sessions import Session, commit, healthy_session, read_session


class PreparedTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree that is ready to be recorded: all reading is done, only its node is open."""

    fact: TreeRecorded
    """The tree event, without its node."""
    blobs: tuple[Blob, ...]


class _Packed(msgspec.Struct, frozen=True, kw_only=True):
    """The new contents of a tree."""

    content: bytes
    base: RecordedTree | None
    """The recorded tree that it builds on, besides the commit."""
    has_contents: bool


# Taking a tree, after the reply

SERVER_SECONDS = 10.0
"""How long a server may take for one tree, after its reply."""
COMMAND_SECONDS = 3.0
"""The same for a command line, which ends only then; it may take as long as its answer took."""
FIRST_SECONDS = 10.0
"""How long a start may take before its reply: the files at the start cannot be read later."""


def take_due_tree(rt: WritePorts, due: TreeDue, seconds: float) -> str:
    """Record the tree that a call left to be taken. Return the reason if that failed, else an empty text.

    Raise Fault if the store refuses; a caller after its reply reports that and continues.
    """
    if not looks_at_code(rt, due.project):
        return ""
    session = read_session(rt.log, due.session_id)
    if session is None or due.node_id not in session.history.nodes:
        return "the session is gone"
    if not is_project_of(rt.workspace, session.history, due.node_id, due.project):
        return "the run belongs to another project"
    drop_kept_trees(rt, session.history, due.node_id, due.project)
    taken = take_present(rt, due.project, seconds) if due.tree is None else due.tree
    if isinstance(taken, Unseen):
        # Only the start says that git is missing.
        return "" if taken.reason == NO_GIT and due.cause != "start" else taken.reason
    return record_tree(rt, session.history, due.node_id, due.project, taken, due.cause)


def take_first_tree(rt: WritePorts, session: Session, node_id: NodeId, project: str) -> tuple[Session, str]:
    """Record the files at the start of a run before its reply: after the reply, the agent may change files.

    Return the session after that, and why there is no such tree; a start succeeds without it.
    """
    if rt.trees_due is None or not looks_at_code(rt, project):
        return session, ""
    due = TreeDue(session_id=session.history.session_id, node_id=node_id, project=project, cause="start")
    try:
        why = take_due_tree(rt, due, FIRST_SECONDS)
        return read_session(rt.log, due.session_id) or session, why
    except Fault as fault:
        return session, fault.message


def keep_first_trees(rt: WritePorts, session: Session, node: Node, project: str) -> None:
    """Record the files at the start of a step's child runs, before a helper has the reply that names them."""
    if rt.trees_due is None or not looks_at_code(rt, project):
        return
    children = list_children(session.history, node)
    first = [one.first_node for one in children if one.parent and one.parent.node_id == node.node_id]
    taken = take_present(rt, project, FIRST_SECONDS) if first else None
    if taken is None or isinstance(taken, Unseen):
        return
    for node_id in first:
        if not session.history.trees.get(node_id):
            with suppress(Fault):  # the child's first files are then unknown, and its start succeeds
                record_tree(rt, session.history, node_id, project, taken, "start")


def take_for_command(rt: WritePorts, due: TreeDue, answer_seconds: float) -> str:
    """Record a due tree within the time of a command line.

    Return the reason if that failed, even if the store refused.

    On a busy machine the answer took long too, and a fixed time would keep no tree there at all.
    """
    try:
        return take_due_tree(rt, due, max(COMMAND_SECONDS, answer_seconds))
    except Fault as fault:
        return fault.message


def record_tree(
    rt: WritePorts, history: History, node_id: NodeId, project: str, taken: TakenTree, cause: TreeCause
) -> str:
    """Record a tree at a node, as a commit of its own. Return the reason if that failed, else an empty text.

    Raise Fault if the store refuses.
    """
    if any(held.fact.tree_id == taken.tree for held in history.trees.get(node_id, ())):
        return ""
    prepared = prepare_node_tree(rt, history, node_id, project, taken, cause)
    if isinstance(prepared, Unseen):
        return prepared.reason
    fact = _count_changes(rt, history, node_id, project, prepared.fact)
    session = read_session(rt.log, history.session_id)
    if session is None:
        return "the session is gone"
    with healthy_session(rt, session, by_token=False) as (current, witness):
        at_node = Scope(run_id=current.history.nodes[node_id].run_id, node_id=node_id)
        commit(rt, witness, current, lambda _: [plan_tree(at_node, fact)], prepared.blobs)
    return ""


def _count_changes(
    rt: ReadPorts, history: History, node_id: NodeId, project: str, fact: TreeRecorded
) -> TreeRecorded:
    """Return the tree with the number of changes since the start of the run, and since the tree before.

    They are counted once, after the reply, so that no list compares trees.
    """
    before, first = find_nearest_tree(history, node_id), find_baseline(history, node_id)
    if before is None or first is None or is_earlier(before):
        return fact
    if before.fact.tree_id == fact.tree_id:
        return msgspec.structs.replace(fact, changed=before.fact.changed)
    found = list_changed_files(rt, history, history.nodes[node_id], project, fact.tree_id)
    changed = None if found is None else sum_changes(found)
    if changed is None or before is first:
        return msgspec.structs.replace(fact, changed=changed, changed_in_step=changed)
    in_step = list_differing(rt.trees(), project, before.fact.tree_id, fact.tree_id)
    return msgspec.structs.replace(
        fact, changed=changed, changed_in_step=None if in_step is None else sum_changes(in_step)
    )


def prepare_node_tree(
    rt: ReadPorts, history: History, node_id: NodeId, project: str, taken: TakenTree, cause: TreeCause
) -> PreparedTree | Unseen:
    """Return everything that recording a tree at a node, or at one that follows it, needs; takes no lock.

    `plan_tree` makes the event; its blobs go into the same commit. Contents are kept only if snapshots are
    on; otherwise only names and ids are stored.
    """
    latest = find_latest_tree(history, node_id)
    packed = _pack(rt, project, taken, latest)
    if isinstance(packed, Unseen):
        return packed
    base = None if packed.base is None else packed.base.fact
    listed = encode_left_out(taken.left_out)
    list_ref, pack_ref = (None if not one else blob_ref(one) for one in (listed, packed.content))
    known = () if latest is None else (latest.fact.list_ref, latest.fact.pack_ref)
    if may_begin_change(history, node_id, cause):
        rt.trees().keep(project, f"{history.nodes[node_id].run_id}/{node_id}", taken.tree)
    fact = TreeRecorded(
        node_id=NodeId(""),
        tree_id=taken.tree,
        git_tree=taken.tree,
        head=taken.head,
        cause=cause,
        listed=0 if _is_clean(rt, project, taken, latest) else 1,
        left_out=0 if packed.has_contents else 1,
        base_node_id=None if base is None else base.node_id,
        base_tree_id="" if base is None else base.tree_id,
        depth=0 if base is None else base.depth + 1,
        list_ref=list_ref,
        pack_ref=pack_ref,
    )
    made: tuple[tuple[BlobRef | None, bytes | None], ...] = ((list_ref, listed), (pack_ref, packed.content))
    blobs = tuple(
        Blob(ref=ref, content=content) for ref, content in made if ref and content and ref not in known
    )
    return PreparedTree(fact=fact, blobs=blobs)


def _is_clean(rt: ReadPorts, project: str, taken: TakenTree, latest: RecordedTree | None) -> bool:
    """Whether a tree equals that of its commit."""
    if latest is not None and (latest.fact.tree_id, latest.fact.head) == (taken.tree, taken.head):
        return not latest.fact.listed
    return bool(taken.head) and rt.trees().is_clean(project, taken) is True


def _pack(rt: ReadPorts, project: str, taken: TakenTree, latest: RecordedTree | None) -> _Packed | Unseen:
    """Return the contents that are neither in the checked-out commit nor in the tree that
    was recorded last.
    """
    are_wanted = keeps_code(rt, project)
    base = latest if latest is not None and _may_build_on(latest, has_contents=are_wanted) else None
    if base is not None and base.fact.tree_id == taken.tree:
        return _Packed(content=b"", base=base, has_contents=are_wanted)
    commit_tree = (f"{taken.head}^{{tree}}",) if taken.head else ()
    known = commit_tree if base is None else (*commit_tree, base.fact.tree_id)
    content = rt.trees().pack_step(project, taken.tree, known, MOST_READ_BYTES if are_wanted else 0)
    if isinstance(content, Unseen) and base is not None:  # the earlier tree is no longer on this machine
        base, known = None, commit_tree
        content = rt.trees().pack_step(project, taken.tree, known, MOST_READ_BYTES if are_wanted else 0)
    has_contents = are_wanted
    if not isinstance(content, Unseen) and len(content) > MOST_STEP_BYTES:
        content, has_contents = rt.trees().pack_step(project, taken.tree, known, 0), False
    if isinstance(content, Unseen):
        return content
    return _Packed(content=content, base=base, has_contents=has_contents)


def _may_build_on(latest: RecordedTree, *, has_contents: bool) -> bool:
    fact = latest.fact
    is_as_whole = has_contents == (not fact.left_out)
    return not is_earlier(latest) and is_as_whole and fact.depth + 1 < LONGEST_CHAIN


def is_project_of(workspace: Workspace, history: History, node_id: NodeId, project: str) -> bool:
    """Whether the run of a node was begun in this project; runs of older versions do not record it."""
    held = history.runs[history.nodes[node_id].run_id].project
    return held is None or is_project(workspace, held, project)


# An older step that is read or continued again: how many files differ from those of its time
#
# A step that is read again is compared with the present files. A reply to an attempt uses what was recorded
# with the attempt, so that its replay says the same.


ADVANCE_SECONDS = 2.0
"""Most seconds that an attempt that may fork compares files.

If it takes longer, the reply says nothing of them.
"""
REREAD_SECONDS = 0.5
"""The same for a step that is only read again."""


def look_at_present(rt: ReadPorts, history: History, node: Node, project: str | None) -> PreparedTree | None:
    """Return the present files of the run's project with the number of those that differ; None if no file
    differs, or the files cannot be compared.
    """
    recorded = find_nearest_tree(history, node.node_id)
    if recorded is None or project is None:
        return None
    try:
        stored = load_tree(rt, project, history, recorded)
    except Fault:  # a store that refuses does not withhold the reply
        return None
    taken = take_present(rt, project, ADVANCE_SECONDS)
    if isinstance(stored, Unseen) or isinstance(taken, Unseen):
        return None
    now = as_file_tree(taken)
    changes = rt.trees().diff(project, stored.tree, now.tree)
    count = 0
    if not isinstance(changes, Unseen):
        count = sum(not stored.explain(one.path) and not now.explain(one.path) for one in changes)
    prepared = prepare_node_tree(rt, history, node.node_id, project, taken, "look") if count else None
    if prepared is None or isinstance(prepared, Unseen):
        return None
    fact = msgspec.structs.replace(prepared.fact, differs_from=recorded.fact.node_id, differing=count)
    return msgspec.structs.replace(prepared, fact=fact)


def warn_of_recorded(history: History, node: Node) -> tuple[ReplyWarning, ...]:
    """Return the warning in the reply to an attempt, from what was recorded with it."""
    held = history.trees.get(node.node_id, ())
    if not held or held[0].fact.differs_from is None:
        return ()
    return (_warn_of_differing(held[0].fact.differs_from, held[0].fact.differing),)


def warn_of_present(
    ports: RehydratePorts, history: History, node: Node, project: str | None
) -> tuple[ReplyWarning, ...]:
    """Return the warning for an older step that is read again, by the times of the files.

    No tree is taken, and nothing is stored.
    """
    recorded = find_nearest_tree(history, node.node_id)
    if recorded is None or project is None or not recorded.fact.git_tree:
        return ()
    reader: TreeReader = ports.trees()
    changed = reader.list_changed(project, recorded.fact.git_tree, REREAD_SECONDS)
    if isinstance(changed, Unseen) or not changed:
        return ()
    return (_warn_of_differing(recorded.fact.node_id, len(changed)),)


def _warn_of_differing(seen_at: str, count: int) -> ReplyWarning:
    command = f"handrail code restore {seen_at} --dry-run"
    differ = "differs" if count == 1 else "differ"
    message = (
        f"{format_count(count, 'file')} of the project {differ} from what this step saw. "
        f"To bring them back: {command}"
    )
    details = {"differing": count, "nodeId": seen_at, "command": command}
    return ReplyWarning(code="FILES_DIFFER", message=message, details=details)
