"""Whether a run's workflow, or the base of a customisation, still means what it meant at the start.

The compiled workflow decides: a file that was only reformatted has not changed, and one whose contract, base
or sub-workflow changed has. A rehydrate and a resume read all of these files. The reply to a report or a
checkpoint, and its repeat, read only the workflow's own file: that costs one read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from handrail.contract.ids import WorkflowHash, blob_ref
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.contract.workflow_files import WorkflowFile
from handrail.engine.facts import run_place
from handrail.engine.history import Run
from handrail.engine.reply import ReplyWarning
from handrail.operations.same_project import is_begun_here, is_project
from handrail.ports.workspace import WorkflowLibrary, Workspace
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import load_pinned_workflow
from handrail.workflows.compiled import CompiledWorkflow, walk_parts

if TYPE_CHECKING:
    from handrail.operations.stored_sessions import Sessions

# ruff: noqa: PLC0415 - a run of unchanged files does not pay for the compiler


def warn_of_drift(
    library: WorkflowLibrary, workspace: Workspace, project: str | UnsetType, run: Run
) -> tuple[ReplyWarning, ...]:
    """Return the warning if the workflow is another one now; none if that cannot be known from here."""
    if not run.source_digest:
        return ()
    try:
        place = workspace.project("" if project is UNSET else project)
        is_here = run.source_kind != "project" or is_begun_here(workspace, run_place(run), place)
    except Fault:
        return ()
    if not is_here:
        return ()  # the caller is in another project, which need not have the file
    content = library.content_now(place, run.source_kind, run.source_ref)
    if content is None:
        return ()
    is_as_it_was = blob_ref(content) == run.source_digest
    if run.source_kind == "bundled" and is_as_it_was:
        return ()  # everything that it refers to came with it
    if _is_pinned_by(library.files(place), run):
        return ()  # the same workflow may be in another file now, in any spelling
    happened = "changed since this run was started" if content else "is no longer there"
    if is_as_it_was:
        happened = (
            "means something else since this run was started: a contract, routine or base that it names, or "
            "this version of Handrail, is another"
        )
    message = (
        f"The {run.source_kind} file {quote(run.source_ref)} {happened}. This run continues "
        "with the workflow it was started with; to use the file as it is now, start a new run."
    )
    details = {"sourceKind": run.source_kind, "sourceRef": run.source_ref}
    return (ReplyWarning(code="WORKFLOW_SOURCE_DIFFERS", message=message, details=details),)


def warn_of_changed_file(rt: ReadPorts, project: str | UnsetType, run: Run) -> tuple[ReplyWarning, ...]:
    """Return the same warning for a call that continues a run, if the workflow's own file has changed."""
    try:
        place = rt.workspace.project("" if project is UNSET else project)
    except Fault:
        return ()
    is_here = run.project is not None and is_project(rt.workspace, run.project, place)
    content = rt.library.content_now(place, run.source_kind, run.source_ref) if is_here else None
    if content is None or blob_ref(content) == run.source_digest:
        return ()
    return warn_of_drift(rt.library, rt.workspace, project, run)


def _is_pinned_by(files: Sequence[WorkflowFile], run: Run) -> bool:
    """Whether the present workflow, among these files, is the one of the run."""
    from handrail.operations.workflow_catalog import keep_catalog

    try:
        _, pinned = keep_catalog(files).pin(run.workflow_id)
        return pinned.workflow_hash == run.workflow_hash
    except Fault:
        return False


# Whether the base of a customisation changed since the customisation last ran, and in which steps


_MOST_STEPS = 10
"""Most steps of a base that are named."""
_FEW = 10
"""Number of latest sessions among which the last run of a customisation nearly always is."""


def explain_changed_base(rt: ReadPorts, workflow: CompiledWorkflow) -> str:
    """Return what changed in the base since this customisation last ran. The text is empty if nothing
    changed, or if it never ran.
    """
    run_id, last = ("", None) if workflow.base is None else _find_last(rt, workflow.id)
    if last is None or workflow.base is None or last.base is None or last.base.hash == workflow.base.hash:
        return ""
    differing = list(_of_base(last, workflow))
    listed = ", ".join(differing[:_MOST_STEPS]) + (" and others" if len(differing) > _MOST_STEPS else "")
    return (
        f"{workflow.base.id} changed since this customisation last ran ({listed or 'beside its steps'}). "
        f"See all: handrail workflow inspect {workflow.id} --part diff --run {run_id}"
    )


def _of_base(before: CompiledWorkflow, after: CompiledWorkflow) -> Iterator[str]:
    """Yield the differences, without what the customisation itself added or no longer adds."""
    from handrail.projections.workflow_diff import list_step_differences

    parts = walk_parts((*before.steps, *after.steps))
    own = {part.id for part in parts if part.provenance.kind == "overlay"}
    for one in list_step_differences(before, after):
        if one.change == "changed" or one.step_id not in own:
            yield f"{one.step_id} {one.change}"


def _find_last(rt: ReadPorts, workflow_id: str) -> tuple[str, CompiledWorkflow | None]:
    """Return the last run of a workflow, and the workflow that it is pinned to."""
    from handrail.operations.stored_sessions import ask_sessions, facet

    def look(sessions: Sessions) -> tuple[str, CompiledWorkflow | None]:
        for stamp in sessions.find([(facet("workflow_id", workflow_id),)], first=_FEW):
            facts = sessions.facts(stamp.session_id)
            if facts.workflow_id == workflow_id:
                with suppress(Fault):  # a lost workflow yields no difference, and stops no call
                    return facts.run_id, load_pinned_workflow(rt.log, WorkflowHash(facts.workflow_hash))
        return "", None

    return ask_sessions(rt, look)
