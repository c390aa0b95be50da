"""Copying sessions into another store and comparing them event by event: a preview, then the copy."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.ids import SessionId
from handrail.contract.payload import Answer
from handrail.contract.store_facts import SessionCopy
from handrail.runtime.operation import Input
from handrail.runtime.runtime import Runtime


class CopyStore(Input, frozen=True, kw_only=True):
    """What to copy, and to where."""

    to: Annotated[str, Meta(description="The data directory of the other store.", min_length=1)]
    ids: Annotated[list[str], Meta(description="Session ids; default: all.")] | UnsetType = UNSET


class StoreCopy(Answer, frozen=True, kw_only=True):
    """The sessions of a copy; keys are never copied, so tokens stay with their own store."""

    sessions: list[SessionCopy]
    session_count: int
    event_count: int
    """Events that the target lacked."""


def preview_copy(rt: Runtime, request: CopyStore) -> StoreCopy:
    """What the target lacks. Changes nothing.

    Raises Fault STORE_TARGET_NOT_EMPTY, SESSION_NOT_FOUND or SESSION_NOT_HEALTHY.
    """
    return _answer(rt.keeper().plan_copy(request.to, _ids(request)))


def copy_store(rt: Runtime, request: CopyStore) -> StoreCopy:
    """Copy what the target lacks; a repeat after an interruption goes on where it stopped."""
    return _answer(rt.keeper().copy(request.to, _ids(request)))


def _ids(request: CopyStore) -> list[SessionId]:
    return [] if request.ids is UNSET else [SessionId(session_id) for session_id in request.ids]


def _answer(sessions: tuple[SessionCopy, ...]) -> StoreCopy:
    return StoreCopy(
        sessions=list(sessions),
        session_count=len(sessions),
        event_count=sum(session.missing for session in sessions),
    )
