"""`run.checkpoint`: keep notes at a node without moving the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.outcome import Success
from handrail.engine.decide import decide_checkpoint
from handrail.engine.events import PlannedEvent
from handrail.engine.history import Node, is_session_point
from handrail.engine.reply import Reply
from handrail.runtime.attempts import answer_attempt
from handrail.runtime.foretold import foretold
from handrail.runtime.handles import SentAgain, read_checkpoint, session_of
from handrail.runtime.observations import observed_here
from handrail.runtime.operation import AckVerdict, Input, Operation
from handrail.runtime.replies import RUN_SHAPE, pinned_workflow, reply_to_answer
from handrail.runtime.runtime import Runtime
from handrail.runtime.session_notes import foretold_session_notes, keep_session_notes
from handrail.runtime.sessions import Session
from handrail.runtime.token_pairs import require_one_reply
from handrail.runtime.work import Output, blobs_of, work_done


class CheckpointRun(Input, frozen=True, kw_only=True):
    """Progress worth keeping before the step is done."""

    checkpoint_token: Annotated[str, Meta(description="Of the newest reply.")]
    state_token: Annotated[str, Meta(description="Of the same reply.")] | UnsetType = UNSET
    output: Output
    project: Annotated[str, Meta(description="Project directory.")] | UnsetType = UNSET
    dry_run: (
        Annotated[bool, Meta(description="Only say whether it would be accepted, and why not.")] | UnsetType
    ) = UNSET


def checkpoint_run(rt: Runtime, request: CheckpointRun) -> Success | AckVerdict:
    """Add a checkpoint once; the same token again gets the recorded reply."""
    handle = read_checkpoint(rt.keys, request.checkpoint_token, request.state_token)
    require_one_reply(rt.log, rt.keys, handle, "run.checkpoint", request)
    work = work_done(request.output, UNSET)
    sent = SentAgain(claims=handle.claims, request=request, tool="checkpoint_workflow")
    session = session_of(rt.log, handle.claims)
    if is_session_point(session.history, handle.claims.node_tag):
        if request.dry_run is True:
            return foretold_session_notes(session, handle.claims, work)
        return keep_session_notes(rt, session, sent, handle.claims, work, handle.warnings)

    def decide(session: Session, node: Node, salt: int) -> Sequence[PlannedEvent]:
        workflow = pinned_workflow(rt.log, session.history.runs[node.run_id].workflow_hash)
        seen = observed_here(rt, request.project)
        attempt_id = handle.claims.attempt_id
        return decide_checkpoint(session.history, workflow, node, attempt_id, work, salt, seen=seen)

    if request.dry_run is True:
        return foretold(rt, handle.claims, "checkpoint", decide)
    session, recorded = answer_attempt(rt, handle.claims, "checkpoint", decide, blobs_of(work))
    return reply_to_answer(
        rt.log, rt.keys, session, recorded, work.input_digest, warnings=handle.warnings, sent=sent
    )


OPERATION = Operation(
    name="run.checkpoint",
    effect="ack",
    summary="Save progress at the pending step without finishing it.",
    input=CheckpointRun,
    output=Reply,
    perform=checkpoint_run,
    shape=RUN_SHAPE,
    tool="checkpoint_workflow",
    tool_description=(
        "Save notes in the middle of a step, which stays pending. Repeating the call adds nothing."
    ),
    tool_fields=("checkpointToken", "stateToken", "output", "project"),
    errors=(
        "VALIDATION_ERROR",
        "TOKEN_INVALID_FORMAT",
        "TOKEN_UNSUPPORTED_VERSION",
        "TOKEN_BAD_SIGNATURE",
        "TOKEN_SCOPE_MISMATCH",
        "TOKEN_UNKNOWN_NODE",
        "TOKEN_SESSION_LOCKED",
        "SESSION_NOT_HEALTHY",
        "STORE_HISTORY_LOST",
        "STORE_CORRUPT",
        "STORE_UNSUPPORTED_VERSION",
    ),
)
