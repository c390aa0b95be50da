"""`store gc`: remove old sessions and unused blobs."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Notice, Success
from handrail.contract.wording import format_count
from handrail.operations.store.remove_sessions import (
    Swept,
    describe_old,
    explain_safe_mode,
    remove_session,
    sweep,
    wait_for_sessions,
)
from handrail.ports.store import RemovalPlan, SessionToRemove
from handrail.runtime.batch import BatchResult, run_batch
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DangerousInput, DryRun, Plan, preview_or_write

MOST_DAYS = 36_500
BLOBS = "blobs"
"""The target that stands for every blob that no session names."""
HALF_MADE = "a start that was killed or refused; nothing in it was acknowledged"
HALF_REMOVED = "a session that was removed; files of it could not be deleted then"


class CollectGarbage(DangerousInput, frozen=True, kw_only=True):
    """The age from which sessions are removed."""

    older_than: Maybe[
        Annotated[
            int,
            Meta(
                description="Days without activity; default: the setting retentionDays.", ge=0, le=MOST_DAYS
            ),
        ]
    ] = UNSET
    continue_on_error: Maybe[
        Annotated[bool, Meta(description="Continue after an item that failed; default no.")]
    ] = UNSET


class CollectedGarbage(BatchResult, frozen=True, kw_only=True):
    """The result for each session, and the bytes freed."""

    removed_blobs: int
    bytes_freed: int
    warnings: list[str]


def collect_garbage(rt: Runtime, request: CollectGarbage) -> DryRun | Success:
    """Return the preview, or remove what is old enough.

    Raise Fault E_CONFIG if the settings cannot be read, and what the gate raises.
    """
    settings = rt.settings.of()
    days = settings.retention_days if request.older_than is UNSET else request.older_than
    kept = [SessionId(session_id) for session_id in settings.kept_sessions]

    def resolve() -> Plan[RemovalPlan]:
        return _plan_collection(rt.keeper().plan_removal(days, kept), days)

    def write(removal: RemovalPlan) -> Success:
        return _collect(rt, removal, continue_on_error=request.continue_on_error is True)

    def wait() -> None:
        if request.continue_on_error is not True:
            removal = rt.keeper().plan_removal(days, kept)
            wait_for_sessions(rt, [one.session_id for one in (*removal.sessions, *removal.half_made)])

    return preview_or_write(rt, OPERATION, request, workspace="", resolve=resolve, write=write, wait=wait)


def _plan_collection(removal: RemovalPlan, days: int) -> Plan[RemovalPlan]:
    size = sum(session.bytes for session in (*removal.sessions, *removal.half_made)) + removal.blob_bytes
    size += sum(removal.half_removed.values())
    sessions: dict[str, str] = {one.session_id: one.version for one in removal.sessions}
    left: dict[str, str] = {one.session_id: one.version for one in removal.half_made}
    left |= dict.fromkeys(removal.half_removed, "")
    leftovers = f", {format_count(len(left), 'leftover')}" if left else ""
    old, blobs = format_count(len(sessions), "session"), format_count(len(removal.blobs), "blob")
    text = (
        f"{old} without activity for {format_count(days, 'day')}, with their whole "
        f"history{leftovers}, and {blobs}; {size} bytes. This cannot be undone."
    )
    return Plan(
        action="remove old sessions and unused blobs",
        changes=(
            *(describe_old(session) for session in removal.sessions),
            *(_leftover(one.session_id, HALF_MADE, one.bytes) for one in removal.half_made),
            *(_leftover(name, HALF_REMOVED, held) for name, held in removal.half_removed.items()),
            *_blob_changes(removal),
        ),
        targets=(*sessions, *left, *((BLOBS,) if removal.blobs else ())),
        versions={**sessions, **left, BLOBS: digest(sorted(removal.blobs))},
        blast_radius=" ".join([text, *explain_safe_mode(removal.blocked_by)]),
        found=removal,
    )


def _leftover(name: str, reason: str, size: int) -> Change:
    return Change(
        action="delete", resource="leftover", id=name, before={"reason": reason, "size_bytes": size}
    )


def _blob_changes(removal: RemovalPlan) -> list[Change]:
    if removal.blocked_by:
        after: dict[str, Any] = {"reason": explain_safe_mode(removal.blocked_by)[0]}
        return [Change(action="none", resource=BLOBS, id=BLOBS, after=after)]
    if not removal.blobs:
        return []
    before = {"count": len(removal.blobs), "size_bytes": removal.blob_bytes}
    return [Change(action="delete", resource=BLOBS, id=BLOBS, before=before)]


def _collect(rt: Runtime, removal: RemovalPlan, *, continue_on_error: bool) -> Success:
    keeper = rt.keeper()
    sessions: dict[str, SessionToRemove] = {
        one.session_id: one for one in (*removal.sessions, *removal.half_made)
    }
    freed: list[int] = []

    def act(name: str) -> None:
        session = sessions.get(name)
        freed.append(keeper.clear(name) if session is None else remove_session(rt, keeper, session))

    targets = [*sessions, *removal.half_removed]
    result = run_batch(rt, targets, act, what="old sessions removed", continue_on_error=continue_on_error)
    is_swept = continue_on_error or result.summary.failed == 0
    swept = sweep(rt, keeper) if is_swept else Swept()
    done = CollectedGarbage(
        **msgspec.structs.asdict(result),
        removed_blobs=swept.blobs,
        bytes_freed=sum(freed) + swept.bytes_freed,
        warnings=list(swept.warnings),
    )
    kind = "safe_mode" if swept.is_safe_mode else "sweep_postponed"
    notices = tuple(Notice(type=kind, message=text, severity="warning") for text in swept.warnings)
    return Success(data=msgspec.to_builtins(done), notices=notices)


OPERATION = Operation(
    name="store.gc",
    effect="dangerous",
    summary="Remove sessions older than the retention period, and the blobs that no session inbox.",
    input=CollectGarbage,
    output=CollectedGarbage,
    perform=collect_garbage,
    shape=Shape(levels={"minimal": ("items", "summary", "skipped", "bytes_freed")}),
    errors=("SESSION_LOCKED",),
)
