"""The present state of the work, for a caller whose token is older, or was used with other content."""

from __future__ import annotations

from msgspec import json, to_builtins
from msgspec.structs import replace

from handrail.contract.ids import NodeId, RunId, attempt_for_other
from handrail.contract.redaction import redact_named_secrets
from handrail.contract.tokens.workflow import WORKFLOW, CheckpointClaims, ChoiceClaims, choice_attempt, mint
from handrail.contract.wording import explain_unseen, format_count, shorten
from handrail.engine.ask import weigh_answers
from handrail.engine.facts import WorkDone
from handrail.engine.history import (
    History,
    Recorded,
    attached_to,
    closing_of,
    context_at,
    path_to,
    steps_after,
)
from handrail.engine.navigate import step_key
from handrail.engine.reasons import Purpose
from handrail.engine.reply import CurrentPlace, PersonAnswer, Recap, ReplyWarning, ToolCall, show_closing
from handrail.operations.handles import TokenCall, mint_state_token, mint_work_token
from handrail.ports.log import EventReader
from handrail.ports.process import Keys
from handrail.projections.recap import show_answer
from handrail.projections.run_graph import completed_step, run_graph, title_at
from handrail.runtime.operation import OFFERED_CALL_BYTES
from handrail.runtime.sessions import load_history_before
from handrail.workflows.compiled import CompiledWorkflow

_NOT_STORED = "Nothing of this call was stored: its token was answered before, with other content."
_NOT_CHOSEN = (
    "Nothing of this call was stored: the choice was answered before, with another option or other content."
)
_RECORDED = "The rest of this reply is the recorded one."
_MOST_DIFFERENCES = 5
MOST_STEPS_SHOWN = 5
"""Most finished steps since a reply that are shown; the latest."""


def add_current_place(
    recap: Recap | None, keys: Keys, history: History, workflow: CompiledWorkflow, node_id: NodeId
) -> Recap | None:
    """Return the recap with the present place of the run, if it has moved on from the node."""
    current = _place(keys, history, workflow, node_id)
    return recap if current is None else replace(recap or Recap(entries=[]), current=current)


def add_closing(recap: Recap | None, history: History, run_id: RunId) -> Recap | None:
    """Return the recap with the reason why the run is closed, if it is."""
    closing = closing_of(history, run_id)
    if closing is None:
        return recap
    return replace(recap or Recap(entries=[]), closed=show_closing(closing))


def add_place_left(
    recap: Recap, keys: Keys, before: History, workflow: CompiledWorkflow, node_id: NodeId
) -> Recap:
    """Return the recap of a fork with the place that the run left; `before` is the log up to then."""
    return replace(recap, stood_at=_place(keys, before, workflow, node_id))


def name_taker(
    reader: EventReader, history: History, recorded: Recorded, workflow: CompiledWorkflow
) -> list[PersonAnswer]:
    """Return who chose the option, if an answer took the option of a person; a later read repeats it."""
    made = history.nodes[recorded.to_node_id]
    if made.parent is None or recorded.blocked is not None:
        return []
    before = load_history_before(reader, history, recorded.index)
    word = weigh_answers(before, workflow, before.nodes[made.parent], "choose")
    if word.answered is None or word.option_id != recorded.option_id:
        return []
    return [show_answer(before, word.answered)]


def _place(keys: Keys, history: History, workflow: CompiledWorkflow, node_id: NodeId) -> CurrentPlace | None:
    """Return the present place of the run if the step pending at a node was finished since; else None."""
    if not steps_after(history, node_id):
        return None
    graph = run_graph(history, history.nodes[node_id].run_id)
    tip = history.nodes[graph.preferred_tip]
    before = {node.node_id for node in path_to(history, node_id)}
    done = [
        completed_step(history, node)
        for node in path_to(history, tip.node_id)
        if node.kind == "step" and node.node_id not in before
    ]
    token = mint_state_token(keys, history.session_id, tip)
    return CurrentPlace(
        node_id=tip.node_id,
        status=graph.status,
        pending_step_id=step_key(tip.state) or None,
        title=title_at(workflow, tip),
        done_since=done[-MOST_STEPS_SHOWN:],
        done_since_omitted=max(0, len(done) - MOST_STEPS_SHOWN),
        next_call=ToolCall(tool="continue_workflow", params={"stateToken": token}),
    )


