"""Record a command that an agent's client says its shell ran; only the hooks of clients do.

What the client does not tell stays unknown: a status is never guessed from the event or from the output.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import ReceiptId, RunId, receipt_id_for
from handrail.contract.outcome import Fault, Payload
from handrail.contract.parameters import ProjectPath
from handrail.contract.printed_text import redact_argv, redact_command_line, strip_escapes
from handrail.engine.command_lines import read_words
from handrail.engine.events import ReceiptRecorded
from handrail.engine.history import History, Node, list_receipts
from handrail.engine.navigate import Running
from handrail.engine.plans import plan_receipt
from handrail.engine.receipts import ELSEWHERE, UNPLACED, Exited, RunOutcome, StatusUnknown, digest_argv
from handrail.operations.kept_trees import COMMAND_PACK_BYTES, record_tree
from handrail.operations.pending_step import find_open_work
from handrail.ports.worktree import Tree, Unseen
from handrail.projections.run_graph import preferred_tip
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, looks_at_code, project_of
from handrail.runtime.sessions import PlanWith, Session, decide_and_commit

LONGEST_LINE_SHOWN = 200
TREE_SECONDS = 0.5
"""A hook delays the agent, so a look at the files that takes longer is given up."""
_LOOKED_AT = 4_000


class NoteCommand(Input, frozen=True, kw_only=True):
    """What the client told."""

    argv: Annotated[list[str], Meta(description="The line that the shell got, or its words.", min_length=1)]
    status: Annotated[int, Meta(description="The exit status, where the client tells it.")] | UnsetType = (
        UNSET
    )
    duration_ms: Annotated[int, Meta(description="How long it took.", ge=0)] | UnsetType = UNSET
    call_id: (
        Annotated[str, Meta(description="The client's name of the call.", max_length=200)] | UnsetType
    ) = UNSET
    directory: (
        Annotated[str, Meta(description="Where the shell was, if the client tells it.", max_length=4_096)]
        | UnsetType
    ) = UNSET
    project: ProjectPath | UnsetType = UNSET


class CommandNoted(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """The receipt; empty where nothing was recorded, because not exactly one run is in progress here."""

    receipt_id: str


def note_command(rt: WritePorts, request: NoteCommand) -> CommandNoted:
    """Record it at the pending step of the only run in progress in this project.

    With several open children it proves for none of them.
    """
    project = project_of(rt, request.project)
    work = find_open_work(rt, project)
    if len(work.runs) == 1:
        (found,) = work.runs
    elif len(work.waiting) == 1:  # it may be of any child, so it is kept with the step that waits for them
        (found,) = work.waiting
    else:
        return CommandNoted(receipt_id="")
    session, run_id = found.session, found.run_id
    key = rt.randomness.bytes(16).hex() if request.call_id is UNSET else "call:" + request.call_id
    rt.check_programs().register_secrets()
    directory = _find_directory(project, request.directory, read_words(request.argv).directory)
    tree = rt.worktree().take_tree(project, TREE_SECONDS)

    def decide(now: Session) -> PlanWith | None:
        node, receipt_id, is_known = _find_receipt(now.history, run_id, key)
        if is_known or not isinstance(node.state, Running):
            return None
        receipt = _receipt(rt, request, receipt_id, node, directory, tree)
        return lambda _: [plan_receipt(node, receipt)]

    session, is_new = decide_and_commit(rt, session, decide, by_token=False)
    node, receipt_id, is_known = _find_receipt(session.history, run_id, key)
    if is_new:
        _keep_tree(rt, session, node, project, tree)
    return CommandNoted(receipt_id=receipt_id if is_known else "")


def _find_receipt(history: History, run_id: RunId, key: str) -> tuple[Node, ReceiptId, bool]:
    """Where the command counts, the receipt that this call makes there, and whether the log has it."""
    node = preferred_tip(history, run_id)
    receipt_id = receipt_id_for(node.node_id, key)
    known = {held.fact.receipt_id for held in list_receipts(history, run_id)}
    return node, receipt_id, receipt_id in known


def _keep_tree(rt: WritePorts, session: Session, node: Node, project: str, tree: Tree | Unseen) -> None:
    """The files that the command left, so that what changes since can be named; trouble changes nothing."""
    if isinstance(tree, Unseen) or not looks_at_code(rt, project):
        return
    with suppress(Fault):
        record_tree(rt, session.history, node.node_id, project, tree, "receipt", COMMAND_PACK_BYTES)


def _find_directory(project: str, asked: str | UnsetType, entered: str) -> str:
    """Relative to the project, through links; a shell that was elsewhere says nothing about it."""
    if asked is UNSET or not asked:
        return UNPLACED
    root = os.path.realpath(project)
    try:
        place = os.path.realpath(os.path.join(root, asked, entered))
    except ValueError:  # a null byte: no directory is called that
        return UNPLACED
    return strip_escapes(os.path.relpath(place, root)) if _is_inside(place, root) else ELSEWHERE


def _is_inside(place: str, root: str) -> bool:
    return os.path.commonpath((root, place)) == root


def _receipt(
    rt: ReadPorts,
    request: NoteCommand,
    receipt_id: ReceiptId,
    node: Node,
    directory: str,
    tree: Tree | Unseen,
) -> ReceiptRecorded:
    return ReceiptRecorded(
        receipt_id=receipt_id,
        node_id=node.node_id,
        by="client_hook",
        argv=(_show(rt, request.argv),),
        argv_digest=digest_argv(read_words(request.argv).words),
        directory=directory,
        outcome=_outcome(request),
        duration_ms=0 if request.duration_ms is UNSET else request.duration_ms,
        tree_after="" if isinstance(tree, Unseen) or directory == ELSEWHERE else tree.tree_id,
    )


def _show(rt: ReadPorts, argv: list[str]) -> str:
    line = (
        redact_command_line(strip_escapes(argv[0][:_LOOKED_AT]), rt.secrets)
        if len(argv) == 1
        else " ".join(redact_argv(argv, rt.secrets))
    )
    return line if len(line) <= LONGEST_LINE_SHOWN else line[: LONGEST_LINE_SHOWN - 1] + "…"


def _outcome(request: NoteCommand) -> RunOutcome:
    if request.status is UNSET or not read_words(request.argv).is_alone:
        return StatusUnknown()
    return Exited(status=request.status)


NOTE_COMMAND = Operation(
    name="check.note",
    effect="record",
    where="companion",
    summary="Record a command that a client's shell ran.",
    input=NoteCommand,
    output=CommandNoted,
    perform=note_command,
    shape=Shape(levels={"minimal": ("receiptId",)}, id_field="receiptId", select="top"),
)
"""Not in the registry: no caller asks for it, only a client's hook brings it."""
