"""How every answer looks on every surface, and a library for authors of other tools. Pure.

The names in `__all__` are stable under semantic versioning; everything else in here may change. Each is
loaded on first use: a command that prints one small answer must not pay for the checker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handrail.contract.catalogue import KINDS
    from handrail.contract.cli_envelope import to_cli
    from handrail.contract.disclosure import disclose
    from handrail.contract.estimate import estimate_tokens
    from handrail.contract.lafs_check import (
        FlagInput,
        NotConformant,
        Report,
        assert_conformant,
        check,
        check_flags,
    )
    from handrail.contract.lafs_envelope import expand_minimal, to_lafs
    from handrail.contract.ledger import fold_ledger
    from handrail.contract.mcp_error import to_mcp_error
    from handrail.contract.outcome import Call, Failure, NextCall, Notice, Outcome, Page, Success
    from handrail.contract.problem import to_problem

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
    "cli_envelope": ("to_cli",),
    "disclosure": ("disclose",),
    "estimate": ("estimate_tokens",),
    "lafs_check": ("FlagInput", "NotConformant", "Report", "assert_conformant", "check", "check_flags"),
    "lafs_envelope": ("expand_minimal", "to_lafs"),
    "ledger": ("fold_ledger",),
    "mcp_error": ("to_mcp_error",),
    "outcome": ("Call", "Failure", "NextCall", "Notice", "Outcome", "Page", "Success"),
    "problem": ("to_problem",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(__import__(f"{__name__}.{_HOME_OF[name]}", fromlist=(name,)), name)
    globals()[name] = value
    return value
