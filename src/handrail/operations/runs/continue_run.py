"""`run.continue`: advance with an ack, replay a known one, or rehydrate without one."""

# ruff: noqa: PLC0415 - reading again and dry runs load their own: an advance pays for neither

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, to_builtins
from msgspec.structs import replace

from handrail.contract.catalogue import E_USAGE, STEP_WAITS
from handrail.contract.outcome import Fault, Success
from handrail.contract.parameters import ProjectPath, TokenText
from handrail.contract.tokens.workflow import AckClaims, ChoiceClaims
from handrail.engine.decide import decide_advance
from handrail.engine.facts import WorkDone
from handrail.engine.history import Node, Recorded, is_older, steps_after
from handrail.engine.navigate import own_action_at
from handrail.engine.reply import Reply
from handrail.operations.handles import (
    WORKER_RULE,
    Answer,
    Prepared,
    TokenCall,
    Tried,
    Worker,
    answer_attempt,
    find_attempt,
    node_of,
    read_ack,
)
from handrail.operations.kept_trees import keep_first_trees, look_at_present
from handrail.operations.replies import RUN_SHAPE, reply_to_answer, warn_of_present
from handrail.operations.report import Output, check_change, check_merged, gather, read_report
from handrail.operations.same_project import find_own_project
from handrail.runtime.operation import AckVerdict, Input, Maybe, Operation
from handrail.runtime.runtime import WritePorts, leave_tree
from handrail.runtime.sessions import Session, load_pinned_workflow
from handrail.workflows.compiled import CompiledWorkflow
from handrail.workflows.limits import MOST_ACTIONS


class ContinueRun(Input, frozen=True, kw_only=True):
    """With `ackToken` the pending step is done; with `stateToken` alone nothing changes."""

    ack_token: Maybe[Annotated[TokenText, Meta(description="Of the newest reply; or a choice's token.")]] = (
        UNSET
    )
    state_token: Maybe[
        Annotated[TokenText, Meta(description="Alone: read the step again, with a recap.")]
    ] = UNSET
    context: Maybe[Annotated[dict[str, Any], Meta(description="Facts to set; null deletes.")]] = UNSET
    output: Maybe[Output] = UNSET
    project: Maybe[ProjectPath] = UNSET
    worker: Maybe[Worker] = UNSET
    dry_run: Maybe[Tried] = UNSET


def continue_run(rt: WritePorts, request: ContinueRun) -> Success | AckVerdict:
    """Advance, replay or rehydrate; in a dry run, return what an ack would do."""
    if request.ack_token is not UNSET:
        return advance(rt, request, request.ack_token)
    if request.dry_run is True:
        raise Fault(
            E_USAGE,
            "A dry run needs the ackToken that it is about; without one the call only reads.",
            details={"usage": "run continue --ack TOKEN --dry-run"},
        )
    from handrail.operations.runs.reread_run import Reread, rehydrate

    given = to_builtins(request)
    report = {name: given[name] for name in ("output", "context") if name in given}
    reread = Reread(state_token=request.state_token, project=request.project, not_stored=report)
    return rehydrate(rt.for_rehydrate(), reread)


def advance(
    rt: WritePorts, request: ContinueRun, ack_token: str, actions: int = MOST_ACTIONS
) -> Success | AckVerdict:
    """Acknowledge the pending step once, and run up to `actions` of Handrail's actions;
    a repeat gets the same reply.
    """
    # Verify: a refusal up to here uses no token up.
    handle = read_ack(rt.keys, ack_token, request.state_token)
    if handle.beside:
        from handrail.operations.mixed_tokens import require_one_reply

        require_one_reply(rt.log, rt.keys, handle, "run.continue", request)
    claims = handle.claims
    option = claims.option if isinstance(claims, ChoiceClaims) else None
    work = read_report(request.output, request.context, rt.secrets, option)
    if request.dry_run is True:
        return _predict(rt, request, claims, work)
    while True:
        found = find_attempt(rt.log, claims, "advance")
        if found.recorded is not None:
            answer = Answer(session=found.session, recorded=found.recorded)
        else:
            # Gather without the lock: files, blobs and programs are slow.
            node = node_of(found.session.history, claims)
            facts = _gather_facts(rt, found.session, node, work, request)
            # Decide and append under it.
            try:
                answer = answer_attempt(rt, claims, "advance", found.session, facts, decide_advance)
            except Fault as fault:
                if fault.kind is not STEP_WAITS:
                    raise
                from handrail.operations.runs.reread_run import add_children

                raise add_children(rt, claims, fault) from None
        moved = _find_moved(rt, claims, answer, work)
        if moved is None:
            break
        claims = moved
    # After the commit. A repeat can do all of this again, because the reply is read from the log.
    session, recorded, prepared = answer.session, answer.recorded, answer.prepared
    # `prepared` is None in a replay: the files of that time are gone, and today's say nothing about the node.
    if prepared is not None and prepared.project is not None:
        leave_tree(rt, claims.session_id, recorded.to_node_id, prepared.project, "advance", prepared.tree)
    made = session.history.nodes[recorded.to_node_id]
    run = session.history.runs[made.run_id]
    if prepared is not None and prepared.project is not None and prepared.gathered.handed:
        keep_first_trees(rt, session, made, prepared.project)
    known = None if prepared is None else prepared.gathered.workflow
    session = run_following_actions(rt, session, recorded, request.project, actions, known)
    return reply_to_answer(
        rt.log,
        rt.keys,
        session,
        recorded,
        work.input_digest,
        warnings=(*handle.warnings, *warn_of_present(rt, run, request.project)),
        sent=TokenCall(claims=claims, request=request, tool="continue_workflow"),
        workflow=known,
        actions=actions,
    )


