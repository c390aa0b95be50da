"""`session.delete`: remove sessions for good. Dangerous: shown first, then done with a token and the word."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_NOT_FOUND, SESSION_NOT_FOUND
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.outcome import Fault, NextCall, Success
from handrail.contract.wording import quote
from handrail.operations.removing import Swept, remove_session, sweep, wait_for_sessions
from handrail.ports.store import SessionToRemove
from handrail.runtime.batch import BatchResult, run_batch, targets_of
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import Change, DangerousInput, DryRun, Plan, preview_or_write

_Found: TypeAlias = dict[str, SessionToRemove]
"""What there is of the named sessions, by id."""


class DeleteSessions(DangerousInput, frozen=True, kw_only=True):
    """Which sessions go."""

    ids: Annotated[list[str], Meta(description="Session ids.")]
    continue_on_error: (
        Annotated[bool, Meta(description="Continue after an item that failed; default no.")] | UnsetType
    ) = UNSET


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
        return _plan(ids, _find(rt, ids))

    def write(found: _Found) -> DeletedSessions:
        return _delete(rt, ids, found, request.continue_on_error is True)

    def wait() -> None:
        if request.continue_on_error is not True:
            wait_for_sessions(rt, ids)

    return preview_or_write(rt, OPERATION, request, workspace="", resolve=resolve, write=write, wait=wait)


def _find(rt: Runtime, ids: tuple[str, ...]) -> _Found:
    sound = [SessionId(one) for one in ids if is_session_id(one)]
    return {one.session_id: one for one in rt.keeper().sessions_to_remove(sound)}


def _plan(ids: tuple[str, ...], found: _Found) -> Plan[_Found]:
    """What is there of these goes; where nothing is left of them, there is nothing to confirm."""
    changes = tuple(_change(one, found.get(one)) for one in ids)
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


def _change(session_id: str, found: SessionToRemove | None) -> Change:
    if found is None:
        after: dict[str, Any] = {"reason": "no such session in this store"}
        return Change(action="none", resource="session", id=session_id, after=after)
    before = {"size_bytes": found.bytes, "head": found.head_digest}
    return Change(action="delete", resource="session", id=session_id, before=before)


def _delete(rt: Runtime, ids: tuple[str, ...], found: _Found, continue_on_error: bool) -> DeletedSessions:
    keeper = rt.keeper()
    freed: list[int] = []

    def act(session_id: str) -> None:
        session = found.get(session_id)
        if session is None:
            raise Fault(
                SESSION_NOT_FOUND,
                f"There is no session {quote(session_id)} in this store.",
                details={"session_id": session_id[:128]},
            )
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


OPERATION = Operation(
    name="session.delete",
    effect="dangerous",
    summary="Delete sessions with their whole history, for good.",
    input=DeleteSessions,
    output=DeletedSessions,
    perform=delete_sessions,
    shape=Shape(levels={"minimal": ("items", "summary", "skipped")}, select="top"),
    errors=("SESSION_LOCKED",),
)
