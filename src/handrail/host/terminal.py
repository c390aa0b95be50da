"""`ports.Terminal` on this machine: the controlling terminal itself, whatever stdin and stdout are."""

from __future__ import annotations

import hashlib
import os
import select
import tempfile
import termios
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from handrail.host.private_files import write_all

PLACE = "/dev/tty"
LONGEST_ANSWER = 1_000
LONGEST_TEXT = 100_000
"""Characters that are shown at once; a longer text is in a file as long as it is asked about."""
LONGEST_END = 2_000
"""Of the question itself, after such a text."""
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
            with _shortened(fold_quotes(text, _columns(terminal))) as shown:
                write_all(terminal, shown.encode("utf-8", "replace"))
                return _read_line(terminal, must_stop)
        except OSError:
            return None
        finally:
            os.close(terminal)


@contextmanager
def _shortened(text: str) -> Iterator[str]:
    """The text, or its beginning and end and the file that holds all of it until there is an answer.

    A terminal keeps only so many lines, and an approval is about every one of them.
    """
    if len(text) <= LONGEST_TEXT:
        yield text
        return
    content = text.encode("utf-8", "replace")
    with tempfile.NamedTemporaryFile(prefix="handrail-", suffix=".txt") as file:
        file.write(content)
        file.flush()
        whole = f"{len(content)} bytes, sha256:{hashlib.sha256(content).hexdigest()}"
        note = f"The whole text is longer than a terminal keeps. Read it in {file.name} ({whole})."
        end = text.rpartition("\n\n")[2][-LONGEST_END:]
        yield f"{text[:LONGEST_TEXT]}\n\n{note}\nYour answer is about the whole text.\n\n{end}"


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
