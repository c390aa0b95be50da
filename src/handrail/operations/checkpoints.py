"""`run.checkpoint`: notes that leave a run where it is, or that are kept in a session without a run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import VALIDATION_ERROR
from handrail.contract.disclosure.newest import FENCE_BYTES, take_newest_rows
from handrail.contract.ids import AttemptId, attempt_for_new, attempt_of, session_output_id
from handrail.contract.outcome import Fault, Payload, Success
from handrail.contract.parameters import ProjectPath, TokenText
from handrail.contract.tokens.workflow import WORKFLOW, CheckpointClaims, StateClaims, mint
from handrail.contract.wording import explain_unseen, shorten
from handrail.engine.decide import Attempt, decide_checkpoint
from handrail.engine.events import AdvanceRecorded, Blocked, GapRecorded
from handrail.engine.facts import LONGEST_GOAL, WorkDone
from handrail.engine.gate import AttemptUse
from handrail.engine.history import History, SessionNotes, is_session_point
from handrail.engine.judge.report_frame import TO_FILL_IN
from handrail.engine.navigate import step_key
from handrail.engine.plans import plan_session_notes
from handrail.engine.reply import Reply, ReplyWarning, ToolCall, put_warnings_first
from handrail.operations.handles import (
    WORKER_RULE,
    Answer,
    AttemptClaims,
    Decide,
    FoundAttempt,
    Handle,
    Prepared,
    TokenCall,
    Tried,
    Worker,
    answer_attempt,
    find_attempt,
    find_recorded_answer,
    mint_state_token,
    name_persons_line,
    node_of,
    read_checkpoint,
    session_of,
)
from handrail.operations.position import warn_of_other_notes
from handrail.operations.replies import RUN_SHAPE, reply_to_answer, warn_of_present
from handrail.operations.report import Output, blobs_of, gather, read_report
from handrail.ports.log import EventReader
from handrail.ports.process import Keys, Randomness
from handrail.projections.recap import KEPT_MOST_RECENT, NOTES_BUDGET_BYTES, TRUNCATION_MARK
from handrail.projections.run_graph import run_graph
from handrail.runtime.operation import AckVerdict, Input, Maybe, Operation, Verdict
from handrail.runtime.runtime import WritePorts, leave_tree
from handrail.runtime.sessions import PlanWith, Session, decide_and_commit, require_healthy


class CheckpointRun(Input, frozen=True, kw_only=True):
    """Progress to keep before the step is done."""

    checkpoint_token: Annotated[TokenText, Meta(description="Of the newest reply.")]
    state_token: Maybe[Annotated[TokenText, Meta(description="Of the same reply.")]] = UNSET
    output: Output
    project: Maybe[ProjectPath] = UNSET
    worker: Maybe[Worker] = UNSET
    dry_run: Maybe[Tried] = UNSET


def checkpoint_run(rt: WritePorts, request: CheckpointRun) -> Success | AckVerdict:
    """Add a checkpoint once; the same token again gets the recorded reply."""
    handle = read_checkpoint(rt.keys, request.checkpoint_token, request.state_token)
    if handle.beside:
        from handrail.operations.mixed_tokens import require_one_reply  # noqa: PLC0415 - one token needs no proof

        require_one_reply(rt.log, rt.keys, handle, "run.checkpoint", request)
    work = read_report(request.output, UNSET, rt.secrets)
    sent = TokenCall(claims=handle.claims, request=request, tool="checkpoint_workflow")
    session = session_of(rt.log, handle.claims)
    if is_session_point(session.history, handle.claims.node_tag):
        if request.dry_run is True:
            return predict_session_notes(session, handle.claims, work)
        return keep_session_notes(rt, session, sent, handle.claims, work, handle.warnings)

    if request.dry_run is True:
        found = find_healthy_attempt(rt.log, handle.claims, "checkpoint")
        prepared = (
            None if found.recorded is not None else _gather_notes(rt, found.session, handle, work, request)
        )
        return predict_outcome(found, handle.claims, prepared, decide_checkpoint)
    found = find_attempt(rt.log, handle.claims, "checkpoint")
    if found.recorded is not None:
        answer = Answer(session=found.session, recorded=found.recorded)
    else:
        prepared = _gather_notes(rt, found.session, handle, work, request)
        answer = answer_attempt(rt, handle.claims, "checkpoint", found.session, prepared, decide_checkpoint)
    session, recorded, prepared = answer.session, answer.recorded, answer.prepared
    if prepared is not None and prepared.project is not None:
        leave_tree(
            rt, handle.claims.session_id, recorded.to_node_id, prepared.project, "checkpoint", prepared.tree
        )
    run = session.history.runs[session.history.nodes[recorded.to_node_id].run_id]
    return reply_to_answer(
        rt.log,
        rt.keys,
        session,
        recorded,
        work.input_digest,
        warnings=(*handle.warnings, *warn_of_present(rt, run, request.project)),
        sent=sent,
        workflow=None if prepared is None else prepared.gathered.workflow,
    )


def _gather_notes(
    rt: WritePorts, session: Session, handle: Handle[CheckpointClaims], work: WorkDone, request: CheckpointRun
) -> Prepared:
    return gather(rt, session, node_of(session.history, handle.claims), work, request.project, request.worker)


OPERATION = Operation(
    name="run.checkpoint",
    effect="ack",
    summary="Save progress at the pending step without finishing it.",
    input=CheckpointRun,
    output=Reply,
    perform=checkpoint_run,
    shape=RUN_SHAPE,
    tool="checkpoint_workflow",
    tool_description=("Save notes in the middle of a step, which stays pending; a repeat adds nothing."),
    tool_fields=("checkpointToken", "stateToken", "output", "project", "worker"),
    value_rules={"worker": WORKER_RULE},
    errors=("TOKEN_SCOPE_MISMATCH", "STORE_CORRUPT"),
)


# The dry run of an acknowledgement
#
# Nothing is written. The verdict has no confirm token, because the ack itself is the token, and no next
# prompt, because that comes with the work.


def find_healthy_attempt(reader: EventReader, claims: AttemptClaims, use: AttemptUse) -> FoundAttempt:
    """Return the attempt, read again. Raise Fault if it is open and its session cannot be continued."""
    session = session_of(reader, claims)
    recorded = find_recorded_answer(session, claims, use)
    if recorded is None:
        require_healthy(session)
    return FoundAttempt(session=session, recorded=recorded)


def predict_outcome(
    found: FoundAttempt, claims: AttemptClaims, prepared: Prepared | None, decide: Decide
) -> AckVerdict:
    """Decide as the real call would, from the present log, and discard the plan.

    `prepared` is what was gathered for an open attempt.
    """
    session = found.session
    node = node_of(session.history, claims)
    verdict: Verdict = "already_answered"
    gaps: list[str] = []
    if prepared is None:
        assert found.recorded is not None, "an open attempt is decided from gathered facts"
        blocked = found.recorded.blocked
    else:
        attempt = Attempt(node=node, attempt_id=claims.attempt_id)
        plan = decide(session.history, attempt, prepared.gathered, 0)
        gaps = [event.data.summary for event in plan if isinstance(event.data, GapRecorded)]
        answers = [event.data.outcome for event in plan if isinstance(event.data, AdvanceRecorded)]
        blocked = next((one for one in answers if isinstance(one, Blocked)), None)
        verdict = "would_save" if not answers else "would_advance" if blocked is None else "would_block"
    refusal = name_persons_line(session.history, node, blocked)
    return AckVerdict(
        verdict=verdict,
        step_id=step_key(node.state),
        blockers=[] if refusal is None else list(map(msgspec.to_builtins, refusal.blockers)),
        issues=[] if refusal is None else list(map(msgspec.to_builtins, refusal.every_issue)),
        gaps=gaps,
        example=None if refusal is None else refusal.example,
    )


# A session itself, if no run is meant: its notes, and what is answered about it and its runs

MOST_RUNS = 5


class SessionAlone(Payload, frozen=True, kw_only=True):
    """The session that a reply is about."""

    session_id: str
    goal: str = ""


class SessionEntry(Payload, frozen=True, kw_only=True):
    """Notes that belong to the session itself."""

    output_id: str
    notes: str


class SessionRecap(Payload, frozen=True, kw_only=True):
    """Entries oldest first."""

    entries: list[SessionEntry]
    truncated: bool = False
    omitted: int = 0
    policy: str = ""


class RunPlace(Payload, frozen=True, kw_only=True):
    """A run of the session, and the call that continues with it."""

    run_id: str
    workflow_id: str
    status: str
    next_call: ToolCall


class SessionReply(Payload, frozen=True, kw_only=True):
    """The answer of `session.start`, and of checkpoint and continue if a token names the session itself."""

    kind: Literal["ok"]
    session_token: str
    checkpoint_token: str = ""
    """Empty if the session is damaged, so that nothing can be kept in it."""
    session: SessionAlone
    next_call: ToolCall | None
    warnings: list[ReplyWarning] = []
    recap: SessionRecap | None = None
    runs: list[RunPlace] = []
    project: str = ""


def reply_to_opening(
    keys: Keys, session: Session, warnings: tuple[ReplyWarning, ...], project: str
) -> Success:
    """Return the reply to the start of a session, from recorded facts: the same for every replay."""
    opening = session.history.opening
    assert opening is not None, "the session was begun"
    attempt = attempt_for_new(session.history.session_id)
    return _reply(keys, session, opening.tag, attempt, opening.goal, warnings, project=project)


def reply_to_notes(
    keys: Keys, session: Session, noted: SessionNotes, warnings: tuple[ReplyWarning, ...]
) -> Success:
    """Return the reply to notes of the session, with a new token for the next notes."""
    opening = session.history.opening
    assert opening is not None, "the session was begun"
    attempt = attempt_for_new(noted.output_id)
    return _reply(keys, session, noted.tag, attempt, opening.goal, warnings)


def reply_to_reread(
    keys: Keys, randomness: Randomness, session: Session, tag: str, warnings: tuple[ReplyWarning, ...]
) -> Success:
    """Return the present session for an agent that lost its context: notes, runs, and a fresh token."""
    history = session.history
    attempt = attempt_of(randomness.bytes(8))
    goal = history.observations.get("goal", "")
    recap, runs = _recap(history), _runs(keys, history)
    return _reply(keys, session, tag, attempt, goal, warnings, recap=recap, runs=runs)


def _reply(
    keys: Keys,
    session: Session,
    tag: str,
    attempt: AttemptId,
    goal: str,
    warnings: tuple[ReplyWarning, ...],
    **more: Any,
) -> Success:
    key = keys.signing_key(WORKFLOW)
    session_id = session.history.session_id
    saving = mint(key, CheckpointClaims(session_id=session_id, node_tag=tag, attempt_id=attempt))
    keeping = ToolCall(
        tool="checkpoint_workflow",
        params={"checkpointToken": saving, "output": {"notesMarkdown": TO_FILL_IN}},
    )
    reply = SessionReply(
        kind="ok",
        session_token=mint(key, StateClaims(session_id=session_id, node_tag=tag)),
        checkpoint_token=saving if session.is_sound else "",
        session=SessionAlone(session_id=session_id, goal=shorten(goal, LONGEST_GOAL)),
        next_call=keeping if session.is_sound else None,
        warnings=[*session.warnings, *warnings],
        **more,
    )
    return Success(data=put_warnings_first(msgspec.to_builtins(reply), reply.warnings))


def _recap(history: History) -> SessionRecap:
    kept, omitted = take_newest_rows(
        tuple(history.session_notes.values()), _entry, NOTES_BUDGET_BYTES, FENCE_BYTES
    )
    return SessionRecap(
        entries=kept,
        truncated=omitted > 0,
        omitted=omitted,
        policy=KEPT_MOST_RECENT if omitted else "",
    )


def _entry(noted: SessionNotes) -> SessionEntry:
    text = noted.notes.text + (TRUNCATION_MARK if noted.notes.ref is not None else "")
    return SessionEntry(output_id=noted.output_id, notes=text)


def _runs(keys: Keys, history: History) -> list[RunPlace]:
    newest = sorted(history.runs.values(), key=lambda run: run.index)[-MOST_RUNS:]
    places = []
    for run in newest:
        graph = run_graph(history, run.run_id)
        token = mint_state_token(keys, history.session_id, history.nodes[graph.preferred_tip])
        places.append(
            RunPlace(
                run_id=run.run_id,
                workflow_id=run.workflow_id,
                status=graph.status,
                next_call=ToolCall(tool="continue_workflow", params={"stateToken": token}),
            )
        )
    return places


# Notes of a session without a run: kept once per token, like every checkpoint


def keep_session_notes(
    rt: WritePorts,
    session: Session,
    sent: TokenCall,
    claims: CheckpointClaims,
    work: WorkDone,
    warnings: tuple[ReplyWarning, ...],
) -> Success:
    """Add the notes once; the same token again gets the recorded reply.

    Raise Fault VALIDATION_ERROR if there are no notes, or artifacts with them.
    """
    output_id = session_output_id(claims.session_id, claims.node_tag, claims.attempt_id)
    noted = session.history.session_notes.get(output_id)
    if noted is None:
        _check(work)
        session, noted = _keep(rt, session, output_id, work)
    if noted.input_digest != work.input_digest:
        warnings = (warn_of_other_notes(rt.keys, sent, work), *warnings)
    return reply_to_notes(rt.keys, session, noted, warnings)


def predict_session_notes(session: Session, claims: CheckpointClaims, work: WorkDone) -> AckVerdict:
    """Return what the same call without a dry run would answer."""
    output_id = session_output_id(claims.session_id, claims.node_tag, claims.attempt_id)
    is_known = output_id in session.history.session_notes
    if not is_known:
        _check(work)
    verdict: Verdict = "already_answered" if is_known else "would_save"
    return AckVerdict(verdict=verdict, step_id="", blockers=[], issues=[], gaps=[], example=None)


def _keep(rt: WritePorts, session: Session, output_id: str, work: WorkDone) -> tuple[Session, SessionNotes]:
    def decide(now: Session) -> PlanWith | None:
        is_known = output_id in now.history.session_notes
        return None if is_known else lambda _: plan_session_notes(output_id, work)

    session, _ = decide_and_commit(rt, session, decide, blobs_of(work), by_token=True)
    return session, session.history.session_notes[output_id]


def _check(work: WorkDone) -> None:
    problems = []
    if explain_unseen(work.notes):
        problems.append({"param": "output.notesMarkdown", "problem": "missing", "expected": "notes to keep"})
    if work.artifacts:
        problem = "a session without a run keeps notes only"
        expected = "artifacts with a step of a workflow, or their content in the notes"
        problems.append({"param": "output.artifacts", "problem": problem, "expected": expected})
    if problems:
        first = problems[0]
        message = f"{first['param']}: {first['problem']}; nothing was stored."
        raise Fault(VALIDATION_ERROR, message, details={"problems": problems})
