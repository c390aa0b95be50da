"""`store verify`: check every byte of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, assert_never

from msgspec import UNSET, Meta, UnsetType, structs, to_builtins

from handrail.contract.catalogue import (
    E_INTEGRITY,
    E_VALIDATION,
    KEYRING_INVALID,
    STORE_UNSUPPORTED_VERSION,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.outcome import Answer, Fault, Success, refuse_argument
from handrail.contract.parameters import MintedId
from handrail.contract.tokens.workflow import WORKFLOW
from handrail.contract.wording import format_count, quote
from handrail.operations.finding import refuse_unknown
from handrail.ports.store import SessionCheck, StoreCheck, StoreProblem
from handrail.runtime.batch import SCHEMA_OF_TARGETS, BatchItem, BatchResult, stream_batch, targets_of
from handrail.runtime.damaged_sessions import UPDATE
from handrail.runtime.operation import Input, Maybe, Operation, ReportOnly, StreamItem
from handrail.runtime.runtime import ReadPorts, Runtime
from handrail.views.batches import BatchSummary, ItemError

MOST_PROBLEMS = 100
"""Most problems that a report lists; all of them are counted."""
MOST_LEFTOVERS = 20
_COUNTS = ("sessions", "events", "blobs", "leftover_blobs", "unattested_sessions", "bytes_read")


class VerifyStore(Input, frozen=True, kw_only=True):
    """The sessions to check; none for the whole store."""

    ids: Maybe[
        Annotated[
            list[MintedId],
            Meta(description="Session ids; default: the whole store.", extra_json_schema=SCHEMA_OF_TARGETS),
        ]
    ] = UNSET
    report_only: Maybe[ReportOnly] = UNSET
    continue_on_error: Maybe[
        Annotated[bool, Meta(description="With ids: look at the rest after one that fails; default true.")]
    ] = UNSET


class VerifyReport(Answer, frozen=True, kw_only=True):
    """What was checked, and its problems; a sound store gives the same report every time."""

    ok: bool
    sessions: int
    events: int
    blobs: int
    """Number of blobs that a commit names; with ids, counted for each session."""
    leftover_blobs: int
    unattested_sessions: int
    bytes_read: int
    problem_count: int
    problems: list[StoreProblem]
    leftovers: list[str] | UnsetType = UNSET
    """What killed starts and imports left, each with the command that removes it."""
    newer: list[str] | UnsetType = UNSET
    """Sessions that a newer version wrote: not damaged, and not judged."""
    elsewhere: list[str] | UnsetType = UNSET
    """Sessions that another store made or answered: not damaged, but what it recorded
    approves nothing here.
    """
    workspaces: int | UnsetType = UNSET
    """Number of workspaces of a team that were checked: all of them for a caller with
    the address of the database.
    """
    warnings: list[str] | UnsetType = UNSET
    items: list[BatchItem] | UnsetType = UNSET
    """With ids: the result for each of them, in the given order."""
    summary: BatchSummary | UnsetType = UNSET
    skipped: list[str] | UnsetType = UNSET


class SessionVerdict(Answer, frozen=True, kw_only=True):
    """One line of a stream: the result of checking one session."""

    session_id: str
    ok: bool
    events: int = 0
    bytes_read: int = 0
    problems: list[StoreProblem] = []
    error: ItemError | UnsetType = UNSET
    """Set if there was nothing to check."""


def verify_store(rt: Runtime, request: VerifyStore) -> VerifyReport:
    """Check chains, manifests, blobs, permissions and keys; with ids, those sessions and their blobs.

    Raise Fault E_INTEGRITY, STORE_UNSUPPORTED_VERSION or SESSION_NOT_FOUND with the report unless the caller
    asked for a report only, and SESSION_NOT_FOUND if none of the ids is known.
    """
    *_, report = _lines(rt, request)
    assert isinstance(report, VerifyReport), "the report comes last"
    return _judge(report, request)


def stream_verification(rt: Runtime, request: VerifyStore) -> Iterator[StreamItem | Success]:
    """Yield every session as soon as it is checked, then the whole report."""
    for line in _lines(rt, request):
        match line:
            case SessionVerdict():
                yield StreamItem(data=to_builtins(line))
            case VerifyReport():
                yield Success(data=to_builtins(_judge(line, request)))
            case never:
                assert_never(never)


def _judge(report: VerifyReport, request: VerifyStore) -> VerifyReport:
    if report.ok or request.report_only is True:
        return report
    if not report.problems:
        raise _refuse_unjudged(report)
    raise Fault(
        E_INTEGRITY,
        _verdict(report),
        details={"report": to_builtins(report)},
        hint=_remedy(report),
    )


def _refuse_unjudged(report: VerifyReport) -> Fault:
    """Return the refusal if something could not be judged: a newer version wrote it, or it does not exist."""
    details = {"report": to_builtins(report)}
    failed = [item for item in report.items or () if not item.ok]
    if report.newer:
        return Fault(
            STORE_UNSUPPORTED_VERSION, _describe_newer(report.newer), details={"found": "session", **details}
        )
    fault = refuse_unknown(failed[0].target)
    fault.details |= details
    return fault


def _describe_newer(newer: Sequence[str]) -> str:
    if len(newer) == 1:
        return f"Session {newer[0]} was written by a newer version of Handrail."
    return f"{len(newer)} sessions were written by a newer version of Handrail, first {newer[0]}."


def _describe_elsewhere(elsewhere: Sequence[str]) -> str:
    counted = format_count(len(elsewhere), "session")
    return (
        f"{counted} came from another store, first {elsewhere[0]}: answers and check results that it "
        "recorded count for nothing here."
    )


def _remedy(report: VerifyReport) -> str:
    """Return what to do.

    Wrong permissions and links are corrected in place; a restore would bring back old content.
    """
    match sorted({problem.reason for problem in report.problems}):
        case ["too_open"]:
            return (
                "Nothing is lost. Take the rights of others away: chmod -R go-rwx data, in the Handrail home."
            )
        case ["access_denied"]:
            return "Give this user read and write access to what the report names; nothing need be lost."
        case ["link_refused"]:
            return "Put plain files and directories in place of what the report names, or remove it."
        case _:
            return "Restore what the report names from a backup; everything else can still be read."


def _verdict(report: VerifyReport) -> str:
    first = report.problems[0]
    where = f"{first.what} {quote(first.id)}"
    return f"The store has {format_count(report.problem_count, 'problem')}, first {where}: {first.reason}."


def _lines(rt: Runtime, request: VerifyStore) -> Iterator[SessionVerdict | VerifyReport]:
    is_patient = request.continue_on_error is not False
    if request.ids is not UNSET:
        return _some(rt, targets_of(request.ids, "ids"), continue_on_error=is_patient)
    if is_patient:
        return _whole(rt)
    message = "A check of the whole store never stops early."
    raise refuse_argument(
        message, "continueOnError", "goes with ids only", "ids beside it", kind=E_VALIDATION
    )


def _whole(rt: Runtime) -> Iterator[SessionVerdict | VerifyReport]:
    for count, check in enumerate(rt.keeper().check(), 1):
        match check:
            case SessionCheck(session_id=session_id):
                yield _verdict_on(session_id, check)
                rt.progress.report(count, 0, "sessions checked")
                rt.interruptions.end_here()
            case StoreCheck():
                yield _report([check], [*check.problems, *_key_problems(rt)])
            case never:
                assert_never(never)


def _some(
    rt: Runtime, targets: tuple[str, ...], *, continue_on_error: bool
) -> Iterator[SessionVerdict | VerifyReport]:
    """Check each session together with its blobs, so that its line has their problems too."""
    keeper = rt.keeper()
    checks: dict[str, StoreCheck] = {}

    def act(session_id: str) -> None:
        if not is_session_id(session_id):
            raise refuse_unknown(session_id)
        *_, check = keeper.check([SessionId(session_id)])
        assert isinstance(check, StoreCheck), "the whole comes last"
        if not check.sessions and not check.problems:
            raise refuse_unknown(session_id)
        checks[session_id] = check
        if check.newer:
            raise Fault(STORE_UNSUPPORTED_VERSION, _describe_newer(check.newer))
        if check.problems:
            raise Fault(E_INTEGRITY, check.problems[0].detail, details={"reason": check.problems[0].reason})

    for line in stream_batch(rt, targets, act, what="sessions checked", continue_on_error=continue_on_error):
        match line:
            case BatchItem(target=target, error=error):
                check = checks.get(target)
                verdict = None if check is None else _verdict_on(target, check)
                yield verdict or SessionVerdict(session_id=target, ok=False, error=error)
            case BatchResult() as result:
                if not checks and not result.skipped:
                    raise refuse_unknown(targets[0])
                yield _batch_report(list(checks.values()), result)
            case never:
                assert_never(never)


def _batch_report(checks: Sequence[StoreCheck], result: BatchResult) -> VerifyReport:
    """Return the verdict about the given ids: one that is not in the store is not sound."""
    report = _report(checks, [problem for check in checks for problem in check.problems])
    is_sound = result.summary.failed == 0 and not result.skipped
    return structs.replace(
        report, ok=is_sound, items=result.items, summary=result.summary, skipped=result.skipped
    )


def _verdict_on(session_id: str, check: SessionCheck | StoreCheck) -> SessionVerdict:
    return SessionVerdict(
        session_id=session_id,
        ok=not check.problems and not _is_newer(check),
        events=check.events,
        bytes_read=check.bytes_read,
        problems=list(check.problems[:MOST_PROBLEMS]),
    )


def _is_newer(check: SessionCheck | StoreCheck) -> bool:
    return check.is_newer if isinstance(check, SessionCheck) else bool(check.newer)


def _report(checks: Sequence[StoreCheck], problems: Sequence[StoreProblem]) -> VerifyReport:
    newer: list[str] = [session_id for check in checks for session_id in check.newer]
    elsewhere: list[str] = [session_id for check in checks for session_id in check.elsewhere]
    warnings = [f"{_describe_newer(newer)} {UPDATE}"] if newer else []
    warnings += [_describe_elsewhere(elsewhere)] if elsewhere else []
    return VerifyReport(
        ok=not problems,
        **{name: sum(getattr(check, name) for check in checks) for name in _COUNTS},
        problem_count=len(problems),
        problems=list(problems[:MOST_PROBLEMS]),
        leftovers=_leftovers(checks) or UNSET,
        newer=newer or UNSET,
        elsewhere=elsewhere or UNSET,
        workspaces=sum(check.workspaces for check in checks) or UNSET,
        warnings=warnings or UNSET,
    )


def _leftovers(checks: Sequence[StoreCheck]) -> list[str]:
    kept = [session_id for check in checks for session_id in check.unattested]
    swept = sum(check.unattested_sessions for check in checks) - len(kept)
    lines = [
        f"{session_id} holds events that no commit attests: an import that was killed, or all that is left "
        f"of a session. handrail session delete --ids {session_id} --dangerous --dry-run shows it."
        for session_id in kept[:MOST_LEFTOVERS]
    ]
    if swept:
        lines.append(
            f"{format_count(swept, 'start')} left events and no commit. "
            "handrail store gc --dangerous --dry-run shows them."
        )
    removed = sum(check.half_removed for check in checks)
    if removed:
        lines.append(
            f"{format_count(removed, 'removed session')} left files that could not be deleted. "
            "handrail store gc --dangerous --dry-run shows them."
        )
    return lines


def _key_problems(rt: ReadPorts) -> list[StoreProblem]:
    """Return the problems of the keyring; a keyring that does not exist yet is no problem."""
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
    stream=stream_verification,
    shape=Shape(
        levels={"minimal": ("ok", "problem_count", "items")},
        drop_order=("problems",),
        windows=("problems",),
    ),
    errors=("SESSION_NOT_FOUND", "STORE_UNSUPPORTED_VERSION", E_INTEGRITY.code),
)
