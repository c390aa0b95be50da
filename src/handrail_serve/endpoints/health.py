"""Health of the server: one word for every caller, the checks of `doctor` for callers with the token."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Literal, TypeAlias

from handrail.contract.catalogue import SERVER_DRAINING
from handrail.contract.envelopes.cli import encode_document
from handrail.contract.outcome import Failure, Json, Outcome, Success
from handrail_serve.calls import Asked, Served, perform_call
from handrail_serve.exchange import JSON_TYPE, Response

Status: TypeAlias = Literal["pass", "warn", "fail"]

NEEDED = ("settings", "workspace", "store", "workflow_library", "keyring", "confirm_tokens", "audit")
"""The checks of `doctor` that say whether calls can be answered; none of them leaves this machine."""
NEEDED_OF_TEAM = ("settings", "store", "workflow_library")
"""The same where there are accounts: nothing of the machine is a project, and all else is in the database."""
KEPT_SECONDS = 1.0
"""Anybody may ask, so the answer is worked out once a second at most."""
_WORD = ((b"content-type", b"text/plain; charset=utf-8"),)
_STATUSES: dict[Status, int] = {"pass": 200, "warn": 200, "fail": SERVER_DRAINING.http_status}
"""A balancer takes a server that answers with the last one out of its list."""


def describe_life() -> Response:
    """Return that the process answers. Nothing is examined."""
    return Response(headers=_WORD, body=b"pass\n")


class Health:
    """The last examination, for as long as it is fresh."""

    def __init__(self, served: Served, needed: Sequence[str] = NEEDED) -> None:
        self._served = served
        self._needed = needed
        self._lock = threading.Lock()
        self._checks: list[dict[str, Json]] = []
        self._until = 0.0

    def describe_readiness(self, *, is_draining: bool) -> Response:
        """One word, and a status that says the same; below it what did not pass, by name alone: what to do
        about it may tell where things are.
        """
        status, checks = self._examine(is_draining=is_draining)
        lines = [status, *(f"{one['check']} {one['status']}" for one in checks if one["status"] != "pass")]
        return Response(status=_STATUSES[status], headers=_WORD, body="\n".join([*lines, ""]).encode())

    def describe_checks(self, *, is_draining: bool) -> Response:
        """Return every check with what to do about it."""
        status, checks = self._examine(is_draining=is_draining)
        body = encode_document({"status": status, "checks": checks}, compact=True)
        return Response(status=_STATUSES[status], headers=((b"content-type", JSON_TYPE),), body=body)

    def _examine(self, *, is_draining: bool) -> tuple[Status, list[dict[str, Json]]]:
        with self._lock:
            if time.monotonic() >= self._until:
                self._checks = _checks_of(self._perform())
                self._until = time.monotonic() + KEPT_SECONDS
            found = list(self._checks)
        fix = "Wait for the restart of the server." if is_draining else None
        found.append({"check": "server", "status": "fail" if is_draining else "pass", "fix": fix})
        statuses = {check["status"] for check in found}
        return "fail" if "fail" in statuses else "warn" if "warn" in statuses else "pass", found

    def _perform(self) -> Outcome:
        asked = Asked(
            operation="self.doctor",
            params={"checks": list(self._needed), "offline": True},
            request_id="req_health",
            source="GET /health",
        )
        return perform_call(self._served, asked)


def _checks_of(outcome: Outcome) -> list[dict[str, Json]]:
    match outcome:
        case Success(data={"checks": list() as checks}):
            return [{name: check[name] for name in ("check", "status", "fix")} for check in checks]
        case Failure() as failure:
            return [{"check": "doctor", "status": "fail", "fix": failure.hint or failure.kind.hint}]
        case _:
            raise AssertionError("doctor answers with its checks")
