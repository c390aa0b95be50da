"""What every dialect derives from a Failure and its catalogue row. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Failure, Json, NextCall


def hint_of(failure: Failure) -> str:
    """What to do now: the failure's own words, else those of its row."""
    return failure.hint or failure.kind.hint


def wait_ms_of(failure: Failure) -> int | None:
    """How long to wait before the same call may work; None when waiting is not the answer."""
    return failure.kind.wait_ms if failure.retry_after_ms is None else failure.retry_after_ms


def domain_code_of(failure: Failure) -> dict[str, Json]:
    """`domain_code`, unless the kind itself is a native code."""
    kind = failure.kind
    return {} if kind.code == kind.native else {"domain_code": kind.code}


def native_details(failure: Failure) -> dict[str, Json]:
    """The details of the CLI dialect without the next call, which each surface spells in its own way."""
    details = {**failure.details, **domain_code_of(failure), "agent_action": failure.kind.agent_action}
    if failure.kind.needs_escalation:
        details["escalation_required"] = True
    wait_ms = wait_ms_of(failure)
    if wait_ms is not None:
        details["retry_after_ms"] = wait_ms
    details["hint"] = hint_of(failure)
    return details


def operation_call(call: NextCall) -> dict[str, Json]:
    """The next call as a surface-neutral pair."""
    return {"operation": call.operation, "params": call.params}
