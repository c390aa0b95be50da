"""Calls in progress: answered at once, run by threads, cancelled, overdue, or waiting for a person.

The reading thread takes messages and writes nothing after the handshake. One thread, the desk,
sends answers that are known at once and watches deadlines. Up to sixteen workers run operations. A
worker whose call is over, because its client cancelled it or its time passed, no longer counts, so
calls that hang block no others. A question to a person occupies no thread. One more thread takes
file snapshots, after the answers.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from io import FileIO
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Literal, assert_never

import msgspec
from msgspec import UNSET

from handrail.contract.catalogue import E_INTERRUPTED, E_TIMEOUT, SERVER_BUSY
from handrail.contract.outcome import Failure, Fault
from handrail.runtime.runtime import Due, Runtime
from handrail.surfaces.mcp.eras import Connection, Work
from handrail.surfaces.mcp.messages import (
    ANSWER_SECONDS,
    CALLS_AT_ONCE,
    INVALID_REQUEST,
    TOO_LONG,
    WORKFLOW_SET,
    ClientRequest,
    Id,
    Key,
    Malformed,
    Message,
    Notification,
    Refusal,
    Response,
    ResultOrRefusal,
    ToolSet,
    answer_line,
    key_of,
    notification_line,
    read_line,
    request_line,
)
from handrail.surfaces.mcp.questions import Waiting, elicitation, read_value
from handrail.surfaces.mcp.results import refusal_of, run_guarded

if TYPE_CHECKING:  # its first use loads it, which is after the first answer
    from handrail.surfaces.mcp.adapter import Adapter

_CANCELLED = "notifications/cancelled"
_TIDY_UP = b""
"""Makes the desk give memory back, in place of a line to send."""
_NO_LISTS = Refusal(
    code=INVALID_REQUEST,
    message="This protocol revision has no lists of messages. Send one message per line.",
)
_OPENING_IN_LIST = Refusal(code=INVALID_REQUEST, message="initialize cannot be part of a list of messages.")

HANGING_CALLS = 48
"""Threads that still work on calls that are over; with more of them, no further call is started."""
OWED_ANSWERS = 10_000
OWED_BYTES = 64 * 1024 * 1024
"""Bytes of requests without an answer yet; nothing more is read above this."""
BURST_BYTES = 4 * 1024 * 1024
"""Bytes of input after which memory is given back once every answer is sent."""
CALL_SECONDS = 55
"""Less than the minute after which most clients give up, so that they still get an answer."""
LAST_ANSWERS_SECONDS = 30
MOST_TREES_WAITING = 64
"""File snapshots that may wait; further calls then get none."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The most calls in progress, and their longest time."""

    calls_at_once: int = CALLS_AT_ONCE
    hanging_calls: int = HANGING_CALLS
    owed_answers: int = OWED_ANSWERS
    owed_bytes: int = OWED_BYTES
    call_seconds: float = CALL_SECONDS
    answer_seconds: float = ANSWER_SECONDS
    last_answers_seconds: float = LAST_ANSWERS_SECONDS


LIMITS = Limits()


