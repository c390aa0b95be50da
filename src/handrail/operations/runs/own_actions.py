"""Runs the actions of a workflow: a code tool is called without the lock, and its result becomes a report.

Nothing here starts a program or leaves the project of the run. Trouble is a reason like any other: it blocks
the attempt, or becomes a gap in a run that must not stop. A write is bound to the plan that was previewed;
if it was made but its result was not recorded, the files are those of the plan, and that is the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from handrail.contract.ids import attempt_for_new
from handrail.contract.json.canonical import canonical_bytes, digest
from handrail.contract.outcome import Fault
from handrail.contract.tokens.workflow import AckClaims
from handrail.contract.wording import format_count, quote, shorten
from handrail.engine.ask import weigh_answers
from handrail.engine.decide import decide_advance
from handrail.engine.facts import WorkDone, add_loop_values, facts_after, facts_at, preferences_after
from handrail.engine.gathered import Gathered
from handrail.engine.history import History, Node, Recorded, steps_after
from handrail.engine.judge.actions import fill_params, find_preview, follow_actions, runs_unasked
from handrail.engine.judge.arrival import refuse_declined, weigh_confirmation
from handrail.engine.judge.missing_lists import GO_BACK
from handrail.engine.judge.report_frame import TO_FILL_IN
from handrail.engine.navigate import Running, own_action_at
from handrail.engine.owners import describe_giver
from handrail.engine.reasons import FIX_BYTES, Reason, WaitsFor, WorkflowStep, shorten_message
from handrail.operations.handles import Prepared, answer_attempt, find_attempt
from handrail.operations.looking import NOT_HERE
from handrail.operations.replies import load_handed
from handrail.operations.report import check_merged, find_confirmations, observe_surroundings, read_report
from handrail.ports.actions import ALREADY_APPLIED, OwnAction, Preview
from handrail.runtime.runtime import ReadPorts, WritePorts, leave_tree
from handrail.runtime.sessions import Session
from handrail.workflows.compiled import Action, CompiledWorkflow
from handrail.workflows.conditions import nest_values

MOST_RESULT_BYTES = 100_000
"""Most bytes of one result that a run keeps."""
_MOST_NAMED = 5
"""Most files that the notes of an action name."""
_MEANS = frozenset({"fix", "continuation", "aiMode"})
"""Parameters that say how to act, and nothing about the code."""


def run_actions(
    rt: WritePorts,
    session: Session,
    workflow: CompiledWorkflow,
    recorded: Recorded,
    project: str | None,
    most: int,
) -> Session:
    """Run the actions that an answered attempt led to, each once, until one is blocked or a person is asked.

    Actions that already ran are only looked up, so a repeat finishes what a killed process began.
    """
    ran = 0
    while True:
        answers = list(follow_actions(session.history, workflow, recorded, most))
        last = answers[-1] if answers else recorded
        node = session.history.nodes[last.to_node_id]
        is_open = last.blocked is None and runs_unasked(session.history, workflow, node)
        # An agent that read the step again may have continued from here; another action would fork the run.
        if len(answers) >= most or not is_open or steps_after(session.history, node.node_id):
            break
        session = _run_one(rt, session, workflow, node, project)
        ran += 1
    if ran and project is not None:
        leave_tree(rt, session.history.session_id, node.node_id, project, "advance")
    return session


def _run_one(
    rt: WritePorts, session: Session, workflow: CompiledWorkflow, node: Node, project: str | None
) -> Session:
    """Run the pending action under the attempt that its reply would have minted."""

    claims = AckClaims(
        session_id=session.history.session_id,
        node_tag=node.tag,
        attempt_id=attempt_for_new(node.node_id),
    )
    found = find_attempt(rt.log, claims, "advance")
    if found.recorded is not None:
        return found.session
    history = found.session.history
    nothing = read_report(UNSET, UNSET, rt.secrets)
    work, troubles = perform_action(rt, history, workflow, node, nothing, project)
    gathered = Gathered(
        workflow=workflow,
        work=work,
        seen=observe_surroundings(rt, project, UNSET),
        troubles=troubles,
        handed=load_handed(rt.log, history, history.runs[node.run_id], workflow),
    )
    prepared = Prepared(gathered=gathered, blobs=(), project=project)
    return answer_attempt(rt, claims, "advance", found.session, prepared, decide_advance).session


def perform_action(
    rt: WritePorts,
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    report: WorkDone,
    project: str | None,
) -> tuple[WorkDone, tuple[Reason, ...]]:
    """Call the operation of the pending action; return the report with its result, or why there is none.

    A line of Handrail's own, after the agent's notes, says which. Raises no Fault.
    """
    action = own_action_at(workflow, node.state)
    assert action is not None, "other operations are asked of the agent"
    done, troubles = _perform(rt, history, workflow, node, action, report, project)
    if not troubles:
        return done, ()
    line = f"{action.operation} did not run: {troubles[0].message}"
    return msgspec.structs.replace(report, action_line=shorten_message(line)), troubles


def _perform(
    rt: WritePorts,
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    action: Action,
    report: WorkDone,
    project: str | None,
) -> tuple[WorkDone, tuple[Reason, ...]]:
    assert isinstance(node.state, Running), "only a pending action can run"
    facts = facts_after(history, workflow, node, report.context, ())
    params, missing = fill_params(action, add_loop_values(workflow, node.state, facts))
    if missing:
        return report, (_explain_missing(workflow, action, list(dict.fromkeys(missing))),)
    saved = _preview_of(facts.values.get(find_preview(workflow, action)))
    run = history.runs[node.run_id]
    if project is None or run.project is None:
        return report, (_explain(action, f"{NOT_HERE}.", "Make the call in nextCall where it is."),)
    forbidden = _find_forbidden(rt, history, workflow, node, action, project) if action.is_guarded else None
    if forbidden is not None:
        return report, (forbidden,)
    try:
        calling = _open_action(rt, project, action.operation, params)
        if saved is not None:  # checked first: what is written must be recorded
            check_merged(history, node, {**report.context, action.save_as: saved.describe_applied()})
        result = calling.call() if saved is None else calling.apply(saved)
        saved_as = {action.save_as: result} if action.save_as else {}
        size = len(canonical_bytes(result))
        if saved_as and size > MOST_RESULT_BYTES:
            message = f"Its result has {size} bytes, {MOST_RESULT_BYTES} at most."
            return report, (_explain(action, message, "Narrow what it asks for: limit, scope or depth."),)
        check_merged(history, node, {**report.context, **saved_as})
    except Fault as fault:
        return report, (_explain(action, fault.message, fault.hint or fault.kind.hint, fault.kind.code),)
    line = _describe(action, params, result)
    return msgspec.structs.replace(report, result=saved_as, action_line=line), ()


def _open_action(rt: WritePorts, project: str, operation: str, params: dict[str, Any]) -> OwnAction:
    if rt.actions is not None:
        return rt.actions(operation, params)
    own: OwnAction = rt.registry.adapter("actions")(rt, project, operation, params)
    return own


def _preview_of(saved: Any) -> Preview | None:
    """Return a saved result that has a plan; a log from elsewhere may contain anything."""
    try:
        return msgspec.convert(saved, Preview)
    except msgspec.ValidationError:
        return None


def _find_forbidden(
    rt: ReadPorts, history: History, workflow: CompiledWorkflow, node: Node, action: Action, project: str
) -> Reason | None:
    """Return why a write must not happen: a person declined it, or must approve this
    very preview and has not.

    The judge finds the same reason, unless a person answers in between.
    """
    word = weigh_answers(history, workflow, node, "allow_write")
    if word.is_declined:
        return refuse_declined(action, "allow_write", word)[1]
    run = history.runs[node.run_id]
    is_due = word.is_due or find_confirmations(rt, workflow, node, run, project) == "person"
    if word.is_given or not is_due:
        return None
    facts, mode = facts_at(history, workflow, node.node_id), preferences_after(history, node.node_id).autonomy
    due = msgspec.structs.replace(word, is_due=True)
    return weigh_confirmation(workflow, action, mode, facts, facts, due)[1]


def _explain(action: Action, message: str, fix: str, code: str = "") -> Reason:
    """Return why an action was not carried out; `code` is that of the fault that it met."""
    values = {"step": action.id, "operation": action.operation, "because": shorten_message(message, 200)}
    reason = f"{code}: {message}" if code else message
    return Reason(
        name="contract_violation:missing_required_output",
        pointer=WorkflowStep(step_id=action.id),
        waits_for=WaitsFor(kind="action", values=values | ({"code": code} if code else {})),
        message=shorten_message(f"{action.operation} was not carried out: {reason}"),
        fix=shorten_message(fix, FIX_BYTES),
    )


def _explain_missing(workflow: CompiledWorkflow, action: Action, names: list[str]) -> Reason:
    """Return why an action lacks values, and who can give them, and how."""
    message = f"It needs {', '.join(names)}, and nothing gives it a value."
    givers = list(filter(None, (describe_giver(workflow, name) for name in names)))
    if not givers:
        sent = msgspec.json.encode(nest_values(dict.fromkeys(names, TO_FILL_IN))).decode()
        return _explain(action, message, f"Send the context {sent}, with values of yours.")
    reason = _explain(action, message, f"Here {'; '.join(givers)}. {GO_BACK}")
    return msgspec.structs.replace(reason, is_retryable=False)


def _describe(action: Action, params: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Return the line of an action: what was done; below it the digest of its result."""
    match result:
        case {"files_modified": files}:
            named = ", ".join(map(shorten, files[:_MOST_NAMED]))
            more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
            done = "was already applied to" if result.get(ALREADY_APPLIED) else "wrote"
            outcome = f"{done} {format_count(len(files), 'file')}: {named}{more}"
        case {"file_count": files, "edit_count": edits}:
            outcome = f"previewed {format_count(edits, 'edit')} in {format_count(files, 'file')}"
        case {"count": count, "total": total}:
            outcome = f"found {count} of {total}"
        case _:
            outcome = "answered"
    asked = [f"{name} {quote(str(value))}" for name, value in params.items() if name not in _MEANS]
    done = " ".join([action.operation, *asked[:_MOST_NAMED]])
    return f"{done}: {outcome}.\nDigest of the result: {digest(dict(result))}"
