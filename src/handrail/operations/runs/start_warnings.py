"""Warnings of a start besides the first step; none of them stops a start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from handrail.contract.ids import BlobRef, SourceKind, WorkflowHash
from handrail.contract.wording import quote
from handrail.engine.facts import Place, is_same_place, run_place, session_place
from handrail.engine.history import History, Run, closing_of
from handrail.engine.judge.computed import wants_changes
from handrail.engine.reply import ReplyWarning, ToolCall
from handrail.operations.finding import read_or_pass_over
from handrail.operations.handles import mint_state_token
from handrail.operations.source_drift import explain_changed_base
from handrail.operations.workflow_catalog import explain_undeclared
from handrail.ports.log import EventReader
from handrail.ports.process import Keys
from handrail.runtime.damaged_sessions import read_blob
from handrail.runtime.runtime import ReadPorts, WritePorts, looks_at_code
from handrail.runtime.sessions import Session
from handrail.workflows.catalog import suggest_id
from handrail.workflows.compiled import CompiledWorkflow, Step, list_leaves, list_wanted_checks
from handrail.workflows.limits import id_status

SESSIONS_LOOKED_AT = 5
"""Number of latest sessions that are read: a start that is sent twice follows its twin closely."""
MOST_UNDECLARED_SHOWN = 5
FROM_ELSEWHERE: frozenset[SourceKind] = frozenset({"project", "git", "remote", "plugin"})
"""Sources whose files other people write."""


def list_recorded_warnings(
    history: History, run: Run, workflow: CompiledWorkflow, handed: Iterable[CompiledWorkflow]
) -> tuple[ReplyWarning, ...]:
    """Return the warnings that follow from the recorded start alone, so that every replay repeats them."""
    every = (workflow, *handed)
    unproven = _undeclared_checks(run, every) or _nothing_to_prove(run, every)
    elsewhere = _joined_from_elsewhere(history, run)
    return (*elsewhere, *_legacy_id(run), *_first_run(run), *_left_out(workflow), *unproven)


def _joined_from_elsewhere(history: History, run: Run) -> tuple[ReplyWarning, ...]:
    first = next(iter(history.runs.values()))
    opened = session_place(history)
    began, here = opened if opened.directory else run_place(first), run_place(run)
    # A folder without a repository was recorded under the name that the session used before.
    is_same = is_same_place(began, here) and bool(began.identity) == bool(here.identity)
    if not began.directory or not here.directory or is_same:
        return ()
    message = (
        f"The session that this run joined began in another project, {quote(began.name)}. This run works in "
        f"{quote(here.name)}: tell the user, or start it without a session."
    )
    return (ReplyWarning(code="OTHER_PROJECT", message=message[:500], details={"project": began.name}),)


def warn_of_changed_base(rt: ReadPorts, workflow: CompiledWorkflow) -> tuple[ReplyWarning, ...]:
    """Return the warning about a changed base.

    Only the first reply has it: a run that began keeps the base that it began with.
    """
    message = explain_changed_base(rt, workflow)
    return (ReplyWarning(code="WORKFLOW_SOURCE_DIFFERS", message=message),) if message else ()


def warn_of_missing_look(
    rt: WritePorts, history: History, run: Run, project: str, workflow: CompiledWorkflow
) -> tuple[ReplyWarning, ...]:
    """Return the warning if the files at the start are not recorded."""
    trees = history.trees.get(run.first_node, ())
    first = next((one.fact for one in trees if one.fact.cause == "start"), None)
    if rt.trees_due is None or first is not None:
        return ()
    if looks_at_code(rt, project):  # they should have been recorded, and were not
        message = (
            "The files that this run begins with were not recorded. What changes in it can be seen from the "
            "first look that succeeds; what changed before that stays unknown. Tell the user when you report."
        )
    elif any(map(wants_changes, workflow.contracts.values())):
        is_off = rt.settings.of(project).looking == "off"
        why = "code.snapshots is off" if is_off else "there is no git repository here"
        message = (
            f"Handrail does not look at the files of this run: {why}. Name the files that you change. For "
            "the next run the user can set code.snapshots to always, by `handrail settings set`."
        )
    else:
        return ()
    return (ReplyWarning(code="FIRST_LOOK_MISSING", message=message),)


def is_first_here(reader: EventReader, source_kind: SourceKind, workflow_hash: WorkflowHash) -> bool:
    """Whether the store has no run of this hash yet, so that its compiled form is not there either."""
    return source_kind in FROM_ELSEWHERE and read_blob(reader, BlobRef(workflow_hash)) is None


def find_duplicate_start(
    reader: EventReader, keys: Keys, joined: Session, input_digest: str, here: Place
) -> tuple[ReplyWarning, ...]:
    """Return the warning about an equal start without a request id, with the call that continues it.

    Only a start that no agent has continued counts. Reads the session that is joined, or the few latest
    ones.
    """
    for history in _nearby(reader, joined):
        for run in reversed(tuple(history.runs.values())):
            if run.input_digest == input_digest and _is_untouched(history, run, here):
                return (_duplicate(keys, history, run),)
    return ()


def _nearby(reader: EventReader, joined: Session) -> Iterator[History]:
    if joined.history.head:
        yield joined.history
        return
    for stamp in reader.list_sessions(SESSIONS_LOOKED_AT):
        session = read_or_pass_over(reader, stamp.session_id)
        if session is not None and session.is_sound:  # a damaged session must not block a start
            yield session.history


def _is_untouched(history: History, run: Run, here: Place) -> bool:
    """Whether a run is in the same project, and its first step is neither finished nor tried."""
    is_new = not history.children.get(run.first_node)
    return is_new and closing_of(history, run.run_id) is None and is_same_place(run_place(run), here)


def _duplicate(keys: Keys, history: History, run: Run) -> ReplyWarning:
    token = mint_state_token(keys, history.session_id, history.nodes[run.first_node])
    return ReplyWarning(
        code="DUPLICATE_START",
        message=(
            f"The same start was made before and nobody has gone on with it: run {run.run_id} in session "
            f"{history.session_id}. If you meant that one, leave this run alone. Close the one that nobody "
            "needs: handrail run close RUN_ID --reason superseded. A requestId makes a repeated start return "
            "the same run."
        ),
        purpose="other_run",
        next_call=ToolCall(tool="continue_workflow", params={"stateToken": token}),
    )


def _legacy_id(run: Run) -> tuple[ReplyWarning, ...]:
    if id_status(run.workflow_id) == "namespaced":
        return ()
    better = suggest_id(run.workflow_id, run.source_kind)
    message = (
        f"The id {run.workflow_id} has no namespace; rename it to {better}, or to what list_workflows "
        "suggests where that is taken."
    )
    details = {"workflowId": run.workflow_id, "suggestion": better}
    return (ReplyWarning(code="WORKFLOW_ID_LEGACY", message=message, details=details),)


def _left_out(workflow: CompiledWorkflow) -> tuple[ReplyWarning, ...]:
    if workflow.base is None or not workflow.base.left_out:
        return ()
    done = {"skip": "skipped", "replace": "rewritten"}
    named = [f"{one.id} ({done[one.how]})" for one in workflow.base.left_out]
    message = (
        f"This workflow changes {workflow.base.id}. Left out by the customisation, of what has to be proven "
        f"or asked there: {', '.join(named)}. Tell the user when you report."
    )
    details = {"steps": [one.id for one in workflow.base.left_out]}
    return (ReplyWarning(code="LEFT_OUT_BY_OVERLAY", message=message, details=details),)


def _undeclared_checks(run: Run, workflows: Iterable[CompiledWorkflow]) -> tuple[ReplyWarning, ...]:
    """Return the warning about checks that steps need and the run did not pin.

    Checks that are declared later do not count for it.
    """
    declared = [check.name for check in run.checks]
    wanted = [pair for one in workflows for pair in list_wanted_checks(one.steps) if pair[1] not in declared]
    if not wanted:
        return ()
    named = ", ".join(f"{check} (step {step})" for step, check in wanted[:MOST_UNDECLARED_SHOWN])
    left = len(wanted) - MOST_UNDECLARED_SHOWN
    message = (
        f"Steps need a check to pass that the project does not declare: {named}"
        f"{f' and {left} more' if left > 0 else ''}. Nothing can prove them in this run. "
        f"{explain_undeclared(wanted[0][1], declared)} A run counts the checks that are declared when it "
        f"starts: then start again, and close this one: handrail run close {run.run_id} --reason superseded."
    )
    details = {"checks": list(dict.fromkeys(check for _, check in wanted))}
    return (ReplyWarning(code="CHECK_NOT_DECLARED", message=message, details=details),)


def _nothing_to_prove(run: Run, workflows: Iterable[CompiledWorkflow]) -> tuple[ReplyWarning, ...]:
    """Return the warning if steps need a proof and the project declares no check, with how to declare one."""
    leaves = (leaf for one in workflows for leaf in list_leaves(one.steps))
    wants = any(isinstance(leaf, Step) and leaf.proof is not None for leaf in leaves)
    if run.checks or not wants:
        return ()
    message = "No check is declared, so nothing is proven: `handrail setup --checks --dry-run` looks for one."
    return (ReplyWarning(code="CHECK_NOT_DECLARED", message=message),)


def _first_run(run: Run) -> tuple[ReplyWarning, ...]:
    if not run.is_first_here:
        return ()
    message = (
        "This is the first run of this text of the workflow in this store. Its steps come from the "
        f"{run.source_kind} file {quote(run.source_ref)}, pinned as {run.workflow_hash}. "
        "Whoever wrote that file decides what the steps ask for: if you do not know it, show its steps to "
        "the user before you follow them."
    )
    return (ReplyWarning(code="WORKFLOW_FIRST_RUN", message=message),)
