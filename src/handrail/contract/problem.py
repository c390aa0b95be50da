"""A Failure as HTTP problem details (RFC 9457). Pure."""

from __future__ import annotations

import re

from handrail.contract.catalogue import REGISTRY, type_uri
from handrail.contract.failure_facts import hint_of, operation_call, wait_ms_of
from handrail.contract.outcome import Failure, Json

MEDIA_TYPE = "application/problem+json"

_NOT_IN_A_URN = re.compile("[^0-9A-Za-z._~:-]")


def to_problem(failure: Failure, request_id: str) -> dict[str, Json]:
    """The body; the standard members first, ours after them, details nested so that none can hide another."""
    kind = failure.kind
    return {
        "type": type_uri(kind.lafs_code),
        "title": REGISTRY[kind.lafs_code].title,
        "status": kind.http_status,
        "detail": failure.message,
        "instance": "urn:handrail:request:" + _NOT_IN_A_URN.sub(_percent, request_id),
        "code": kind.code,
        "native_code": kind.native,
        "category": kind.category,
        "retryable": kind.is_retryable,
        "agent_action": kind.agent_action,
        "retry_after_ms": wait_ms_of(failure),
        "details": _details(failure),
    }


def retry_after_seconds(failure: Failure) -> int | None:
    """The `Retry-After` header: whole seconds, rounded up; None when there is nothing to wait for."""
    wait_ms = wait_ms_of(failure)
    return None if wait_ms is None else -(-wait_ms // 1000)


def _details(failure: Failure) -> dict[str, Json]:
    details = {**failure.details}
    if failure.kind.needs_escalation:
        details["escalation_required"] = True
    details["hint"] = hint_of(failure)
    if failure.next_call is not None:
        details["next_call"] = operation_call(failure.next_call)
    return details


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "replace"))
