"""The dry run of an acknowledgement: whether it would advance or block, and why. Nothing is written.

It is no preview with a token: the ack itself is the token. And no next prompt: that comes with the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from handrail.engine.events import AdvanceRecorded, Blocked, GapRecorded, PlannedEvent
from handrail.engine.gate import AttemptUse
from handrail.engine.history import Node
from handrail.engine.reasons import Blocker
from handrail.engine.state import Running, step_key
from handrail.runtime.attempts import recorded_answer
from handrail.runtime.handles import AttemptClaims, node_of, session_of
from handrail.runtime.operation import AckVerdict, Verdict
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import Session, require_healthy


def foretold(
    rt: Runtime,
    claims: AttemptClaims,
    use: AttemptUse,
    decide: Callable[[Session, Node, int], Sequence[PlannedEvent]],
) -> AckVerdict:
    """Decide as the real call would, from the log as it stands, and throw the plan away."""
    session = session_of(rt.reading().reader, claims)
    recorded = recorded_answer(session, claims, use)
    node = node_of(session.history, claims)
    step_id = step_key(node.state) if isinstance(node.state, Running) else ""
    if recorded is not None:
        return _verdict("already_answered", step_id, recorded.blocked)
    require_healthy(session)
    plan = decide(session, node, 0)
    answers = [event.data for event in plan if isinstance(event.data, AdvanceRecorded)]
    if not answers:
        return _verdict("would_save", step_id, None)
    outcome = answers[0].outcome
    if isinstance(outcome, Blocked):
        return _verdict("would_block", step_id, outcome)
    gaps = [event.data.summary for event in plan if isinstance(event.data, GapRecorded)]
    return msgspec.structs.replace(_verdict("would_advance", step_id, None), gaps=gaps)


def _verdict(
    verdict: Verdict,
    step_id: str,
    blocked: Blocked | None,
) -> AckVerdict:
    blockers: tuple[Blocker, ...] = () if blocked is None else blocked.blockers
    return AckVerdict(
        verdict=verdict,
        step_id=step_id,
        blockers=[msgspec.to_builtins(blocker) for blocker in blockers],
        issues=[] if blocked is None else [msgspec.to_builtins(issue) for issue in blocked.every_issue],
        gaps=[],
        example=None if blocked is None else blocked.example,
    )
