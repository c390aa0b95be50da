"""Builds the reply from a recorded answer; the first call and every replay of it share this code."""

# ruff: noqa: PLC0415 - only a fork, an action, work that was delegated, or other content loads more

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from handrail.contract.catalogue import RESULTS_STALE
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import RunId, WorkflowHash
from handrail.contract.outcome import LedgerRef, Success
from handrail.engine.children.joins import (
    UNDONE,
    explain_unwaited,
    name_workers,
    was_always_waited_for,
    was_done,
    write_brief,
)
from handrail.engine.events import Blocked
from handrail.engine.history import (
    Closing,
    History,
    Node,
    Recorded,
    Run,
    attached_to,
    is_fork,
    is_late_checkpoint,
    ledger_version,
    path_to,
)
from handrail.engine.judge.actions import describe_ran, find_preview_node, follow_actions
from handrail.engine.navigate import Complete, EnteredLoop, ExitedLoop, own_action_at, step_key
from handrail.engine.progress import ChildStatus, HandedOut
from handrail.engine.reply import (
    RanAction,
    Recap,
    Reply,
    ReplyWarning,
    Tokens,
    ToolCall,
    WorkflowRef,
    put_warnings_first,
    reply_at,
    show_closing,
    workflow_ref,
)
from handrail.engine.standing import Standing, standing_at, stop_standing
from handrail.operations.handles import (
    TokenCall,
    mint_new_node_tokens,
    mint_state_token,
    mint_work_token,
    name_persons_line,
)
from handrail.operations.same_project import warn_of_other_project
from handrail.ports.log import EventReader
from handrail.runtime.sessions import Session, load_history_before, load_pinned_workflow
from handrail.workflows.compiled import WITH_CHILDREN, CompiledWorkflow
from handrail.workflows.limits import MOST_ACTIONS

if TYPE_CHECKING:
    from msgspec import UnsetType

    from handrail.engine.children.joins import ChildState
    from handrail.ports.process import Keys
    from handrail.runtime.runtime import ReadPorts
    from handrail.workflows.compiled import Delegate

RUN_SHAPE = Shape(
    levels={
        "minimal": (
            "kind",
            "pending",
            "nextIntent",
            "nextCall",
            "blockers",
            "issues",
            "retryable",
            "judged",
            "example",
            "warnings",
            "recap",
            "sessionToken",
        )
    },
    untrusted=(
        "recap.entries.notes",
        "recap.artifacts.body",
        "recap.inputs.value",
        "recap.sinceStep",
        "recap.children.notes",
        "recap.downstream.notes",
        "recap.closed.note",
        "recap.personAnswer.note",
        "recap.personAnswer.words",
        "recap.people.note",
        "recap.people.words",
        "session.goal",
    ),
)
"""How much of a reply is shown: `minimal` keeps what the next call needs and what is unusual."""


_PART_IS_DONE = "Your part is done; the parent continues with its stateToken."


def load_handed(
    reader: EventReader, history: History, run: Run, workflow: CompiledWorkflow
) -> dict[WorkflowHash, CompiledWorkflow]:
    """Return the workflows that the steps of a run may delegate: pinned when the outermost run began."""
    if workflow.v < WITH_CHILDREN:
        return {}
    while run.parent is not None:
        run = history.runs[run.parent.run_id]
    return {one: load_pinned_workflow(reader, one) for one in run.pins}


