"""Whether the file that a run was started from still means what it meant.

Judged by the compiled workflow: a file that was only laid out anew has not changed, and one whose contract
changed beside it has. Only a rehydrate and a resume say so: they tell of the world as it is now. The reply
to an ack is rebuilt from recorded facts on every replay, so it cannot (docs/decisions/0011).
"""

# ruff: noqa: PLC0415 - runs of bundled workflows do not pay for the compiler

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Fault
from handrail.contract.wording import quoted
from handrail.engine.history import Run
from handrail.engine.place import begun_at, is_same_place, place_of
from handrail.engine.reply import ReplyWarning
from handrail.ports import WorkflowLibrary, Workspace


def source_warnings(
    library: WorkflowLibrary, workspace: Workspace, project: str | UnsetType, run: Run
) -> tuple[ReplyWarning, ...]:
    """One warning if the file changed or vanished; none where that cannot be told from here."""
    if not run.source_digest:
        return ()
    try:
        place = workspace.project("" if project is UNSET else project)
        seen = workspace.observations(place)
    except Fault:
        return ()
    if run.source_kind == "project" and not is_same_place(begun_at(run), place_of(place, seen)):
        return ()  # the caller is in another project, where the file is not to be expected
    content = library.content_now(place, run.source_kind, run.source_ref)
    if content is None or (content and _means_the_same(library, place, run, content)):
        return ()
    happened = "changed since this run was started" if content else "is no longer there"
    message = (
        f"The {run.source_kind} file {quoted(run.source_ref)} {happened}. This run goes on with the workflow "
        "it was started with; to use the file as it is now, start a new run."
    )
    details = {"sourceKind": run.source_kind, "sourceRef": run.source_ref}
    return (ReplyWarning(code="WORKFLOW_SOURCE_DIFFERS", message=message, details=details),)


def _means_the_same(library: WorkflowLibrary, place: str, run: Run, content: bytes) -> bool:
    if run.source_kind == "bundled" and blob_ref(content) == run.source_digest:
        return True  # what it refers to came with it
    from handrail.runtime.pinning import pin
    from handrail.runtime.workflow_catalog import find_workflow
    from handrail.workflows.catalog import build_catalog

    catalog = build_catalog(library.files(place))
    try:
        return pin(catalog, *find_workflow(catalog, run.workflow_id)).workflow_hash == run.workflow_hash
    except Fault:
        return False
