"""`run.continue`: advance with an ack, replay a known one, or rehydrate without one."""

# ruff: noqa: PLC0415 - reading again and dry runs load their own: an advance pays for neither

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_USAGE
from handrail.contract.outcome import Fault, Success
from handrail.contract.tokens.workflow import ChoiceClaims
from handrail.engine.decide import decide_advance
from handrail.engine.events import PlannedEvent
from handrail.engine.facts import WorkDone
from handrail.engine.history import Node, Recorded, is_older, steps_after
from handrail.engine.navigate import own_action_at
from handrail.engine.reasons import Reason
from handrail.engine.reply import Reply
from handrail.operations.handles import TokenCall, answer_attempt, read_ack
from handrail.operations.replies import RUN_SHAPE, load_pinned_workflow, reply_to_answer
from handrail.operations.work import (
    Looked,
    Output,
    blobs_of,
    check_change,
    check_merged,
    find_own_project,
    load_kept_notes,
    look_for_attempt,
    observe_surroundings,
    read_report,
    require_one_reply,
    warn_of_other_project,
)
from handrail.runtime.operation import AckVerdict, Input, Operation
from handrail.runtime.runtime import Runtime, leave_tree
from handrail.runtime.sessions import Session
from handrail.workflows.compiled import CompiledWorkflow
from handrail.workflows.limits import MOST_ACTIONS

if TYPE_CHECKING:
    from handrail.operations.kept_trees import PreparedTree


class ContinueRun(Input, frozen=True, kw_only=True):
    """With `ackToken` the pending step is done; with `stateToken` alone nothing changes."""

    ack_token: Annotated[str, Meta(description="Of the newest reply; or a choice's token.")] | UnsetType = (
        UNSET
    )
    state_token: (
        Annotated[
            str,
            Meta(description="Alone: read the step again, with a recap."),
        ]
        | UnsetType
    ) = UNSET
    context: Annotated[dict[str, Any], Meta(description="Facts to set; null deletes.")] | UnsetType = UNSET
    output: Output | UnsetType = UNSET
    project: Annotated[str, Meta(description="Project directory.")] | UnsetType = UNSET
    dry_run: (
        Annotated[bool, Meta(description="Only say whether it would be accepted, and why not.")] | UnsetType
    ) = UNSET


def continue_run(rt: Runtime, request: ContinueRun) -> Success | AckVerdict:
    """Advance, replay or rehydrate; or say what an ack would do."""
    if request.ack_token is not UNSET:
        return advance(rt, request, request.ack_token)
    if request.dry_run is True:
        raise Fault(
            E_USAGE,
            "A dry run needs the ackToken that it is about; without one the call only reads.",
            details={"usage": "run continue --ack TOKEN --dry-run"},
        )
    from handrail.operations.runs.reread_run import rehydrate

    return rehydrate(rt.reading(), request)


