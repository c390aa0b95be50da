"""What every answer of an update must say, success or failure."""

from __future__ import annotations

from typing import Any

from tests.surfaces.cli.tool import CORE_CODES, Ran, strict_json


def data(ran: Ran) -> Any:
    document = strict_json(ran.out)
    assert (document["ok"], ran.status) == (True, 0), document
    return document["data"]


def error(ran: Ran, code: str) -> Any:
    """The failure, after what every failure of an update must say."""
    document = strict_json(ran.out)
    assert document["ok"] is False, document
    found = document["error"]
    assert (found["code"], (ran.status, found["retryable"])) == (code, CORE_CODES[code]), document
    details = found["details"]
    assert {"stage", "current_version", "binary_replaced", "skill_sync_status"} <= set(details)
    assert details["hint"].endswith(".")
    return details
