"""`code restore`: bring the files back to those that a step saw. Shown first, and undone the same way.

Before anything is written the present files are recorded, so that they can be restored too. A file whose
present content is kept nowhere, neither in that record nor in git's objects, is left as it is: nothing is
removed or written over that the same command could not bring back. Ignored files are never touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, assert_never

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_IO
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import NodeId, SessionId
from handrail.contract.outcome import Answer, Commits, Fault, NextCall, Success
from handrail.contract.parameters import MintedId, ProjectPath
from handrail.contract.tokens.confirm import refusal
from handrail.contract.wording import format_count, shorten
from handrail.engine.code_trees import find_tree
from handrail.engine.history import History, Node
from handrail.operations.code.named_trees import NamedTree, describe_change, find_run_here, look, read_named
from handrail.operations.code.show_diff import require_comparison
from handrail.operations.finding import find_session
from handrail.operations.kept_trees import load_tree, prepare_node_tree, read_tree_contents, record_tree
from handrail.ports.worktree import Difference, FileWrite, LeftOut, Tree, Unseen
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.sessions import require_healthy, wait_for_writer
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write

_NOT_KEPT = "its content is not kept on this machine"
_STAYS = "it stays, because what it holds now is not kept and could not be brought back"
_HOLDS_MORE = "a file below it stays"


class RestoreCode(GatedInput, frozen=True, kw_only=True):
    """Which step's files."""

    node: Annotated[MintedId, Meta(description="A node id or tree id.", min_length=1, max_length=128)]
    session: Maybe[Annotated[MintedId, Meta(description="Session id.", max_length=128)]] = UNSET
    project: Maybe[ProjectPath] = UNSET


class LeftAlone(Answer, frozen=True, kw_only=True):
    """A file that was not brought back, and why."""

    path: str
    why: str


class RestoredCode(Answer, frozen=True, kw_only=True):
    """What was written, and how to undo it."""

    session_id: str
    node_id: str
    tree_id: str
    changed: list[str]
    left_out: list[LeftAlone]
    undo: str
    """The tree that was there before; restore it to undo this."""


class _Restoring(msgspec.Struct, frozen=True, kw_only=True):
    """A restore as resolved right now."""

    present: Tree
    target: NamedTree
    differing: tuple[Difference, ...]
    writes: tuple[FileWrite, ...]
    left_out: tuple[LeftOut, ...]


class _NotYet(Commits):
    """Recording the present files is not yet what was asked for: a call that ends then restored nothing."""

    def note(self, reads_back: NextCall) -> None:
        del reads_back


def restore_code(rt: WritePorts, request: RestoreCode) -> DryRun | Success:
    """Show what would be written, or write it.

    Raises Fault E_NOT_FOUND, E_IO, SESSION_NOT_FOUND, CONTEXT_MISSING, and what the gate raises.
    """
    project = project_of(rt, request.project)
    rt.worktree().settle(project)  # what was confirmed once and then killed is finished first
    session, tip = find_run_here(rt, request.session, project, request.node)
    require_healthy(session)
    history = session.history

    def resolve() -> Plan[_Restoring]:
        return _plan(_resolve(rt, history, tip, request.node, project))

    def write(restoring: _Restoring) -> RestoredCode:
        return _restore(rt, history, tip, project, restoring)

    return preview_or_write(
        rt,
        OPERATION,
        request,
        workspace=project,
        resolve=resolve,
        write=write,
        wait=lambda: wait_for_writer(rt, history.session_id),
    )


def _resolve(rt: ReadPorts, history: History, tip: Node, name: str, project: str) -> _Restoring:
    target = read_named(rt, history, tip, name, project)
    present = look(rt, project)
    differing = require_comparison(rt, project, present, target.tree)
    wanted = {one.after.digest for one in differing if one.after.mode != "absent"}
    contents = read_tree_contents(rt, project, target.entries, wanted, present.entries)
    missing = tuple(
        LeftOut(path=one.path, why=_NOT_KEPT)
        for one in differing
        if one.after.mode != "absent" and one.after.digest not in contents
    )
    unkept = _find_unkept(rt, history, tip, project, present, differing)
    stays = {left.path for left in missing} | unkept
    holding = _list_folders_above(unkept)
    staying = (
        *missing,
        *(LeftOut(path=path, why=_STAYS) for path in sorted(unkept - {left.path for left in missing})),
        *(
            LeftOut(path=one.path, why=_HOLDS_MORE)
            for one in differing
            if one.path in holding and one.path not in stays
        ),
    )
    left = {one.path for one in staying}
    writes = tuple(
        FileWrite(
            path=one.path,
            mode=one.after.mode,
            content=contents.get(one.after.digest, b"") if one.after.mode != "absent" else b"",
            before=one.before,
        )
        for one in differing
        if one.path not in left
    )
    obstacles = rt.worktree().find_obstacles(project, writes)
    return _Restoring(
        present=present,
        target=target,
        differing=differing,
        writes=writes,
        left_out=(*staying, *obstacles),
    )


