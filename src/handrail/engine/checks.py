"""One validation of a report, as the log keeps it. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

MOST_ISSUES = 20
"""Issues of one check that the log keeps."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One validation that was made; without a contract it is about the rules of the step."""

    contract_ref: str = ""
    result: Literal["valid", "invalid", "missing"]
    issues: tuple[str, ...] = ()
