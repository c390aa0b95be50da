"""`ports.Terminal` on this machine: the controlling terminal itself, whatever stdin and stdout are."""

from __future__ import annotations

import os
import select
import termios
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress

from handrail.host.private_files import write_all

PLACE = "/dev/tty"
LONGEST_ANSWER = 1_000
_LOOK_SECONDS = 0.2
_QUOTE = "> "
_USUAL_WIDTH = 80


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
            folded = fold_quotes(text, _columns(terminal))
            write_all(terminal, folded.encode("utf-8", "replace"))
            return _read_line(terminal, must_stop)
        except OSError:
            return None
        finally:
            os.close(terminal)


def fold_quotes(text: str, width: int) -> str:
    """The text with the mark of a quote at the beginning of every line that a terminal would make of one.

    Else the second line of a long one would stand there as if it were ours.
    """
    return "\n".join(part for line in text.split("\n") for part in _fold(line, width))


def _fold(line: str, width: int) -> Iterator[str]:
    while line.startswith(_QUOTE) and (room := _fitting(line, width)) < len(line):
        at = line.rfind(" ", len(_QUOTE), room)
        cut = at if at > len(_QUOTE) else room
        yield line[:cut]
        line = _QUOTE + line[cut:].lstrip(" ")
    yield line


def _fitting(line: str, width: int) -> int:
    """How many characters fit; those of East Asia take two columns."""
    used = 0
    for place, character in enumerate(line):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > width:
            return max(place, len(_QUOTE) + 1)
    return len(line)


def _columns(terminal: int) -> int:
    try:
        return os.get_terminal_size(terminal).columns or _USUAL_WIDTH
    except OSError:
        return _USUAL_WIDTH


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
