"""Plans and writes a workflow file of the project."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.contract.catalogue import E_CONFLICT, WORKFLOW_ID_RESERVED
from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Fault
from handrail.contract.tokens.confirm import refusal
from handrail.contract.wording import quote
from handrail.operations.code.unified_diff import UnifiedDiff, diff_texts
from handrail.ports.workspace import FilePlace
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import WritePorts
from handrail.runtime.write_permission import Change, GatedInput, Plan, dry_run_of
from handrail.workflows.catalog import CatalogEntry
from handrail.workflows.limits import RESERVED_NAMESPACE

ABSENT = "absent"
"""The version that a caller gives if there was no file."""


def require_own_namespace(workflow_id: str) -> None:
    """Raise Fault WORKFLOW_ID_RESERVED for an id that only a bundled workflow may have."""
    if workflow_id.startswith(RESERVED_NAMESPACE):
        raise Fault(
            WORKFLOW_ID_RESERVED,
            f"{quote(workflow_id)}: ids that begin with wr. are reserved for bundled workflows.",
            details={"workflow_id": workflow_id[:128]},
        )


def content_version(content: bytes | None) -> str:
    """Return the version that a plan relies on: the digest of a file, or that there is none."""
    return ABSENT if content is None else blob_ref(content)


def plan_file(
    place: FilePlace, content: bytes, action: str, text: str, obstacle: Fault | None = None
) -> Plan[FilePlace]:
    """Return the plan of writing the content, in words for the person who confirms it."""
    return Plan(
        action=action,
        changes=_describe_change(place, content),
        targets=(place.path,),
        versions={place.path: content_version(place.content)},
        blast_radius=text,
        found=place,
        obstacle=obstacle,
    )


def put_file(
    rt: WritePorts, called: Operation, request: GatedInput, place: FilePlace, content: bytes
) -> bool:
    """Write the file and return whether its content changed.

    Raise Fault E_CONFIRMATION_REQUIRED if the file changed since the plan.
    """
    if place.content == content:
        return False
    is_done = (
        rt.authored.create(place.path, content)
        if place.content is None
        else rt.authored.replace(place.path, content, place.content)
    )
    if not is_done:
        raise refusal("target_changed")
    rt.commits.note(dry_run_of(called, request))
    return True


def _describe_change(place: FilePlace, content: bytes) -> tuple[Change, ...]:
    if place.content == content:
        return (Change(action="none", resource="file", id=place.path),)
    diff = diff_texts(place.path.rpartition("/")[2], place.content or b"", content)
    folders = [
        Change(action="create", resource="directory", id=directory) for directory in place.missing_directories
    ]
    file = Change(
        action="create" if place.content is None else "update",
        resource="file",
        id=place.path,
        before=None if place.content is None else {"digest": blob_ref(place.content)},
        after={"size_bytes": len(content), "digest": blob_ref(content)},
        diff={"path": place.path, "added": diff.added, "removed": diff.removed, "hunks": [diff.text]}
        if isinstance(diff, UnifiedDiff)
        else {"path": place.path, "hunks": [], "reason": diff},
    )
    return (*folders, file)


def refuse_taken(entries: Iterable[CatalogEntry], workflow_id: str, hint: str) -> Fault | None:
    """Return the refusal of an id that one of these files has; None if none has it."""
    taken = next((entry for entry in entries if entry.id == workflow_id), None)
    if taken is None:
        return None
    message = f"The id {workflow_id} belongs to {quote(taken.source_ref)} already."
    return Fault(E_CONFLICT, message, details={"reason": "id_taken"}, hint=hint)
