"""`code.status` and `code.diff`: how the files differ from those of a step, or two trees from each other.

Which files are meant is asked by every operation about code: those of a node, of a recorded tree, or those
that are there now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import CONTEXT_MISSING, E_IO, E_NOT_FOUND
from handrail.contract.credential_files import holds_credentials
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import NodeId, RunId, is_node_id
from handrail.contract.outcome import Answer, Fault, NextCall, make_from
from handrail.contract.parameters import MintedId, ProjectPath, TokenText
from handrail.contract.wording import quote, shorten
from handrail.engine.code_trees import find_nearest_tree, find_tree, find_tree_of, list_recorded
from handrail.engine.history import History, Node, RecordedTree
from handrail.engine.navigate import step_key
from handrail.operations.code.unified_diff import diff_texts
from handrail.operations.finding import find_session, read_or_pass_over
from handrail.operations.kept_trees import StoredEntry, load_tree, read_tree_contents
from handrail.operations.pending_step import find_open_work, open_by_token
from handrail.operations.same_project import find_own_project
from handrail.ports.worktree import Difference, Tree, TreeEntry, Unseen
from handrail.projections.overview import latest_run
from handrail.projections.run_graph import preferred_tip
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.refused_calls import refuse_handed_out
from handrail.runtime.runtime import ReadPorts, looks_at_code, project_of
from handrail.runtime.sessions import Session

MOST_SHOWN = 200
"""Files that one answer names."""
MOST_TREES_SHOWN = 20
"""Recorded trees that one answer names."""

FileChange: TypeAlias = Literal["added", "changed", "removed"]


class ShowStatus(Input, frozen=True, kw_only=True):
    """Which step to compare with."""

    node: Maybe[
        Annotated[
            MintedId,
            Meta(description="A node id or tree id; default the tree of the open step.", max_length=128),
        ]
    ] = UNSET
    session: Maybe[Annotated[MintedId, Meta(description="Session id.", max_length=128)]] = UNSET
    state_token: Maybe[
        Annotated[TokenText, Meta(description="Or its run, by a stateToken or work token.")]
    ] = UNSET
    project: Maybe[ProjectPath] = UNSET


class ShownFile(Answer, frozen=True, kw_only=True):
    """One file that differs."""

    path: str
    change: FileChange
    """From the step's files to those that are there now."""


class ShownTree(Answer, frozen=True, kw_only=True):
    """A recorded tree."""

    node_id: str
    step_id: str
    tree_id: str
    cause: str
    at: str


class CodeStatus(Answer, frozen=True, kw_only=True):
    """The files now beside those of a step."""

    session_id: str
    node_id: str
    tree_id: str
    present_tree_id: str
    """Empty: the files cannot be seen."""
    reason: str
    """Why they cannot be compared; empty: they were."""
    differing: int
    files: list[ShownFile]
    trees: list[ShownTree]
    """The newest ones of the session, or of the child whose token was sent, the last one first."""
    is_unfinished: bool
    """A restore was killed; the next `code restore` finishes it first."""


def show_status(rt: ReadPorts, request: ShowStatus) -> CodeStatus:
    """Look again and compare.

    Raises Fault E_NOT_FOUND, SESSION_NOT_FOUND and CONTEXT_MISSING.
    """
    project = project_of(rt, request.project)
    name = "" if request.node is UNSET or request.node == NOW else request.node
    session, tip = find_run_here(rt, request.session, project, name, request.state_token)
    history = session.history
    # A token of a child shows what its own run saw; the other runs are for whoever handed it out.
    is_childs = request.state_token is not UNSET and history.runs[tip.run_id].parent is not None
    own = tip.run_id if is_childs else None
    then = read_named(rt, history, tip, name, project, own)
    recorded = then.recorded
    assert recorded is not None, "only a recorded tree is named here"
    now = rt.worktree().take_tree(project)
    differing = now if isinstance(now, Unseen) else rt.worktree().list_differences(project, then.tree, now)
    reason = differing.reason if isinstance(differing, Unseen) else ""
    found = () if isinstance(differing, Unseen) else differing
    return CodeStatus(
        session_id=history.session_id,
        node_id=recorded.fact.node_id,
        tree_id=recorded.fact.tree_id,
        present_tree_id=now.tree_id if isinstance(now, Tree) else "",
        reason=reason,
        differing=len(found),
        files=[ShownFile(path=one.path, change=describe_change(one)) for one in found[:MOST_SHOWN]],
        trees=[
            make_from(ShownTree, tree.fact, tree, step_id=step_key(history.nodes[tree.fact.node_id].state))
            for tree in list_recorded(history, own)[:MOST_TREES_SHOWN]
        ],
        is_unfinished=rt.worktree().is_unfinished(project),
    )