# A first reply and its replay years later are this one function of the same records, so the step is read at
# the node that the answer made, never at the tip. What may differ is the call: other content than was
# recorded, or a log that broke since. That adds warnings and changes neither the step nor what it asks.
# `made` is where the answer led, `last` where Handrail's actions continued to: the recap and the other files
# are about the first, the pending step and its tokens about the second.
def reply_to_answer(
    reader: EventReader,
    keys: Keys,
    session: Session,
    recorded: Recorded,
    input_digest: str,
    *,
    warnings: tuple[ReplyWarning, ...] = (),
    project: str = "",
    sent: TokenCall | None = None,
    workflow: CompiledWorkflow | None = None,
    actions: int = MOST_ACTIONS,
) -> Success:
    """Return the reply of an answered attempt from recorded facts, without a new decision (EXEC
    "ackToken").

    `sent` is the token's call, for when it had other content; None for a start, which is refused then.
    `workflow` is the one that the run is pinned to, if this call has loaded it. If the answer led to
    actions that Handrail ran, up to `actions`, the reply is about the step after them.
    """
    history = session.history
    made = history.nodes[recorded.to_node_id]
    workflow = workflow or load_pinned_workflow(reader, history.runs[made.run_id].workflow_hash)
    last, ran = _follow_actions(history, workflow, recorded, actions)
    if last.blocked is not None and own_action_at(workflow, made.state):
        warnings = (*warnings, *_warn_of_stale_plan(keys, history, workflow, last, last.blocked))
    node = history.nodes[last.to_node_id]
    standing = standing_at(history, workflow, node, "reply")
    if last is not recorded:  # Handrail's actions continued from the step where this was disclosed
        passed_over = (*standing_at(history, workflow, made, "reply").passed_over, *standing.passed_over)
        standing = msgspec.structs.replace(standing, passed_over=passed_over)
    standing = _stop_closed(history, standing, last)
    tokens = mint_new_node_tokens(keys, history.session_id, standing)
    children, tokens = show_children(reader, keys, history, workflow, standing, tokens)
    recap = _recap_before(reader, keys, session.history, recorded, workflow)
    if any(held.fact.differing for held in history.trees.get(made.node_id, ())[:1]):
        from handrail.operations.kept_trees import warn_of_recorded

        warnings = (*warnings, *warn_of_recorded(history, made))
    warnings = (*warnings, *_warn_of_unknown_change(history, made))
    if sent is not None and recorded.input_digest != input_digest:
        from handrail.operations.position import add_current_place, warn_of_other_input

        refused = warn_of_other_input(keys, history, workflow, recorded, sent, input_digest)
        recap = add_current_place(recap, keys, history, workflow, made.node_id)
        warnings = (refused, *warnings)
    if standing.run.parent is not None:
        warnings = (*warnings, *_warn_of_nobody_then(reader, history, standing, recorded))
    elif made.run_id in history.closings:
        warnings = (*warnings, *_warn_of_reopening(history, recorded))
    warnings = (*warnings, *_warn_of_long_notes(history, made), *_warn_of_carried(history, made, node))
    reply = reply_at(
        standing,
        history.session_id,
        tokens,
        blocked=name_persons_line(history, node, last.blocked),
        recap=recap,
        ran=ran,
        children=children,
        is_arrival=last is not recorded,
        is_healthy=session.is_sound,
        warnings=(*session.warnings, *warnings),
        workflow=_shown_source(history.runs[node.run_id]) if project else None,
        project=project,
        closing=describe_closing(history, workflow, node),
        evidence=show_evidence(history, node),
    )
    version = ledger_version(history, node.run_id, last.index)
    return success_of(reply, LedgerRef(ledger_id=node.run_id, version=version, previous_version=version - 1))


def warn_of_present(rt: ReadPorts, run: Run, project: str | UnsetType) -> tuple[ReplyWarning, ...]:
    """Return unrecorded warnings for a report and its repeat: another project named, a changed file."""
    warnings = warn_of_other_project(rt.workspace, run, project)
    if run.source_kind == "bundled":
        return warnings
    from handrail.operations.source_drift import warn_of_changed_file

    return (*warnings, *warn_of_changed_file(rt, project, run))


def _warn_of_reopening(history: History, recorded: Recorded) -> tuple[ReplyWarning, ...]:
    """Return the warning if this ack was the first after the run was closed; a checkpoint reopens nothing."""
    made = history.nodes[recorded.to_node_id]
    closed = [one for one in history.closings[made.run_id] if one.index < recorded.index]
    is_first = closed and not any(
        closed[-1].index < one.index < recorded.index and history.nodes[one.to_node_id].run_id == made.run_id
        for one in history.advances.values()
    )
    if not is_first or made.kind == "checkpoint":
        return ()
    reason = closed[-1].reason
    message = (
        f"This run was closed as {reason}, and this report opened it again: tell the user. If that was not "
        f"meant, close it: handrail run close {made.run_id} --reason {reason}."
    )
    return (ReplyWarning(code="RUN_REOPENED", message=message, details={"reason": reason}),)


def _stop_closed(history: History, standing: Standing, answer: Recorded) -> Standing:
    if _find_stop(history, answer) is None:
        return standing
    return stop_standing(standing)


def _find_stop(history: History, answer: Recorded) -> Closing | None:
    """Return the closing that an answer records: `stop`, if a child run that the run
    waited for was closed.
    """
    node = history.nodes[answer.to_node_id]
    is_here = node.parent is not None and history.nodes[node.parent].state == node.state
    if not is_here or answer.option_id != "stop":
        return None
    return next(held for held in history.closings[node.run_id] if held.node_id == node.node_id)


