"""`self.doctor`: how this installation stands, check by check, each with what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault
from handrail.contract.suggest import find_nearest
from handrail.program.doctor import (
    agent_checks,
    program_checks,
    storage_checks,
)
from handrail.program.doctor import (
    program_checks as update_checks,
)
from handrail.program.doctor.check import Check, CheckInput, Finding, report_failure
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime, project_or_root

# The checks, in the order of the answer

CHECKS: dict[str, Callable[[CheckInput], Finding]] = {
    "python": program_checks.check_python,
    "install": program_checks.check_install,
    "path": program_checks.check_path,
    "settings": program_checks.check_settings,
    "workspace": program_checks.check_workspace,
    "git": program_checks.check_git,
    "store": storage_checks.check_store,
    "workflow_library": storage_checks.check_workflow_library,
    "keyring": storage_checks.check_keyring,
    "confirm_tokens": storage_checks.check_confirm_tokens,
    "audit": storage_checks.check_audit,
    "mcp_registration": agent_checks.check_mcp_registration,
    "mcp_protocol": agent_checks.check_mcp_protocol,
    "version_negotiation": agent_checks.check_version_negotiation,
    "skill_sync": agent_checks.check_skill_sync,
    "update": update_checks.check_update,
    "release_readiness": program_checks.check_readiness,
}
"""By name; the release gate is always the last."""

CHECK_NAMES: tuple[str, ...] = tuple(CHECKS)
ON_REQUEST = frozenset({"mcp_protocol"})
"""Run only when named: they start a program."""


def examine(given: CheckInput, wanted: Sequence[str]) -> list[Check]:
    """Run the named checks, in the order of the table; by default, every check except the expensive ones."""
    names = [name for name in CHECKS if (name in wanted if wanted else name not in ON_REQUEST)]
    return [_to_check(name, _finding(CHECKS[name], given)) for name in names]


def _finding(check: Callable[[CheckInput], Finding], given: CheckInput) -> Finding:
    """A check that cannot run is a failed check, never a failed call."""
    try:
        return check(given)
    except Fault as fault:
        return report_failure(fault.message, fault.hint or fault.kind.hint, code=fault.kind.code)


def _to_check(name: str, finding: Finding) -> Check:
    return Check(
        check=name,
        status=finding.status,
        fix=finding.fix if finding.status != "pass" else None,
        message=finding.message,
        details=finding.details,
    )


# The operation


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
        Annotated[
            bool, Meta(description="Use only this machine, with the result of the last check of the index.")
        ]
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
            hint=f"Did you mean {', '.join(find_nearest(unknown[0], CHECK_NAMES) or CHECK_NAMES)}?",
        )
    is_offline = request.offline is True or rt.is_served
    project, trouble = project_or_root(rt, request.project)
    examined = CheckInput(rt=rt, project=project, trouble=trouble, is_offline=is_offline)
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
