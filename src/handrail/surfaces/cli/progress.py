"""How far a long piece of work is, now and then, for a person at a terminal; programs get nothing."""

from __future__ import annotations

import time

from handrail.surfaces.cli.process import STDERR, Process, is_terminal

PATIENCE_SECONDS = 2.0
"""Nobody wonders before; after the first line the next one comes when as much time has passed again."""


class TerminalProgress:
    """`ports.Progress` on a stderr that is a terminal, unless the person asked for quiet."""

    def __init__(self, process: Process, *, is_quiet: bool) -> None:
        self._process = process
        self._is_silent = is_quiet
        self._is_quiet = is_quiet or not is_terminal(STDERR)
        self._due = time.monotonic() + PATIENCE_SECONDS

    def tell(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if self._is_quiet or now < self._due:
            return
        self._due = now + PATIENCE_SECONDS
        share = f"{done} of {total}" if total else str(done)
        self._process.tell(f"handrail: {what}: {share}\n".encode())

    def say(self, line: str) -> None:
        if not self._is_silent:
            self._process.tell(line.encode(errors="replace"))