def _find_unkept(
    rt: ReadPorts,
    history: History,
    tip: Node,
    project: str,
    present: Tree,
    differing: Iterable[Difference | FileWrite],
) -> set[str]:
    """The files whose present content a restore of the present tree would not find."""
    there = {one.path: one.before.digest for one in differing if one.before.mode != "absent"}
    kept = _find_kept(rt, history, tip, project, present, set(there.values())) if there else ()
    return {path for path, digest in there.items() if digest not in kept}


def _find_kept(
    rt: ReadPorts, history: History, tip: Node, project: str, present: Tree, digests: Collection[str]
) -> Collection[str]:
    """Contents in the record of the present tree, or of the one that is about to be made, or in git."""
    if any(held.fact.tree_id == present.tree_id for held in history.trees.get(tip.node_id, ())):
        recorded = find_tree(history, present.tree_id)
        assert recorded is not None, "a node holds it"
        stored = load_tree(rt.log, history, recorded)
        entries = () if isinstance(stored, Unseen) else stored.entries
        coming: set[str] = set()
    else:
        prepared = prepare_node_tree(rt, history, tip.node_id, project, present, "restore")
        entries, pack = prepared.entries, prepared.fact.pack_ref
        coming = {entry.digest for entry in entries if pack and entry.pack == pack}
    named = NamedTree(tree=present, entries=entries)
    return coming | read_tree_contents(rt, project, named.entries, set(digests) - coming, ()).keys()


def _list_folders_above(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        above = path.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found


def _plan(restoring: _Restoring) -> Plan[_Restoring]:
    why = {left.path: left.why for left in restoring.left_out}
    changes = tuple(_change(one, why.get(one.path, "")) for one in restoring.differing)
    written = len(changes) - len(why)
    text = f"{format_count(written, 'file')} of the project are written; ignored files are not touched."
    if why:
        text += f" Left as they are, each with its reason: {format_count(len(why), 'file')}."
    text += " What is written over or removed is recorded first, and is restored the same way."
    return Plan(
        action="restore the files of a step",
        changes=changes,
        targets=tuple(one.path for one in restoring.differing if one.path not in why),
        versions={"present": restoring.present.tree_id, "target": restoring.target.tree.tree_id},
        blast_radius=text,
        found=restoring,
    )


def _change(one: Difference, why: str) -> Change:
    if why:
        return Change(action="none", resource="file", id=one.path, after={"reason": why})
    before = {"mode": one.before.mode, "size_bytes": one.before.size}
    after = {"mode": one.after.mode}
    match describe_change(one):
        case "added":
            return Change(action="create", resource="file", id=one.path, after=after)
        case "removed":
            return Change(action="delete", resource="file", id=one.path, before=before)
        case "changed":
            return Change(action="update", resource="file", id=one.path, before=before, after=after)
        case never:
            assert_never(never)


def _restore(
    rt: WritePorts, history: History, tip: Node, project: str, restoring: _Restoring
) -> RestoredCode:
    """Record the present files, write what can be undone from that record, and record what is there then."""
    if look(rt, project).tree_id != restoring.present.tree_id:
        raise refusal("target_changed")
    recording = msgspec.structs.replace(rt, commits=_NotYet())
    trouble = record_tree(recording, history, tip.node_id, project, restoring.present, "restore")
    if trouble:
        raise Fault(
            E_IO,
            f"The present files could not be recorded, so nothing is written: {trouble}.",
            details={"reason": shorten(trouble)},
        )
    blocked = {left.path for left in restoring.left_out}
    planned = [write for write in restoring.writes if write.path not in blocked]
    recorded_now = find_session(rt, history.session_id).history
    if _find_unkept(rt, recorded_now, tip, project, restoring.present, planned):
        raise refusal("target_changed")
    done = rt.worktree().write_files(project, planned)
    rt.commits.note(NextCall(operation="code.status", params={"session": history.session_id}))
    _record_present(rt, history.session_id, tip.node_id, project)
    recorded = restoring.target.recorded
    assert recorded is not None, "only a recorded tree is restored"
    return RestoredCode(
        session_id=history.session_id,
        node_id=recorded.fact.node_id,
        tree_id=recorded.fact.tree_id,
        changed=list(done.changed),
        left_out=[LeftAlone(path=left.path, why=left.why) for left in (*restoring.left_out, *done.left_out)],
        undo=restoring.present.tree_id,
    )


def _record_present(rt: WritePorts, session_id: SessionId, node_id: NodeId, project: str) -> None:
    """The files as they are now; the restore has happened, so trouble here changes nothing."""
    tree = rt.worktree().take_tree(project)
    if isinstance(tree, Tree):
        try:
            record_tree(rt, find_session(rt, session_id).history, node_id, project, tree, "restore")
        except Fault:
            return


OPERATION = Operation(
    name="code.restore",
    effect="gated",
    where="companion",
    summary="Restore the project's files from the file snapshot of a step.",
    input=RestoreCode,
    output=RestoredCode,
    perform=restore_code,
    shape=Shape(levels={"minimal": ("changed", "left_out", "undo")}, untrusted=("changed", "left_out.path")),
    errors=(
        "CONTEXT_MISSING",
        "SESSION_NOT_FOUND",
        "SESSION_LOCKED",
        "SESSION_NOT_HEALTHY",
        "STORE_UNSUPPORTED_VERSION",
    ),
)
