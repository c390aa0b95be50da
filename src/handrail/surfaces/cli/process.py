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
if TYPE_CHECKING:  # this file is loaded before everything else, so it loads nothing that it can spare
    from typing import Literal

    from handrail.contract.outcome import Commits

STDIN, STDOUT, STDERR = 0, 1, 2
_CHUNK_BYTES = 65_536
_GONE = frozenset({errno.EPIPE, errno.ECONNRESET})


class Interrupted(BaseException):
    """A signal, or the deadline, ended the call before anything was committed.

    Not an Exception: nothing below may take it for trouble of its own.
    """

    def __init__(self, *, is_deadline: bool) -> None:
        super().__init__("the deadline passed" if is_deadline else "a signal arrived")
        self.is_deadline = is_deadline


class Process:
    """The state that signal handlers share with the call they interrupt.

    It starts shielded, so that a signal during start-up waits until somebody can answer for it.
    """

    def __init__(self) -> None:
        self.stdout_was_closed = False
        self.redact: Callable[[bytes], bytes] = _unchanged
        """Takes secrets out of everything that is written."""
        self.farewell: Callable[[], tuple[bytes, bytes, int]] | None = None
        """Makes the answer to a second signal: stdout, stderr, exit status."""
        self.commits: Commits | None = None
        """What the call has changed; whoever performs it notes it there."""
        self.untold: Callable[[], bytes] = bytes
        """What stderr is told of a change when stdout cannot take the answer."""
        self._shields = 1
        self._is_settled = False
        self._is_delivering = False
        self._pending: Interrupted | None = None
        self._signals = 0
        self._ends_at: float | None = None

    def take_over(self) -> None:
        """Make descriptors 0 to 2 real and answer signals ourselves. The first thing a call does."""
        self.stdout_was_closed = _repair_descriptors()
        signal.signal(signal.SIGINT, self._on_signal)
        signal.signal(signal.SIGTERM, self._on_signal)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # `nohup` asked for that
            signal.signal(signal.SIGHUP, self._on_signal)
        signal.signal(signal.SIGALRM, self._on_alarm)

    def hand_back(self) -> None:
        """Give signals back to a server that has its own way to stop."""
        self._settle_timer()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def open_to_signals(self) -> None:
        """From here on a signal raises Interrupted in the main thread; one that waited raises now."""
        self._shields = 0
        self._raise_pending()

    def shielded(self) -> Shield:
        """The scope of a commit: a signal inside waits until it ends."""
        return Shield(self)

    def defer(self) -> Deferral:
        """The scope of work in parts: it asks between them whether to end (`ports.Interruptions`)."""
        return Deferral(self)

    def stop_reason(self) -> Literal["", "signal", "deadline"]:
        """What waits to end the call."""
        if self._pending is None:
            return ""
        return "deadline" if self._pending.is_deadline else "signal"

    def end_here(self) -> None:
        """Nothing to do: a signal raises by itself, and one that waits behind a shield raises after it."""

    def pause(self, milliseconds: int) -> None:
        """Let some time pass; a signal ends it, and the call."""
        time.sleep(milliseconds / 1000)

    def settle(self) -> None:
        """The outcome is certain: from here on the truth is told, whatever arrives."""
        self._is_settled = True
        self._settle_timer()

    def start_deadline(self, seconds: int) -> None:
        """Raise Interrupted when the time is over; it covers stdin, lock waits and the work itself."""
        self._ends_at = time.monotonic() + seconds
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def seconds_left(self) -> float | None:
        return None if self._ends_at is None else max(0.0, self._ends_at - time.monotonic())

    def read_stdin(self, limit_bytes: int) -> bytes:
        """Everything on stdin, or `limit_bytes` + 1 bytes of it. Waits no longer than the deadline."""
        chunks: list[bytes] = []
        missing = limit_bytes + 1
        while missing > 0:
            # A signal that arrives right before a blocking read would be lost; select has its own clock.
            ready, _, _ = select.select([STDIN], [], [], self.seconds_left())
            if not ready:
                raise Interrupted(is_deadline=True)
            chunk = os.read(STDIN, min(_CHUNK_BYTES, missing))
            if not chunk:
                break
            chunks.append(chunk)
            missing -= len(chunk)
        return b"".join(chunks)

    def deliver(self, out: bytes, err: bytes, status: int, undelivered: int) -> int:
        """Write the whole answer once; the exit status, `undelivered` when the disk refused a success."""
        self.settle()
        self._is_delivering = True
        _write_if_possible(STDERR, self.redact(err))
        try:
            _write_all(STDOUT, self.redact(out))
        except OSError as error:
            return self._undelivered(error, status, undelivered)
        return status

    def deliver_line(self, line: bytes) -> OSError | None:
        """Write one line of a stream whole, whatever arrives meanwhile; what went wrong with stdout."""
        with Shield(self):
            try:
                _write_all(STDOUT, self.redact(line))
            except OSError as error:
                return error
        return None

    def end_stream(self, error: OSError, undelivered: int) -> int:
        """The exit status of a stream that nobody could read to its end."""
        self.settle()
        return self._undelivered(error, 0, undelivered)

    def tell(self, line: bytes) -> None:
        """A line for people beside the answer."""
        with Shield(self):
            _write_if_possible(STDERR, self.redact(line))

    def _undelivered(self, error: OSError, status: int, undelivered: int) -> int:
        if error.errno in _GONE:
            return status  # the reader has what it wanted
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
        self._pending = self._pending or cause
        if not self._shields:
            self._raise_pending()

    def _raise_pending(self) -> None:
        """Raise once: whoever catches it answers, and must not be interrupted again."""
        if self._pending is not None and not self._is_settled:
            self.settle()
            raise self._pending

    def _leave_now(self, number: int) -> None:
        """A second signal: say what is known and go, without another look at the work."""
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
    """`with process.shielded():` around what must not be torn apart."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def __enter__(self) -> None:
        self._process._shields += 1

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self._process._shields -= 1
        if kind is None and not self._process._shields:
            self._process._raise_pending()


class Deferral:
    """`with process.defer():` around work that ends between its parts, with the truth about each."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def __enter__(self) -> None:
        self._process._shields += 1

    def __exit__(self, _: object, __: object, ___: object) -> None:
        self._process.settle()
        self._process._shields -= 1


def _unchanged(content: bytes) -> bytes:
    return content


def request_id() -> str:
    """A name for this call, for the LAFS envelope and for reports."""
    return "req_" + os.urandom(10).hex()


def timestamp() -> str:
    """Now, in UTC, as the envelopes write it."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{milliseconds:03}Z"


def is_terminal(descriptor: int) -> bool:
    return os.isatty(descriptor)


def terminal_width() -> int:
    """Columns of the terminal that stdout is; 0 where it is none."""
    try:
        return os.get_terminal_size(STDOUT).columns
    except OSError:
        return 0


def _repair_descriptors() -> bool:
    """Open the null device where 0, 1 or 2 is closed, else a store file would become descriptor 1."""
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
        return  # nobody is left to tell; the exit status still does
