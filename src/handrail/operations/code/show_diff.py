"""`code diff`: the changes of the files between two snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_IO
from handrail.contract.credential_files import holds_credentials
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Fault
from handrail.contract.parameters import MintedId, ProjectPath
from handrail.contract.wording import shorten
from handrail.operations.code.named_trees import NOW, describe_change, find_run_here, read_named
from handrail.operations.code.unified_diff import diff_texts
from handrail.operations.kept_trees import read_tree_contents
from handrail.operations.same_project import find_own_project
from handrail.ports.worktree import Difference, Tree, TreeEntry, Unseen
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.views.diffs import CodeDiff, DiffedFile


def require_comparison(rt: ReadPorts, project: str, one: Tree, other: Tree) -> tuple[Difference, ...]:
    """How two trees differ. Raises Fault E_IO where they cannot be compared."""
    differing = rt.worktree().list_differences(project, one, other)
    if isinstance(differing, Unseen):
        message = f"The two trees cannot be compared: {differing.reason}."
        raise Fault(E_IO, message, details={"reason": shorten(differing.reason)})
    return differing


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


OPERATION = Operation(
    name="code.diff",
    effect="read",
    where="companion",
    summary="Show the difference between two file snapshots as a unified diff.",
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
