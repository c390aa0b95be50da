"""File snapshots that a caller names, and the run that a directory belongs to."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import CONTEXT_MISSING, E_IO, E_NOT_FOUND
from handrail.contract.ids import NodeId, RunId, is_node_id
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.wording import quote, shorten
from handrail.engine.code_trees import find_nearest_tree, find_tree, find_tree_of, list_recorded
from handrail.engine.history import History, Node, RecordedTree
from handrail.engine.tips import find_tip
from handrail.operations.finding import find_session, read_candidates
from handrail.operations.pending_step import find_open_work, open_by_token
from handrail.operations.stored_trees import FileTree, as_file_tree, load_tree
from handrail.ports.trees import TakenTree, TreeChange
from handrail.ports.worktree import Unseen
from handrail.projections.overview import latest_run
from handrail.runtime.refused_calls import refuse_handed_out
from handrail.runtime.runtime import ReadPorts, looks_at_code
from handrail.runtime.sessions import Session
from handrail.views.diffs import FileChange, UnknownFile


def describe_change(one: TreeChange) -> FileChange:
    if one.before is None:
        return "added"
    return "removed" if one.after is None else "changed"


MOST_UNKNOWN = 200
"""Most paths without a comparison that one answer names."""
NOW = "now"
"""The name of the present files."""


class NamedTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree and its name."""

    tree: FileTree
    tree_id: str
    """As it was recorded: an earlier version had names of its own."""
    recorded: RecordedTree | None = None
    """None for the present files."""


def find_run_here(
    rt: ReadPorts,
    asked: str | UnsetType,
    project: str,
    node: str = "",
    state_token: str | UnsetType = UNSET,
) -> tuple[Session, Node]:
    """Return the run of a token, of the given session, or in progress here; and its pending node.

    Raise Fault SESSION_NOT_FOUND, and CONTEXT_MISSING if it is unclear which session is meant.
    """
    if state_token is not UNSET:
        named = open_by_token(rt, state_token)
        return named.session, find_tip(named.session.history, named.run_id)
    if asked is not UNSET:
        session = find_session(rt, asked)
        run_id = latest_run(session.history)
        if run_id is None:
            raise refuse_unclear(f"Session {session.history.session_id} has no run.", [])
        return session, find_tip(session.history, run_id)
    if is_node_id(node):
        return _find_by_node(rt, NodeId(node))
    found = [(one.session, one.run_id) for one in find_open_work(rt, project).runs]
    if node and node != NOW:
        found = [one for one in found if find_tree(one[0].history, node) is not None]
    if len(found) != 1:
        message = f"{len(found)} runs in progress here fit." if found else "No run in progress here fits."
        raise refuse_unclear(message, [session.history.session_id for session, _ in found])
    session, run_id = found[0]
    return session, find_tip(session.history, run_id)


def _find_by_node(rt: ReadPorts, node_id: NodeId) -> tuple[Session, Node]:
    """Return the session and the node of a node id, which does not name its session;
    the latest are read first.
    """
    for session in read_candidates(rt, node_id):
        if node_id in session.history.nodes:
            return session, find_tip(session.history, session.history.nodes[node_id].run_id)
    raise Fault(
        E_NOT_FOUND,
        f"No session of this store has the node {quote(node_id)}.",
        details={"resource": "node", "id": shorten(node_id)},
        hint="Name its session with --session SESSION_ID; code status lists the nodes with a tree.",
    )


