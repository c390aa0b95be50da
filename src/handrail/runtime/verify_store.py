"""`store.verify`: a look at every byte of the store. A verdict for the person who operates it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, structs, to_builtins

from handrail.contract.catalogue import E_INTEGRITY, E_VALIDATION, KEYRING_INVALID, SESSION_NOT_FOUND
from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.payload import Answer
from handrail.contract.shape import Shape
from handrail.contract.store_facts import StoreCheck, StoreProblem
from handrail.contract.tokens.purpose_keys import WORKFLOW
from handrail.contract.wording import quoted
from handrail.runtime.batch import BatchItem, BatchSummary, run_batch, targets_of
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime

MOST_PROBLEMS = 100
"""Problems that a report lists; all of them are counted."""


class VerifyStore(Input, frozen=True, kw_only=True):
    """What to look at."""

    ids: Annotated[list[str], Meta(description="Session ids; default: the whole store.")] | UnsetType = UNSET
    report_only: (
        Annotated[bool, Meta(description="A negative verdict is an answer, not a failure.")] | UnsetType
    ) = UNSET


class VerifyReport(Answer, frozen=True, kw_only=True):
    """What was looked at and what is wrong; a sound store gives the same report every time."""

    ok: bool
    sessions: int
    events: int
    blobs: int
    """Blobs that a commit names; with ids, counted for each session."""
    leftover_blobs: int
    unattested_sessions: int
    bytes_read: int
    problem_count: int
    problems: list[StoreProblem]
    items: list[BatchItem] | UnsetType = UNSET
    """With ids: what came of each of them, in the order they were given."""
    summary: BatchSummary | UnsetType = UNSET


def verify_store(rt: Runtime, request: VerifyStore) -> VerifyReport:
    """Check chains, manifests, blobs, permissions and keys; with ids, those sessions and their blobs.

    Raises Fault E_INTEGRITY with the report unless the caller asked for a report only, and SESSION_NOT_FOUND
    when none of the ids is known.
    """
    report = _whole(rt) if request.ids is UNSET else _some(rt, targets_of(request.ids, "ids"))
    if report.ok or request.report_only is True:
        return report
    raise Fault(
        E_INTEGRITY,
        _verdict(report),
        details={"report": to_builtins(report)},
        hint="Restore what the report names from a backup; everything else can still be read.",
    )


def _verdict(report: VerifyReport) -> str:
    if not report.problems:
        return "Some of these sessions are not in the store; the others are sound."
    first = report.problems[0]
    where = f"{first.what} {quoted(first.id)}"
    return f"The store has {report.problem_count} problems, first {where}: {first.reason}."


def _whole(rt: Runtime) -> VerifyReport:
    check = rt.keeper().check()
    return _report([check], [*check.problems, *_key_problems(rt)])


def _some(rt: Runtime, targets: tuple[str, ...]) -> VerifyReport:
    keeper = rt.keeper()
    checks: list[StoreCheck] = []

    def act(session_id: str) -> None:
        if not is_session_id(session_id) or rt.log.load_since(SessionId(session_id), 0) is None:
            raise _unknown(session_id)
        check = keeper.check([SessionId(session_id)])
        checks.append(check)
        if check.problems:
            raise Fault(E_INTEGRITY, check.problems[0].detail, details={"reason": check.problems[0].reason})

    result = run_batch(rt, targets, act, what="sessions checked", continue_on_error=True)
    if not checks:
        raise _unknown(targets[0])
    report = _report(checks, [problem for check in checks for problem in check.problems])
    is_ok = result.summary.failed == 0
    return structs.replace(report, ok=is_ok, items=result.items, summary=result.summary)


def _report(checks: Sequence[StoreCheck], problems: Sequence[StoreProblem]) -> VerifyReport:
    return VerifyReport(
        ok=not problems,
        sessions=sum(check.sessions for check in checks),
        events=sum(check.events for check in checks),
        blobs=sum(check.blobs for check in checks),
        leftover_blobs=sum(check.leftover_blobs for check in checks),
        unattested_sessions=sum(check.unattested_sessions for check in checks),
        bytes_read=sum(check.bytes_read for check in checks),
        problem_count=len(problems),
        problems=list(problems[:MOST_PROBLEMS]),
    )


def _unknown(session_id: str) -> Fault:
    return Fault(
        SESSION_NOT_FOUND,
        f"There is no session {quoted(session_id)} in this store.",
        details={"session_id": session_id[:64]},
        next_call=NextCall(operation="session.list", params={}),
    )


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
        levels={"minimal": ("ok", "problem_count", "items"), "standard": None, "full": None},
        select="top",
        drop_order=("problems",),
        windows=("problems",),
    ),
    errors=(
        E_VALIDATION.code,
        "SESSION_NOT_FOUND",
        E_INTEGRITY.code,
        "STORE_IO_ERROR",
        "STORE_PERMISSION_DENIED",
    ),
)