def _follow_actions(
    history: History, workflow: CompiledWorkflow, recorded: Recorded, most: int
) -> tuple[Recorded, list[RanAction]]:
    """Return the answer that a reply is about after Handrail's actions, and these actions.

    Few runs have any.
    """
    made = history.nodes[recorded.to_node_id]
    before = None if made.parent is None else history.nodes[made.parent].state
    if not own_action_at(workflow, made.state) and not (before and own_action_at(workflow, before)):
        return recorded, []
    answers = [recorded, *follow_actions(history, workflow, recorded, most)]
    ran = [
        RanAction(step_id=step, operation=called, result=result)
        for step, called, result in describe_ran(history, workflow, answers)
    ]
    return answers[-1], ran


def _warn_of_stale_plan(
    keys: Keys, history: History, workflow: CompiledWorkflow, answer: Recorded, blocked: Blocked
) -> tuple[ReplyWarning, ...]:
    """Return a warning if files changed since an action's preview, with the call that repeats it."""
    waits = [blocker.waits_for for blocker in blocked.blockers]
    if not any(one is not None and one.values.get("code") == RESULTS_STALE.code for one in waits):
        return ()
    earlier = find_preview_node(history, workflow, history.nodes[answer.to_node_id])
    if earlier is None:
        return ()
    token = mint_state_token(keys, history.session_id, earlier)
    call = ToolCall(tool="continue_workflow", params={"stateToken": token})
    message = "The files changed since the preview."
    return (ReplyWarning(code="FILES_DIFFER", message=message, purpose="preview", next_call=call),)


def show_children(
    reader: EventReader,
    keys: Keys,
    history: History,
    workflow: CompiledWorkflow,
    standing: Standing,
    tokens: Tokens,
    *,
    is_present: bool = False,
) -> tuple[list[HandedOut], Tokens]:
    """Return what a step delegated, each with its work token, and the token of the first that is not done.

    A recorded reply names the first that was not done then, never the present state of the others; with
    `is_present` it has their present state.
    """
    join = standing.join
    if join is None or not join.children:
        return [], tokens

    if is_present:  # an agent without helpers does what it can before a person is asked
        shown = [describe_child(reader, keys, history, workflow, join.step, one) for one in join.children]
        left = [one for one in shown if one.status in UNDONE]
        left.sort(key=lambda one: one.status == "needs_person")
    else:
        shown = [
            HandedOut(
                child_id=child.child_id,
                work_token=mint_work_token(keys, history, child.run),
                brief=write_brief(history, workflow, join.step, child),
            )
            for child in join.children
        ]
        rows = zip(shown, join.children, strict=True)
        left = [one for one, child in rows if not was_done(history, child.run, standing.node)]
    first = (left or shown)[0]
    return shown, msgspec.structs.replace(tokens, work=first.work_token)


def describe_child(
    reader: EventReader,
    keys: Keys,
    history: History,
    workflow: CompiledWorkflow,
    step: Delegate,
    child: ChildState,
) -> HandedOut:
    """Return the present state of a child run, with its brief while something is left to do."""

    return HandedOut(
        child_id=child.child_id,
        work_token=mint_work_token(keys, history, child.run),
        brief=write_brief(history, workflow, step, child) if child.status in UNDONE else "",
        status=_find_status(reader, history, child),
        step_id=step_key(child.tip.state),
        closed=child.closed,
        worker=name_workers(child.run),
    )


def _find_status(reader: EventReader, history: History, child: ChildState) -> ChildStatus:
    """Return the state of a child run.

    A child whose step asks a person counts as waiting for the person before it has reported anything.
    """
    if child.status != "open":
        return child.status
    from handrail.engine.ask import find_ask

    workflow = load_pinned_workflow(reader, child.run.workflow_hash)
    return "open" if find_ask(history, workflow, child.tip) is None else "needs_person"


def _warn_of_unknown_change(history: History, node: Node) -> tuple[ReplyWarning, ...]:
    """Return the warning that a review could not be compared with a change.

    The finding is recorded, so every replay repeats it.
    """
    judged = history.evidence.get(node.node_id)
    unknown = [
        statement.fact
        for statement in (() if judged is None else judged.statements)
        if statement.check == "covers_change" and statement.verdict == "unknown"
    ]
    return tuple(
        ReplyWarning(code="CHANGE_UNKNOWN", message=f"Nobody checked that the review is complete: {fact}.")
        for fact in unknown[:1]
    )


def describe_closing(history: History, workflow: CompiledWorkflow, node: Node) -> str:
    """Return what the agent should tell the user at the end of a run; empty before that."""
    if not isinstance(node.state, Complete):
        return ""
    from handrail.projections.summary import summarize_run

    handed = history.runs[node.run_id].parent is not None
    line = summarize_run(history, workflow, node.node_id, at_end=True).text
    return line + (f" {_PART_IS_DONE}" if handed else "")


