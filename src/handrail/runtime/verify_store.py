"""`store.verify`: a look at every byte of the store. A verdict for the person who operates it."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, to_builtins

from handrail.contract.catalogue import E_INTEGRITY, KEYRING_INVALID, SESSION_NOT_FOUND
from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.payload import Answer
from handrail.contract.shape import Shape
from handrail.contract.store_facts import StoreProblem
from handrail.contract.tokens.purpose_keys import WORKFLOW
from handrail.contract.wording import quoted
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime

MOST_PROBLEMS = 100
"""Problems that a report lists; all of them are counted."""


class VerifyStore(Input, frozen=True, kw_only=True):
    """What to look at."""

    ids: (
        Annotated[str, Meta(description="Session ids, separated by commas; default: the whole store.")]
        | UnsetType
    ) = UNSET
    report_only: (
        Annotated[bool, Meta(description="A negative verdict is an answer, not a failure.")] | UnsetType
    ) = UNSET


class VerifyReport(Answer, frozen=True, kw_only=True):
    """What was looked at and what is wrong; a sound store gives the same report every time."""

    ok: bool
    sessions: int
    events: int
    blobs: int
    leftover_blobs: int
    unattested_sessions: int
    bytes_read: int
    problem_count: int
    problems: list[StoreProblem]


def verify_store(rt: Runtime, request: VerifyStore) -> VerifyReport:
    """Check chains, manifests, blobs, permissions and keys.

    Raises Fault E_INTEGRITY with the report unless the caller asked for a report only.
    """
    asked = _asked(rt, request)
    check = rt.keeper().check(asked)
    problems = [*check.problems, *(() if asked else _key_problems(rt))]
    report = VerifyReport(
        ok=not problems,
        sessions=check.sessions,
        events=check.events,
        blobs=check.blobs,
        leftover_blobs=check.leftover_blobs,
        unattested_sessions=check.unattested_sessions,
        bytes_read=check.bytes_read,
        problem_count=len(problems),
        problems=problems[:MOST_PROBLEMS],
    )
    if report.ok or request.report_only is True:
        return report
    first = report.problems[0]
    where = f"{first.what} {quoted(first.id)}"
    message = f"The store has {len(problems)} problems, first {where}: {first.reason}."
    raise Fault(
        E_INTEGRITY,
        message,
        details={"report": to_builtins(report)},
        hint="Restore what the report names from a backup; everything else can still be read.",
    )


def _asked(rt: Runtime, request: VerifyStore) -> list[SessionId]:
    ids = [] if request.ids is UNSET else [part.strip() for part in request.ids.split(",") if part.strip()]
    for session_id in ids:
        if not is_session_id(session_id) or rt.log.load_since(SessionId(session_id), 0) is None:
            raise Fault(
                SESSION_NOT_FOUND,
                f"There is no session {quoted(session_id)} in this store.",
                details={"session_id": session_id[:64]},
                next_call=NextCall(operation="session.list", params={}),
            )
    return [SessionId(session_id) for session_id in dict.fromkeys(ids)]


def _key_problems(rt: Runtime) -> list[StoreProblem]:
    """Whether the keyring can be used; one that does not exist yet is no problem."""
    try:
        rt.keys.verifying_keys(WORKFLOW)
    except Fault as fault:
        if fault.kind is not KEYRING_INVALID:
            raise
        reason = str(fault.details.get("reason", ""))
        return [StoreProblem(what="keys", id="keyring.json", reason=reason, detail=fault.message)]
    return []


OPERATION = Operation(
    name="store.verify",
    effect="read",
    summary="Check every byte of the store: chains, manifests, blobs, permissions, keys.",
    input=VerifyStore,
    output=VerifyReport,
    perform=verify_store,
    shape=Shape(
        levels={"minimal": ("ok", "problem_count"), "standard": None, "full": None},
        select="top",
        drop_order=("problems",),
        windows=("problems",),
    ),
    errors=("SESSION_NOT_FOUND", E_INTEGRITY.code, "STORE_IO_ERROR", "STORE_PERMISSION_DENIED"),
)
