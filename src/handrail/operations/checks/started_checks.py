"""Starts the program of a check without a lock, and records its result at the step that it was for."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from handrail.contract.ids import receipt_id_for
from handrail.contract.outcome import Notice, make_from
from handrail.contract.printed_text import PrintedText, redact_argv, show_line, strip_escapes
from handrail.contract.wording import list_names, make_readable
from handrail.engine.events import ReceiptRecorded
from handrail.engine.plans import plan_receipt
from handrail.engine.receipts import (
    Counts,
    Exited,
    NotStarted,
    RunOutcome,
    Signalled,
    TimedOut,
    digest_argv,
)
from handrail.operations.checks.reports import (
    UnreadableReport,
    count_tests,
)
from handrail.operations.declared_checks import digest_check, digest_environment
from handrail.operations.pending_step import PendingStep
from handrail.operations.proof_trees import take_present
from handrail.ports.checks import PRINTED, CheckPrograms, ProgramCall, ProgramEnd, ReportFile
from handrail.ports.trees import TakenTree
from handrail.ports.workspace import DeclaredCheck, ReportPlace
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import ReadPorts, WritePorts
from handrail.runtime.sessions import PlanWith, Session, decide_and_commit

TREE_SECONDS = 10.0
MOST_CHANGED_MEANWHILE = 20
MOST_PRINTED_BYTES = 8 * 1024 * 1024
"""Most bytes of a program's output that are read as its report."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """The program to start, declared or typed."""

    argv: tuple[str, ...]
    directory: str
    seconds: int
    check: str = ""
    digest: str = ""
    """Digest of its declaration."""
    report: ReportPlace | None = None
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that its declaration sets."""
    change: str = ""
    """How it differs from the present declaration."""


def command_of(check: DeclaredCheck, directory: str, seconds: int) -> Command:
    """Return the command that a declaration starts."""
    own = {"check": check.name, "digest": digest_check(check)}
    return make_from(Command, check, argv=check.command, directory=directory, seconds=seconds, **own)


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended, and what its report counts."""

    ended: ProgramEnd
    outcome: RunOutcome
    counts: Counts | None
    uncounted: str
    """Why its report counts nothing; empty if it counts, or there is none."""


class RanCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The result of running a command."""

    receipt: ReceiptRecorded
    notices: list[Notice]
    """What could not be found out about it."""
    is_interrupted: bool
    tree: TakenTree | None
    """The files after it; None if they cannot be read."""


def make_first_use_notices(rt: WritePorts, command: Command, project: str) -> list[Notice]:
    """Return notices about a check's first run on this machine, and about a changed declaration."""
    if not command.check:
        return []
    notices = []
    if not rt.known_checks().find(project, command.digest).was_run:
        folder = _inside(project, command.directory)
        shown = show_line(rt.secrets, command.argv, command.environment, folder)
        message = (
            f"The first run of this project's check `{command.check}` on this machine. It starts: {shown}"
        )
        notices.append(Notice(type="check_first_use", message=message[:1000], severity="warning"))
    if command.change:
        notices.append(Notice(type="check_changed", message=command.change[:1000], severity="warning"))
    for notice in notices:
        rt.progress.write(f"handrail: {notice.message}\n")
    return notices


def run_command(
    rt: WritePorts, programs: CheckPrograms, command: Command, target: PendingStep, project: str
) -> RanCommand:
    printed = PrintedText(rt.secrets)

    def show(lines: list[str]) -> None:
        if lines:
            rt.progress.pass_on("".join(f"{line}\n" for line in lines))

    before = _take_tree(rt, project)
    counted = run_and_count(rt, programs, command, project, lambda chunk: show(printed.take(chunk)))
    ended = counted.ended
    show(printed.finish())
    if command.digest:
        duration = None if ended.status is None else ended.duration_ms
        rt.known_checks().keep_run(project, command.digest, duration)
    after = _take_tree(rt, project)
    report_path = _find_report_file(command)
    declared = (os.path.normpath(os.path.join(one.directory, one.report_path)) for one in target.run.checks)
    reports = {*declared, *([os.path.normpath(report_path)] if report_path else [])}
    meanwhile = _name_changes(rt, project, before, after, reports)
    notices = []
    if meanwhile:
        message = (
            f"{list_names(list(meanwhile))} changed while it ran, so it is no proof; run it again. "
            "What the check writes itself belongs into .gitignore."
        )
        notices = [Notice(type="files_changed_meanwhile", message=message, severity="warning")]
    key = rt.randomness.bytes(16).hex()
    shown = redact_argv(command.argv, rt.secrets)
    receipt = ReceiptRecorded(
        receipt_id=receipt_id_for(target.node.node_id, key),
        node_id=target.node.node_id,
        by="companion" if rt.team_client else "handrail",
        machine=rt.team_client,
        check=command.check,
        argv=shown,
        argv_digest=digest_argv(command.argv),
        directory=_inside(project, command.directory),
        outcome=counted.outcome,
        duration_ms=ended.duration_ms,
        output_digest=printed.digest,
        output_bytes=printed.size,
        head=printed.head,
        tail=printed.tail,
        tree_before="" if before is None else before.tree,
        tree_after="" if after is None else after.tree,
        changed_meanwhile=meanwhile,
        counts=counted.counts,
        uncounted=counted.uncounted,
        environment_digest=digest_environment(command.environment),
    )
    notices = [*_after(command, receipt), *notices]
    return RanCommand(receipt=receipt, notices=notices, is_interrupted=ended.is_interrupted, tree=after)


