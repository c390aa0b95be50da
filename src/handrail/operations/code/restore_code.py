"""`code restore`: restore the files of a step, after a preview; a second restore undoes it.

Before anything is written the present files are recorded, so that they can be restored too. A file whose
present content is kept nowhere, neither in that record nor in git's objects, is left as it is: nothing is
removed or overwritten that the same command could not bring back. Ignored files are never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from handrail.engine.history import History, Node
from handrail.operations.code.named_trees import (
    NamedTree,
    describe_change,
    find_run_here,
    look,
    read_named,
    take_anywhere,
)
from handrail.operations.finding import find_session
from handrail.operations.kept_trees import record_tree
from handrail.operations.stored_trees import NOT_KEPT, as_file_tree
from handrail.ports.trees import LASTING_PREFIX, MOST_READ_BYTES, GitMode, TakenTree, TreeChange
from handrail.ports.worktree import FileMode, FileWrite, LeftOut, PresentFile, Unseen, absent
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, keeps_code, project_of
from handrail.runtime.sessions import require_healthy, wait_for_writer
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write

_STAYS = "it stays, because what it holds now is not kept and could not be brought back"
_IGNORED_THEN = "it is ignored by the rules that are brought back, so it is not theirs to remove"
_HOLDS_MORE = "a file below it stays"
_FILTERED = "a filter of git changes it (Git LFS), so what git keeps is not its content"
_REPOSITORY = "it is another repository"
_GITLINK = "160000"
_MODES: dict[GitMode, FileMode] = {"100644": "file", "100755": "executable", "120000": "link"}


class RestoreCode(GatedInput, frozen=True, kw_only=True):
    """The step or tree to restore."""

    node: Annotated[MintedId, Meta(description="A node id or tree id.", min_length=1, max_length=128)]
    session: Maybe[Annotated[MintedId, Meta(description="Session id.", max_length=128)]] = UNSET
    project: Maybe[ProjectPath] = UNSET


class LeftAlone(Answer, frozen=True, kw_only=True):
    """A file that was not restored, and why."""

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
    """The tree of the files before; restore it to undo this."""


class _Restoring(msgspec.Struct, frozen=True, kw_only=True):
    """A restore as resolved right now."""

    present: TakenTree
    target: NamedTree
    differing: tuple[TreeChange, ...]
    writes: tuple[FileWrite, ...]
    left_out: tuple[LeftOut, ...]


class _NotYet(Commits):
    """Changes of a call that has only recorded the present files: if it ends then, nothing was restored."""

    def note(self, reads_back: NextCall) -> None:
        del reads_back


def restore_code(rt: WritePorts, request: RestoreCode) -> DryRun | Success:
    """Return what would be written, or write it.

    Raise Fault E_NOT_FOUND, E_IO, SESSION_NOT_FOUND, CONTEXT_MISSING, and what the gate raises.
    """
    project = project_of(rt, request.project)
    rt.worktree().settle(project)  # first finish a confirmed restore that was killed
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
    differing = rt.trees().diff(project, present.tree, target.tree.tree)
    if isinstance(differing, Unseen):
        message = f"The two trees cannot be compared: {differing.reason}."
        raise Fault(E_IO, message, details={"reason": shorten(differing.reason)})
    now = as_file_tree(present)
    there = rt.worktree().read_files(project, [one.path for one in differing if one.before is not None])
    contents = _read_target(rt, project, target, differing)
    missing = {
        one.path: target.tree.explain(one.path) or NOT_KEPT
        for one in differing
        if target.tree.explain(one.path) or (one.after is not None and one.path not in contents)
    }
    filtered = rt.trees().find_filtered(project, present.tree, {one.path for one in differing})
    filtered |= rt.trees().find_filtered(project, target.tree.tree, {one.path for one in differing})
    ignored = _find_ignored_then(rt, project, target, differing)
    unkept = _find_unkept(rt, project, present, differing, there)
    stays = {
        **dict.fromkeys(unkept, _STAYS),
        **dict.fromkeys(ignored, _IGNORED_THEN),
        **missing,
        **dict.fromkeys(filtered, _FILTERED),
        **{one.path: _REPOSITORY for one in differing if _is_repository(one)},
        **{path: _STAYS for path in now.left_out if not target.tree.explain(path)},
    }
    holding = _list_folders_above(stays)
    stays |= {one.path: _HOLDS_MORE for one in differing if one.path in holding and one.path not in stays}
    writes = tuple(
        FileWrite(
            path=one.path,
            mode="absent" if one.after is None else _MODES[one.after.mode],
            content=contents.get(one.path, b""),
            before=there[one.path].entry if one.path in there else absent(one.path),
        )
        for one in differing
        if one.path not in stays
    )
    return _Restoring(
        present=present,
        target=target,
        differing=differing,
        writes=writes,
        left_out=(
            *(LeftOut(path=path, why=stays[path]) for path in sorted(stays)),
            *rt.worktree().find_obstacles(project, writes),
        ),
    )


def _is_repository(one: TreeChange) -> bool:
    return any(side is not None and side.mode == _GITLINK for side in (one.before, one.after))


def _read_target(
    rt: ReadPorts, project: str, target: NamedTree, differing: Iterable[TreeChange]
) -> Mapping[str, bytes]:
    """Return the wanted contents of the files, by path."""
    wanted = {one.path for one in differing if one.after is not None and one.after.mode != _GITLINK}
    found = rt.trees().read_written(project, target.tree.tree, wanted)
    return {} if isinstance(found, Unseen) else found


def _find_ignored_then(
    rt: ReadPorts, project: str, target: NamedTree, differing: tuple[TreeChange, ...]
) -> frozenset[str]:
    """Return the files that would be removed and that the restored ignore files ignore."""
    if not any(one.path.rpartition("/")[2] == ".gitignore" for one in differing):
        return frozenset()
    gone = {one.path for one in differing if one.after is None and not one.path.endswith(".gitignore")}
    return rt.trees().find_ignored(project, target.tree.tree, gone) if gone else frozenset()


def _find_unkept(
    rt: ReadPorts,
    project: str,
    present: TakenTree,
    differing: Iterable[TreeChange],
    there: Mapping[str, PresentFile],
) -> set[str]:
    """Return the files whose present content could not be restored byte for byte from the present tree."""
    sides = [one.before for one in differing if one.before is not None and one.before.mode != _GITLINK]
    if not sides:
        return set()
    committed = rt.trees().find_committed(project, {one.object_id for one in sides})
    kept = {one.path for one in sides if one.object_id in committed}
    if keeps_code(rt, project):
        kept |= {one.path for one in sides if 0 <= one.size <= MOST_READ_BYTES}
    written = rt.trees().read_written(project, present.tree, kept)
    contents = {} if isinstance(written, Unseen) else written
    return {
        one.path
        for one in sides
        if one.path not in there or contents.get(one.path) != there[one.path].content
    }


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
    paths = {one.path for one in restoring.differing}
    others = tuple(TreeChange(path=path, status="changed") for path in sorted(why.keys() - paths))
    differing = sorted((*restoring.differing, *others), key=lambda one: one.path)
    changes = tuple(_change(one, why.get(one.path, "")) for one in differing)
    written = len(changes) - len(why)
    text = f"{format_count(written, 'file')} of the project are written; ignored files are not touched."
    if why:
        text += f" Left as they are, each with its reason: {format_count(len(why), 'file')}."
    text += " What is written over or removed is recorded first, and is restored the same way."
    return Plan(
        action="restore the files of a step",
        changes=changes,
        targets=tuple(one.path for one in restoring.differing if one.path not in why),
        versions={"present": restoring.present.tree, "target": restoring.target.tree_id},
        blast_radius=text,
        found=restoring,
    )


def _change(one: TreeChange, why: str) -> Change:
    if why:
        return Change(action="none", resource="file", id=one.path, after={"reason": why})
    before = None if one.before is None else {"mode": _MODES[one.before.mode], "size_bytes": one.before.size}
    after = None if one.after is None else {"mode": _MODES[one.after.mode]}
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
    """Record the present files, write what that record can undo, and record the files after that."""
    if look(rt, project).tree != restoring.present.tree:
        raise refusal("target_changed")
    recording = msgspec.structs.replace(rt, commits=_NotYet())
    trouble = rt.trees().keep(project, f"{LASTING_PREFIX}{restoring.present.tree}", restoring.present.tree)
    trouble = trouble or record_tree(recording, history, tip.node_id, project, restoring.present, "restore")
    if trouble:
        raise Fault(
            E_IO,
            f"The present files could not be recorded, so nothing is written: {trouble}.",
            details={"reason": shorten(trouble)},
        )
    blocked = {left.path for left in restoring.left_out}
    planned = [write for write in restoring.writes if write.path not in blocked]
    changing = {write.path for write in planned}
    differing = [one for one in restoring.differing if one.path in changing]
    there = rt.worktree().read_files(project, [one.path for one in differing if one.before is not None])
    if _find_unkept(rt, project, restoring.present, differing, there):
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
        undo=restoring.present.tree,
    )


def _record_present(rt: WritePorts, session_id: SessionId, node_id: NodeId, project: str) -> None:
    """Record the present files; the restore has happened, so trouble here changes nothing."""
    taken = take_anywhere(rt, project)
    if isinstance(taken, TakenTree):
        try:
            record_tree(rt, find_session(rt, session_id).history, node_id, project, taken, "restore")
        except Fault:
            return


OPERATION = Operation(
    name="code.restore",
    effect="gated",
    where="client",
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
