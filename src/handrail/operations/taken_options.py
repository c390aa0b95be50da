"""An option that a person took, for a token of the reply before they were asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from handrail.contract.ids import attempt_for_new
from handrail.contract.tokens.workflow import AckClaims, ChoiceClaims, choice_attempt
from handrail.engine.ask import weigh_answers
from handrail.engine.decide import decide_advance
from handrail.operations.handles import Answer, answer_attempt
from handrail.operations.replies import load_pinned_workflow

if TYPE_CHECKING:
    from handrail.engine.facts import WorkDone
    from handrail.operations.handles import Gather
    from handrail.runtime.runtime import WritePorts


def follow_question(
    rt: WritePorts, claims: AckClaims | ChoiceClaims, answer: Answer, work: WorkDone, gather: Gather
) -> tuple[AckClaims | ChoiceClaims, Answer]:
    """The answer of the same option where a person was asked and took one, for a token from before that.

    Only where the recorded attempt was another: a repeat of it gets its own reply.
    """
    while isinstance(claims, ChoiceClaims) and (moved := _find_asked(rt, claims, answer, work)):
        claims = moved
        answer = answer_attempt(rt, claims, "advance", gather, decide_advance)
    return claims, answer


def _find_asked(rt: WritePorts, claims: ChoiceClaims, answer: Answer, work: WorkDone) -> ChoiceClaims | None:
    recorded, history = answer.recorded, answer.session.history
    is_repeat = answer.prepared is not None or recorded.input_digest == work.input_digest
    if is_repeat or recorded.blocked is None:
        return None
    node = history.nodes[recorded.to_node_id]
    workflow = load_pinned_workflow(rt.log, history.runs[node.run_id].workflow_hash)
    if not weigh_answers(history, workflow, node, "choose").option_id:
        return None
    attempt = choice_attempt(attempt_for_new(node.node_id))
    return replace(claims, node_tag=node.tag, attempt_id=attempt)