def show_evidence(history: History, node: Node) -> dict[str, int] | None:
    """Return the sum of what the reports of a finished run could prove; None before the end."""
    if not isinstance(node.state, Complete) or not history.evidence:
        return None
    from handrail.projections.evidence import sum_evidence

    found = sum_evidence(history, node.node_id)
    return None if found is None else msgspec.structs.asdict(found)


def _shown_source(run: Run) -> WorkflowRef | None:
    """Return what a start shows of a workflow that came from outside the package."""
    return None if run.source_kind == "bundled" else workflow_ref(run)


def success_of(reply: Reply, ledger: LedgerRef) -> Success:
    return Success(data=put_warnings_first(msgspec.to_builtins(reply), reply.warnings), ledger=ledger)


def current_ledger(history: History, run_id: RunId) -> LedgerRef:
    """Return the present state of the ledger; a read changes nothing."""
    version = len(history.anchors[run_id])
    return LedgerRef(ledger_id=run_id, version=version, previous_version=version)


def _recap_before(
    reader: EventReader, keys: Keys, history: History, recorded: Recorded, workflow: CompiledWorkflow
) -> Recap | None:
    """Return what the agent does not know about a run that it left or that moved on; None if nothing.

    It is built from the log right before its answer. After a fork, the branches that it lost; after a late
    checkpoint, the same place that reading the step shows; after an answer that closed the run, the reason.
    """
    node = history.nodes[recorded.to_node_id]
    stopped = _find_stop(history, recorded)
    if stopped is not None:
        return Recap(entries=[], closed=show_closing(stopped))
    is_late, people = is_late_checkpoint(history, node), []
    if recorded.option_id and history.confirmations:
        from handrail.operations.position import name_taker

        people = name_taker(reader, history, recorded, workflow)
    if node.parent is None or not (is_late or is_fork(history, node)):
        return Recap(entries=[], people=people) if people else None
    from handrail.operations.position import add_closing, add_current_place, add_place_left
    from handrail.projections.recap import lost_branch

    before = load_history_before(reader, history, recorded.index)
    if is_late:
        closed = add_closing(None, before, node.run_id)
        return add_current_place(closed, keys, before, workflow, node.parent)
    lost = msgspec.structs.replace(lost_branch(before, workflow, node.parent), people=people)
    return add_place_left(lost, keys, before, workflow, node.parent)


def warn_of_nobody(history: History, run: Run) -> tuple[ReplyWarning, ...]:
    """Return the warning for a helper with work left: no agent will use its result."""
    if run.parent is None:
        return ()

    why = explain_unwaited(history, run)
    return (ReplyWarning(code="NOBODY_WAITS", message=why),) if why else ()


def _warn_of_nobody_then(
    reader: EventReader, history: History, standing: Standing, recorded: Recorded
) -> tuple[ReplyWarning, ...]:
    """Return the same warning as of the time when a report was answered, so that its replay repeats it."""

    if was_always_waited_for(history, standing.run):
        return ()
    return warn_of_nobody(load_history_before(reader, history, recorded.index), standing.run)


def _warn_of_carried(history: History, made: Node, last: Node) -> Iterator[ReplyWarning]:
    """Yield warnings for artifacts of an earlier round that decided about another round.

    Covers the nodes up to the step after Handrail's actions.
    """
    way = [made] if made is last else path_to(history, last.node_id)
    passed = (node for node in way if node.index >= made.index)
    for entry in (one for node in passed for one in attached_to(history, node.node_id).trace):
        if not isinstance(entry, EnteredLoop | ExitedLoop):
            continue
        rounds = entry.iteration if isinstance(entry, EnteredLoop) else entry.iterations
        for held in entry.carried:
            message = (
                f"Round {rounds} of {entry.loop_id} delivered no {held.artifact}: that of {held.step_id} "
                "decided about another round. Deliver one in each round, and tell the user where none came."
            )
            details = {"loopId": entry.loop_id, "rounds": rounds, **msgspec.to_builtins(held)}
            yield ReplyWarning(code="ROUND_WITHOUT_ARTIFACT", message=message, details=details)


def _warn_of_long_notes(history: History, node: Node) -> tuple[ReplyWarning, ...]:
    notes = history.notes.get(node.node_id)
    if notes is None or notes.ref is None:
        return ()
    message = (
        f"The notes ({notes.size_bytes} bytes) are stored whole; recaps show the first 4096 bytes of them."
    )
    return (ReplyWarning(code="NOTES_TRUNCATED", message=message),)
