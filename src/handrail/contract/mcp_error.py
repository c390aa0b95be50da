"""A Failure as an MCP tool error: text for clients that show only text, and a structured copy. Pure."""

from __future__ import annotations

from collections.abc import Callable

from handrail.contract.cli_envelope import encode_document
from handrail.contract.failure_facts import hint_of, native_details, wait_ms_of
from handrail.contract.outcome import Failure, Json, NextCall

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


def _text_needs_details(failure: Failure) -> bool:
    """Problems, choices and whatever the fix points at must also reach a client that shows only text."""
    is_listed = any(isinstance(value, list | tuple | dict) for value in failure.details.values())
    return is_listed or (bool(failure.details) and "details" in hint_of(failure))


def _compact(value: Json) -> str:
    return encode_document(value, compact=True).decode().rstrip("\n")
