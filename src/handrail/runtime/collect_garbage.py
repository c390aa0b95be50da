"""Removing old sessions and the blobs that only they used: first as a preview, then for good.

The preview binds the head of every log, so what is removed later is what was shown.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.ids import SessionId
from handrail.contract.payload import Answer
from handrail.contract.store_facts import RemovalPlan, SessionToRemove
from handrail.runtime.operation import Input
from handrail.runtime.runtime import Runtime

DEFAULT_DAYS: Final = 90
MOST_DAYS: Final = 36_500


class CollectGarbage(Input, frozen=True, kw_only=True):
    """Which sessions are old enough to go."""

    older_than: (
        Annotated[int, Meta(description="Days without activity; default 90.", ge=0, le=MOST_DAYS)] | UnsetType
    ) = UNSET
    keep: Annotated[list[str], Meta(description="Session ids that stay.")] | UnsetType = UNSET


class CollectionPreview(Answer, frozen=True, kw_only=True):
    """What would be removed, and why perhaps not all of it."""

    sessions: list[SessionToRemove]
    blob_count: int
    bytes_to_free: int
    warnings: list[str]


class CollectionDone(Answer, frozen=True, kw_only=True):
    """What was removed."""

    removed_sessions: list[SessionId]
    kept_sessions: list[SessionId]
    removed_blobs: int
    bytes_freed: int
    warnings: list[str]


def plan_collection(rt: Runtime, request: CollectGarbage) -> RemovalPlan:
    """The sessions and blobs that are old enough now. Changes nothing."""
    days = DEFAULT_DAYS if request.older_than is UNSET else request.older_than
    keep = [] if request.keep is UNSET else [SessionId(session_id) for session_id in request.keep]
    return rt.keeper().plan_removal(days, keep)


def preview_collection(plan: RemovalPlan) -> CollectionPreview:
    """A plan in the words of an answer."""
    return CollectionPreview(
        sessions=list(plan.sessions),
        blob_count=len(plan.blobs),
        bytes_to_free=sum(session.bytes for session in plan.sessions) + plan.blob_bytes,
        warnings=_warnings(plan.blocked_by),
    )


def collect_garbage(rt: Runtime, plan: RemovalPlan) -> CollectionDone:
    """Do what was shown, as far as it is still true: a session that grew since then stays."""
    done = rt.keeper().remove(plan)
    return CollectionDone(
        removed_sessions=list(done.sessions),
        kept_sessions=list(done.kept),
        removed_blobs=done.blobs,
        bytes_freed=done.bytes_freed,
        warnings=_warnings(done.blocked_by),
    )


def _warnings(blocked_by: tuple[str, ...]) -> list[str]:
    if not blocked_by:
        return []
    named = ", ".join(blocked_by[:5])
    return [
        f"Safe mode: no blob is removed, because {len(blocked_by)} sessions cannot be read whole ({named}). "
        "Run handrail store verify, restore or remove them, then collect again."
    ]
