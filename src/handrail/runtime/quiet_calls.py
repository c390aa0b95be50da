"""Calls that nobody interrupts, watches or records: what a runtime has unless a surface says more."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

from handrail.ports import AuditLine


class NeverInterrupted:
    """`ports.Interruptions` where the surface has its own way to end."""

    def deferred(self) -> AbstractContextManager[None]:
        return nullcontext()

    def asked(self) -> Literal["", "signal", "deadline"]:
        return ""

    def end_here(self) -> None:
        return

    def pause(self, milliseconds: int) -> None:
        time.sleep(milliseconds / 1000)


class NoProgress:
    """`ports.Progress` into nothing."""

    def tell(self, done: int, total: int, what: str) -> None:
        del done, total, what

    def say(self, line: str) -> None:
        del line


class NoAudit:
    """`ports.Audit` of a scratch store that is gone afterwards."""

    def record(self, line: AuditLine, keep_months: int) -> None:
        del line, keep_months