def warn_of_other_input(
    keys: Keys,
    history: History,
    workflow: CompiledWorkflow,
    recorded: Recorded,
    sent: TokenCall,
    input_digest: str,
) -> ReplyWarning:
    """Return the warning that a used token came with other content: nothing was stored, and how to store it.

    Only this warning says what happened since: a replay with the same content must stay, byte for byte, the
    recorded reply.
    """
    is_retry = recorded.blocked is not None and recorded.blocked.retryable
    node = history.nodes[recorded.to_node_id]
    call = _storing_call(keys, sent, node.tag if is_retry else sent.claims.node_tag, input_digest)
    found = _place(keys, history, workflow, node.node_id)
    is_saved = sent.tool == "checkpoint_workflow"
    purpose: Purpose = "checkpoint" if is_saved else "retry" if is_retry and found is None else "fork"
    refused = _NOT_CHOSEN if isinstance(sent.claims, ChoiceClaims) else _NOT_STORED
    differing = _list_differences(history, recorded, sent)
    advice, run = _ask_content(call), history.runs[node.run_id]
    if purpose == "fork" and run.parent is not None:  # a fork would undo the work of another helper
        advice, purpose = " Another helper with this work token was first, or you were.", "go_on"
        call = ToolCall(tool="continue_workflow", params={"stateToken": mint_work_token(keys, history, run)})
    differs = f" It differs in: {', '.join(differing)}." if differing else ""
    message = f"{refused}{differs}{advice} {_RECORDED}"
    if found is not None:
        message += f" {_since(found)} recap.current has the call that goes on from there."
    details = {"differsIn": differing} if differing else {}
    return ReplyWarning(
        code="REPLAY_INPUT_MISMATCH", message=message, details=details, purpose=purpose, next_call=call
    )


def _list_differences(history: History, recorded: Recorded, sent: TokenCall) -> list[str]:
    """Return the names of what a call has and the recorded report lacks; only the call has the text."""
    given = to_builtins(sent.request)
    output = given.get("output", {})
    held, notes = attached_to(history, recorded.to_node_id), history.notes.get(recorded.to_node_id)
    bodies = [one.artifact.body for one in held.artifacts]
    found = [f"artifact {one.get('kind', '')}" for one in output.get("artifacts", []) if one not in bodies]
    found += ["fewer artifacts"] if not found and len(output.get("artifacts", [])) < len(bodies) else []
    sent_notes = output.get("notesMarkdown", "")
    if sent_notes != ("" if notes is None else notes.text) and not (notes and notes.ref):
        found.append("notes")
    context = context_at(history, recorded.to_node_id)
    found += [
        f"context {name}" for name, value in given.get("context", {}).items() if context.get(name) != value
    ]
    return [shorten(one) for one in found[:_MOST_DIFFERENCES]]


def _ask_content(call: ToolCall) -> str:
    """Return a request to add the content, if the call leaves it out because it is long or looks secret."""
    return (
        "" if len(call.params) > 1 else " To store it, put what you sent into the call that is offered here."
    )


def warn_of_other_notes(keys: Keys, sent: TokenCall, work: WorkDone) -> ReplyWarning:
    """Return the same warning for notes of a session that has no run."""
    if explain_unseen(work.notes):
        return ReplyWarning(code="REPLAY_INPUT_MISMATCH", message=f"{_NOT_STORED} {_RECORDED}")
    call = _storing_call(keys, sent, sent.claims.node_tag, work.input_digest)
    message = f"{_NOT_STORED}{_ask_content(call)} {_RECORDED}"
    return ReplyWarning(code="REPLAY_INPUT_MISMATCH", message=message, purpose="notes", next_call=call)


def _storing_call(keys: Keys, sent: TokenCall, node_tag: str, input_digest: str) -> ToolCall:
    """Return the call with an unused token: derived from this content, so a repeat gets the same one."""
    attempt_id = attempt_for_other(sent.claims.attempt_id, input_digest)
    if isinstance(sent.claims, ChoiceClaims):
        attempt_id = choice_attempt(attempt_id)
    token = mint(keys.signing_key(WORKFLOW), replace(sent.claims, node_tag=node_tag, attempt_id=attempt_id))
    field = "checkpointToken" if isinstance(sent.claims, CheckpointClaims) else "ackToken"
    given = to_builtins(sent.request)
    content = {name: given[name] for name in ("context", "output", "project") if name in given}
    is_short = len(json.encode(content)) <= OFFERED_CALL_BYTES
    is_shown = is_short and redact_named_secrets(content) == content
    return ToolCall(tool=sent.tool, params={field: token, **(content if is_shown else {})})


def _since(found: CurrentPlace) -> str:
    omitted = found.done_since_omitted
    count = len(found.done_since) + omitted
    earlier = f"{omitted} earlier, " if omitted else ""
    pending = found.pending_step_id
    now = f"now pending: {found.title} ({pending})" if pending else "it is finished"
    steps = f"{earlier}{', '.join(found.done_since)}"
    return f"Since that reply the run has advanced by {format_count(count, 'step')} ({steps}); {now}."
