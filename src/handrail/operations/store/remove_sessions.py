"""`session.delete` and `store.gc`: sessions go for good, then the blobs that no session names any more.

Both are dangerous: shown first, then done with a token and the word. The preview binds the head of every log,
so what is removed later is what was shown. The sweep afterwards can only warn: what is removed stays removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_NOT_FOUND, SESSION_LOCKED
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault, NextCall, Notice, Success
from handrail.contract.parameters import MintedId
from handrail.contract.tokens.confirm import refusal
from handrail.contract.wording import format_count
from handrail.operations.finding import refuse_unknown
from handrail.ports.store import RemovalPlan, SessionToRemove, StoreKeeper
from handrail.runtime.batch import SCHEMA_OF_TARGETS, BatchResult, run_batch, targets_of
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import Runtime, WritePorts
from handrail.runtime.sessions import LOCK_WAIT_MS
from handrail.runtime.write_permission import Change, DangerousInput, DryRun, Plan, preview_or_write

_LOOK_MS = 200
"""How long a call waits for a lock before it checks whether it must stop."""
_LEFTOVERS = RemovalPlan(sessions=(), blobs=(), blob_bytes=0, blocked_by=())
"""A plan that removes only blobs that no session names any more."""


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """The blobs that nobody names any more, as far as they are gone."""

    blobs: int = 0
    bytes_freed: int = 0
    warnings: tuple[str, ...] = ()
    is_safe_mode: bool = False


def wait_for_sessions(rt: Runtime, session_ids: Sequence[str]) -> None:
    """Wait, before a token is used up, until no process writes to any of these sessions.

    Raises Fault SESSION_LOCKED.
    """
    sound = [SessionId(one) for one in session_ids if is_session_id(one)]
    rt.keeper().wait_for_writers(sound, LOCK_WAIT_MS)


def remove_session(rt: WritePorts, keeper: StoreKeeper, session: SessionToRemove) -> int:
    """Remove one session; the bytes that this freed.

    Raises Fault SESSION_LOCKED, and E_CONFLICT when it grew or is gone.
    """
    waited_ms = 0
    while True:
        try:
            freed = keeper.remove_session(session, _LOOK_MS)
        except Fault as fault:
            waited_ms += _LOOK_MS
            if (
                fault.kind is not SESSION_LOCKED
                or waited_ms >= LOCK_WAIT_MS
                or rt.interruptions.stop_reason()
            ):
                raise
            continue
        if freed is None:
            raise refusal("target_changed")
        rt.commits.note(NextCall(operation="session.list"))
        return freed


def sweep(rt: WritePorts, keeper: StoreKeeper) -> Swept:
    """Free what only removed sessions named. Trouble is a warning: the next collection sweeps again."""
    if rt.interruptions.stop_reason():
        return _postpone("the call was ended")
    try:
        removed = keeper.remove(_LEFTOVERS)
    except Fault as fault:
        return _postpone(fault.message.removesuffix("."))
    warnings = explain_safe_mode(removed.blocked_by)
    if removed.busy:
        busy = f"{format_count(len(removed.busy), 'session')} ({', '.join(removed.busy[:5])})"
        warnings += _postpone(f"another process writes to {busy}").warnings
    if removed.blobs:
        rt.commits.note(NextCall(operation="store.du"))
    return Swept(
        blobs=removed.blobs,
        bytes_freed=removed.bytes_freed,
        warnings=tuple(warnings),
        is_safe_mode=bool(removed.blocked_by),
    )


def explain_safe_mode(blocked_by: Sequence[str]) -> list[str]:
    """Why no blob may go, if one may not."""
    if not blocked_by:
        return []
    named = ", ".join(blocked_by[:5])
    unread = format_count(len(blocked_by), "session")
    return [
        f"Safe mode: no blob is removed, because {unread} cannot be read whole ({named}). "
        "Run handrail store verify, restore or delete them, then collect again."
    ]


def _postpone(why: str) -> Swept:
    warning = (
        f"Not all files and blobs of removed sessions were cleared: {why}. "
        "`handrail store gc --dangerous --dry-run` shows what is left."
    )
    return Swept(warnings=(warning,))


# Named sessions


_Found: TypeAlias = dict[str, SessionToRemove]
"""What there is of the named sessions, by id."""


class DeleteSessions(DangerousInput, frozen=True, kw_only=True):
    """Which sessions go."""

    ids: Annotated[list[MintedId], Meta(description="Session ids.", extra_json_schema=SCHEMA_OF_TARGETS)]
    continue_on_error: Maybe[
        Annotated[bool, Meta(description="Continue after an item that failed; default no.")]
    ] = UNSET


class DeletedSessions(BatchResult, frozen=True, kw_only=True):
    """What came of each session, and how much room there is now."""

    bytes_freed: int
    warnings: list[str]
    """What could not be cleared up after it; the next collection does."""


def delete_sessions(rt: Runtime, request: DeleteSessions) -> DryRun | Success:
    """Show or remove. Tokens of a removed session are answered with TOKEN_UNKNOWN_NODE from then on.

    Raises Fault E_VALIDATION without ids, and what the gate raises.
    """
    ids = targets_of(request.ids, "ids")

    def resolve() -> Plan[_Found]:
        return _plan_deletion(ids, _find_named(rt, ids))

    def write(found: _Found) -> DeletedSessions:
        return _delete(rt, ids, found, request.continue_on_error is True)

    def wait() -> None:
        if request.continue_on_error is not True:
            wait_for_sessions(rt, ids)

    return preview_or_write(rt, DELETE, request, workspace="", resolve=resolve, write=write, wait=wait)


def _find_named(rt: Runtime, ids: tuple[str, ...]) -> _Found:
    sound = [SessionId(one) for one in ids if is_session_id(one)]
    return {one.session_id: one for one in rt.keeper().sessions_to_remove(sound)}


def _plan_deletion(ids: tuple[str, ...], found: _Found) -> Plan[_Found]:
    """What is there of these goes; where nothing is left of them, there is nothing to confirm."""
    changes = tuple(_describe_named(one, found.get(one)) for one in ids)
    going = [change.id for change in changes if change.action == "delete"]
    size = sum(found[one].bytes for one in going)
    unknown = Fault(
        E_NOT_FOUND,
        "None of these sessions is in this store.",
        details={"resource": "session", "id": ", ".join(ids)[:200]},
        next_call=NextCall(operation="session.list", params={}),
    )
    return Plan(
        action="delete sessions",
        changes=changes,
        targets=ids,
        versions={one: found[one].version if one in found else "absent" for one in ids},
        found=found,
        blast_radius=f"Whole histories: {len(going)} of {len(ids)} named sessions, {size} bytes. "
        "This cannot be undone.",
        obstacle=None if going else unknown,
    )


def _describe_named(session_id: str, found: SessionToRemove | None) -> Change:
    if found is None:
        after: dict[str, Any] = {"reason": "no such session in this store"}
        return Change(action="none", resource="session", id=session_id, after=after)
    return _describe_old(found)


def _delete(rt: Runtime, ids: tuple[str, ...], found: _Found, continue_on_error: bool) -> DeletedSessions:
    keeper = rt.keeper()
    freed: list[int] = []

    def act(session_id: str) -> None:
        session = found.get(session_id)
        if session is None:
            raise refuse_unknown(session_id)
        freed.append(remove_session(rt, keeper, session))

    absent = set(ids) - set(found)
    what = "sessions deleted"
    result = run_batch(rt, ids, act, what=what, continue_on_error=continue_on_error, absent=absent)
    swept = sweep(rt, keeper) if freed else Swept()
    return DeletedSessions(
        **msgspec.structs.asdict(result),
        bytes_freed=sum(freed) + swept.bytes_freed,
        warnings=list(swept.warnings),
    )


DELETE = Operation(
    name="session.delete",
    effect="dangerous",
    summary="Delete sessions with their whole history, for good.",
    input=DeleteSessions,
    output=DeletedSessions,
    perform=delete_sessions,
    shape=Shape(levels={"minimal": ("items", "summary", "skipped")}),
    errors=("SESSION_LOCKED",),
)


# Old sessions: how old is a setting, and so are the sessions that always stay


MOST_DAYS = 36_500
BLOBS = "blobs"
"""The target that stands for every blob that nobody names."""
HALF_MADE = "a start that was killed or refused; nothing in it was acknowledged"
HALF_REMOVED = "a session that was removed; files of it could not be deleted then"


class CollectGarbage(DangerousInput, frozen=True, kw_only=True):
    """Which sessions are old enough to go."""

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
    """What came of each session, and how much room there is now."""

    removed_blobs: int
    bytes_freed: int
    warnings: list[str]


def collect_garbage(rt: Runtime, request: CollectGarbage) -> DryRun | Success:
    """Show or remove what is old enough.

    Raises Fault E_CONFIG when the settings cannot be read, and what the gate raises.
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

    return preview_or_write(rt, COLLECT, request, workspace="", resolve=resolve, write=write, wait=wait)


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
            *(_describe_old(session) for session in removal.sessions),
            *(_leftover(one.session_id, HALF_MADE, one.bytes) for one in removal.half_made),
            *(_leftover(name, HALF_REMOVED, held) for name, held in removal.half_removed.items()),
            *_blob_changes(removal),
        ),
        targets=(*sessions, *left, *((BLOBS,) if removal.blobs else ())),
        versions={**sessions, **left, BLOBS: digest(sorted(removal.blobs))},
        blast_radius=" ".join([text, *explain_safe_mode(removal.blocked_by)]),
        found=removal,
    )


def _describe_old(session: SessionToRemove) -> Change:
    before = {"size_bytes": session.bytes, "head": session.head_digest}
    return Change(action="delete", resource="session", id=session.session_id, before=before)


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


COLLECT = Operation(
    name="store.gc",
    effect="dangerous",
    summary="Remove sessions that are older than the retention, and blobs that none of the others names.",
    input=CollectGarbage,
    output=CollectedGarbage,
    perform=collect_garbage,
    shape=Shape(levels={"minimal": ("items", "summary", "skipped", "bytes_freed")}),
    errors=("SESSION_LOCKED",),
)
