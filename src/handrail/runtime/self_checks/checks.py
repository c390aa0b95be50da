"""The checks of `doctor`, in the order of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handrail.contract.outcome import Fault
from handrail.runtime.self_checks import agent_checks, program_checks, storage_checks, update_checks
from handrail.runtime.self_checks.check import Check, Examined, Finding, failed

CHECKS: dict[str, Callable[[Examined], Finding]] = {
    "python": program_checks.python,
    "install": program_checks.install,
    "path": program_checks.path,
    "settings": program_checks.settings,
    "workspace": program_checks.workspace,
    "git": program_checks.git,
    "store": storage_checks.store,
    "workflow_library": storage_checks.workflow_library,
    "keyring": storage_checks.keyring,
    "confirm_tokens": storage_checks.confirm_tokens,
    "audit": storage_checks.audit,
    "mcp_registration": agent_checks.mcp_registration,
    "mcp_protocol": agent_checks.mcp_protocol,
    "version_negotiation": agent_checks.version_negotiation,
    "skill_sync": agent_checks.skill_sync,
    "update": update_checks.update,
    "release_readiness": program_checks.readiness,
}
"""By name; the release gate is always the last."""

CHECK_NAMES: tuple[str, ...] = tuple(CHECKS)
ON_REQUEST = frozenset({"mcp_protocol"})
"""Run only when named: they start a program."""


def examine(given: Examined, wanted: Sequence[str]) -> list[Check]:
    """The checks that were asked for, in the order of the table; without a wish, all but the dear ones."""
    names = [name for name in CHECKS if (name in wanted if wanted else name not in ON_REQUEST)]
    return [_told(name, _finding(CHECKS[name], given)) for name in names]


def _finding(check: Callable[[Examined], Finding], given: Examined) -> Finding:
    """What cannot even be looked at is a failed check, never a failed call."""
    try:
        return check(given)
    except Fault as fault:
        return failed(fault.message, fault.hint or fault.kind.hint, code=fault.kind.code)


def _told(name: str, finding: Finding) -> Check:
    return Check(
        check=name,
        status=finding.status,
        fix=finding.fix if finding.status != "pass" else None,
        message=finding.message,
        details=finding.details,
    )
