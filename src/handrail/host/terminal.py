"""`ports.Terminal` on this machine: the controlling terminal itself, whatever stdin and stdout are."""

from __future__ import annotations

import os
import select
import termios
from collections.abc import Callable
from contextlib import suppress

PLACE = "/dev/tty"
LONGEST_ANSWER = 1_000
_LOOK_SECONDS = 0.2


class LocalTerminal:
    """The terminal that the process was started from, if a person can answer there."""

    def ask(self, text: str, must_stop: Callable[[], bool]) -> str | None:
        try:
            terminal = os.open(PLACE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if os.tcgetpgrp(terminal) != os.getpgrp():  # in the background a read would only stop us
                return None
            with suppress(termios.error):
                termios.tcflush(terminal, termios.TCIFLUSH)  # nobody answers what was not asked yet
            _write(terminal, text)
            return _read_line(terminal, must_stop)
        except OSError:
            return None
        finally:
            os.close(terminal)


def _write(terminal: int, text: str) -> None:
    rest = memoryview(text.encode("utf-8", "replace"))
    while rest:
        rest = rest[os.write(terminal, rest) :]


def _read_line(terminal: int, must_stop: Callable[[], bool]) -> str | None:
    """One line; None when the terminal is gone or the call must stop."""
    line = b""
    while len(line) < LONGEST_ANSWER:
        if must_stop():
            return None
        # A signal right before a blocking read would be lost, so nothing here waits for long.
        if not select.select([terminal], [], [], _LOOK_SECONDS)[0]:
            continue
        chunk = os.read(terminal, LONGEST_ANSWER)
        if not chunk:
            return None
        line += chunk
        if b"\n" in chunk or b"\r" in chunk:
            break
    return line.decode("utf-8", "replace").strip()
