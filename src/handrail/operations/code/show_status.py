"""`code status`: how the files differ from those of a step."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, make_from
from handrail.contract.parameters import MintedId, ProjectPath, TokenText
from handrail.engine.code_trees import list_recorded
from handrail.engine.navigate import step_key
from handrail.operations.code.named_trees import (
    NOW,
    compare_trees,
    describe_change,
    find_run_here,
    list_unknown,
    read_named,
    take_anywhere,
)
from handrail.operations.stored_trees import as_file_tree
from handrail.ports.worktree import Unseen
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.views.diffs import FileChange, UnknownFile

MOST_SHOWN = 200
"""Most files that one answer names."""
MOST_TREES_SHOWN = 20
"""Most recorded trees that one answer names."""


class ShowStatus(Input, frozen=True, kw_only=True):
    """The step to compare with."""

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
    """From the step's files to the present ones."""


class ShownTree(Answer, frozen=True, kw_only=True):
    """A recorded tree."""

    node_id: str
    step_id: str
    tree_id: str
    cause: str
    at: str


class CodeStatus(Answer, frozen=True, kw_only=True):
    """The present files compared with those of a step."""

    session_id: str
    node_id: str
    tree_id: str
    present_tree_id: str
    """Empty if the files cannot be read."""
    reason: str
    """Why they cannot be compared; empty if they were."""
    differing: int
    files: list[ShownFile]
    unknown: list[UnknownFile]
    """Paths that were not compared, such as files of credentials; they are not counted."""
    trees: list[ShownTree]
    """The newest trees of the session, or of the child run that the token names, the last one first."""
    is_unfinished: bool
    """Whether a restore was killed; the next `code restore` finishes it first."""


def show_status(rt: ReadPorts, request: ShowStatus) -> CodeStatus:
    """Read the present files and compare them.

    Raise Fault E_NOT_FOUND, SESSION_NOT_FOUND and CONTEXT_MISSING.
    """
    project = project_of(rt, request.project)
    name = "" if request.node is UNSET or request.node == NOW else request.node
    session, tip = find_run_here(rt, request.session, project, name, request.state_token)
    history = session.history
    # A token of a child run gives access to the trees of that run alone; the others belong to its parent.
    is_childs = request.state_token is not UNSET and history.runs[tip.run_id].parent is not None
    own = tip.run_id if is_childs else None
    then = read_named(rt, history, tip, name, project, own)
    recorded = then.recorded
    assert recorded is not None, "only a recorded tree is named here"
    now = take_anywhere(rt, project)
    differing = now if isinstance(now, Unseen) else compare_trees(rt, project, then.tree, as_file_tree(now))
    reason = differing.reason if isinstance(differing, Unseen) else ""
    found = () if isinstance(differing, Unseen) else differing
    return CodeStatus(
        session_id=history.session_id,
        node_id=recorded.fact.node_id,
        tree_id=recorded.fact.tree_id,
        present_tree_id="" if isinstance(now, Unseen) else now.tree,
        reason=reason,
        differing=len(found),
        files=[ShownFile(path=one.path, change=describe_change(one)) for one in found[:MOST_SHOWN]],
        unknown=[] if isinstance(now, Unseen) else list_unknown(then.tree, as_file_tree(now)),
        trees=[
            make_from(ShownTree, tree.fact, tree, step_id=step_key(history.nodes[tree.fact.node_id].state))
            for tree in list_recorded(history, own)[:MOST_TREES_SHOWN]
        ],
        is_unfinished=rt.worktree().is_unfinished(project),
    )


OPERATION = Operation(
    name="code.status",
    effect="read",
    where="client",
    summary="Show how the project's files differ from the file snapshot of a step.",
    input=ShowStatus,
    output=CodeStatus,
    perform=show_status,
    shape=Shape(
        levels={"minimal": ("node_id", "tree_id", "present_tree_id", "differing", "reason")},
        untrusted=("files.path", "unknown.path"),
    ),
    errors=("CONTEXT_MISSING", "SESSION_NOT_FOUND", "TOKEN_SCOPE_MISMATCH"),
)
