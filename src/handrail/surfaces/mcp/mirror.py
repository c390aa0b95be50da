"""The answer of a read operation as plain data, for what this surface shows beside the tools."""

from __future__ import annotations

from typing import Any

from handrail.contract.cli_envelope import payload_of
from handrail.contract.outcome import Failure, Fault, Json
from handrail.contract.shape import Ask
from handrail.runtime.hub import DEFAULT_ASK, perform
from handrail.runtime.permission import Caller
from handrail.runtime.registry import operation
from handrail.runtime.runtime import Runtime

_CALLER = Caller(tool="handrail mcp")


def told(runtime: Runtime, name: str, params: dict[str, Json], ask: Ask = DEFAULT_ASK) -> dict[str, Any]:
    """The payload, as every surface sends it. Raises Fault for a failure."""
    assert operation(name).effect == "read", "what stands beside the tools only reads"
    outcome = perform(runtime, name, params, ask, caller=_CALLER)
    if isinstance(outcome, Failure):
        raise Fault(
            outcome.kind,
            outcome.message,
            details=outcome.details,
            hint=outcome.hint,
            next_call=outcome.next_call,
        )
    payload = payload_of(outcome)
    assert isinstance(payload, dict), "every read answers with an object"
    return payload
