"""Damaged sessions: the warnings for every reader, and the refusals of calls.

A session whose log is not proven whole can be read and exported, but not continued.
"""

from __future__ import annotations

from handrail.contract.catalogue import (
    SESSION_NOT_HEALTHY,
    STORE_CORRUPT,
    STORE_HISTORY_LOST,
    STORE_UNAVAILABLE,
    STORE_UNSUPPORTED_VERSION,
)
from handrail.contract.ids import BlobRef, SessionId
from handrail.contract.outcome import Fault, NextCall, Notice
from handrail.engine.events import is_newer
from handrail.engine.reply import ReplyWarning
from handrail.ports.log import EventReader, Health

UPDATE = "Ask the user to update Handrail: handrail update."
"""The remedy for a session that a newer version wrote; nothing is wrong with it."""


def describe_damage(session_id: SessionId, health: Health, event_count: int) -> str:
    """Return one line for the reader of a session; empty if it is sound."""
    if health.state == "healthy":
        return ""
    if is_newer(health.state):
        return (
            "This session was written by a newer version of Handrail. Here its first "
            f"{event_count} events can be read, and it cannot be continued. {UPDATE}"
        )
    reason = f", {health.reason}" if health.reason else ""
    return (
        f"This session is damaged ({health.state}{reason}): its first {event_count} events are proven, "
        f"nothing after them. It can be read, not continued. {_help_for(session_id)}"
    )


def list_repair_commands(session_id: SessionId) -> tuple[str, str]:
    """Return the commands for a damaged session: show the damage, and copy what is left."""
    return (
        f"handrail store verify --ids {session_id} --report-only",
        f"handrail session export {session_id} --salvage --out FILE",
    )


def call_to_verify(session_id: SessionId) -> NextCall:
    """Return the call that shows what is wrong with a session that cannot continue."""
    return NextCall(operation="store.verify", params={"ids": [session_id], "reportOnly": True})


def unsound_warnings(session_id: SessionId, health: Health, event_count: int) -> tuple[ReplyWarning, ...]:
    """Return the warning about a damaged session, as a reply carries it."""
    commands = [] if is_newer(health.state) else list(list_repair_commands(session_id))
    details = {**_facts(session_id, health, event_count), "commands": commands}
    message = describe_damage(session_id, health, event_count)
    return (ReplyWarning(code="SESSION_UNSOUND", message=message, details=details),)


def unsound_notices(session_id: SessionId, health: Health, event_count: int) -> tuple[Notice, ...]:
    """Return the same warning for an answer about something other than the session's state."""
    message = describe_damage(session_id, health, event_count)
    extra = _facts(session_id, health, event_count)
    return (Notice(type="session_unsound", message=message, severity="warning", extra=extra),)


def refuse_unsound(session_id: SessionId, health: Health, event_count: int) -> Fault:
    """Return the refusal of a call that needs a session that is proven whole."""
    if is_newer(health.state):
        return Fault(
            STORE_UNSUPPORTED_VERSION,
            f"Session {session_id} was written by a newer version of Handrail.",
            details={"found": health.detail},
            hint=UPDATE,
        )
    return Fault(
        SESSION_NOT_HEALTHY,
        f"Session {session_id} is readable only up to event {event_count}.",
        details={
            "session_id": session_id,
            "health": health.state,
            "reason": health.reason,
            "event_index": event_count,
        },
        hint=_help_for(session_id),
        next_call=call_to_verify(session_id),
    )


def refuse_lost_work(session_id: SessionId, event_count: int) -> Fault:
    """Return the refusal of a token whose step the log does not have.

    The token was minted after that step was durable, so the step was lost.
    """
    verify, _ = list_repair_commands(session_id)
    return Fault(
        STORE_HISTORY_LOST,
        f"The log of session {session_id} no longer holds a step that was acknowledged.",
        details={"session_id": session_id, "event_count": event_count},
        hint=f"Ask the user to run {verify}, and to restore the session from a backup before work goes on.",
        next_call=call_to_verify(session_id),
    )


def _help_for(session_id: SessionId) -> str:
    verify, salvage = list_repair_commands(session_id)
    return f"Ask the user to run {verify}, and {salvage} to keep what is left."


def _facts(session_id: SessionId, health: Health, event_count: int) -> dict[str, str | int]:
    return {
        "sessionId": session_id,
        "health": health.state,
        "reason": health.reason,
        "eventCount": event_count,
    }


# Continuing without what cannot be read


def pass_over(fault: Fault) -> None:
    """Skip a session that cannot be read, so that it does not keep the others from being read.

    A store that is unavailable affects all sessions, so its fault is raised.
    """
    if fault.kind is STORE_UNAVAILABLE:
        raise fault


def read_blob(reader: EventReader, ref: BlobRef) -> bytes | None:
    """Return a content; None if the store lost it or never had it.

    Raise Fault for other trouble of the store.
    """
    try:
        return reader.get_blob(ref)
    except Fault as fault:
        if fault.kind is STORE_CORRUPT:
            return None
        raise


def read_text(reader: EventReader, ref: BlobRef) -> str | None:
    """Return long notes; None if they are gone."""
    content = read_blob(reader, ref)
    return None if content is None else content.decode()
