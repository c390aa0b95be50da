"""The bare document of CONT: what `js-scan` and `js-edit` print, with nothing around it. Pure.

A success is its payload. A failure has `status`, `code`, `message` and `recovery` at the top, as in CONT
section 7; what else is known stays in `details`.
"""

from __future__ import annotations

from typing import assert_never

from handrail.contract.catalogue import RESULTS_STALE
from handrail.contract.envelopes.cli import CommandLine, native_details, payload_of
from handrail.contract.outcome import Call, Failure, Json, Outcome, Success

_LIFTED = ("digest_mismatch", "recovery")


def to_cont(outcome: Outcome, call: Call, *, command_line: CommandLine) -> dict[str, Json]:
    """The document of a code tool."""
    match outcome:
        case Success():
            return _success(outcome, call)
        case Failure():
            return _failure(outcome, command_line)
        case never:
            assert_never(never)


def _success(success: Success, call: Call) -> dict[str, Json]:
    payload = payload_of(success)
    assert isinstance(payload, dict), "a code tool answers with an object"
    document = dict(payload)
    stale = next((one for one in document.get("warnings", ()) if one["code"] == RESULTS_STALE.code), None)
    if stale is not None:  # CONT 7.3
        told = {name: stale[name] for name in ("code", "message", *_LIFTED)}
        document = {"status": "warning", **told} | document | {"status": "warning"}
    notices = [{"type": one.type, "message": one.message} for one in (*success.notices, *call.notices)]
    return {**document, "notices": notices} if notices else document


def _failure(failure: Failure, command_line: CommandLine) -> dict[str, Json]:
    details = native_details(failure)
    details.pop("domain_code", None)
    recovery = {"suggestion": details.pop("hint"), **details.pop("recovery", {})}
    following = None if failure.next_call is None else command_line(failure.next_call)
    if following is not None:
        recovery["next_command"] = following
    document: dict[str, Json] = {
        "status": "warning" if failure.kind is RESULTS_STALE else "error",
        "code": failure.kind.code,
        "message": failure.message,
    }
    if "digest_mismatch" in details:
        document["digest_mismatch"] = details.pop("digest_mismatch")
    return {**document, "recovery": recovery, "details": details}