def _gather_facts(
    rt: WritePorts, session: Session, node: Node, work: WorkDone, request: ContinueRun
) -> Prepared:
    """Return what decides a report, with the result of a pending action and the files
    that changed since an older step.
    """
    is_real = request.dry_run is not True
    prepared = gather(rt, session, node, work, request.project, request.worker)
    check_change(session.history, prepared.gathered.workflow, node, work)
    if prepared.gathered.proof_facts is not None and is_real:
        from handrail.operations.checks.own_proofs import prove_for_report

        proven = prove_for_report(rt, session, prepared, node)
        if proven is not None:
            session, prepared = proven, gather(rt, proven, node, work, request.project, request.worker)
    gathered, history = prepared.gathered, session.history
    if own_action_at(gathered.workflow, node.state) is not None and is_real:
        from handrail.operations.runs.own_actions import perform_action

        done, troubles = perform_action(rt, history, gathered.workflow, node, work, prepared.project)
        gathered = replace(gathered, work=done, troubles=troubles)
    check_merged(history, node, gathered.work.context | gathered.work.result)
    prepared = replace(prepared, gathered=gathered)
    if not history.trees or not (steps_after(history, node.node_id) or is_older(history, node)):
        return prepared
    other = look_at_present(rt, history, node, prepared.project)
    if other is None:
        return prepared
    gathered = replace(gathered, other_files=other.fact)
    return replace(prepared, gathered=gathered, blobs=(*prepared.blobs, *other.blobs))


def _predict(
    rt: WritePorts, request: ContinueRun, claims: AckClaims | ChoiceClaims, work: WorkDone
) -> AckVerdict:
    """Return what the call would do; nothing is written."""
    from handrail.operations.checkpoints import find_healthy_attempt, predict_outcome

    found = find_healthy_attempt(rt.log, claims, "advance")
    facts = None
    if found.recorded is None:
        facts = _gather_facts(rt, found.session, node_of(found.session.history, claims), work, request)
    return predict_outcome(found, claims, facts, decide_advance)


def _find_moved(
    rt: WritePorts, claims: AckClaims | ChoiceClaims, answer: Answer, work: WorkDone
) -> ChoiceClaims | None:
    """Return the claims under which the option counts if a person chose it since; few runs have any."""
    if work.option is None or not answer.session.history.confirmations or answer.prepared is not None:
        return None
    from handrail.operations.mixed_tokens import find_moved_question

    return find_moved_question(rt, claims, answer, work)


def run_following_actions(
    rt: WritePorts,
    session: Session,
    recorded: Recorded,
    project: str | UnsetType,
    most: int,
    known: CompiledWorkflow | None = None,
) -> Session:
    """Run up to `most` of Handrail's actions that an answered attempt led to; few runs have any."""
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
        "Report the pending step as done and get the next one. Repeating a call is safe. "
        "With stateToken alone it shows the step again and changes nothing."
    ),
    tool_fields=("ackToken", "stateToken", "context", "output", "project", "worker"),
    value_rules={"worker": WORKER_RULE},
    errors=(
        "CONTEXT_MISSING",
        "CONTEXT_BUDGET_EXCEEDED",
        "WORK_LIMIT_EXCEEDED",
        "TOKEN_SCOPE_MISMATCH",
        "STEP_WAITS",
        "STORE_CORRUPT",
    ),
)
