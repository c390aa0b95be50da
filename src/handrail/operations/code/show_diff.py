"""`code diff`: the changes of the files between two file snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_IO
from handrail.contract.credential_files import holds_credentials
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Fault
from handrail.contract.parameters import MintedId, ProjectPath
from handrail.contract.wording import shorten
from handrail.operations.code.named_trees import (
    NOW,
    compare_trees,
    describe_change,
    find_run_here,
    list_unknown,
    read_named,
)
from handrail.operations.code.unified_diff import diff_texts
from handrail.operations.same_project import find_own_project
from handrail.operations.stored_trees import NOT_KEPT
from handrail.ports.trees import GitEntry, TreeChange
from handrail.ports.worktree import Unseen
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.views.diffs import CodeDiff, DiffedFile

MOST_DIFF_BYTES = 100_000
"""Most bytes of all hunks together; later files are only counted."""
MOST_DIFF_FILES = 200
"""Most files that one answer names."""


_GITLINK = "160000"
_MODES = {"100644": "file", "100755": "executable", "120000": "link", _GITLINK: "repository"}


class ShowDiff(Input, frozen=True, kw_only=True):
    """The two file snapshots to compare."""

    before: Annotated[MintedId, Meta(description="A node id or tree id.", min_length=1, max_length=128)]
    after: Maybe[Annotated[MintedId, Meta(description="The same, or now; default now.", max_length=128)]] = (
        UNSET
    )
    session: Maybe[Annotated[MintedId, Meta(description="Session id.", max_length=128)]] = UNSET
    project: Maybe[ProjectPath] = UNSET


def show_diff(rt: ReadPorts, request: ShowDiff) -> CodeDiff:
    """Compare two trees.

    Raise Fault E_NOT_FOUND, E_IO if they cannot be compared, SESSION_NOT_FOUND and CONTEXT_MISSING.
    """
    here = project_of(rt, request.project)
    session, tip = find_run_here(rt, request.session, here, request.before)
    history = session.history
    project = find_own_project(rt.workspace, rt.places, history.runs[tip.run_id], request.project) or here
    before = read_named(rt, history, tip, request.before, project)
    after = read_named(rt, history, tip, NOW if request.after is UNSET else request.after, project)
    differing = compare_trees(rt, project, before.tree, after.tree)
    if isinstance(differing, Unseen):
        message = f"The two trees cannot be compared: {differing.reason}."
        raise Fault(E_IO, message, details={"reason": shorten(differing.reason)})
    shown = differing[:MOST_DIFF_FILES]
    contents = rt.trees().read_all(project, _list_contents(shown))
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
        before=before.tree_id,
        after=after.tree_id,
        differing=len(differing),
        files=files,
        diff="".join(hunks),
        unknown=list_unknown(before.tree, after.tree),
    )


def _list_contents(differing: Sequence[TreeChange]) -> set[str]:
    sides = [side for one in differing for side in (one.before, one.after) if side is not None]
    return {one.object_id for one in sides if one.mode != _GITLINK and not holds_credentials(one.path)}


def _find_content(side: GitEntry | None, contents: Mapping[str, bytes]) -> bytes | None:
    if side is None:
        return b""
    if side.mode == _GITLINK:
        return f"commit {side.object_id}\n".encode()
    return contents.get(side.object_id)


def _name_mode(side: GitEntry | None) -> str:
    return "absent" if side is None else _MODES[side.mode]


def _diff_file(one: TreeChange, contents: Mapping[str, bytes]) -> tuple[DiffedFile, str]:
    file = DiffedFile(path=one.path, change=describe_change(one), added=0, removed=0, note="")
    if holds_credentials(one.path):  # two files with the same content have the same digest
        return _without(file, "it holds credentials, which are never shown"), ""
    old, new = (_find_content(side, contents) for side in (one.before, one.after))
    if old is None or new is None:
        return _without(file, NOT_KEPT), ""
    if old == new:
        return _without(file, f"only its mode: {_name_mode(one.before)} to {_name_mode(one.after)}"), ""
    diffed = diff_texts(one.path, old, new)
    if isinstance(diffed, str):
        return _without(file, diffed), ""
    return msgspec.structs.replace(file, added=diffed.added, removed=diffed.removed), diffed.text


def _without(file: DiffedFile, note: str) -> DiffedFile:
    return msgspec.structs.replace(file, note=note, added=0, removed=0)


OPERATION = Operation(
    name="code.diff",
    effect="read",
    where="client",
    summary="Show the difference between two file snapshots as a unified diff.",
    input=ShowDiff,
    output=CodeDiff,
    perform=show_diff,
    shape=Shape(
        levels={"minimal": ("before", "after", "differing")},
        drop_order=("diff",),
        untrusted=("files.path", "diff", "unknown.path"),
    ),
    errors=("CONTEXT_MISSING", "SESSION_NOT_FOUND", "STORE_UNSUPPORTED_VERSION"),
)
