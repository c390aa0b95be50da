"""A Failure as an MCP tool error, and as HTTP problem details (RFC 9457). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from handrail.contract.envelopes.cli import (
    encode_document,
    hint_of,
    native_details,
    operation_call,
    wait_ms_of,
)
from handrail.contract.outcome import Failure, Json, NextCall
from handrail.contract.registered import REGISTRY, type_uri

# MCP: text for clients that show only text, and a structured copy

ToolCall = Callable[[NextCall], dict[str, Json] | None]
"""Spells a next call as `{tool, params}`; None when no tool offers the operation."""


def to_mcp_error(failure: Failure, *, tool_call: ToolCall) -> tuple[str, dict[str, Json]]:
    """The text lines and the structured copy; each is complete alone."""
    next_call = None if failure.next_call is None else tool_call(failure.next_call)
    retry = retry_of(failure)
    structured = {
        "code": failure.kind.code,
        "message": failure.message,
        "retry": retry,
        "suggestion": hint_of(failure),
        "details": {**native_details(failure), "next_call": next_call},
    }
    lines = [
        f"{failure.kind.code}: {failure.message}",
        f"fix: {hint_of(failure)}",
        "retry: " + " ".join(str(part) for part in retry.values()),
    ]
    if _text_needs_details(failure):
        lines.append("details: " + _compact(failure.details))
    if next_call is not None:
        lines.append(f"{next_call['tool']} {_compact(next_call['params'])}")
    return "\n".join(lines), structured


def retry_of(failure: Failure) -> dict[str, Json]:
    """Whether the same call may be sent again, and when; never stored, always derived from the row."""
    if not failure.kind.is_retryable:
        return {"kind": "not_retryable"}
    wait_ms = wait_ms_of(failure)
    if wait_ms is None:
        return {"kind": "retryable_immediate"}
    return {"kind": "retryable_after_ms", "afterMs": wait_ms}


_NAMED = ("setting", "minimum", "limit", "reason")
"""Single values that a fix speaks of."""


def _text_needs_details(failure: Failure) -> bool:
    """Problems, choices and whatever the fix points at must also reach a client that shows only text."""
    is_listed = any(isinstance(value, list | tuple | dict) for value in failure.details.values())
    return is_listed or any(name in failure.details for name in _NAMED)


def _compact(value: Json) -> str:
    return encode_document(value, compact=True).decode().rstrip("\n")


# HTTP problem details

MEDIA_TYPE = "application/problem+json"

_NOT_IN_A_URN = re.compile("[^0-9A-Za-z._~:-]")
_UNREGISTERED = {401: "Unauthorized", 403: "Forbidden", 421: "Misdirected Request"}
"""The registry has no code for who may not: the status says it all (RFC 9457, 4.2.1), and `code` which."""


def to_problem(failure: Failure, request_id: str) -> dict[str, Json]:
    """The body; the standard members first, ours after them, details nested so that none can hide another."""
    kind = failure.kind
    unregistered = _UNREGISTERED.get(kind.http_status)
    return {
        "type": "about:blank" if unregistered else type_uri(kind.lafs_code),
        "title": unregistered or REGISTRY[kind.lafs_code].title,
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
