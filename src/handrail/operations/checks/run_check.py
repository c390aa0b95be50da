"""`check.run`: start a program of the project, and record what came of it as a receipt.

The run is found first, the program runs without any lock, and the receipt is recorded at the node that was
pending when it began. A program that fails is a fact like any other: the call has succeeded.
"""

from __future__ import annotations

import os
import shlex
from signal import Signals
from typing import Annotated, assert_never

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    CONTEXT_MISSING,
    E_INTERRUPTED,
    INVARIANT_VIOLATION,
    VALIDATION_ERROR,
)
from handrail.contract.command_words import redact_argv
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import receipt_id_for
from handrail.contract.outcome import Fault, NextCall, Notice, PartlyDone, Payload, Success
from handrail.contract.printed_text import PrintedText, strip_escapes
from handrail.contract.tokens.workflow import WORKFLOW
from handrail.contract.wording import make_readable
from handrail.engine.command_lines import (
    explain_not_run,
    find_counting,
    is_status_own,
)
from handrail.engine.events import (
    ReceiptRecorded,
)
from handrail.engine.history import History, list_receipts
from handrail.engine.judge.run_claims import list_paths
from handrail.engine.navigate import Running, step_key
from handrail.engine.plans import plan_receipt
from handrail.engine.receipts import (
    ELSEWHERE,
    Counts,
    Exited,
    NotStarted,
    PinnedCheck,
    RunOutcome,
    Signalled,
    StatusUnknown,
    TimedOut,
    compare_counts,
    describe_outcome,
    digest_argv,
    has_passed,
)
from handrail.engine.reply import ToolCall
from handrail.operations.checks.reports import UnreadableReport, count_tests
from handrail.operations.declared_checks import find_check
from handrail.operations.handles import mint_state_token
from handrail.operations.kept_trees import is_project_of
from handrail.operations.pending_step import PendingStep, find_pending_step
from handrail.ports.checks import PRINTED, STEERING, CheckPrograms, ProgramCall, ProgramEnd, ReportFile
from handrail.ports.workspace import ReportPlace
from handrail.ports.worktree import Tree, Unseen
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime, leave_tree, project_of
from handrail.runtime.sessions import COMMIT_TRIES, Session, commit, healthy_session, require_healthy

DEFAULT_SECONDS = 600
MOST_SECONDS = 7_200
MOST_ARGUMENTS = 1_000
TREE_SECONDS = 10.0
MOST_CHANGED_MEANWHILE = 20
MOST_PRINTED_BYTES = 8 * 1024 * 1024
"""Of what a program prints, read as its report."""

_TIMED_OUT, _CANNOT_START, _SIGNALLED = 124, 127, 128
"""What a shell says of a program that was out of time, could not be started, or got a signal."""


class RunCheck(Input, frozen=True, kw_only=True):
    """Which command, and for which run."""

    name: Annotated[str, Meta(description="A check that the project declares.")] | UnsetType = UNSET
    argv: (
        Annotated[
            list[Annotated[str, Meta(max_length=100_000)]],
            Meta(
                description="Or a program and its arguments, word by word.",
                min_length=1,
                max_length=MOST_ARGUMENTS,
            ),
        ]
        | UnsetType
    ) = UNSET
    state_token: (
        Annotated[str, Meta(description="The step it belongs to, by its stateToken.")] | UnsetType
    ) = UNSET
    session: Annotated[str, Meta(description="Or a session id, for its open run.")] | UnsetType = UNSET
    directory: (
        Annotated[str, Meta(description="Where it starts, relative to the project.", max_length=1_000)]
        | UnsetType
    ) = UNSET
    time_limit: (
        Annotated[int, Meta(description="Seconds until it is ended.", ge=1, le=MOST_SECONDS)] | UnsetType
    ) = UNSET
    pass_status: (
        Annotated[bool, Meta(description="On a command line: exit with the program's status.")] | UnsetType
    ) = UNSET
    project: Annotated[str, Meta(description="The project directory.")] | UnsetType = UNSET


