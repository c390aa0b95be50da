"""Removes sessions, and then the blobs that no session names any more.

What is removed stays removed, so trouble in the sweep afterwards is only a warning.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.contract.catalogue import SESSION_LOCKED
from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.tokens.confirm import refusal
from handrail.contract.wording import format_count
from handrail.ports.store import RemovalPlan, SessionToRemove, StoreKeeper
from handrail.runtime.runtime import Runtime, WritePorts
from handrail.runtime.sessions import LOCK_WAIT_MS
from handrail.runtime.write_permission import Change

_LOOK_MS = 200
"""How long a call waits for a lock before it checks whether it must stop."""
_LEFTOVERS = RemovalPlan(sessions=(), blobs=(), blob_bytes=0, blocked_by=())
"""A plan that removes only blobs that no session names any more."""


class Swept(msgspec.Struct, frozen=True, kw_only=True):
    """The result of removing blobs that no session names any more."""

    blobs: int = 0
    bytes_freed: int = 0
    warnings: tuple[str, ...] = ()
    is_safe_mode: bool = False


def wait_for_sessions(rt: Runtime, session_ids: Sequence[str]) -> None:
    """Wait, before a token is used up, until no process writes to any of these sessions.

    Raise Fault SESSION_LOCKED.
    """
    sound = [SessionId(one) for one in session_ids if is_session_id(one)]
    rt.keeper().wait_for_writers(sound, LOCK_WAIT_MS)


def remove_session(rt: WritePorts, keeper: StoreKeeper, session: SessionToRemove) -> int:
    """Remove one session; return the bytes that this freed.

    Raise Fault SESSION_LOCKED, and E_CONFLICT if it grew or is gone.
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
    """Free the blobs that only removed sessions named. Trouble is a warning: the next
    collection sweeps again.
    """
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
    """Return why no blob may be removed; empty if blobs may be."""
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


def describe_old(session: SessionToRemove) -> Change:
    before = {"size_bytes": session.bytes, "head": session.head_digest}
    return Change(action="delete", resource="session", id=session.session_id, before=before)
