"""`store du`: the space that the sessions take."""

from __future__ import annotations

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, make_from
from handrail.ports.store import SessionUsage
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime

MOST_SESSIONS = 20


class StoreSizeRequest(Input, frozen=True, kw_only=True):
    """An empty input: the whole store is measured."""


class StoreSizes(Answer, frozen=True, kw_only=True):
    """Bytes of file content; the file system may round each file up."""

    total_bytes: int
    session_count: int
    session_bytes: int
    blob_count: int
    blob_bytes: int
    leftover_blobs: int
    leftover_bytes: int
    cache_bytes: int
    largest_sessions: list[SessionUsage]
    leftover_sessions: int
    """Sessions left by starts that were killed; `store gc` removes them."""
    unreadable_sessions: list[str]
    """Sessions counted as far as possible; `store verify` reports why they cannot be read."""


def measure_store(rt: Runtime, _: StoreSizeRequest) -> StoreSizes:
    """Measure the store."""
    usage = rt.keeper().usage()
    session_bytes = sum(session.bytes for session in usage.sessions)
    return make_from(
        StoreSizes,
        usage,
        total_bytes=session_bytes + usage.blob_bytes + usage.cache_bytes,
        session_count=len(usage.sessions),
        session_bytes=session_bytes,
        blob_count=usage.blobs,
        largest_sessions=list(usage.sessions[:MOST_SESSIONS]),
        unreadable_sessions=list(usage.unreadable[:MOST_SESSIONS]),
    )


OPERATION = Operation(
    name="store.du",
    effect="read",
    summary="Show how much disk space the store uses.",
    input=StoreSizeRequest,
    output=StoreSizes,
    perform=measure_store,
    shape=Shape(
        levels={"minimal": ("total_bytes", "leftover_bytes")},
        drop_order=("largest_sessions",),
        windows=("largest_sessions",),
    ),
)
