"""The form of every answer on every interface, as a library for authors of other tools. Pure.

The names in `__all__` are stable under semantic versioning; everything else in here may change.
Each is loaded on first use, because a command that prints one small answer must not load the
checker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handrail.contract.catalogue import KINDS
    from handrail.contract.conformance.check import NotConformant, assert_conformant, check, check_flags
    from handrail.contract.conformance.rules import Report
    from handrail.contract.disclosure.disclose import disclose
    from handrail.contract.disclosure.estimate import estimate_tokens
    from handrail.contract.envelopes.cli import FlagInput, to_cli
    from handrail.contract.envelopes.lafs import expand_minimal, to_lafs
    from handrail.contract.envelopes.mcp_and_http import to_mcp_error, to_problem
    from handrail.contract.ledger import fold_ledger
    from handrail.contract.outcome import Call, Failure, NextCall, Notice, Outcome, Page, Success

__all__ = [
    "KINDS",
    "Call",
    "Failure",
    "FlagInput",
    "NextCall",
    "NotConformant",
    "Notice",
    "Outcome",
    "Page",
    "Report",
    "Success",
    "assert_conformant",
    "check",
    "check_flags",
    "disclose",
    "estimate_tokens",
    "expand_minimal",
    "fold_ledger",
    "to_cli",
    "to_lafs",
    "to_mcp_error",
    "to_problem",
]

_HOMES = {
    "catalogue": ("KINDS",),
    "envelopes.cli": ("FlagInput", "to_cli"),
    "disclosure.disclose": ("disclose",),
    "disclosure.estimate": ("estimate_tokens",),
    "conformance.check": ("NotConformant", "assert_conformant", "check", "check_flags"),
    "conformance.rules": ("Report",),
    "envelopes.lafs": ("expand_minimal", "to_lafs"),
    "ledger": ("fold_ledger",),
    "envelopes.mcp_and_http": ("to_mcp_error", "to_problem"),
    "outcome": ("Call", "Failure", "NextCall", "Notice", "Outcome", "Page", "Success"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(__import__(f"{__name__}.{_HOME_OF[name]}", fromlist=(name,)), name)
    globals()[name] = value
    return value