def advance(
    rt: Runtime, request: ContinueRun, ack_token: str, actions: int = MOST_ACTIONS
) -> Success | AckVerdict:
    """Acknowledge the pending step once, and run up to `actions` of ours; a repeat gets the same reply."""
    handle = read_ack(rt.keys, ack_token, request.state_token)
    require_one_reply(rt.log, rt.keys, handle, "run.continue", request)
    claims = handle.claims
    option = claims.option if isinstance(claims, ChoiceClaims) else None
    sent = work = read_report(request.output, request.context, option)
    troubles: tuple[Reason, ...] = ()
    looked: Looked | None = None
    blobs = [*blobs_of(work)]
    other_files: PreparedTree | None = None

    def look(session: Session, node: Node) -> None:
        nonlocal looked, other_files, work, troubles
        looked = look_for_attempt(rt, session, node, work, request.project)
        history = session.history
        work, troubles = _run_pending_action(rt, session, looked, node, sent, request)
        if history.trees and (steps_after(history, node.node_id) or is_older(history, node)):
            from handrail.operations.other_files import look_at_present

            other_files = look_at_present(rt, history, node, looked.project)
            blobs.extend(() if other_files is None else other_files.blobs)

    def decide(session: Session, node: Node, salt: int) -> Sequence[PlannedEvent]:
        assert looked is not None, "the look comes before the decision"
        check_merged(session.history, node, work.context | work.result)
        plan = decide_advance(
            session.history,
            looked.workflow,
            node,
            claims.attempt_id,
            work,
            salt,
            seen=observe_surroundings(rt, looked.project, request.project),
            kept_notes=load_kept_notes(rt.log, session.history, node),
            sighting=looked.sighting,
            confirmations=looked.confirmations,
            can_ask=rt.can_ask,
            troubles=troubles,
        )
        if other_files is None:
            return plan
        from handrail.operations.other_files import plan_other_files

        return [*plan, *plan_other_files(plan, other_files)]

    if request.dry_run is True:
        from handrail.operations.handles import predict_outcome

        return predict_outcome(rt, claims, "advance", decide, look)
    session, recorded = answer_attempt(rt, claims, "advance", decide, blobs, look)
    if looked is not None and looked.project is not None:
        leave_tree(rt, claims.session_id, recorded.to_node_id, looked.project, "advance", looked.tree)
    run = session.history.runs[session.history.nodes[recorded.to_node_id].run_id]
    known = None if looked is None else looked.workflow
    session = run_following_actions(rt, session, recorded, request.project, actions, known)
    return reply_to_answer(
        rt.log,
        rt.keys,
        session,
        recorded,
        work.input_digest,
        warnings=(*handle.warnings, *warn_of_other_project(rt.workspace, run, request.project)),
        sent=TokenCall(claims=claims, request=request, tool="continue_workflow"),
        workflow=known,
        actions=actions,
    )


def _run_pending_action(
    rt: Runtime, session: Session, looked: Looked, node: Node, sent: WorkDone, request: ContinueRun
) -> tuple[WorkDone, tuple[Reason, ...]]:
    """The report, with the result of the pending step if that is an action of ours, or why there is none."""
    check_change(session.history, looked.workflow, node, sent)
    if own_action_at(looked.workflow, node.state) is None or request.dry_run is True:
        return sent, ()
    from handrail.operations.runs.own_actions import perform_action

    return perform_action(rt, session.history, looked.workflow, node, sent, looked.project)


def run_following_actions(
    rt: Runtime,
    session: Session,
    recorded: Recorded,
    project: str | UnsetType,
    most: int,
    known: CompiledWorkflow | None = None,
) -> Session:
    """Run the actions of ours that an answered attempt led to, as many as `most`; few runs have any."""
    history = session.history
    node = history.nodes[recorded.to_node_id]
    run = history.runs[node.run_id]
    workflow = load_pinned_workflow(rt.log, run.workflow_hash) if known is None else known
    if own_action_at(workflow, node.state) is None:
        return session
    from handrail.operations.runs.own_actions import run_actions

    own = find_own_project(rt.workspace, rt.places, run, project)
    return run_actions(rt, session, workflow, recorded, own, most)


OPERATION = Operation(
    name="run.continue",
    effect="ack",
    summary="Acknowledge the pending step and get the next one, or read the pending step again.",
    input=ContinueRun,
    output=Reply,
    perform=continue_run,
    shape=RUN_SHAPE,
    reads_without="ackToken",
    tool="continue_workflow",
    tool_description=(
        "Report the pending step as done and get the next one. Repeating a call is safe: it returns the "
        "recorded reply. With stateToken alone it shows the step again and changes nothing."
    ),
    tool_fields=("ackToken", "stateToken", "context", "output", "project"),
    errors=(
        "CONTEXT_MISSING",
        "VALIDATION_ERROR",
        "CONTEXT_BUDGET_EXCEEDED",
        "WORK_LIMIT_EXCEEDED",
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
