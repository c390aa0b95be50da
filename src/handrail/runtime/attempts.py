"""One attempt, answered exactly once: look without the lock, then gate, decide and commit under it.

A running server that saw the attempt open a moment ago goes to the lock at once: what it finds there counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import assert_never

from handrail.contract.catalogue import INVARIANT_VIOLATION
from handrail.contract.outcome import Fault
from handrail.engine.events import PlannedEvent
from handrail.engine.gate import Answered, AttemptUse, Open, Refused, gate
from handrail.engine.history import Node, Recorded
from handrail.ports import Blob
from handrail.runtime.handles import AttemptClaims, node_of, session_of
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import COMMIT_TRIES, Session, commit, healthy_session, last_seen
from handrail.runtime.soundness import lost_work


def answer_attempt(
    rt: Runtime,
    claims: AttemptClaims,
    use: AttemptUse,
    decide: Callable[[Session, Node, int], Sequence[PlannedEvent]],
    blobs: Sequence[Blob],
) -> tuple[Session, Recorded]:
    """The recorded answer of the attempt, made now if it had none.

    `decide(session, node, salt)` plans it; it is not called for a replay.
    """
    session = last_seen(rt.log, claims.session_id)
    if session is None or not _is_open(session, claims, use):
        session = session_of(rt.log, claims)
        recorded = recorded_answer(session, claims, use)
        if recorded is not None:  # committed answers never change: a replay needs no lock
            return session, recorded
    for _ in range(COMMIT_TRIES):
        with healthy_session(rt, session, by_token=True) as (current, witness):
            session = current
            recorded = recorded_answer(session, claims, use)
            if recorded is not None:
                return session, recorded
            node = node_of(current.history, claims)
            committed = commit(rt, witness, current, partial(decide, current, node), blobs)
        if committed is not None:
            recorded = recorded_answer(committed, claims, use)
            assert recorded is not None, "a committed answer is in the history"
            return committed, recorded
    raise Fault(
        INVARIANT_VIOLATION, "The log kept moving under this call.", details={"session_id": claims.session_id}
    )


def _is_open(session: Session, claims: AttemptClaims, use: AttemptUse) -> bool:
    return isinstance(gate(session.history, claims.node_tag, claims.attempt_id, use), Open)


def recorded_answer(session: Session, claims: AttemptClaims, use: AttemptUse) -> Recorded | None:
    """The answer of the attempt, if it has one.

    Raises Fault STORE_HISTORY_LOST when the log lacks the token's node.
    """
    match gate(session.history, claims.node_tag, claims.attempt_id, use):
        case Refused():
            raise lost_work(session.history.session_id, session.history.head)
        case Answered(recorded=recorded):
            return recorded
        case Open():
            return None
        case never:
            assert_never(never)
