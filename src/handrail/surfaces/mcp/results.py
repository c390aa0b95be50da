"""From an outcome to what a tool result carries: text and structured copy, each complete alone. Pure.

Some clients show the model only one of the two. Equal outcomes give equal bytes.
"""

from __future__ import annotations

from typing import Any, assert_never

import msgspec

from handrail.contract.cli_envelope import encode_document, payload_of
from handrail.contract.mcp_error import to_mcp_error
from handrail.contract.outcome import Failure, Json, Outcome, Success
from handrail.engine.reply import MOST_WARNINGS
from handrail.surfaces.mcp.catalog_text import candidates_text, workflow_text, workflows_text
from handrail.surfaces.mcp.reply_text import reply_text, session_text
from handrail.surfaces.mcp.tools import Tool, spell_call

_BEFORE_WARNINGS = (
    "kind",
    "pending",
    "isComplete",
    "nextIntent",
    "nextCall",
    "blockers",
    "issues",
    "retryable",
    "example",
)


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """One tool result, before the protocol wraps it."""

    text: str
    structured: dict[str, Json]
    is_error: bool


def render(tools: dict[str, Tool], tool: Tool, params: dict[str, Json], outcome: Outcome) -> Rendered:
    """The result of one call with these params."""
    match outcome:
        case Failure():
            text, structured = to_mcp_error(outcome, tool_call=lambda call: spell_call(tools, call))
            return Rendered(text=_sendable_text(text), structured=_sendable(structured), is_error=True)
        case Success():
            payload = _sendable(payload_of(outcome))
            text = _text(tool, params, payload)
            return Rendered(text=_sendable_text(text), structured=payload, is_error=False)
        case never:
            assert_never(never)


def with_warnings(success: Success, warnings: tuple[dict[str, Json], ...]) -> Success:
    """The reply with further warnings at the place that replies keep for them."""
    data = success.data
    if not warnings or not isinstance(data, dict):
        return success
    if next(iter(data)) == "warnings":  # a reply that begins with them goes on to
        return msgspec.structs.replace(
            success, data={**data, "warnings": [*data["warnings"], *warnings][:MOST_WARNINGS]}
        )
    before = {key: value for key, value in data.items() if key in _BEFORE_WARNINGS}
    told = {"warnings": [*data.get("warnings", ()), *warnings][:MOST_WARNINGS]}
    after = {key: value for key, value in data.items() if key not in before and key not in told}
    return msgspec.structs.replace(success, data={**before, **told, **after})


def _text(tool: Tool, params: dict[str, Json], payload: dict[str, Any]) -> str:
    if payload.get("committed") is True:  # in place of a reply that could not be made
        return str(payload["message"])
    match tool.operation:
        case "workflow.list":
            return workflows_text(payload, params)
        case "workflow.inspect":
            return workflow_text(payload)
        case "session.resume":
            return candidates_text(payload)
        case _:
            return session_text(payload) if "sessionToken" in payload else reply_text(payload)


def _sendable(document: Any) -> dict[str, Json]:
    """The document as its bytes say it: exactly what the command line prints as `data`."""
    decoded = msgspec.json.decode(encode_document(document, compact=True))
    assert isinstance(decoded, dict), "a structured result is an object in every protocol era"
    return decoded


def _sendable_text(text: str) -> str:
    """A lone surrogate, as a file name can hold it, would end the connection."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
