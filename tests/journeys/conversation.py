"""How journeys talk to the product: operations through the hub, answers as plain data."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Failure, Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime


def answer(runtime: Runtime, operation: str, **params: Any) -> dict[str, Any]:
    """The payload of a call that must succeed."""
    outcome = perform(runtime, operation, params)
    assert isinstance(outcome, Success), f"{operation} failed: {outcome}"
    payload = payload_of(outcome)
    assert isinstance(payload, dict)
    return payload


def refusal(runtime: Runtime, operation: str, **params: Any) -> Failure:
    """The failure of a call that must fail."""
    outcome = perform(runtime, operation, params)
    assert isinstance(outcome, Failure), f"{operation} was accepted: {outcome}"
    return outcome


def start(runtime: Runtime, **params: Any) -> dict[str, Any]:
    return answer(runtime, "run.start", **{"workflowId": "project.three_steps"} | params)


def advance(runtime: Runtime, reply: dict[str, Any], notes: str = "done", **params: Any) -> dict[str, Any]:
    return answer(
        runtime, "run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": notes}, **params
    )


def save(runtime: Runtime, reply: dict[str, Any], notes: str) -> dict[str, Any]:
    output = {"notesMarkdown": notes}
    return answer(runtime, "run.checkpoint", checkpointToken=reply["checkpointToken"], output=output)


def rehydrate(runtime: Runtime, reply: dict[str, Any]) -> dict[str, Any]:
    return answer(runtime, "run.continue", stateToken=reply["stateToken"])


def commits_of(runtime: Runtime) -> int:
    """How many plans were committed; the store counts them in its own way."""
    log: Any = runtime.log
    count: int = log.commits
    return count


_V = TypeVar("_V")


def viewed(kind: type[_V], reply: dict[str, Any]) -> _V:
    """A reply as the typed view that the Console draws."""
    return msgspec.convert(reply, kind)
