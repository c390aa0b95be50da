"""What one check of `doctor` is given and what it says."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.outcome import Answer, Fault, Json
from handrail.runtime.runtime import Runtime

CheckStatus: TypeAlias = Literal["pass", "warn", "fail"]


class Check(Answer, frozen=True, kw_only=True):
    """One line of the check-up; `fix` is a command or one sentence, and null on a pass."""

    check: str
    status: CheckStatus
    fix: str | None
    message: str
    details: dict[str, Json]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found; its name comes from the table."""

    status: CheckStatus
    message: str
    fix: str = ""
    details: dict[str, Json] = {}


class CheckInput(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks look at."""

    rt: Runtime
    project: str
    trouble: Fault | None = None
    """Why there is no project to look at; the rest is looked at all the same."""
    is_offline: bool = False
    """Whether nothing but this machine may be asked."""


def report_pass(message: str, **details: Json) -> Finding:
    return Finding(status="pass", message=message, details=details)


def report_warning(message: str, fix: str, **details: Json) -> Finding:
    return Finding(status="warn", message=message, fix=fix, details=details)


def report_failure(message: str, fix: str, **details: Json) -> Finding:
    return Finding(status="fail", message=message, fix=fix, details=details)
