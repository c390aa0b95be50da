"""Notes of a session that belong to no run: kept once per token, like every checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.contract.catalogue import INVARIANT_VIOLATION, VALIDATION_ERROR
from handrail.contract.ids import session_output_id
from handrail.contract.outcome import Fault, Success
from handrail.contract.tokens.workflow import CheckpointClaims
from handrail.engine.events import PlannedEvent
from handrail.engine.history import SessionNotes
from handrail.engine.plans.session import plan_session_notes
from handrail.engine.reply import ReplyWarning
from handrail.engine.work import WorkDone
from handrail.runtime.handles import SentAgain
from handrail.runtime.operation import AckVerdict, Verdict
from handrail.runtime.runtime import Runtime
from handrail.runtime.session_replies import noted_reply
from handrail.runtime.sessions import COMMIT_TRIES, Session, commit, healthy_session
from handrail.runtime.whereabouts import notes_mismatch
from handrail.runtime.work import blobs_of


def keep_session_notes(
    rt: Runtime,
    session: Session,
    sent: SentAgain,
    claims: CheckpointClaims,
    work: WorkDone,
    warnings: tuple[ReplyWarning, ...],
) -> Success:
    """Add the notes once; the same token again gets the recorded reply.

    Raises Fault VALIDATION_ERROR when there are no notes, or artifacts with them.
    """
    output_id = session_output_id(claims.session_id, claims.node_tag, claims.attempt_id)
    noted = session.history.session_notes.get(output_id)
    if noted is None:
        _check(work)
        session, noted = _keep(rt, session, output_id, work)
    if noted.input_digest != work.input_digest:
        warnings = (notes_mismatch(rt.keys, sent, work), *warnings)
    return noted_reply(rt.keys, session, noted, warnings)


def foretold_session_notes(session: Session, claims: CheckpointClaims, work: WorkDone) -> AckVerdict:
    """What the same call without a dry run would do."""
    output_id = session_output_id(claims.session_id, claims.node_tag, claims.attempt_id)
    is_known = output_id in session.history.session_notes
    if not is_known:
        _check(work)
    verdict: Verdict = "already_answered" if is_known else "would_save"
    return AckVerdict(verdict=verdict, step_id="", blockers=[], issues=[], gaps=[], example=None)


def _keep(rt: Runtime, session: Session, output_id: str, work: WorkDone) -> tuple[Session, SessionNotes]:
    def plan(_: int) -> Sequence[PlannedEvent]:
        return plan_session_notes(output_id, work)

    for _ in range(COMMIT_TRIES):
        with healthy_session(rt, session, by_token=True) as (current, witness):
            session = current
            noted = session.history.session_notes.get(output_id)
            if noted is not None:
                return session, noted
            committed = commit(rt, witness, current, plan, blobs_of(work))
        if committed is not None:
            return committed, committed.history.session_notes[output_id]
    raise Fault(
        INVARIANT_VIOLATION,
        "The log kept moving under this call.",
        details={"session_id": session.history.session_id},
    )


def _check(work: WorkDone) -> None:
    problems = []
    if not work.notes.strip():
        problems.append({"param": "output.notesMarkdown", "problem": "missing", "expected": "notes to keep"})
    if work.artifacts:
        problem = "a session without a run keeps notes only"
        expected = "artifacts with a step of a workflow, or their content in the notes"
        problems.append({"param": "output.artifacts", "problem": problem, "expected": expected})
    if problems:
        first = problems[0]
        message = f"{first['param']}: {first['problem']}; nothing was stored."
        raise Fault(VALIDATION_ERROR, message, details={"problems": problems})
