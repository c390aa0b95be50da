"""The library API: the same operations, called from Python.

import handrail

store = handrail.Handrail()
reply = store.call("run.start", {"workflowId": "wr.small_change", "requestId": "ticket-7"})
reply = store.call("run.continue", {"ackToken": reply["ackToken"], "output": {"notesMarkdown": "planned"}})
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.contract.disclosure.fields import Ask
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Failure, Json, Notice, Outcome, Success
from handrail.operations.kept_trees import take_for_command
from handrail.runtime.hub import DEFAULT_ASK, perform, try_afterwards
from handrail.runtime.outward import notify_people
from handrail.runtime.runtime import Due, NoticeDue, Runtime
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
        return self._runtime.registry.names

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
        """The whole outcome, for callers who want notices, paging or the failure as a value.

        The files of a new step are kept before this returns, as after a command and within the same time.
        """
        if operation not in self.operations:
            raise ValueError(f"{operation!r} is not an operation; choose from {', '.join(self.operations)}")
        due: list[Due] = []
        runtime = msgspec.structs.replace(self._runtime, trees_due=due)
        started = time.monotonic()
        outcome = perform(runtime, operation, params or {}, ask)
        seconds = time.monotonic() - started
        skipped = [why for one in due if (why := _take_tree(runtime, one, seconds))]
        if not skipped or isinstance(outcome, Failure):
            return outcome
        message = f"The files of this step were not kept: {skipped[0]}."
        notice = Notice(type="tree_skipped", message=message[:1000], severity="info")
        return msgspec.structs.replace(outcome, notices=(*outcome.notices, notice))


def _take_tree(runtime: Runtime, due: Due, seconds: float) -> str:
    if isinstance(due, NoticeDue):
        return try_afterwards(runtime, lambda: notify_people(runtime, due))
    return try_afterwards(runtime, lambda: take_for_command(runtime, due, seconds))