def run_and_count(
    rt: ReadPorts, programs: CheckPrograms, command: Command, project: str, see: Callable[[bytes], None]
) -> Counted:
    """Start the program, and read the report that its check declares."""
    path = _find_report_file(command)
    before = programs.look_at_report(project, path) if path else ""
    kept = bytearray()
    call = ProgramCall(
        argv=command.argv,
        directory=command.directory,
        project=project,
        seconds=command.seconds,
        is_declared=bool(command.check),
        environment=command.environment,
    )

    def take(chunk: bytes) -> None:
        see(chunk)
        if not path and len(kept) < MOST_PRINTED_BYTES:
            kept.extend(chunk)

    with rt.interruptions.defer():
        ended = programs.run(call, rt.interruptions.stop_reason, take)
    counts, uncounted = _count_report(programs, command, project, before, ended, bytes(kept))
    outcome = _classify_end(ended, command.seconds)
    return Counted(ended=ended, outcome=outcome, counts=counts, uncounted=uncounted)


def _find_report_file(command: Command) -> str:
    """Return the path of the report; empty if there is none, or the program prints it."""
    return "" if command.report is None or command.report.path == PRINTED else command.report.path


def _take_tree(rt: ReadPorts, project: str) -> TakenTree | None:
    """Return the project's present files; None if they cannot be read."""
    tree = take_present(rt, project, TREE_SECONDS)
    return None if isinstance(tree, Unseen) else tree


def _name_changes(
    rt: ReadPorts, project: str, before: TakenTree | None, after: TakenTree | None, reports: set[str]
) -> tuple[str, ...]:
    """Return files that changed while a program ran, so that it is unknown which version it ran on.

    Reports that checks declare are left out. Whatever else a check writes is no change if git ignores it, or
    if it is the same after every run.
    """
    if before is None or after is None or before.tree == after.tree:
        return ()
    found = rt.trees().diff(project, before.tree, after.tree)
    paths = {"some files"} if isinstance(found, Unseen) else {one.path for one in found}
    return tuple(make_readable(path) for path in sorted(paths - reports)[:MOST_CHANGED_MEANWHILE])


def _inside(project: str, directory: str) -> str:
    return strip_escapes(os.path.relpath(directory, os.path.realpath(project)))


def _classify_end(ended: ProgramEnd, seconds: int) -> RunOutcome:
    if ended.trouble:
        return NotStarted(reason=ended.trouble)
    if ended.is_timed_out:
        return TimedOut(seconds=seconds)
    if ended.signal:
        return Signalled(signal=ended.signal)
    assert ended.status is not None, "a program that ended by itself has a status"
    return Exited(status=ended.status)


def _count_report(
    programs: CheckPrograms, command: Command, project: str, before: str, ended: ProgramEnd, printed: bytes
) -> tuple[Counts | None, str]:
    """Return what the declared report counts, or why it counts nothing."""
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


def _after(command: Command, receipt: ReceiptRecorded) -> list[Notice]:
    if not receipt.uncounted:
        return []
    place = "" if command.report is None else f" ({command.report.path})"
    message = f"Nothing was counted, so it has not passed: {receipt.uncounted}{place}."
    return [Notice(type="report_not_read", message=message[:500], severity="warning")]


def record_receipt(
    rt: WritePorts, target: PendingStep, receipt: ReceiptRecorded
) -> tuple[Session, ReceiptRecorded]:
    """Append the result to the present state of the run, which may have moved on meanwhile.

    A repeat of a team client's call uses the same id, and gets what was recorded then.
    """

    def find(now: Session) -> ReceiptRecorded | None:
        held = now.history.receipts.get(receipt.node_id, ())
        return next((one.fact for one in held if one.fact.receipt_id == receipt.receipt_id), None)

    def decide(now: Session) -> PlanWith | None:
        return None if find(now) else lambda _: [plan_receipt(target.node, receipt)]

    session, _ = decide_and_commit(rt, target.session, decide, by_token=target.by_token)
    return session, find(session) or receipt
