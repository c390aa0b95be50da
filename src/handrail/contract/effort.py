"""A limit on computation: work is counted while it is done, and stops when it is too much. Pure.

Work is counted, never timed, so the same input stops at the same place on every machine and in every replay.
"""

from __future__ import annotations

from handrail.contract.catalogue import WORK_LIMIT_EXCEEDED
from handrail.contract.outcome import Fault


class Effort:
    """What one computation may spend, in its own unit: places, values or characters."""

    __slots__ = ("advice", "left", "limit", "trouble", "where")

    def __init__(self, limit: int, trouble: str, advice: str) -> None:
        self.limit = limit
        self.left = limit
        self.trouble = trouble
        """A sentence that says what is too large; the limit is part of it."""
        self.advice = advice
        self.where = ""
        """Where the work is now, for whoever has to make something smaller."""

    def affords(self, amount: int = 1) -> bool:
        """Whether that much was left, which is now spent. After a refusal nothing is left, even for less."""
        self.left -= amount
        if self.left < 0:
            self.left = -1
        return self.left >= 0

    def spend(self, amount: int = 1) -> None:
        """Spend it. Raises Fault WORK_LIMIT_EXCEEDED when less is left."""
        self.left -= amount
        if self.left < 0:
            raise self.fault()

    def fault(self) -> Fault:
        place = f" It is in {self.where}." if self.where else ""
        details = {"limit": self.limit, "where": self.where}
        return Fault(WORK_LIMIT_EXCEEDED, f"{self.trouble}{place}", details=details, hint=self.advice)
