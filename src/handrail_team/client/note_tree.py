"""Record the files that a team client has now, before and after a restore."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_IO
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Fault, Payload
from handrail.contract.parameters import MintedId, ProjectPath
from handrail.operations.code.named_trees import find_run_here, look
from handrail.operations.kept_trees import record_tree
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import WritePorts, project_of


class NoteTree(Input, frozen=True, kw_only=True):
    """The session, and the project with the files."""

    session: Annotated[MintedId, Meta(description="Session id.", max_length=128)]
    project: ProjectPath | UnsetType = UNSET


class TreeNoted(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """The recorded file snapshot."""

    tree_id: str


def note_tree(rt: WritePorts, request: NoteTree) -> TreeNoted:
    """Record the files at the tip of the session's latest run. Raises Fault E_IO if they cannot be read."""
    project = project_of(rt, request.project)
    taken = look(rt, project)
    session, tip = find_run_here(rt, request.session, project)
    if trouble := record_tree(rt, session.history, tip.node_id, project, taken, "restore"):
        raise Fault(E_IO, f"The files could not be recorded: {trouble}.", details={"reason": trouble})
    return TreeNoted(tree_id=taken.tree)


NOTE_TREE = Operation(
    name="code.note",
    effect="record",
    where="client",
    summary="Record the files before and after a restore.",
    input=NoteTree,
    output=TreeNoted,
    perform=note_tree,
    shape=Shape(levels={"minimal": ("treeId",)}, select="top"),
)
"""Not in the registry: only a team client that restores files sends it."""
