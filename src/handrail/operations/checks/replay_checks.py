"""`check.replay`: run the checks that a receipt names again, on the files of its commit, and compare.

Nothing of the receipt is started or believed: it gives the commit and the names. What runs is what the
project declares here and now, and only what the user approved on this machine. No server offers it.
"""

from __future__ import annotations

import os
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_IO, RECEIPT_REFUSED
from handrail.contract.disclosure.fields import Shape
from handrail.contract.dsse import read_envelope
from handrail.contract.outcome import Answer, Fault
from handrail.contract.parameters import ProjectPath
from handrail.engine.command_lines import explain_not_run
from handrail.engine.receipts import Counts, describe_outcome, has_passed
from handrail.operations.checks.receipt_runs import command_of, run_and_count
from handrail.operations.checks.receipts import ReceiptFile, find_commit
from handrail.operations.declared_checks import digest_check
from handrail.ports.workspace import DeclaredCheck
from handrail.projections.receipt_statement import Stated, read_statement
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of

Verdict: TypeAlias = Literal["same", "different", "not_declared", "not_approved", "not_comparable", "not_run"]


class ReplayChecks(Input, frozen=True, kw_only=True):
    """Which receipt."""

    receipt: Annotated[ReceiptFile, Meta(description="The receipt.")]
    project: ProjectPath | UnsetType = UNSET


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
    """Every check of the receipt ran here, ended as it says, and counted what it says."""
    checks: list[ReplayedCheck]


class _Named(msgspec.Struct, frozen=True, kw_only=True):
    """A check as the receipt names it."""

    name: str
    was: bool
    counts: Counts | None


def replay_checks(rt: WritePorts, request: ReplayChecks) -> ReplayedChecks:
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
        rows = [_replay(rt, project, folder, named) for named in _list_named(stated)]
    is_same = bool(rows) and all(row.verdict == "same" for row in rows)
    return ReplayedChecks(commit=named.commit, is_same=is_same, checks=rows)


def _list_named(stated: Stated) -> list[_Named]:
    """The declared checks by name, and what the receipt says came of each; nothing else of them is used."""
    rows = [check for check in stated.checks if check.get("isDeclared")]
    return [
        _Named(name=row["name"], was=row.get("hasPassed") is True, counts=_read_counts(row.get("counts")))
        for row in rows
        if isinstance(row.get("name"), str)
    ]


def _read_counts(value: object) -> Counts | None:
    try:
        return None if value is None else msgspec.convert(value, Counts)
    except msgspec.ValidationError:  # nothing that a receipt of ours says
        return None


def _replay(rt: WritePorts, project: str, folder: str, named: _Named) -> ReplayedCheck:
    declared = _find(rt, project, named.name)
    if declared is None:
        return _make_row(named, "not_declared", "the project does not declare it now")
    digest = digest_check(declared)
    if not rt.known_checks().find(project, digest).is_approved:
        return _make_row(named, "not_approved", f"approve it first: handrail check approve {named.name}")
    then = _find(rt, folder, named.name)
    if then is None or digest_check(then) != digest:
        return _make_row(named, "not_comparable", "it is declared differently at that commit")
    return _run(rt, folder, declared, named)


def _find(rt: ReadPorts, project: str, name: str) -> DeclaredCheck | None:
    try:
        checks = rt.settings.of(project).checks
    except Fault:  # settings that cannot be read declare nothing
        return None
    return next((check for check in checks if check.name == name), None)


def _run(rt: WritePorts, folder: str, check: DeclaredCheck, named: _Named) -> ReplayedCheck:
    programs = rt.check_programs()
    directory = programs.directory_in(folder, check.directory)
    command = command_of(check, directory, check.timeout_seconds)
    # What Python keeps of the copy goes with the copy.
    own = ("PYTHONPYCACHEPREFIX", os.path.join(folder, ".bytecode"))
    command = msgspec.structs.replace(command, environment=(own, *command.environment))
    rt.progress.write(f"handrail: running {check.name} on the files of the commit\n")
    ran = run_and_count(rt, programs, command, folder, lambda _: None)
    unrun = explain_not_run(check.command, ran.outcome, ran.counts)
    if unrun:
        return _make_row(named, "not_run", unrun)
    passes = has_passed(ran.outcome, ran.counts, ran.uncounted)
    status = describe_outcome(ran.outcome)
    is_same = passes == named.was
    # Older receipts do not say whose word a number is.
    both = (named.counts, ran.counts)
    stated, counted = (one and msgspec.structs.replace(one, by_words=UNSET) for one in both)
    if stated is not None and stated != counted:
        is_same = False
        here, there = _describe_counts(ran.counts), _describe_counts(named.counts)
        status = f"{status}; counts differ: {here} here, {there} in the receipt"
    return ReplayedCheck(
        name=named.name,
        verdict="same" if is_same else "different",
        stated=named.was,
        has_passed=passes,
        status=status,
        counts=ran.counts,
    )


def _describe_counts(counts: Counts | None) -> str:
    numbers = {} if counts is None else msgspec.structs.asdict(counts)
    named = [f"{number} {word}" for word, number in numbers.items() if number and word != "by_words"]
    return ", ".join(named) or "nothing counted"


def _make_row(named: _Named, verdict: Verdict, status: str) -> ReplayedCheck:
    return ReplayedCheck(
        name=named.name, verdict=verdict, stated=named.was, has_passed=None, status=status, counts=None
    )


OPERATION = Operation(
    name="check.replay",
    effect="process",
    where="companion",
    summary="Run the approved checks of a receipt again on the files of its commit, and compare.",
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