class CheckRun(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """The receipt as it is recorded, and where the run goes on."""

    receipt_id: str
    session_id: str
    run_id: str
    step_id: str
    check: str
    """The declared name; empty: the command was given word by word."""
    argv: tuple[str, ...]
    directory: str
    status: str
    """How it ended, in a few words."""
    has_passed: bool
    exit_status: int
    """Of the program; as a shell tells it where there is none: 124 timed out, 127 not started, 128 and more
    for a signal."""
    duration_ms: int
    output_bytes: int
    output_digest: str
    tail: str
    """The last part of what it printed, without secrets."""
    tree_before: str
    tree_after: str
    """The files of the project before and after it; empty: unknown."""
    counts: Counts | None
    """What its report counted; null: there is no report."""
    not_run: str
    """Why nothing ran, so that it has neither passed nor failed; empty: something did."""
    fewer: str
    """Where fewer tests ran than at the start of the run, or more were skipped: the numbers."""
    next_call: ToolCall


class _Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is started, whether it was declared or typed."""

    argv: tuple[str, ...]
    directory: str
    seconds: int
    check: str = ""
    report: ReportPlace | None = None
    change: str = ""
    """How it differs from what is declared now."""


class _Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    receipt: ReceiptRecorded
    notices: list[Notice]
    """What could not be found out about it."""
    is_interrupted: bool
    tree: Tree | None
    """The files after it; None: they cannot be seen."""


def run_check(rt: Runtime, request: RunCheck) -> Success:
    """Run it, record the receipt, and tell both.

    Raises Fault before anything was started, and PartlyDone when a signal ended the program.
    """
    project = project_of(rt, request.project)
    programs = rt.check_programs()
    _require_one_command(request)
    target = find_pending_step(rt, request.state_token, request.session, project)
    require_healthy(target.session)
    is_here = is_project_of(target.session.history, target.node.node_id, project)
    command = _command(rt, programs, request, project, target.run.checks if is_here else None)
    rt.keys.signing_key(WORKFLOW)  # the answer needs it: without one nothing is started
    programs.register_secrets()
    notices = _before(rt, programs, command, project)
    ran = _run(rt, programs, command, target, project)
    receipt = ran.receipt
    if not is_here:
        receipt = msgspec.structs.replace(
            receipt, check="", directory=ELSEWHERE, tree_before="", tree_after=""
        )
        message = "This is not the project of the run, so the receipt proves nothing about its files."
        notices.append(Notice(type="check_elsewhere", message=message, severity="warning"))
    elif receipt.directory != "." and not receipt.check:
        message = f"It ran in {receipt.directory}: a report that means this run names {receipt.receipt_id}."
        notices.append(Notice(type="check_in_folder", message=message[:1000], severity="info"))
    recorded = _record(rt, target, receipt)
    leave_tree(rt, recorded.history.session_id, target.node.node_id, project, "receipt", ran.tree)
    if ran.is_interrupted:
        raise _stopped(receipt)
    told = _describe(rt, recorded, receipt)
    return Success(data=msgspec.to_builtins(told), notices=(*notices, *ran.notices))


# Which command


def _require_one_command(request: RunCheck) -> None:
    if (request.name is UNSET) != (request.argv is UNSET):
        return
    is_missing = request.name is UNSET
    raise Fault(
        CONTEXT_MISSING if is_missing else VALIDATION_ERROR,
        "Name a declared check, or give a command after --.",
        details={"missing": ["name"]}
        if is_missing
        else {"problems": [{"param": "argv", "problem": "is given beside a name", "expected": "one"}]},
        hint="Write handrail check run NAME, or handrail check run -- pytest -q.",
        next_call=NextCall(operation="check.list", params={}),
    )


def _command(
    rt: Runtime,
    programs: CheckPrograms,
    request: RunCheck,
    project: str,
    pins: tuple[PinnedCheck, ...] | None,
) -> _Command:
    """Raises Fault VALIDATION_ERROR, E_CONFIG."""
    asked = "" if request.directory is UNSET else request.directory
    if request.argv is not UNSET:
        return _Command(
            argv=tuple(request.argv),
            directory=programs.directory_in(project, asked),
            seconds=DEFAULT_SECONDS if request.time_limit is UNSET else request.time_limit,
        )
    assert request.name is not UNSET, "one of the two is given"
    found = find_check(rt.settings.of(project), pins, request.name, rt.secrets)
    check = found.check
    return _Command(
        argv=check.command,
        directory=programs.directory_in(project, asked or check.directory),
        seconds=check.timeout_seconds if request.time_limit is UNSET else request.time_limit,
        check=check.name if asked in ("", check.directory) else "",  # elsewhere it is another check
        report=check.report,
        change=found.told,
    )


# Running it


def _before(rt: Runtime, programs: CheckPrograms, command: _Command, project: str) -> list[Notice]:
    """What a caller should know about a declared check before its receipt counts for something."""
    if not command.check:
        return []
    notices = []
    if programs.is_first_use(project, command.check, digest_argv(command.argv)):
        shown = " ".join(redact_argv(command.argv, rt.secrets))
        message = f"The first run of this project's check {command.check} on this machine. It starts: {shown}"
        notices.append(Notice(type="check_first_use", message=message[:1000], severity="warning"))
    if command.change:
        notices.append(Notice(type="check_changed", message=command.change[:1000], severity="warning"))
    for notice in notices:
        rt.progress.say(f"handrail: {notice.message}\n")
    return notices


def _run(rt: Runtime, programs: CheckPrograms, command: _Command, target: PendingStep, project: str) -> _Ran:
    printed = PrintedText(rt.secrets)

    def show(lines: list[str]) -> None:
        if lines:
            rt.progress.say("".join(f"{line}\n" for line in lines))

    report_path = _find_report_file(command)
    report_before = programs.look_at_report(project, report_path) if report_path else ""
    kept = bytearray()
    before = _take_tree(rt, project)
    call = ProgramCall(
        argv=command.argv,
        directory=command.directory,
        project=project,
        seconds=command.seconds,
        without=STEERING if command.check else (),
    )

    def take(chunk: bytes) -> None:
        show(printed.take(chunk))
        if command.report is not None and command.report.path == PRINTED and len(kept) < MOST_PRINTED_BYTES:
            kept.extend(chunk)

    with rt.interruptions.defer():
        ended = programs.run(call, rt.interruptions.stop_reason, take)
    show(printed.finish())
    after = _take_tree(rt, project)
    counts, uncounted = _count(programs, command, project, report_before, ended, bytes(kept))
    notices = _after(command, uncounted)
    meanwhile = _name_changes(rt, project, before, after, report_path)
    if meanwhile:
        message = (
            f"{list_paths(list(meanwhile))} changed while it ran, so it is no proof; run it again. "
            "What the check writes itself belongs into .gitignore."
        )
        notices = [*notices, Notice(type="files_changed_meanwhile", message=message, severity="warning")]
    key = rt.randomness.bytes(16).hex()
    receipt = ReceiptRecorded(
        receipt_id=receipt_id_for(target.node.node_id, key),
        node_id=target.node.node_id,
        by="handrail",
        check=command.check,
        argv=redact_argv(command.argv, rt.secrets),
        argv_digest=digest_argv(command.argv),
        directory=_inside(project, command.directory),
        outcome=_outcome(ended, command.seconds),
        duration_ms=ended.duration_ms,
        output_digest=printed.digest,
        output_bytes=printed.size,
        head=printed.head,
        tail=printed.tail,
        tree_before="" if before is None else before.tree_id,
        tree_after="" if after is None else after.tree_id,
        changed_meanwhile=meanwhile,
        counts=counts,
        uncounted=uncounted,
        steering={name: _show_value(rt, value) for name, value in ended.steering.items()},
    )
    return _Ran(receipt=receipt, notices=notices, is_interrupted=ended.is_interrupted, tree=after)


def _find_report_file(command: _Command) -> str:
    """Where it writes its report; empty: nowhere, or it prints it."""
    return "" if command.report is None or command.report.path == PRINTED else command.report.path


def _show_value(rt: Runtime, value: str) -> str:
    """The value of a variable for readers: without secrets, bounded."""
    (shown,) = redact_argv((value,), rt.secrets)
    return shown[:200]


def _take_tree(rt: Runtime, project: str) -> Tree | None:
    """The project's files now; None when they cannot be seen."""
    tree = rt.worktree().take_tree(project, TREE_SECONDS)
    return None if isinstance(tree, Unseen) else tree


def _name_changes(
    rt: Runtime, project: str, before: Tree | None, after: Tree | None, report: str
) -> tuple[str, ...]:
    """Files that changed while a program ran: nobody knows which of the two it ran on.

    The report that a check declares is its own to write. Whatever else it writes is in nobody's way once it
    is ignored, or the same after every run.
    """
    if before is None or after is None or before.tree_id == after.tree_id:
        return ()
    found = rt.worktree().compare(project, before, after)
    if isinstance(found, Unseen):
        same = set(before.entries) & set(after.entries)
        paths = {entry.path for entry in (*before.entries, *after.entries) if entry not in same}
    else:
        paths = {*found.changed, *found.arrived}
    own = os.path.normpath(report) if report else ""
    return tuple(make_readable(path) for path in sorted(paths - {own})[:MOST_CHANGED_MEANWHILE])


def _inside(project: str, directory: str) -> str:
    return strip_escapes(os.path.relpath(directory, os.path.realpath(project)))


def _outcome(ended: ProgramEnd, seconds: int) -> RunOutcome:
    if ended.trouble:
        return NotStarted(reason=ended.trouble)
    if ended.is_timed_out:
        return TimedOut(seconds=seconds)
    if ended.signal:
        return Signalled(signal=ended.signal)
    assert ended.status is not None, "a program that ended by itself has a status"
    return Exited(status=ended.status)


def _count(
    programs: CheckPrograms, command: _Command, project: str, before: str, ended: ProgramEnd, printed: bytes
) -> tuple[Counts | None, str]:
    """What the declared report counts, or why it counts nothing."""
    if command.report is None or ended.trouble:
        return None, ""
    found = ReportFile(content=printed)
    if command.report.path != PRINTED:
        found = programs.read_report(project, command.report.path, before)
    trouble = found.trouble
    if not trouble:
        try:
            return count_tests(found.content, command.report.format), ""
        except UnreadableReport as why:
            trouble = f"the report cannot be read: {why}"
    return None, trouble


def _after(command: _Command, uncounted: str) -> list[Notice]:
    if not is_status_own(command.argv, command.check):
        line = command.argv[0] if len(command.argv) == 1 else shlex.join(command.argv)
        counting = shlex.join(find_counting(line))
        message = "Its line starts several programs, so its status is not that of one; "
        message += f"run {counting} alone." if counting else "run the one that counts alone."
        return [Notice(type="status_not_own", message=message[:500], severity="warning")]
    if not uncounted or command.report is None:
        return []
    message = f"Nothing was counted, so it has not passed: {uncounted} ({command.report.path})."
    return [Notice(type="report_not_read", message=message[:500], severity="warning")]


# Recording and telling


def _record(rt: Runtime, target: PendingStep, receipt: ReceiptRecorded) -> Session:
    """Append the receipt to the run as it stands now; the run may have moved on meanwhile."""
    session = target.session
    plan = [plan_receipt(target.node, receipt)]
    for _ in range(COMMIT_TRIES):
        with healthy_session(rt, session, by_token=target.by_token) as (session, witness):
            committed = commit(rt, witness, session, lambda _: plan)
        if committed is not None:
            return committed
    raise Fault(
        INVARIANT_VIOLATION,
        "The log kept changing during this call.",
        details={"session_id": session.history.session_id},
    )


def _stopped(receipt: ReceiptRecorded) -> PartlyDone:
    """The call was to end, and so it does; that its program ran is recorded all the same."""
    return PartlyDone(
        E_INTERRUPTED,
        f"A signal ended the check; receipt {receipt.receipt_id} says so and proves nothing.",
        details={"committed": True, "receipt_id": receipt.receipt_id},
        hint="Run it again if the step needs it.",
    )


def _describe(rt: Runtime, session: Session, receipt: ReceiptRecorded) -> CheckRun:
    history = session.history
    node = history.nodes[receipt.node_id]
    assert isinstance(node.state, Running), "a receipt belongs to a pending step"
    token = mint_state_token(rt.keys, history.session_id, node)
    not_run = explain_not_run(receipt.argv, receipt.outcome, receipt.counts)
    return CheckRun(
        receipt_id=receipt.receipt_id,
        session_id=history.session_id,
        run_id=node.run_id,
        step_id=step_key(node.state),
        check=receipt.check,
        argv=receipt.argv,
        directory=receipt.directory,
        status=describe_outcome(receipt.outcome),
        has_passed=is_status_own(receipt.argv, receipt.check)
        and has_passed(receipt.outcome, receipt.counts, receipt.uncounted)
        and not not_run,
        exit_status=_exit_status(receipt.outcome),
        duration_ms=receipt.duration_ms,
        output_bytes=receipt.output_bytes,
        output_digest=receipt.output_digest,
        tail=receipt.tail or receipt.head,
        tree_before=receipt.tree_before,
        tree_after=receipt.tree_after,
        counts=receipt.counts,
        not_run=not_run,
        fewer=compare_counts(_find_first_counts(history, receipt), receipt.counts),
        next_call=ToolCall(tool="continue_workflow", params={"stateToken": token}),
    )


def _find_first_counts(history: History, receipt: ReceiptRecorded) -> Counts | None:
    """What the same command counted first in this run."""
    held = [one.fact for one in list_receipts(history, history.nodes[receipt.node_id].run_id)]
    own = [one.counts for one in held if one.argv_digest == receipt.argv_digest and one.counts is not None]
    return own[0] if own else None


def _exit_status(outcome: RunOutcome) -> int:
    """The program's status, as a shell would tell it."""
    match outcome:
        case Exited(status=status):
            return status
        case Signalled(signal=name):
            number = Signals.__members__.get(name)
            return _SIGNALLED + (0 if number is None else int(number))
        case TimedOut():
            return _TIMED_OUT
        case NotStarted() | StatusUnknown():
            return _CANNOT_START
        case never:
            assert_never(never)


OPERATION = Operation(
    name="check.run",
    effect="process",
    summary="Run a program of the project and record how it ended as a receipt of the pending step.",
    input=RunCheck,
    output=CheckRun,
    perform=run_check,
    shape=Shape(
        levels={
            "minimal": ("receiptId", "status", "hasPassed", "exitStatus", "notRun", "tail", "nextCall"),
            "standard": None,
            "full": None,
        },
        id_field="receiptId",
        select="top",
        untrusted=("argv", "tail"),
    ),
    errors=(
        "CONTEXT_MISSING",
        "SESSION_NOT_FOUND",
        "SESSION_LOCKED",
        "TOKEN_SCOPE_MISMATCH",
        "KEYRING_INVALID",
    ),
)
