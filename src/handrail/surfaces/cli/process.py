"""The process around one call: descriptors, signals, the deadline, stdin, and the one write to stdout."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType, TracebackType

TYPE_CHECKING = False
if TYPE_CHECKING:  # this file is loaded first, so it loads as little as possible
    from typing import Literal

    from handrail.contract.outcome import Commits
    from handrail.runtime.runtime import Due

STDIN, STDOUT, STDERR = 0, 1, 2
_CHUNK_BYTES = 65_536
_GONE = frozenset({errno.EPIPE, errno.ECONNRESET})


class Interrupted(BaseException):
    """A signal, or the deadline, ended the call before anything was committed.

    It is no Exception, so that code below does not catch it as an error of its own.
    """

    def __init__(self, *, is_deadline: bool) -> None:
        super().__init__("the deadline passed" if is_deadline else "a signal arrived")
        self.is_deadline = is_deadline


class Process:
    """The state that signal handlers share with the call they interrupt.

    It starts shielded, so that a signal during start-up waits until it can be answered.
    """

    def __init__(self) -> None:
        self.stdout_was_closed = False
        self.redact: Callable[[bytes], bytes] = _unchanged
        """Removes secrets from everything that is written."""
        self.farewell: Callable[[], tuple[bytes, bytes, int]] | None = None
        """Builds the answer to a second signal: stdout, stderr, exit status."""
        self.before_leaving: Callable[[], None] = _do_nothing
        """Ends what must not outlive the process after a second signal."""
        self.commits: Commits | None = None
        """What the call has changed, as the operation records it."""
        self.passed_status: int | None = None
        """The exit status of a program that the call ran, if the caller asked for it."""
        self.trees_due: list[Due] = []
        """Nodes whose files are read after the answer was written."""
        self.untold: Callable[[], bytes] = bytes
        """The line about a change for stderr, if stdout does not accept the answer."""
        self._shields = 1
        self._is_settled = False
        self._is_delivering = False
        self._pending: Interrupted | None = None
        self._signals = 0
        self._ends_at: float | None = None
        self._began_ns = time.monotonic_ns()

    def seconds_so_far(self) -> float:
        """Return how long the call has taken."""
        return (time.monotonic_ns() - self._began_ns) / 1e9

    def take_over(self) -> None:
        """Open closed descriptors 0 to 2 and handle signals. Every call begins with this."""
        self.stdout_was_closed = _repair_descriptors()
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGTERM, self._on_signal)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # `nohup` asked for that
            signal.signal(signal.SIGHUP, self._on_signal)
        signal.signal(signal.SIGALRM, self._on_alarm)

    def hand_back(self) -> None:
        """Restore the default handlers for a server that stops in its own way."""
        self._settle_timer()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def open_to_signals(self) -> None:
        """Let signals raise Interrupted in the main thread from here on; one that waited raises now."""
        self._shields = 0
        self._raise_pending()

    def shielded(self) -> Shield:
        """Return the scope of a commit: a signal inside waits until it ends."""
        return Shield(self)

    def defer(self) -> Shield:
        """Return the scope of work in parts, which asks between them whether to end
        (`ports.Interruptions`).
        """
        return Shield(self, is_settling=True)

    def stop_reason(self) -> Literal["", "signal", "deadline"]:
        """Return what is waiting to end the call; empty if nothing is."""
        if self._pending is None:
            return ""
        return "deadline" if self._pending.is_deadline else "signal"

    def end_here(self) -> None:
        """Do nothing: a signal raises by itself, or at the end of a shield."""

    def pause(self, milliseconds: int) -> None:
        """Sleep; a signal ends the sleep and the call."""
        time.sleep(milliseconds / 1000)

    def settle(self) -> None:
        """Mark the outcome as certain: from here on it is reported, whatever signal arrives."""
        self._is_settled = True
        self._settle_timer()

    def start_deadline(self, seconds: int) -> None:
        """Raise Interrupted when the time is over, even while waiting for stdin or a lock."""
        self._ends_at = time.monotonic() + seconds
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def ms_left(self) -> int | None:
        left = self.seconds_left()
        return None if left is None else int(left * 1000)

    def seconds_left(self) -> float | None:
        return None if self._ends_at is None else max(0.0, self._ends_at - time.monotonic())

    def read_stdin(self, limit_bytes: int) -> bytes:
        """Return everything on stdin, or `limit_bytes` + 1 bytes of it. Wait no longer than the deadline."""
        chunks: list[bytes] = []
        missing = limit_bytes + 1
        while missing > 0:
            # A signal right before a blocking read would be lost; select has its own timeout.
            ready, _, _ = select.select([STDIN], [], [], self.seconds_left())
            if not ready:
                self.settle()  # the alarm is due at the same moment, and only one of them is answered
                raise Interrupted(is_deadline=True)
            chunk = os.read(STDIN, min(_CHUNK_BYTES, missing))
            if not chunk:
                break
            chunks.append(chunk)
            missing -= len(chunk)
        return b"".join(chunks)

    def deliver(self, out: bytes, err: bytes, status: int, undelivered: int) -> int:
        """Write the whole answer once. Return the exit status: `undelivered` if stdout does not accept a
        success.
        """
        self.settle()
        self._is_delivering = True
        _write_if_possible(STDERR, self.redact(err))
        try:
            _write_all(STDOUT, self.redact(out))
        except OSError as error:
            return self._undelivered(error, status, undelivered)
        return status

    def deliver_line(self, line: bytes) -> OSError | None:
        """Write one whole line of a stream, whatever signal arrives. Return the error of stdout."""
        with Shield(self):
            try:
                _write_all(STDOUT, self.redact(line))
            except OSError as error:
                return error
        return None

    def end_stream(self, error: OSError, undelivered: int) -> int:
        """Return the exit status of a stream that could not be written to its end."""
        self.settle()
        return self._undelivered(error, 0, undelivered)

    def write_error(self, line: bytes) -> None:
        """Write a line for people to stderr."""
        with Shield(self):
            _write_if_possible(STDERR, self.redact(line))

    def _undelivered(self, error: OSError, status: int, undelivered: int) -> int:
        if error.errno in _GONE:
            return status  # the reader has read enough
        _write_if_possible(STDERR, f"handrail: stdout could not be written: {error.strerror}.\n".encode())
        _write_if_possible(STDERR, self.untold())
        return status or undelivered

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self._signals += 1
        if self._signals > 1:
            self._leave_now(number)
        self._stop(Interrupted(is_deadline=False))

    def _on_alarm(self, _: int, __: FrameType | None) -> None:
        self._stop(Interrupted(is_deadline=True))

    def _stop(self, cause: Interrupted) -> None:
        if self._is_settled:
            return
        # A signal still ends a call whose deadline is pending.
        if self._pending is None or not cause.is_deadline:
            self._pending = cause
        if not self._shields:
            self._raise_pending()

    def _raise_pending(self) -> None:
        """Raise once, because the code that catches it answers, and must not be interrupted again."""
        if self._pending is not None and not self._is_settled:
            self.settle()
            raise self._pending

    def _leave_now(self, number: int) -> None:
        """On a second signal, write what is known and exit at once."""
        self.before_leaving()
        if self.farewell is None or self._is_delivering:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self._is_delivering = True
        out, err, status = self.farewell()
        _write_if_possible(STDERR, self.redact(err))
        _write_if_possible(STDOUT, self.redact(out))
        os._exit(status)

    def _settle_timer(self) -> None:
        if self._ends_at is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)


class Shield:
    """The scope in which a signal waits; `is_settling` makes the outcome certain at its end, so that it is
    reported.
    """

    def __init__(self, process: Process, *, is_settling: bool = False) -> None:
        self._process = process
        self._is_settling = is_settling

    def __enter__(self) -> None:
        self._process._shields += 1

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        if self._is_settling:
            self._process.settle()
        self._process._shields -= 1
        if kind is None and not self._process._shields:
            self._process._raise_pending()


def _do_nothing() -> None:
    return


def _unchanged(content: bytes) -> bytes:
    return content


def request_id() -> str:
    """Return a random id of this call, for the LAFS envelope and for reports."""
    return "req_" + os.urandom(10).hex()


def timestamp() -> str:
    """Return the present time in UTC, as the envelopes write it."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{milliseconds:03}Z"


def is_terminal(descriptor: int) -> bool:
    return os.isatty(descriptor)


def terminal_width() -> int:
    """Return the columns of the terminal; 0 if stdout is none."""
    try:
        return os.get_terminal_size(STDOUT).columns
    except OSError:
        return 0


def _repair_descriptors() -> bool:
    """Open the null device if 0, 1 or 2 is closed; otherwise a store file would become descriptor 1."""
    was_closed = False
    for descriptor in (STDIN, STDOUT, STDERR):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            assert opened == descriptor, "the lowest free descriptor is the closed one"
            was_closed = was_closed or descriptor == STDOUT
    return was_closed


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])


def _write_if_possible(descriptor: int, content: bytes) -> None:
    try:
        _write_all(descriptor, content)
    except OSError:
        return  # no reader is left; the exit status still reports it
