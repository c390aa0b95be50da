"""The library API: the same operations, called from Python.

import handrail

store = handrail.Handrail()
reply = store.call("run.start", {"workflowId": "wr.small_change", "requestId": "ticket-7"})
reply = store.call("run.continue", {"ackToken": reply["ackToken"], "output": {"notesMarkdown": "planned"}})
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from handrail.contract.disclosure.fields import Ask
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Failure, Json, Outcome, Success
from handrail.runtime.hub import DEFAULT_ASK, perform
from handrail.runtime.operation import OPERATION_NAMES
from handrail.wiring import build_runtime


class OperationFailed(Exception):
    """An operation answered with a Failure; `failure.kind` is its row of the catalogue."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind.code}: {failure.message} {failure.hint or failure.kind.hint}")
        self.failure = failure


class Handrail:
    """One store on this machine. Safe to share between threads; it holds no open files."""

    def __init__(self, home: str = "", environment: Mapping[str, str] | None = None) -> None:
        """`home` is where the state lives; default: HANDRAIL_HOME, else `.handrail` in the user's home."""
        self._runtime = build_runtime(os.environ if environment is None else environment, home=home)

    @property
    def operations(self) -> tuple[str, ...]:
        """The names that `call` takes; docs/reference describes each."""
        return OPERATION_NAMES

    def call(self, operation: str, params: dict[str, Json] | None = None) -> Any:
        """The payload of an operation: the same object that the CLI shows as `data`.

        Raises OperationFailed, and ValueError for an unknown operation.
        """
        match self.outcome(operation, params):
            case Success() as success:
                return payload_of(success)
            case failure:
                raise OperationFailed(failure)

    def outcome(
        self, operation: str, params: dict[str, Json] | None = None, ask: Ask = DEFAULT_ASK
    ) -> Outcome:
        """The whole outcome, for callers who want notices, paging or the failure as a value."""
        if operation not in OPERATION_NAMES:
            raise ValueError(f"{operation!r} is not an operation; choose from {', '.join(OPERATION_NAMES)}")
        return perform(self._runtime, operation, params or {}, ask)
