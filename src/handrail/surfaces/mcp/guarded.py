"""Trouble of this surface as a value: the one place here where an exception becomes a failure."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar

from handrail.contract.catalogue import INTERNAL_ERROR as DEFECT
from handrail.contract.mcp_error import ToolCall, to_mcp_error
from handrail.contract.outcome import Failure, Fault, failure_of
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.messages import INTERNAL_ERROR, INVALID_PARAMS, Refusal

_T = TypeVar("_T")


def guarded(runtime: Runtime, work: Callable[[], _T]) -> _T | Failure:
    """What the work answers; trouble is an answer too, also a defect of this surface."""
    return _tried(work, lambda: runtime.incidents.record(traceback.format_exc()))


def _tried(work: Callable[[], _T], record: Callable[[], str]) -> _T | Failure:
    try:
        return work()
    except Fault as fault:
        return failure_of(fault)
    except Exception:  # noqa: BLE001 - the protocol library would send the exception's own words to the client
        # Keeping the traceback may fail for the same reason: no memory, no descriptor.
        incident = _tried(record, str)
        return Failure(
            kind=DEFECT,
            message="Handrail met an error that it does not know.",
            details={"incident": incident} if isinstance(incident, str) and incident else {},
        )


def refusal_of(failure: Failure, tool_call: ToolCall = lambda _: None) -> Refusal:
    """The failure as a protocol error; `tool_call` spells the call that is offered instead."""
    text, structured = to_mcp_error(failure, tool_call=tool_call)
    is_callers = failure.kind.http_status < DEFECT.http_status
    return Refusal(code=INVALID_PARAMS if is_callers else INTERNAL_ERROR, message=text, data=structured)