class ServerParts(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that `main` provides and the first answer does not need."""

    offer: Callable[[], Adapter]
    give_back_memory: Callable[[], None]
    tool_set: ToolSet = WORKFLOW_SET
    take_tree: Callable[[Due], None] | None = None
    """Takes the file snapshot of a node after its answer is sent; None if files are not read."""


class Outlet:
    """The output for answers: whole lines, one at a time, from any thread."""

    def __init__(self, descriptor: int, wake: FileIO) -> None:
        self.trouble: OSError | None = None
        self._descriptor = descriptor
        self._wake = wake
        self._lock = threading.Lock()
        self._is_closed = False

    def send(self, line: bytes) -> None:
        """Write the line. Never raise: an error is stored, wakes the reader and ends the writing."""
        with self._lock:
            if self._is_closed or self.trouble is not None:
                return
            try:
                _write_all(self._descriptor, line + b"\n")
            except OSError as trouble:
                self.trouble = trouble
                with suppress(OSError, ValueError):  # the reader has ended
                    self._wake.write(b".")

    def close(self) -> None:
        """Close the output; a hanging thread may finish later, and its answer is dropped."""
        self._is_closed = True


class Batch:
    """The answers to a list of messages, sent as one list."""

    def __init__(self, missing: int) -> None:
        self._missing = missing
        self._lines: list[bytes] = []

    def add(self, line: bytes | None) -> bytes | None:
        """Return the whole list once it has the last answer. `line` is None for a request that gets none."""
        self._missing -= 1
        if line is not None:
            self._lines.append(line)
        return b"[" + b",".join(self._lines) + b"]" if not self._missing and self._lines else None


class Turn:
    """One worker's time with a call."""

    is_left = False
    """Whether the call was over before the worker finished it."""


class Call:
    """One request that a worker runs. Its operation asks here whether to end (`ports.Interruptions`)."""

    def __init__(self, request_id: Id, work: Work, size: int, batch: Batch | None, outlet: Outlet) -> None:
        self.id = request_id
        self.work = work
        self.size = size
        self.batch = batch
        self.ends_at = float("inf")
        self.is_over = False
        """Whether it was answered, cancelled or overdue, so that a later result is dropped."""
        self.is_cancelled = False
        self.turn = Turn()
        self.waiting: Waiting | None = None
        self.question = 0
        self._outlet = outlet

    def defer(self) -> AbstractContextManager[None]:
        return nullcontext()

    def stop_reason(self) -> Literal["", "signal", "deadline"]:
        if self.is_cancelled:
            return "signal"
        return "deadline" if time.monotonic() >= self.ends_at else ""

    def end_here(self) -> None:
        asked = self.stop_reason()
        if not asked:
            return
        raise Fault(
            E_TIMEOUT if asked == "deadline" else E_INTERRUPTED,
            "The call took too long and was ended; nothing was changed."
            if asked == "deadline"
            else "The client cancelled the call; nothing was changed.",
            details={"committed": False},
            hint="Send the call again.",
        )

    def ms_left(self) -> int | None:
        left = self.ends_at - time.monotonic()
        return None if left == float("inf") else max(0, int(left * 1000))

    def pause(self, milliseconds: int) -> None:
        left = max(0.0, self.ends_at - time.monotonic())
        time.sleep(min(milliseconds / 1000, left))

    def report(self, done: int, total: int, what: str) -> None:
        """Report how far the operation is, to a client that asked (`ports.Progress`)."""
        token = self.work.progress_token
        if token is None or self.is_over:
            return
        params = {"progressToken": token, "progress": done, "message": what}
        self._outlet.send(
            notification_line("notifications/progress", params | ({"total": total} if total else {}))
        )

    def write(self, line: str) -> None:
        del line  # it is for a terminal

    pass_on = write


class CallsInProgress:
    """Everything between an incoming line and the line that answers it."""

    def __init__(self, runtime: Runtime, parts: ServerParts, outlet: Outlet, limits: Limits = LIMITS) -> None:
        self._runtime = runtime
        self._parts = parts
        self._offered: Adapter | None = None
        self._offering = threading.Lock()
        self._outlet = outlet
        self._limits = limits
        self._connection = Connection(parts.tool_set)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        """Notified if fewer answers are pending than before."""
        self._jobs: SimpleQueue[Call | None] = SimpleQueue()
        self._quick: SimpleQueue[bytes | None] = SimpleQueue()
        self._by_key: dict[Key, Call] = {}
        self._working: dict[Call, None] = {}
        """Calls in the order of their start, so the first one is overdue first; the same goes for
        questions.
        """
        self._asked: dict[int, Call] = {}
        self._questions = 0
        self._owed = self._owed_bytes = self._carried_bytes = 0
        self._workers = self._idle = self._queued = self._hanging = 0
        self._is_closing = False
        self._due: SimpleQueue[Due | None] = SimpleQueue()
        self._trees = 0
        """File snapshots that are still to be taken."""
        self._is_looking = False

    def start(self) -> None:
        """Start the threads. Raises RuntimeError if no thread can be started."""
        threading.Thread(target=self._run_desk, name="desk", daemon=True).start()

    def take(self, line: bytes | None) -> None:
        """Take one line of the client, None if it was too long. Wait while too many answers are pending."""
        self._wait_for_room()
        if line is None:
            self._write_line(answer_line(None, TOO_LONG))
            return
        message = read_line(line)
        if not isinstance(message, list):
            self._take_one(message, len(line))
        elif not self._connection.takes_lists:
            self._write_line(answer_line(None, _NO_LISTS))
        else:
            batch = Batch(sum(isinstance(member, ClientRequest | Malformed) for member in message))
            for member in message:
                self._take_one(member, len(line) // len(message), batch)

    def finish(self) -> None:
        """Answer what is open after the client closed its end; ask no person."""
        with self._lock:
            self._is_closing = True
            asked = list(self._asked.values())
            self._asked.clear()
        for call in asked:
            self._settle_unanswered(call)
        with self._changed:
            self._changed.wait_for(
                lambda: not self._owed or self._outlet.trouble is not None,
                self._limits.last_answers_seconds,
            )

    def stop(self) -> None:
        """End after the file snapshots that answers have left; they need no client."""
        with self._changed:
            self._changed.wait_for(lambda: not self._trees, self._limits.last_answers_seconds)
        self._outlet.close()
        self._quick.put(None)
        with self._lock:
            workers = self._workers
        for _ in range(workers):
            self._jobs.put(None)
        self._due.put(None)

    def _take_one(self, message: Message, size: int, batch: Batch | None = None) -> None:
        match message:
            case ClientRequest():
                self._take_request(message, size, batch)
            case Notification(method=method, params=params):
                self._connection.hear(message)
                if method == _CANCELLED:
                    self._cancel(key_of(params.get("requestId")))
            case Response():
                self._take_response(message)
            case Malformed():
                self._write_line(answer_line(message.id, message.refusal), batch)
            case never:
                assert_never(never)

    def _take_request(self, request: ClientRequest, size: int, batch: Batch | None) -> None:
        is_misplaced = batch is not None and request.method == "initialize"
        answer = _OPENING_IN_LIST if is_misplaced else self._connection.answer(request)
        if not isinstance(answer, Work):
            line = answer_line(request.id, answer)
            if request.method == "initialize" and batch is None:
                self._outlet.send(line)  # no answer may overtake the one that opens the connection
            else:
                self._write_line(line, batch)
            return
        call = Call(request.id, answer, size, batch, self._outlet)
        with self._lock:
            self._owed += 1
            self._owed_bytes += size
            self._by_key[request.id.key] = call
            is_begun = self._enqueue(call)
        if not is_begun:
            self._settle(call, self._no_worker())

    def _take_response(self, response: Response) -> None:
        """Take the answer of a person; the call continues in a worker."""
        with self._lock:
            call = self._asked.pop(response.key, None) if isinstance(response.key, int) else None
            if call is None or call.waiting is None:
                return
            waiting = call.waiting
            value = UNSET if response.result is None else read_value(waiting.question, response.result)
            call.question = 0
            call.work = msgspec.structs.replace(
                call.work,
                perform=lambda _, rt: waiting.unanswered if value is UNSET else waiting.go_on(rt, value),
            )
            is_begun = self._enqueue(call)
        if not is_begun:
            self._settle(call, waiting.unanswered)

    def _enqueue(self, call: Call) -> bool:
        """Give the call to a worker, a new one if all are busy; return False if there is none.

        Called under the lock.
        """
        self._queued += 1
        may_hang = min(self._hanging, self._limits.hanging_calls)
        if self._queued > self._idle and self._workers < self._limits.calls_at_once + may_hang:
            self._start_worker()
        if self._workers <= self._hanging:
            self._queued -= 1
            return False
        self._jobs.put(call)
        return True

    def _start_worker(self) -> None:
        self._workers += 1
        self._idle += 1
        try:
            threading.Thread(target=self._work, name="worker", daemon=True).start()
        except RuntimeError:  # no more threads; the existing ones go on
            self._workers -= 1
            self._idle -= 1

    def _work(self) -> None:
        while (call := self._jobs.get()) is not None:
            turn = self._begin(call)
            if not call.is_over:
                self._perform(call)
            del call  # otherwise an idle worker keeps the last input in memory
            if self._has_too_many(turn):
                return

    def _begin(self, call: Call) -> Turn:
        with self._lock:
            self._queued -= 1
            self._idle -= 1
            call.turn = Turn()
            if not call.is_over:
                call.ends_at = time.monotonic() + self._limits.call_seconds
                self._working[call] = None
            return call.turn

    def _has_too_many(self, turn: Turn) -> bool:
        """Whether this worker is a spare one, started in place of a hanging one."""
        with self._lock:
            self._hanging -= turn.is_left
            is_spare = self._workers > self._limits.calls_at_once + self._hanging
            self._workers -= is_spare
            self._idle += not is_spare
            return is_spare

    def _perform(self, call: Call) -> None:
        due: list[Due] = []
        runtime = msgspec.structs.replace(
            self._runtime,
            interruptions=call,
            progress=call,
            trees_due=due if self._parts.take_tree is not None else None,
        )
        found = run_guarded(runtime, lambda: call.work.perform(self._adapter(), runtime))
        trees = self._expect_trees(due)
        if isinstance(found, Waiting):
            self._ask(call, found)
        else:
            self._settle(call, refusal_of(found) if isinstance(found, Failure) else found)
        for one in trees:  # only now, because the answer goes first
            self._due.put(one)

    def _expect_trees(self, due: list[Due]) -> list[Due]:
        """Return the snapshots that one thread of their own will take, so that no call waits for them."""
        with self._lock:
            expected = due[: max(0, MOST_TREES_WAITING - self._trees)]
            if expected and not self._is_looking:
                try:
                    threading.Thread(target=self._take_trees, name="trees", daemon=True).start()
                except RuntimeError:  # no more threads; the next node takes its own snapshot
                    return []
                self._is_looking = True
            self._trees += len(expected)
        return expected

    def _take_trees(self) -> None:
        """Take the snapshots. An error is stored as an incident and changes no answer."""
        take = self._parts.take_tree
        assert take is not None, "without it no call leaves a tree to be taken"
        while (due := self._due.get()) is not None:
            run_guarded(self._runtime, partial(take, due))
            del due  # otherwise an idle thread keeps the last snapshot in memory
            with self._changed:
                self._trees -= 1
                self._changed.notify_all()

    def _adapter(self) -> Adapter:
        """Return the adapter. The first caller creates it; the others wait."""
        with self._offering:
            self._offered = self._offered or self._parts.offer()
            return self._offered

    def _ask(self, call: Call, waiting: Waiting) -> None:
        """Send the question and free the worker; the answer arrives like any other message."""
        with self._lock:
            if call.is_over:
                return
            del self._working[call]
            call.waiting = waiting
            call.ends_at = time.monotonic() + self._limits.answer_seconds
            if not self._is_closing:
                self._questions += 1
                call.question = self._questions
                self._asked[call.question] = call
        if call.question:
            form = elicitation(waiting.question)
            self._outlet.send(request_line(call.question, "elicitation/create", form))
        else:
            self._settle(call, waiting.unanswered)

    def _settle_unanswered(self, call: Call) -> None:
        assert call.waiting is not None, "only a call that asked goes on without an answer"
        self._settle(call, call.waiting.unanswered)

    def _cancel(self, key: Key | None) -> None:
        """Cancel the call; the client then gets no answer."""
        with self._lock:
            call = None if key is None else self._by_key.get(key)
            if call is None or call.is_over:
                return
            call.is_cancelled = True
            self._end(call)
            is_asked = self._asked.pop(call.question, None) is not None
        if is_asked:
            self._cancel_notice(call, "caller cancelled")
        self._reply(call, None)

    def _end(self, call: Call) -> None:
        """End the call though its operation may continue, so that its worker no longer counts.
        Under the lock.
        """
        call.is_over = True
        if call in self._working:
            del self._working[call]
            call.turn.is_left = True
            self._hanging += 1
            if self._queued > self._idle and self._hanging <= self._limits.hanging_calls:
                self._start_worker()

    def _settle(self, call: Call, answer: ResultOrRefusal) -> None:
        """Answer the call once; a late answer is dropped."""
        with self._lock:
            if call.is_over:
                return
            call.is_over = True
            self._working.pop(call, None)
        self._reply(call, answer_line(call.id, answer))

    def _reply(self, call: Call, line: bytes | None) -> None:
        self._send(line, call.batch)
        with self._changed:
            if self._by_key.get(call.id.key) is call:
                del self._by_key[call.id.key]
            self._owed_bytes -= call.size
            self._carried_bytes += call.size
            self._count_answer()

    def _count_answer(self) -> None:
        """Count one pending answer less. Under the lock."""
        self._owed -= 1
        self._changed.notify_all()
        if not self._owed and self._carried_bytes >= BURST_BYTES:
            self._carried_bytes = 0
            self._quick.put(_TIDY_UP)

    def _send(self, line: bytes | None, batch: Batch | None) -> None:
        if batch is not None:
            with self._lock:
                line = batch.add(line)
        if line is not None:
            self._outlet.send(line)

    def _write_line(self, line: bytes, batch: Batch | None = None) -> None:
        """Leave a line at the desk, because the reading thread must not wait for a client that does
        not read.
        """
        if batch is not None:
            with self._lock:
                joined = batch.add(line)
            if joined is None:
                return
            line = joined
        with self._lock:
            self._owed += 1
            self._owed_bytes += len(line)
        self._quick.put(line)

    def _cancel_notice(self, call: Call, reason: str) -> None:
        self._write_line(notification_line(_CANCELLED, {"requestId": call.question, "reason": reason}))

    def _run_desk(self) -> None:
        """Run the desk: send the next line, or end what is overdue, whichever comes first."""
        longest = min(self._limits.call_seconds, self._limits.answer_seconds)
        while True:
            with self._lock:
                nearest = [next(iter(held)).ends_at for held in (self._working, self._asked.values()) if held]
            left = min([*(at - time.monotonic() for at in nearest), longest])
            try:
                line = self._quick.get(timeout=max(0.0, left))
            except Empty:
                self._end_overdue()
                continue
            if line is None:
                return
            if line is _TIDY_UP:
                self._parts.give_back_memory()
                continue
            self._outlet.send(line)
            with self._changed:
                self._owed_bytes -= len(line)
                self._count_answer()
            if left <= 0:
                self._end_overdue()

    def _end_overdue(self) -> None:
        now = time.monotonic()
        with self._lock:
            overdue = [call for call in self._working if call.ends_at <= now]
            for call in overdue:
                self._end(call)
            unanswered = [call for call in self._asked.values() if call.ends_at <= now]
            for call in unanswered:
                del self._asked[call.question]
        for call in overdue:
            answer = self._adapter().overdue(call.work.tool, self._limits.call_seconds)
            self._reply(call, answer_line(call.id, answer))
        for call in unanswered:
            self._cancel_notice(call, "nobody answered")
            self._settle_unanswered(call)

    def _no_worker(self) -> ResultOrRefusal:
        return refusal_of(
            Failure(
                kind=SERVER_BUSY,
                message=f"{self._hanging} calls hang and no thread is left for this one; nothing was done.",
                hint="Restart the server, then send the call again.",
            )
        )

    def _wait_for_room(self) -> None:
        def has_room() -> bool:
            is_little = self._owed < self._limits.owed_answers and self._owed_bytes < self._limits.owed_bytes
            return is_little or self._outlet.trouble is not None

        with self._changed:
            while not self._changed.wait_for(has_room, timeout=1.0):
                continue  # an error of stdout wakes nobody here


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
