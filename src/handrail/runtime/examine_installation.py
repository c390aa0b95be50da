"""`self.doctor`: how this installation stands, check by check, each with what to do about it."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.outcome import Fault
from handrail.contract.payload import Answer
from handrail.contract.shape import Shape
from handrail.contract.suggest import nearest
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.self_checks.check import Check, Examined
from handrail.runtime.self_checks.checks import CHECK_NAMES, examine
from handrail.runtime.workflow_catalog import project_or_root


class ExamineInstallation(Input, frozen=True, kw_only=True):
    """What to look at."""

    checks: (
        Annotated[
            list[str],
            Meta(
                description="Only these checks; mcp_protocol, which starts a server, runs only when named.",
                min_length=1,
                max_length=50,
            ),
        ]
        | UnsetType
    ) = UNSET
    offline: (
        Annotated[bool, Meta(description="Use nothing but this machine: the last look at the index counts.")]
        | UnsetType
    ) = UNSET
    project: Annotated[str, Meta(description="Project directory.")] | UnsetType = UNSET


class CheckCounts(Answer, frozen=True, kw_only=True):
    """How many checks ended how."""

    passed: int = msgspec.field(name="pass")
    warned: int = msgspec.field(name="warn")
    failed: int = msgspec.field(name="fail")


class Examination(Answer, frozen=True, kw_only=True):
    """The check-up; a failed check is an answer, not an error."""

    checks: list[Check]
    summary: CheckCounts


def examine_installation(rt: Runtime, request: ExamineInstallation) -> Examination:
    """Every check that was asked for. Raises Fault E_VALIDATION for a name that is no check."""
    wanted = [] if request.checks is UNSET else request.checks
    unknown = [name for name in wanted if name not in CHECK_NAMES]
    if unknown:
        raise Fault(
            E_VALIDATION,
            f"There is no check {unknown[0]!r}.",
            details={"param": "checks", "valid": list(CHECK_NAMES), "got": unknown[0][:80]},
            hint=f"Did you mean {', '.join(nearest(unknown[0], CHECK_NAMES) or CHECK_NAMES)}?",
        )
    is_offline = request.offline is True
    project, trouble = project_or_root(rt, request.project)
    examined = Examined(rt=rt, project=project, trouble=trouble, is_offline=is_offline)
    checks = examine(examined, wanted)
    counted = Counter(check.status for check in checks)
    summary = CheckCounts(passed=counted["pass"], warned=counted["warn"], failed=counted["fail"])
    return Examination(checks=checks, summary=summary)


OPERATION = Operation(
    name="self.doctor",
    effect="read",
    summary="Check the installation, the store and the agent's side, each with what to do about it.",
    input=ExamineInstallation,
    output=Examination,
    perform=examine_installation,
    shape=Shape(
        levels={
            "minimal": ("summary", "checks.check", "checks.status", "checks.fix"),
            "standard": None,
            "full": None,
        },
        windows=("checks",),
    ),
    errors=("VALIDATION_ERROR",),
)