def read_named(
    rt: ReadPorts, history: History, tip: Node, name: str, project: str, own: RunId | None = None
) -> NamedTree:
    """Return the tree of a node id, a tree id, or `now`; without a name, that of the run's pending node.

    With `own`, only trees of this run may be named.

    Raise Fault E_NOT_FOUND if there is no such tree, TOKEN_SCOPE_MISMATCH if it belongs to another run, and
    E_IO if the files cannot be read.
    """
    if name == NOW:
        taken = look(rt, project)
        return NamedTree(tree=as_file_tree(taken), tree_id=taken.tree)
    if not name:
        recorded = find_nearest_tree(history, tip.node_id)
    elif name in history.nodes:
        if own not in (None, history.nodes[NodeId(name)].run_id):
            refuse_handed_out(history.runs[tip.run_id])
        recorded = find_tree_of(history, NodeId(name))
    else:
        recorded = find_tree(history, name, own)
    if recorded is None:
        raise _no_tree(rt, history, name or tip.node_id, project, own)
    stored = load_tree(rt, project, history, recorded)
    if isinstance(stored, Unseen):
        raise Fault(
            E_NOT_FOUND,
            f"The tree of {quote(recorded.fact.node_id)} cannot be read: {stored.reason}.",
            details={"resource": "tree", "id": recorded.fact.tree_id},
            hint="Name another node; code status lists those with a tree.",
        )
    return NamedTree(tree=stored, tree_id=recorded.fact.tree_id, recorded=recorded)


def compare_trees(
    rt: ReadPorts, project: str, before: FileTree, after: FileTree
) -> tuple[TreeChange, ...] | Unseen:
    """Return every path that differs, except those that one of the trees has not recorded."""
    found = rt.trees().diff(project, before.tree, after.tree)
    if isinstance(found, Unseen):
        return found
    return tuple(one for one in found if not before.explain(one.path) and not after.explain(one.path))


def list_unknown(before: FileTree, after: FileTree) -> list[UnknownFile]:
    """Return the paths that `compare_trees` leaves out, with the reason."""
    why = {**before.left_out, **after.left_out}
    return [UnknownFile(path=path, why=why[path]) for path in sorted(why)[:MOST_UNKNOWN]]


def take_anywhere(rt: ReadPorts, project: str) -> TakenTree | Unseen:
    """Return the present files, to compare with a recorded tree, whatever the settings say now."""
    return rt.trees().take(project, is_anywhere=True)


def look(rt: ReadPorts, project: str) -> TakenTree:
    """Return the present files. Raise Fault E_IO with the reason if they cannot be read."""
    taken = take_anywhere(rt, project)
    if isinstance(taken, TakenTree):
        return taken
    raise Fault(
        E_IO,
        f"The files of the project cannot be seen: {taken.reason}.",
        details={"reason": shorten(taken.reason)},
        hint="Send the same call again where they can.",
    )


def _no_tree(rt: ReadPorts, history: History, name: str, project: str, own: RunId | None) -> Fault:
    known = list(dict.fromkeys(held.fact.node_id for held in list_recorded(history, own)))
    named = f" Nodes with one: {', '.join(known[:5])}." if known else ""
    return Fault(
        E_NOT_FOUND,
        f"There is no tree for {quote(name)} in session {history.session_id}.{named}",
        details={"resource": "tree", "id": shorten(name)},
        hint=_explain_no_tree(rt, project, is_any=bool(known)),
    )


def _explain_no_tree(rt: ReadPorts, project: str, *, is_any: bool) -> str:
    """Return why Handrail takes no trees here; if it does, how to find one."""
    if looks_at_code(rt, project) or is_any:
        return "handrail code status lists the nodes with a tree; some could not be taken in time."
    if rt.settings.of(project).looking == "off":
        return "None is taken, because code.snapshots is off in the config.json of your home."
    return 'Trees are taken in git repositories; "always" for code.snapshots takes them everywhere.'


def refuse_unclear(message: str, sessions: list[str]) -> Fault:
    named = f" Sessions: {', '.join(sessions)}." if sessions else ""
    return Fault(
        CONTEXT_MISSING,
        f"{message}{named}",
        details={"missing": ["session"]},
        hint="Say which session is meant: --session SESSION_ID.",
        next_call=NextCall(operation="session.resume", params={"query": sessions[0]} if sessions else {}),
    )
