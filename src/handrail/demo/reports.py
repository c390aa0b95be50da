"""What the scripted agent reports for each step: its notes, and the artifacts that two steps ask for."""

from __future__ import annotations

from typing import Any

REPRODUCE = "total([2.675]) prints 2.67, the bill says 2.68; 10 of 10 times."
LOCATE = "prices.py:42 gets 2.675 and returns 2.67; one line above it is right."
EXPLAIN = "Cause: round() rounds half to even."
FIX = "Replaced round() by our own; test_half_cent passes."
VERIFY = "Report: half-even rounding, replaced by our own."
EXPLAIN_AGAIN = "Half-even is refuted: round(2.685, 2) is 2.69. A float cannot hold 2.675."
FIX_AGAIN = "Prices are Decimal; test_half_cent failed before and passes now."
VERIFY_AGAIN = "Report: binary floats lose half cents; prices are Decimal."


def _changed_files(why: str) -> dict[str, Any]:
    return {
        "kind": "wr.changed_files",
        "files": [
            {"path": "prices.py", "change": "modified", "why": why},
            {"path": "test_prices.py", "change": "added", "why": "test_half_cent shows the bug."},
        ],
        "checks": [{"command": "pytest test_prices.py -q", "exitCode": 0, "summary": "1 passed"}],
    }


def _verification(claim: str) -> dict[str, Any]:
    run = {"source": "command", "ref": "total([2.675])", "result": "2.68"}
    return {
        "kind": "wr.verification_report",
        "verdict": "passed",
        "claims": [{"claim": claim, "status": "confirmed", "evidence": [run]}],
        "notChecked": [],
    }


CHANGED = _changed_files("Rounds half up by our own function.")
VERIFIED = _verification("With our own rounding the bill is right.")
CHANGED_AGAIN = _changed_files("Prices are Decimal from the parser on.")
VERIFIED_AGAIN = _verification("With Decimal prices the bill is right.")
