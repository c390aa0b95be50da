"""A Failure as an MCP tool error and as problem details (RFC 9457); an Outcome for another program. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from handrail.contract.catalogue import E_SERVER, KINDS
from handrail.contract.envelopes.cli import (
    encode_document,
    hint_of,
    native_details,
    operation_call,
    wait_ms_of,
)
from handrail.contract.outcome import (
    HINT_LIMIT,
    MESSAGE_LIMIT,
    Failure,
    Json,
    NextCall,
    Outcome,
    Success,
    make_from,
)
from handrail.contract.registered import REGISTRY, type_uri

# MCP: text for clients that show only text, and a structured copy

ToolCall = Callable[[NextCall], dict[str, Json] | None]
"""A function that spells a next call as `{tool, params}`; it returns None if no tool offers the operation."""


def to_mcp_error(failure: Failure, *, tool_call: ToolCall) -> tuple[str, dict[str, Json]]:
    """Return the text lines and the structured copy; each is complete alone."""
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
    """Return whether the same call may be sent again, and when; never stored, always derived from the row."""
    if not failure.kind.is_retryable:
        return {"kind": "not_retryable"}
    wait_ms = wait_ms_of(failure)
    if wait_ms is None:
        return {"kind": "retryable_immediate"}
    return {"kind": "retryable_after_ms", "afterMs": wait_ms}


_NAMED = ("setting", "minimum", "limit", "reason")
"""Details with a single value that a fix mentions."""


def _text_needs_details(failure: Failure) -> bool:
    """Whether problems, choices and facts of the fix must be in the text, for clients that show only text."""
    is_listed = any(isinstance(value, list | tuple | dict) for value in failure.details.values())
    return is_listed or any(name in failure.details for name in _NAMED)


def _compact(value: Json) -> str:
    return encode_document(value, compact=True).decode().rstrip("\n")


# HTTP problem details

MEDIA_TYPE = "application/problem+json"

_NOT_IN_A_URN = re.compile("[^0-9A-Za-z._~:-]")
_UNREGISTERED = {401: "Unauthorized", 403: "Forbidden", 421: "Misdirected Request"}
"""The registry has no code for missing permission: the status says it (RFC 9457, 4.2.1), and `code` gives
the kind.
"""


def to_problem(failure: Failure, request_id: str) -> dict[str, Json]:
    """Return the body: the standard members first, ours after them, details nested so that none can hide
    another.
    """
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
    """Return the `Retry-After` header: whole seconds, rounded up; None if there is nothing to wait for."""
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


# An Outcome as one Handrail program passes it to another: complete, so that every interface can render it


class _EnvelopeTrouble(msgspec.Struct, frozen=True, kw_only=True):
    """A Failure, with the code of its row."""

    code: str
    message: str
    details: dict[str, Json] = {}
    hint: str = ""
    next_call: NextCall | None = None
    retry_after_ms: int | None = None


class _Encoded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    success: Success | None = None
    failure: _EnvelopeTrouble | None = None


def describe_outcome(outcome: Outcome) -> dict[str, Json]:
    """Return the outcome as plain values."""
    if isinstance(outcome, Success):
        encoded = _Encoded(success=outcome)
    else:
        encoded = _Encoded(failure=make_from(_EnvelopeTrouble, outcome, code=outcome.kind.code))
    plain: dict[str, Json] = msgspec.to_builtins(encoded)
    return plain


def read_outcome(plain: Json) -> Outcome:
    """Return the outcome from plain values. A code that this version does not know counts as a
    server error.

    Raises: msgspec.ValidationError for anything else.
    """
    held = msgspec.convert(plain, _Encoded)
    if held.success is not None:
        return held.success
    if held.failure is None:
        raise msgspec.ValidationError("neither a success nor a failure")
    given = held.failure
    kind = KINDS.get(given.code, E_SERVER)
    return make_from(
        Failure,
        given,
        kind=kind,
        message=given.message[:MESSAGE_LIMIT] or kind.code,
        details={name: value for name, value in given.details.items() if name in kind.details},
        hint=given.hint[:HINT_LIMIT],
    )
