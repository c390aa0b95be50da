"""Whether the file that a run was started from is still what it was.

Only a rehydrate says so: it tells of the world as it is now. The reply to an ack is rebuilt from recorded
facts on every replay, so it cannot (docs/decisions/0011-recovering-the-place.md).
"""

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
    if content is None or (content and blob_ref(content) == run.source_digest):
        return ()
    happened = "changed since this run was started" if content else "is no longer there"
    message = (
        f"The {run.source_kind} file {quoted(run.source_ref)} {happened}. This run goes on with the workflow "
        "it was started with; to use the file as it is now, start a new run."
    )
    return (ReplyWarning(code="WORKFLOW_SOURCE_DIFFERS", message=message),)
