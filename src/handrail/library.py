"""The Python API: typed calls of the same operations that the command line has.

import handrail

store = handrail.Handrail.open()
reply = store.start("wr.small_change", goal="Fix the rounding", request_id="ticket-7")
reply = store.continue_(reply.ack_token, notes="Planned.")
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from handrail.contract.catalogue import E_CHECK_FAILED
from handrail.contract.disclosure.fields import Ask
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.ids import Autonomy, RiskPolicy
from handrail.contract.outcome import Failure, Json, Notice, Outcome, Success, is_stand_in
from handrail.engine.reply import Reply
from handrail.operations.checks.prove_change import ProvenChange
from handrail.operations.kept_trees import take_for_command
from handrail.operations.sessions.resume_session import Candidate
from handrail.runtime.hub import DEFAULT_ASK, perform, try_afterwards
from handrail.runtime.outward import notify_people
from handrail.runtime.runtime import Due, NoticeDue, Runtime
from handrail.views.sessions import SessionView
from handrail.wiring import build_runtime

# What can go wrong: one exception per group of the error catalogue


class OperationFailed(Exception):
    """A call failed. `failure` has the details, and `failure.kind` is its row of the error catalogue."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind.code}: {failure.message} {failure.hint or failure.kind.hint}")
        self.failure = failure

    @property
    def code(self) -> str:
        """The code in the error catalogue, such as `TOKEN_EXPIRED`."""
        return self.failure.kind.code

    @property
    def is_retryable(self) -> bool:
        """Whether the same call, sent again unchanged, may work."""
        return self.failure.kind.is_retryable


class InvalidCall(OperationFailed):
    """An argument is wrong; `failure.details["problems"]` lists every one."""


class NotFound(OperationFailed):
    """The workflow, session, run or file does not exist."""


class NotAllowed(OperationFailed):
    """A permission or a setting forbids the call."""


class ConfirmationNeeded(OperationFailed):
    """The call changes something and lacks the token or key that allows it."""


class Conflict(OperationFailed):
    """The state has changed, or the token is expired or used. Read the state again."""


class Unavailable(OperationFailed):
    """The network, a lock or the time limit was in the way. Send the same call again."""


class PersonNeeded(OperationFailed):
    """Only a person can do this."""


class ReplyNotBuilt(Exception):
    """The change is made and stored, but its answer could not be built. Do not repeat the call.

    `operation` and `params` are those of the call that reads the result.
    """

    def __init__(self, message: str, operation: str, params: dict[str, Json]) -> None:
        super().__init__(message)
        self.operation = operation
        self.params = params


_BY_EXIT_STATUS: dict[int, type[OperationFailed]] = {
    2: InvalidCall,
    3: NotFound,
    4: NotAllowed,
    5: ConfirmationNeeded,
    6: Conflict,
    7: Unavailable,
    8: Unavailable,
    9: PersonNeeded,
    130: Unavailable,
}
"""Every other failure is an OperationFailed: an input or output error, damaged data, a failing check."""


def _make_error(failure: Failure) -> OperationFailed:
    return _BY_EXIT_STATUS.get(failure.kind.exit_status, OperationFailed)(failure)


# What the calls return


class SessionPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of sessions, the last active first."""

    items: tuple[SessionView, ...]
    count: int
    has_more: bool
    next_cursor: str | None = None
    """Pass it as `cursor` for the next page."""
    scope: str
    """What was searched."""


class CandidatePage(msgspec.Struct, frozen=True, kw_only=True):
    """Work that can be continued, the best match first."""

    items: tuple[Candidate, ...]
    count: int
    has_more: bool
    next_cursor: str | None = None
    """Pass it as `cursor` for the next page."""
    project: str
    matched: bool
    """False: nothing matches, and the items are only the latest work."""
    scope: str
    """What was searched."""


_T = TypeVar("_T")


class Handrail:
    """One store on this machine. You can share it between threads; it holds no open files.

    Every method raises OperationFailed or the subclass that fits, and ReplyNotBuilt.
    """

    def __init__(self, home: str = "", environment: Mapping[str, str] | None = None) -> None:
        """`home` is where the state lives; default: HANDRAIL_HOME, else `.handrail` in the user's home."""
        self._runtime = build_runtime(os.environ if environment is None else environment, home=home)

    @classmethod
    def open(
        cls, store: str = "", *, project: str = "", environment: Mapping[str, str] | None = None
    ) -> Handrail:
        """Return the store in a directory [HANDRAIL_HOME, else `.handrail` in the user's home].

        `project` is the directory that the work is about [HANDRAIL_PROJECT, else the repository around
        the current directory]. `environment` replaces that of the process.
        """
        given = dict(os.environ if environment is None else environment)
        if project:
            given["HANDRAIL_PROJECT"] = os.path.abspath(project)
        return cls(home=os.path.abspath(store) if store else "", environment=given)

    # Runs

    def start(
        self,
        workflow_id: str,
        *,
        goal: str = "",
        context: Mapping[str, Json] | None = None,
        request_id: str = "",
        session: str = "",
        autonomy: Autonomy | None = None,
        risk_policy: RiskPolicy | None = None,
    ) -> Reply:
        """Start a run and return its first step. The same `request_id` again returns the same run."""
        asked = _given(autonomy=autonomy, riskPolicy=risk_policy)
        params = _given(goal=goal, context=context, requestId=request_id, session=session, preferences=asked)
        return self._ask("run.start", {"workflowId": workflow_id, **params}, Reply)

    def continue_(
        self,
        ack_token: str,
        *,
        notes: str = "",
        artifacts: Sequence[Mapping[str, Json]] = (),
        context: Mapping[str, Json] | None = None,
    ) -> Reply:
        """Report the pending step and return the next one; the same token again returns the same reply.

        `ack_token` is the `ack_token` of the newest reply, the `retry_ack_token` of a blocked one, or the
        token of one of `pending.choices`.
        """
        output = _given(notesMarkdown=notes, artifacts=[dict(one) for one in artifacts])
        params = _given(output=output, context=context)
        return self._ask("run.continue", {"ackToken": ack_token, **params}, Reply)

    def read_step(self, state_token: str) -> Reply:
        """Return the step of a reply again, with a recap of what came before. Changes nothing."""
        return self._ask("run.continue", {"stateToken": state_token}, Reply)

    def checkpoint(self, checkpoint_token: str, *, notes: str) -> Reply:
        """Save notes at the pending step without finishing it."""
        output: dict[str, Json] = {"notesMarkdown": notes}
        return self._ask("run.checkpoint", {"checkpointToken": checkpoint_token, "output": output}, Reply)

    # Sessions

    def sessions(
        self, *, query: str = "", status: str = "", workflow: str = "", limit: int = 50, cursor: str = ""
    ) -> SessionPage:
        """Return the stored sessions that match every filter."""
        params = _given(query=query, status=status, workflow=workflow, cursor=cursor)
        return self._ask("session.list", {"limit": limit, **params}, SessionPage)

    def resume(self, query: str = "", *, branch: str = "", limit: int = 5, cursor: str = "") -> CandidatePage:
        """Return the work that fits the words, a ticket, a branch or an id; without any, the latest."""
        params = _given(query=query, branch=branch, cursor=cursor)
        return self._ask("session.resume", {"limit": limit, **params}, CandidatePage)

    # Proof

    def prove(
        self,
        *checks: str,
        command: Sequence[str] = (),
        run: str = "",
        base: str = "",
        head: str = "",
        is_fresh: bool = False,
    ) -> ProvenChange:
        """Run declared checks, or one command, on old and new tests with old and new code.

        The result is in `word`. A failing check is a result here and raises nothing.
        """
        params = _given(names=list(checks), argv=list(command), run=run, base=base, head=head, fresh=is_fresh)
        try:
            return self._ask("check.prove", params, ProvenChange)
        except OperationFailed as failed:
            proof = failed.failure.details.get("proof")
            if failed.failure.kind is not E_CHECK_FAILED or proof is None:
                raise
            return msgspec.convert(proof, ProvenChange)

    # Every other operation, by its name

    @property
    def operations(self) -> tuple[str, ...]:
        """The names that `call` takes; docs/reference describes each."""
        return self._runtime.registry.names

    def call(self, operation: str, params: dict[str, Json] | None = None) -> Any:
        """Return the payload of an operation: the same object that the command line shows as `data`.

        Raises OperationFailed, and ValueError for an unknown operation.
        """
        match self.outcome(operation, params):
            case Success() as success:
                return payload_of(success)
            case failure:
                raise _make_error(failure)

    def outcome(
        self, operation: str, params: dict[str, Json] | None = None, ask: Ask = DEFAULT_ASK
    ) -> Outcome:
        """Return the whole outcome, for callers who want notices, paging or the failure as a value.

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

    def _ask(self, operation: str, params: dict[str, Json], kind: type[_T]) -> _T:
        match self.outcome(operation, params):
            case Success() as success:
                payload = payload_of(success)
            case failure:
                raise _make_error(failure)
        if is_stand_in(success):
            assert isinstance(payload, dict), "such an answer is an object"
            read = payload["read"]
            raise ReplyNotBuilt(payload["message"], read["operation"], read["params"])
        return msgspec.convert(payload, kind)


def _given(**arguments: Any) -> dict[str, Json]:
    """The arguments that the caller gave; an empty one stands for the default of the operation."""
    return {name: value for name, value in arguments.items() if value}


def _take_tree(runtime: Runtime, due: Due, seconds: float) -> str:
    if isinstance(due, NoticeDue):
        return try_afterwards(runtime, lambda: notify_people(runtime, due))
    return try_afterwards(runtime, lambda: take_for_command(runtime, due, seconds))
