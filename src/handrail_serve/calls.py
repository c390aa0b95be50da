"""Perform one operation for one request: within its time, in a worker thread, in the requested dialect."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, TypeAlias

import msgspec

from handrail.contract.catalogue import E_TIMEOUT
from handrail.contract.deprecations import find_used
from handrail.contract.disclosure.fields import Ask
from handrail.contract.envelopes.cli import encode_document, to_cli
from handrail.contract.envelopes.lafs import about_session, to_lafs
from handrail.contract.outcome import (
    DONE,
    Call,
    Commits,
    Failure,
    Fault,
    Json,
    Notice,
    Outcome,
    Success,
    make_stand_in,
)
from handrail.runtime.hub import perform
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.results import run_guarded
from handrail_serve.exchange import (
    JSON_TYPE,
    Response,
    deprecation_headers,
    failure_headers,
    problem,
)

Dialect: TypeAlias = Literal["native", "lafs"]
LAFS_TYPE = b"application/vnd.lafs.envelope+json"
TOOL = "handrail http"
_WIDEST_MS = 3_600_999


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a handler of the server needs."""

    runtime: Runtime
    notices: Callable[[str], Sequence[Notice]]
    """Function from an operation to the stored notices that its answers carry."""
    operation_seconds: float


class CallTime:
    """`ports.Interruptions` of one request: its operation is asked to end when its time is over."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds

    def defer(self) -> AbstractContextManager[None]:
        return nullcontext()

    def stop_reason(self) -> Literal["", "signal", "deadline"]:
        return "deadline" if time.monotonic() >= self._ends_at else ""

    def end_here(self) -> None:
        if self.stop_reason():
            raise Fault(
                E_TIMEOUT,
                "The call took too long and was ended; nothing was changed.",
                details={"committed": False},
                hint="Send the call again, or run it on the command line, which waits longer.",
            )

    def ms_left(self) -> int | None:
        return max(0, int((self._ends_at - time.monotonic()) * 1000))

    def pause(self, milliseconds: int) -> None:
        time.sleep(milliseconds / 1000)
        self.end_here()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One call as a request makes it."""

    operation: str
    params: dict[str, Json]
    ask: Ask = Ask()
    dialect: Dialect = "native"
    request_id: str
    source: str
    """Name of the interface in the audit, such as `POST /api/run.start`."""
    needs_key: bool = True
    is_at_console: bool = False
    """Whether the call comes from a page of the Console, where a person answers."""


def perform_call(served: Served, asked: Asked, commits: Commits | None = None) -> Outcome:
    """Return the outcome of the operation. Never raises."""
    runtime = msgspec.structs.replace(
        served.runtime,
        interruptions=CallTime(served.operation_seconds),
        is_at_console=asked.is_at_console,
    )
    caller = Caller(tool=TOOL, command=asked.source, needs_key=asked.needs_key)
    call = _call(served, asked)
    return perform(
        runtime,
        asked.operation,
        asked.params,
        asked.ask,
        lambda success: _measure(success, call, asked),
        caller,
        commits,
    )


def answer_call(served: Served, asked: Asked) -> Response:
    """Return the response to one call. Once the call has changed something it has succeeded, whatever
    follows.
    """
    commits = Commits()
    started_ms = served.runtime.clock.monotonic_ms()

    def work() -> Response:
        outcome = perform_call(served, asked, commits)
        return _render(served, asked, outcome, started_ms)

    answered = run_guarded(served.runtime, work)
    if not isinstance(answered, Failure):
        return answered
    if not commits.is_made:
        return problem(answered, asked.request_id)
    response = run_guarded(served.runtime, lambda: _render(served, asked, make_stand_in(commits), started_ms))
    return _LAST_WORD if isinstance(response, Failure) else response


def answer_read(served: Served, plain: Asked, read: Callable[[], Asked]) -> Response:
    """Return the response to a call that `read` reads first; a call that cannot be read is refused in the
    dialect of `plain`.

    `read` may raise Fault.
    """
    asked = run_guarded(served.runtime, read)
    if isinstance(asked, Failure):
        return _render(served, plain, asked, served.runtime.clock.monotonic_ms())
    return answer_call(served, asked)


_LAST_WORD = Response(
    headers=((b"content-type", JSON_TYPE),),
    body=encode_document(
        {
            "ok": True,
            "schema_version": "1.0",
            "data": {"committed": True, "message": DONE},
            "meta": {"duration_ms": 0},
        },
        compact=True,
    ),
)
"""The answer of a call that changed something but whose reply cannot be built."""


def _call(served: Served, asked: Asked) -> Call:
    notices = () if asked.ask.budget is not None else tuple(served.notices(asked.operation))
    return Call(
        operation=asked.operation,
        request_id=asked.request_id,
        at=served.runtime.clock.now(),
        transport="http",
        notices=notices,
    )


def _render(served: Served, asked: Asked, outcome: Outcome, started_ms: int) -> Response:
    """Return the outcome in its dialect."""
    removals = deprecation_headers(find_used(asked.operation, asked.params))
    if isinstance(outcome, Failure) and asked.dialect == "native":
        return problem(outcome, asked.request_id, removals)
    call = msgspec.structs.replace(
        _call(served, asked), duration_ms=served.runtime.clock.monotonic_ms() - started_ms
    )
    status = outcome.kind.http_status if isinstance(outcome, Failure) else 200
    extra = failure_headers(outcome) if isinstance(outcome, Failure) else ()
    media = LAFS_TYPE if asked.dialect == "lafs" else JSON_TYPE
    body = _document(outcome, call, asked)
    return Response(status=status, headers=((b"content-type", media), *extra, *removals), body=body)


def _document(outcome: Outcome, call: Call, asked: Asked) -> bytes:
    document = (
        to_lafs(outcome, about_session(outcome, call), mvi=asked.ask.mvi)
        if asked.dialect == "lafs"
        else to_cli(outcome, call, command_line=lambda _: None)
    )
    return encode_document(document, compact=True)


def _measure(success: Success, call: Call, asked: Asked) -> int:
    """Return the size of the answer with its duration at its longest, so that a budget always holds."""
    return len(_document(success, msgspec.structs.replace(call, duration_ms=_WIDEST_MS), asked))