def require_comparison(rt: ReadPorts, project: str, one: Tree, other: Tree) -> tuple[Difference, ...]:
    """How two trees differ. Raises Fault E_IO where they cannot be compared."""
    differing = rt.worktree().list_differences(project, one, other)
    if isinstance(differing, Unseen):
        message = f"The two trees cannot be compared: {differing.reason}."
        raise Fault(E_IO, message, details={"reason": shorten(differing.reason)})
    return differing


def describe_change(one: Difference) -> FileChange:
    if one.before.mode == "absent":
        return "added"
    return "removed" if one.after.mode == "absent" else "changed"


STATUS = Operation(
    name="code.status",
    effect="read",
    where="companion",
    summary="Show how the project's files differ from those that a step saw.",
    input=ShowStatus,
    output=CodeStatus,
    perform=show_status,
    shape=Shape(
        levels={"minimal": ("node_id", "tree_id", "present_tree_id", "differing", "reason")},
        untrusted=("files.path",),
    ),
    errors=("CONTEXT_MISSING", "SESSION_NOT_FOUND", "TOKEN_SCOPE_MISMATCH"),
)


# Which files are meant

MOST_SESSIONS = 500
"""Sessions in which a node is looked for."""
NOW = "now"
"""The name of the files that are there now."""


class NamedTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree, and where its contents are kept."""

    tree: Tree
    recorded: RecordedTree | None = None
    """None: the files that are there now."""
    entries: tuple[StoredEntry, ...] = ()


def find_run_here(
    rt: ReadPorts,
    asked: str | UnsetType,
    project: str,
    node: str = "",
    state_token: str | UnsetType = UNSET,
) -> tuple[Session, Node]:
    """The run of a token, of the session that is asked for, or in progress here; and its open place.

    Raises Fault SESSION_NOT_FOUND, and CONTEXT_MISSING when it cannot be told which session is meant.
    """
    if state_token is not UNSET:
        named = open_by_token(rt, state_token)
        return named.session, preferred_tip(named.session.history, named.run_id)
    if asked is not UNSET:
        session = find_session(rt, asked)
        run_id = latest_run(session.history)
        if run_id is None:
            raise refuse_unclear(f"Session {session.history.session_id} has no run.", [])
        return session, preferred_tip(session.history, run_id)
    if is_node_id(node):
        return _find_by_node(rt, NodeId(node))
    found = [(one.session, one.run_id) for one in find_open_work(rt, project).runs]
    if node and node != NOW:
        found = [one for one in found if find_tree(one[0].history, node) is not None]
    if len(found) != 1:
        message = f"{len(found)} runs in progress here fit." if found else "No run in progress here fits."
        raise refuse_unclear(message, [session.history.session_id for session, _ in found])
    session, run_id = found[0]
    return session, preferred_tip(session.history, run_id)


def _find_by_node(rt: ReadPorts, node_id: NodeId) -> tuple[Session, Node]:
    """A node id does not say its session, so sessions are read, newest first."""
    for stamp in rt.log.list_sessions()[:MOST_SESSIONS]:
        rt.interruptions.end_here()
        session = read_or_pass_over(rt.log, stamp.session_id)
        if session is not None and node_id in session.history.nodes:
            return session, preferred_tip(session.history, session.history.nodes[node_id].run_id)
    raise Fault(
        E_NOT_FOUND,
        f"No session of this store has the node {quote(node_id)}.",
        details={"resource": "node", "id": shorten(node_id)},
        hint="Name its session with --session SESSION_ID; code status lists the nodes with a tree.",
    )


def read_named(
    rt: ReadPorts, history: History, tip: Node, name: str, project: str, own: RunId | None = None
) -> NamedTree:
    """The tree of a node id, a tree id, or `now`; without a name, that of the run's open place.

    `own`: only what this run saw may be named.

    Raises Fault E_NOT_FOUND when there is no such tree, TOKEN_SCOPE_MISMATCH when it is of another run, and
    E_IO when the files cannot be seen.
    """
    if name == NOW:
        return NamedTree(tree=look(rt, project))
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
    stored = load_tree(rt.log, history, recorded)
    if isinstance(stored, Unseen):
        raise Fault(
            E_NOT_FOUND,
            f"The tree of {quote(recorded.fact.node_id)} cannot be read: {stored.reason}.",
            details={"resource": "tree", "id": recorded.fact.tree_id},
            hint="Name another node; code status lists those with a tree.",
        )
    return NamedTree(tree=stored.tree, recorded=recorded, entries=stored.entries)


def look(rt: ReadPorts, project: str) -> Tree:
    """The files that are there now. Raises Fault E_IO with the reason when they cannot be seen."""
    tree = rt.worktree().take_tree(project)
    if isinstance(tree, Tree):
        return tree
    raise Fault(
        E_IO,
        f"The files of the project cannot be seen: {tree.reason}.",
        details={"reason": shorten(tree.reason)},
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
    """Why none is taken here; where they are, how to find one."""
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


# Two trees as a unified diff, within limits


MOST_DIFF_BYTES = 100_000
"""Of all hunks together; later files are only counted."""
MOST_DIFF_FILES = 200
"""Files that one answer names."""


class ShowDiff(Input, frozen=True, kw_only=True):
    """What to compare with what."""

    before: Annotated[MintedId, Meta(description="A node id or tree id.", min_length=1, max_length=128)]
    after: Maybe[Annotated[MintedId, Meta(description="The same, or now; default now.", max_length=128)]] = (
        UNSET
    )
    session: Maybe[Annotated[MintedId, Meta(description="Session id.", max_length=128)]] = UNSET
    project: Maybe[ProjectPath] = UNSET


class DiffedFile(Answer, frozen=True, kw_only=True):
    """One file that differs."""

    path: str
    change: FileChange
    added: int
    removed: int
    note: str
    """Why no lines are shown; empty: they are in the diff."""


class CodeDiff(Answer, frozen=True, kw_only=True):
    """The difference of two trees."""

    session_id: str
    before: str
    after: str
    differing: int
    files: list[DiffedFile]
    diff: str
    """Unified; hidden characters stand as their escapes."""


def show_diff(rt: ReadPorts, request: ShowDiff) -> CodeDiff:
    """Compare two trees.

    Raises Fault E_NOT_FOUND, E_IO when they cannot be compared, SESSION_NOT_FOUND and CONTEXT_MISSING.
    """
    here = project_of(rt, request.project)
    session, tip = find_run_here(rt, request.session, here, request.before)
    history = session.history
    project = find_own_project(rt.workspace, rt.places, history.runs[tip.run_id], request.project) or here
    before = read_named(rt, history, tip, request.before, project)
    after = read_named(rt, history, tip, NOW if request.after is UNSET else request.after, project)
    differing = require_comparison(rt, project, before.tree, after.tree)
    shown = differing[:MOST_DIFF_FILES]
    present = after.tree.entries if after.recorded is None else ()
    contents: dict[str, bytes] = {}
    contents.update(read_tree_contents(rt, project, before.entries, _digests(shown, "before"), present))
    contents.update(read_tree_contents(rt, project, after.entries, _digests(shown, "after"), present))
    files: list[DiffedFile] = []
    hunks: list[str] = []
    room = MOST_DIFF_BYTES
    for one in shown:
        file, text = _diff_file(one, contents)
        if len(text.encode()) > room:
            file, text = _without(file, "the answer is full"), ""
        room -= len(text.encode())
        files.append(file)
        hunks.append(text)
    return CodeDiff(
        session_id=history.session_id,
        before=before.tree.tree_id,
        after=after.tree.tree_id,
        differing=len(differing),
        files=files,
        diff="".join(hunks),
    )


def _digests(differing: tuple[Difference, ...], side: str) -> set[str]:
    entries: list[TreeEntry] = [one.before if side == "before" else one.after for one in differing]
    return {one.digest for one in entries if one.mode != "absent" and not holds_credentials(one.path)}


def _diff_file(one: Difference, contents: Mapping[str, bytes]) -> tuple[DiffedFile, str]:
    file = DiffedFile(path=one.path, change=describe_change(one), added=0, removed=0, note="")
    if holds_credentials(one.path):  # two files may have one content, and so one digest
        return _without(file, "it holds credentials, which are never shown"), ""
    sides = [b"" if side.mode == "absent" else contents.get(side.digest) for side in (one.before, one.after)]
    old, new = sides
    if old is None or new is None:
        return _without(file, "its content is not kept on this machine"), ""
    if old == new:
        return _without(file, f"only its mode: {one.before.mode} to {one.after.mode}"), ""
    diffed = diff_texts(one.path, old, new)
    if isinstance(diffed, str):
        return _without(file, diffed), ""
    return msgspec.structs.replace(file, added=diffed.added, removed=diffed.removed), diffed.text


def _without(file: DiffedFile, note: str) -> DiffedFile:
    return msgspec.structs.replace(file, note=note, added=0, removed=0)


DIFF = Operation(
    name="code.diff",
    effect="read",
    where="companion",
    summary="Show two trees of the project's files as a unified diff.",
    input=ShowDiff,
    output=CodeDiff,
    perform=show_diff,
    shape=Shape(
        levels={"minimal": ("before", "after", "differing")},
        drop_order=("diff",),
        untrusted=("files.path", "diff"),
    ),
    errors=("CONTEXT_MISSING", "SESSION_NOT_FOUND", "STORE_UNSUPPORTED_VERSION"),
)
