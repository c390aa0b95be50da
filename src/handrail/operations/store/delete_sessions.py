"""`session delete`: remove the sessions that a person names.

Dangerous: the preview is bound to the head of every log, so what is removed is what was shown.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_CONFLICT, E_NOT_FOUND
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.outcome import Fault, NextCall, Success
from handrail.contract.parameters import MintedId
from handrail.operations.finding import refuse_unknown
from handrail.operations.store.remove_sessions import (
    Swept,
    describe_old,
    remove_session,
    sweep,
    wait_for_sessions,
)
from handrail.ports.store import SessionToRemove
from handrail.runtime.batch import SCHEMA_OF_TARGETS, BatchResult, run_batch, targets_of
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DangerousInput, DryRun, Plan, preview_or_write

_Found: TypeAlias = dict[str, SessionToRemove]
"""The existing sessions among those named, by id."""


class DeleteSessions(DangerousInput, frozen=True, kw_only=True):
    """The sessions to delete."""

    ids: Annotated[list[MintedId], Meta(description="Session ids.", extra_json_schema=SCHEMA_OF_TARGETS)]
    continue_on_error: Maybe[
        Annotated[bool, Meta(description="Continue after an item that failed; default no.")]
    ] = UNSET


class DeletedSessions(BatchResult, frozen=True, kw_only=True):
    """The result for each session, and the bytes freed."""

    bytes_freed: int
    warnings: list[str]
    """What could not be cleaned up afterwards; the next collection does it."""


def delete_sessions(rt: Runtime, request: DeleteSessions) -> DryRun | Success:
    """Return the preview, or remove. Tokens of a removed session are then answered with TOKEN_UNKNOWN_NODE.

    Raise Fault E_VALIDATION without ids, and what the gate raises.
    """
    ids = targets_of(request.ids, "ids")

    def resolve() -> Plan[_Found]:
        return _plan_deletion(ids, _find_named(rt, ids))

    def write(found: _Found) -> DeletedSessions:
        return _delete(rt, ids, found, request.continue_on_error is True)

    def wait() -> None:
        if request.continue_on_error is not True:
            wait_for_sessions(rt, ids)

    return preview_or_write(rt, OPERATION, request, workspace="", resolve=resolve, write=write, wait=wait)


def _find_named(rt: Runtime, ids: tuple[str, ...]) -> _Found:
    sound = [SessionId(one) for one in ids if is_session_id(one)]
    return {one.session_id: one for one in rt.keeper().sessions_to_remove(sound)}


def _plan_deletion(ids: tuple[str, ...], found: _Found) -> Plan[_Found]:
    """Return the plan to delete the existing sessions; if none exists, there is nothing to confirm."""
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
    return describe_old(found)


def _delete(rt: Runtime, ids: tuple[str, ...], found: _Found, continue_on_error: bool) -> DeletedSessions:
    keeper = rt.keeper()
    freed: list[int] = []
    lost: list[Fault] = []

    def act(session_id: str) -> None:
        session = found.get(session_id)
        if session is None:
            raise refuse_unknown(session_id)
        try:
            freed.append(remove_session(rt, keeper, session))
        except Fault as fault:
            lost.append(fault)
            raise

    absent = set(ids) - set(found)
    what = "sessions deleted"
    result = run_batch(rt, ids, act, what=what, continue_on_error=continue_on_error, absent=absent)
    if not freed and any(one.kind is E_CONFLICT for one in lost):  # another call was first: no success
        raise lost[0]
    swept = sweep(rt, keeper) if freed else Swept()
    return DeletedSessions(
        **msgspec.structs.asdict(result),
        bytes_freed=sum(freed) + swept.bytes_freed,
        warnings=list(swept.warnings),
    )


OPERATION = Operation(
    name="session.delete",
    effect="dangerous",
    summary="Delete sessions with their whole history. This cannot be undone.",
    input=DeleteSessions,
    output=DeletedSessions,
    perform=delete_sessions,
    shape=Shape(levels={"minimal": ("items", "summary", "skipped")}),
    errors=("SESSION_LOCKED",),
)
