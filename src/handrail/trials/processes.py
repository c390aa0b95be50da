"""Programs that a trial starts, each by a launcher that ends whatever is left, also if Handrail is killed."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, BinaryIO

import msgspec

from handrail.ports.trials import MOST_TAIL_BYTES, StopReason

_LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launcher.py")
_GRACE_SECONDS = 2.0
_LAUNCHER_SECONDS = 10.0
"""Seconds that the launcher has to end everything after it was asked to."""
_LOOK_SECONDS = 0.1
_CHUNK_BYTES = 65_536
_MOST_PRINTED_BYTES = 64 * 1024 * 1024

Mount = tuple[str, str]
"""The source of a mount, and its target."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """A program to start, and its place."""

    argv: tuple[str, ...]
    """The command; empty to try only the mounts."""
    directory: str
    root: str
    """Folder below which a program given by a relative path is found."""
    environment: Mapping[str, str] = {}
    mounts: tuple[Mount, ...] = ()
    seconds: float = 0.0
    keeps_printed: bool = False
    """Whether standard output is kept as a whole."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a program."""

    trouble: str = ""
    """Why the program did not start; empty if it did."""
    status: int | None = None
    """Exit status; negative for the number of the signal that ended the program, None if it did not end by
    itself.
    """
    stopped_by: StopReason = ""
    """`deadline` if its own time was over, `signal` if the caller asked for the end."""
    tail: str = ""
    printed: bytes | None = None
    duration_ms: int = 0
    processor_ms: int = 0


def launch(
    call: Launch, caller: Mapping[str, str], stop_reason: Callable[[], StopReason] = lambda: ""
) -> Ended:
    """Run a program to its end. Never raises for the program's sake."""
    started = time.monotonic()
    with ExitStack() as pipes:
        reading, control = _open_pipe(pipes)
        answers, writing = _open_pipe(pipes)
        try:
            child = subprocess.Popen(  # noqa: S603 - this interpreter with a file of this package
                [sys.executable, "-I", "-S", _LAUNCHER, str(reading.fileno()), str(writing.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if call.keeps_printed else subprocess.STDOUT,
                pass_fds=[reading.fileno(), writing.fileno()],
                env=dict(caller),
                cwd=os.sep,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Ended(trouble=f"it could not be started ({error})")
        with child:
            reading.close()
            writing.close()
            try:
                watched = _Watch(child, control, answers, call, stop_reason, started)
                answer = watched.follow()
            finally:
                control.close()  # if it has not answered, the launcher ends everything
    duration_ms = int((time.monotonic() - started) * 1000)
    ended = Ended(
        stopped_by=watched.asked,
        tail=watched.tail.decode("utf-8", "replace"),
        printed=bytes(watched.printed) if call.keeps_printed else None,
        duration_ms=duration_ms,
    )
    if answer is None:
        return msgspec.structs.replace(ended, trouble="" if watched.asked else "its launcher was killed")
    if "trouble" in answer:
        return msgspec.structs.replace(ended, trouble=answer["trouble"])
    status = None if watched.asked else answer["status"]
    return msgspec.structs.replace(ended, status=status, processor_ms=answer["cpu_ms"])


def _open_pipe(stack: ExitStack) -> tuple[BinaryIO, BinaryIO]:
    reading, writing = os.pipe()
    return stack.enter_context(open(reading, "rb", 0)), stack.enter_context(open(writing, "wb", 0))


class _Watch:
    """Reads what is printed until the launcher answers."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        control: BinaryIO,
        answers: BinaryIO,
        call: Launch,
        stop_reason: Callable[[], StopReason],
        started: float,
    ) -> None:
        self._child = child
        self._control = control
        self._answers = answers
        self._call = call
        self._stop_reason = stop_reason
        self._started = started
        self.tail = bytearray()
        self.printed = bytearray()
        self.asked: StopReason = ""

    def follow(self) -> dict[str, Any] | None:
        """Return the launcher's answer; None if it gave none."""
        with suppress(OSError):  # it was killed: it gives no answer
            _send(self._control, _encode(self._call))
        pipes = {file.fileno() for file in (self._child.stdout, self._child.stderr) if file is not None}
        received = b""
        is_answered = False
        kill_at = 0.0
        while not is_answered or pipes:
            ready = select.select(
                [*pipes, *([] if is_answered else [self._answers.fileno()])], [], [], _LOOK_SECONDS
            )[0]
            for file in ready:
                if file == self._answers.fileno():
                    part = os.read(file, _CHUNK_BYTES)
                    received += part
                    is_answered = not part or received.endswith(b"\n")
                elif not self._take(file):
                    pipes.discard(file)
            if is_answered and not ready:
                break  # something that nobody could end holds the pipe
            kill_at = self._look(kill_at) if not is_answered else kill_at
        return json.loads(received) if received.endswith(b"\n") else None

    def _take(self, file: int) -> bool:
        chunk = os.read(file, _CHUNK_BYTES)
        assert self._child.stdout is not None, "its output is a pipe"
        if self._call.keeps_printed and file == self._child.stdout.fileno():
            self.printed += chunk[: max(0, _MOST_PRINTED_BYTES - len(self.printed))]
        self.tail += chunk
        del self.tail[:-MOST_TAIL_BYTES]
        return bool(chunk)

    def _look(self, kill_at: float) -> float:
        """End the program if its time is over. Return the time at which the launcher itself is killed."""
        now = time.monotonic()
        if not self.asked:
            reason = self._stop_reason()
            is_over = self._call.seconds > 0 and now >= self._started + self._call.seconds
            self.asked = "signal" if reason else "deadline" if is_over else ""
            if self.asked:
                with suppress(OSError):
                    _send(self._control, self.asked.encode("ascii"))
                return now + _LAUNCHER_SECONDS
        elif now >= kill_at:
            with suppress(OSError):
                os.killpg(self._child.pid, signal.SIGKILL)
        return kill_at


def _send(control: BinaryIO, content: bytes) -> None:
    """Raises OSError."""
    while content:
        content = content[control.write(content) :]


def _encode(call: Launch) -> bytes:
    return (
        json.dumps(
            {
                "argv": call.argv,
                "directory": call.directory,
                "root": call.root,
                "environment": dict(call.environment),
                "mounts": call.mounts,
                "grace": _GRACE_SECONDS,
            }
        ).encode()
        + b"\n"
    )


def can_mount(mounts: Sequence[Mount], caller: Mapping[str, str]) -> bool:
    """Whether these mounts can be made here, found out by trying."""
    place = mounts[0][1]
    if sys.platform != "linux":
        return False
    ended = launch(
        Launch(argv=(), directory=place, root=place, mounts=tuple(mounts), seconds=_LAUNCHER_SECONDS), caller
    )
    return not ended.trouble and ended.status == 0
