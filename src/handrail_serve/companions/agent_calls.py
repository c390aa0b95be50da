"""What the message of another agent asks for, and how its task ends. Needs no library of the protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.catalogue import E_NOT_FOUND
from handrail.contract.outcome import Failure, Json
from handrail.contract.wording import quote
from handrail_serve.api import offered_operations, read_message_call
from handrail_serve.calls import Asked, Served, answer_read, answer_refused
from handrail_serve.companions.agent_card import A2A
from handrail_serve.exchange import Response

State: TypeAlias = Literal["COMPLETED", "INPUT_REQUIRED", "AUTH_REQUIRED", "REJECTED", "FAILED"]
LONGEST_ID = 200
TASKS_KEPT = 256
TASK_BYTES_KEPT = 16 * 1024 * 1024
"""Envelopes of past tasks, in all; the oldest go first."""
SHAPE = (
    "The message must have one data part with an object: "
    '{"operation": "session.list", "input": {…}}; the agent card names the operations.'
)
_DOOR = f"POST {A2A}"


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended, and the LAFS envelope that says so."""

    state: State
    body: bytes


def read_call(parts: Sequence[Json]) -> tuple[str, dict[str, Json]] | None:
    """The operation and the input that the data of a message's parts name; None where they do not."""
    match list(parts):
        case [{"operation": str() as operation, **rest}] if set(rest) <= {"input"}:
            given = rest.get("input", {})
            return (operation, _with_integers(given)) if isinstance(given, dict) else None
        case _:
            return None


def _with_integers(value: Any) -> Any:
    """The value with 5 for 5.0: clients of this protocol can send no other numbers."""
    match value:
        case dict():
            return {name: _with_integers(one) for name, one in value.items()}
        case list():
            return [_with_integers(one) for one in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def perform_for_agent(served: Served, request_id: str, operation: str, given: dict[str, Json]) -> Done:
    """Perform the operation. Never raises: trouble is a state and an envelope too."""
    named = operation[:LONGEST_ID]
    plain = Asked(operation=named, params={}, dialect="lafs", request_id=request_id, door=_DOOR)
    called = next((one for one in offered_operations(served.runtime.registry) if one.name == operation), None)
    if called is None:
        unknown = Failure(
            kind=E_NOT_FOUND,
            message=f"No operation of this server is named {quote(operation)}.",
            details={"resource": "operation", "id": named},
            hint="Use the id of a skill of the agent card.",
        )
        return Done(state="REJECTED", body=_bytes_of(answer_refused(served, plain, unknown)))
    response = answer_read(served, plain, lambda: read_message_call(called, given, request_id, _DOOR))
    body = _bytes_of(response)
    return Done(state=_state_of(response.status, json.loads(body)), body=body)


def _state_of(status: int, envelope: Any) -> State:
    if status == 200:
        result = envelope.get("result")
        is_blocked = isinstance(result, dict) and result.get("kind") == "blocked"
        return "INPUT_REQUIRED" if is_blocked else "COMPLETED"
    error = envelope.get("error") or {}
    return "AUTH_REQUIRED" if error.get("category") == "AUTH" else "FAILED"


def _bytes_of(response: Response) -> bytes:
    assert isinstance(response.body, bytes), "an operation is answered as a whole"
    return response.body
