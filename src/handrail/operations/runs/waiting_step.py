"""The refusal of an ack that came before the children of its step were done."""

from __future__ import annotations

from msgspec import to_builtins

from handrail.contract.catalogue import STEP_WAITS
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.tokens.workflow import AckClaims, ChoiceClaims
from handrail.engine.children.tips import find_newest_wait
from handrail.engine.reply import Tokens
from handrail.engine.standing import standing_at
from handrail.operations.handles import mint_state_token, node_of, session_of
from handrail.operations.replies import load_pinned_workflow, show_children
from handrail.runtime.runtime import ReadPorts


def add_children(rt: ReadPorts, claims: AckClaims | ChoiceClaims, fault: Fault) -> Fault:
    """The refusal of a step that waits, with its children and the call of the first that is not done."""
    history = session_of(rt.log, claims).history
    node = find_newest_wait(history, node_of(history, claims))
    workflow = load_pinned_workflow(rt.log, history.runs[node.run_id].workflow_hash)
    standing = standing_at(history, workflow, node, "rehydrate")
    children, tokens = show_children(rt.keys, history, workflow, standing, Tokens(state=""), is_present=True)
    token = tokens.work if standing.is_waiting else mint_state_token(rt.keys, history.session_id, node)
    call = NextCall(operation="run.continue", params={"stateToken": token})
    details = fault.details | {"children": to_builtins(children)}
    return Fault(STEP_WAITS, fault.message, details=details, next_call=call)
