"""`check.replay`: run the checks that a receipt names again, on the files of its commit, and compare.

Nothing of the receipt is started or believed: it gives the commit and the names. What runs is what the
project declares here and now, and only what the user approved on this machine. No server offers it.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_IO, RECEIPT_REFUSED
from handrail.contract.disclosure.fields import Shape
from handrail.contract.dsse import read_envelope
from handrail.contract.outcome import Answer, Fault
from handrail.engine.command_lines import explain_not_run
from handrail.engine.receipts import Counts, describe_outcome, has_passed
from handrail.operations.checks.receipt_runs import (
    MOST_PRINTED_BYTES,
    Command,
    count_report,
    find_report_file,
    tell_end,
)
from handrail.operations.declared_checks import digest_check
from handrail.operations.receipts.signing import find_commit
from handrail.operations.receipts.verify_receipt import ReceiptFile
from handrail.ports.checks import PRINTED, STEERING, ProgramCall
from handrail.ports.workspace import DeclaredCheck
from handrail.projections.receipt_statement import Stated, read_statement
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime, project_of

Verdict: TypeAlias = Literal[
    "same", "different", "not_declared", "not_approved", "not_comparable", "not_started"
]


class ReplayChecks(Input, frozen=True, kw_only=True):
    """Which receipt."""

    receipt: Annotated[ReceiptFile, Meta(description="The receipt.")]
    project: Annotated[str, Meta(description="The project directory.")] | UnsetType = UNSET


class ReplayedCheck(Answer, frozen=True, kw_only=True):
    """A check that the receipt names, and what came of it here."""

    name: str
    verdict: Verdict
    stated: bool
    """Whether it passed, as the receipt says."""
    has_passed: bool | None
    """Whether it passes here; null: it did not run."""
    status: str
    """How it ended here, or why it did not run."""
    counts: Counts | None


class ReplayedChecks(Answer, frozen=True, kw_only=True):
    """What was run, on which commit."""

    commit: str
    is_same: bool
    """Every check of the receipt ran here and ended as it says."""
    checks: list[ReplayedCheck]


def replay_checks(rt: Runtime, request: ReplayChecks) -> ReplayedChecks:
    """Run each approved check on the files of the commit.

    Raises Fault RECEIPT_REFUSED for a file that is no receipt, and VALIDATION_ERROR where the commit is not
    in this repository.
    """
    project = project_of(rt, request.project)
    read = read_envelope(request.receipt.text.encode("utf-8", "surrogateescape"))
    stated = None if read is None else read_statement(read.statement)
    if stated is None:
        raise Fault(
            RECEIPT_REFUSED,
            "The file is not a receipt, byte for byte.",
            details={"reasons": ["not_a_receipt"]},
        )
    named = find_commit(rt, project, stated.commit)
    with rt.committed().copy(project, named.commit) as folder:
        if not folder:
            raise Fault(
                E_IO,
                "The files of that commit could not be read from this repository.",
                hint="Fetch the whole commit, and see that there is room for it.",
            )
        rows = [_replay(rt, project, folder, name, was) for name, was in _list_named(stated)]
    is_same = bool(rows) and all(row.verdict == "same" for row in rows)
    return ReplayedChecks(commit=named.commit, is_same=is_same, checks=rows)


def _list_named(stated: Stated) -> list[tuple[str, bool]]:
    """The names of declared checks, and whether each passed; nothing else of them is used."""
    rows = [(check.get("name"), check.get("hasPassed")) for check in stated.checks if check.get("isDeclared")]
    return [(name, was is True) for name, was in rows if isinstance(name, str)]


def _replay(rt: Runtime, project: str, folder: str, name: str, was: bool) -> ReplayedCheck:
    declared = _find(rt, project, name)
    if declared is None:
        return _tell(name, "not_declared", was, "the project does not declare it now")
    digest = digest_check(declared)
    if not rt.known_checks().find(project, digest).is_approved:
        return _tell(name, "not_approved", was, f"approve it first: handrail check approve {name}")
    then = _find(rt, folder, name)
    if then is None or digest_check(then) != digest:
        return _tell(name, "not_comparable", was, "it is declared differently at that commit")
    return _run(rt, folder, declared, was)


def _find(rt: Runtime, project: str, name: str) -> DeclaredCheck | None:
    try:
        checks = rt.settings.of(project).checks
    except Fault:  # settings that cannot be read declare nothing
        return None
    return next((check for check in checks if check.name == name), None)


def _run(rt: Runtime, folder: str, check: DeclaredCheck, was: bool) -> ReplayedCheck:
    programs = rt.check_programs()
    command = Command(
        argv=check.command,
        directory=programs.directory_in(folder, check.directory),
        seconds=check.timeout_seconds,
        check=check.name,
        report=check.report,
    )
    path = find_report_file(command)
    before = programs.look_at_report(folder, path) if path else ""
    printed = bytearray()

    def take(chunk: bytes) -> None:
        if check.report is not None and check.report.path == PRINTED and len(printed) < MOST_PRINTED_BYTES:
            printed.extend(chunk)

    rt.progress.say(f"handrail: running {check.name} on the files of the commit\n")
    call = ProgramCall(
        argv=command.argv,
        directory=command.directory,
        project=folder,
        seconds=command.seconds,
        without=STEERING,
    )
    with rt.interruptions.defer():
        ended = programs.run(call, rt.interruptions.stop_reason, take)
    counts, uncounted = count_report(programs, command, folder, before, ended, bytes(printed))
    outcome = tell_end(ended, command.seconds)
    unrun = explain_not_run(check.command, outcome, counts)
    if unrun:
        return _tell(check.name, "not_started", was, unrun)
    passes = has_passed(outcome, counts, uncounted)
    return ReplayedCheck(
        name=check.name,
        verdict="same" if passes == was else "different",
        stated=was,
        has_passed=passes,
        status=describe_outcome(outcome),
        counts=counts,
    )


def _tell(name: str, verdict: Verdict, was: bool, status: str) -> ReplayedCheck:
    return ReplayedCheck(name=name, verdict=verdict, stated=was, has_passed=None, status=status, counts=None)


OPERATION = Operation(
    name="check.replay",
    effect="process",
    summary="Run the approved checks that a receipt names again, on the files of its commit, and compare.",
    input=ReplayChecks,
    output=ReplayedChecks,
    perform=replay_checks,
    shape=Shape(
        levels={"minimal": ("commit", "is_same", "checks"), "standard": None, "full": None},
        select="top",
        untrusted=("checks",),
    ),
    errors=(RECEIPT_REFUSED.code,),
)
