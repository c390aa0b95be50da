"""`check.run`: start a program of the project, and record how it ended as a check result.

The run is found first, the program runs without any lock, and the check result is recorded at the node that
was pending when it began. A program that fails is a fact like any other: the call has succeeded.
"""

from __future__ import annotations

import os
import re
from functools import partial
from signal import Signals
from typing import Annotated, assert_never

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import CONTEXT_MISSING, E_INTERRUPTED, VALIDATION_ERROR
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import NodeId
from handrail.contract.outcome import Fault, NextCall, Notice, PartlyDone, Payload, Success, make_from
from handrail.contract.parameters import MintedId, NamedId, PathText, ProjectPath, TokenText
from handrail.contract.tokens.workflow import WORKFLOW
from handrail.engine.events import ReceiptRecorded
from handrail.engine.facts import Helper, encode_project
from handrail.engine.history import Run
from handrail.engine.navigate import Running, step_key
from handrail.engine.plans import plan_helper
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
    describe_outcome,
    has_passed,
)
from handrail.operations.checks.started_checks import (
    Command,
    command_of,
    make_first_use_notices,
    record_receipt,
    run_command,
)
from handrail.operations.declared_checks import find_check
from handrail.operations.kept_trees import is_project_of
from handrail.operations.pending_step import find_pending_step
from handrail.operations.same_project import find_own_project, settle_project
from handrail.ports.checks import CheckPrograms
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, leave_tree, project_of
from handrail.runtime.sessions import Session, commit, healthy_session, require_healthy

DEFAULT_SECONDS = 600
MOST_SECONDS = 7_200
MOST_ARGUMENTS = 1_000
MOST_OF_PASSED, MOST_OF_FAILED = 45, 500
"""Most characters of the last lines in a reply: an agent decides by the result; `--mvi full` has more."""

_TIMED_OUT, _CANNOT_START, _SIGNALLED = 124, 127, 128
"""Exit statuses of a shell for a program that timed out, could not be started, or got a signal."""


_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")


class RunCheck(Input, frozen=True, kw_only=True):
    """The command, and the run that it is for."""

    name: Annotated[NamedId, Meta(description="A check that the project declares.")] | UnsetType = UNSET
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
        Annotated[TokenText, Meta(description="The step it belongs to, by its stateToken.")] | UnsetType
    ) = UNSET
    session: Annotated[MintedId, Meta(description="Or a session id, for its open run.")] | UnsetType = UNSET
    directory: (
        Annotated[PathText, Meta(description="Where it starts, relative to the project.", max_length=1_000)]
        | UnsetType
    ) = UNSET
    time_limit: (
        Annotated[int, Meta(description="Seconds until it is ended.", ge=1, le=MOST_SECONDS)] | UnsetType
    ) = UNSET
    pass_status: (
        Annotated[bool, Meta(description="On a command line: exit with the program's status.")] | UnsetType
    ) = UNSET
    project: ProjectPath | UnsetType = UNSET


class CheckRun(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """The recorded check result."""

    check_result_id: str
    session_id: str
    run_id: str
    step_id: str
    check: str
    """The declared name; empty if the command was given word by word."""
    argv: tuple[str, ...]
    directory: str
    status: str
    """How it ended, in a few words."""
    has_passed: bool
    exit_status: int
    """Exit status of the program, or as a shell reports it: 124 timed out, 127 not
    started, 128 and more for a signal.
    """
    last_lines: str
    """The end of its output; more of it if the check failed."""
    duration_ms: int
    output_bytes: int
    output_digest: str
    tail: str
    """The last part of its output, without secrets."""
    tree_before: str
    tree_after: str
    """The files of the project before and after it; empty if unknown."""
    counts: Counts | None
    """What its report counted; null if there is no report."""


def run_check(rt: WritePorts, request: RunCheck) -> Success:
    """Run the check, record its result, and return both.

    Raise Fault before anything was started, and PartlyDone if a signal ended the program.
    """
    project = project_of(rt, request.project)
    programs = rt.check_programs()
    _require_one_command(request)
    again = partial(_for_session, request)
    target = find_pending_step(rt, request.state_token, request.session, project, again=again)
    require_healthy(target.session)
    if target.run.parent is not None and not target.run.has_own_project:
        own = find_own_project(rt.workspace, rt.places, target.run, request.project)
        session = _keep_own_project(rt, target.session, target.node.node_id, request.project, own)
        run = session.history.runs[target.run.run_id]
        target = msgspec.structs.replace(target, session=session, run=run)
    project, request = _go_to_own_project(rt, target.run, request, project)
    is_here = is_project_of(rt.workspace, target.session.history, target.node.node_id, project)
    command = _command(rt, programs, request, project, target.run.checks if is_here else None)
    rt.keys.signing_key(WORKFLOW)  # fails here without a key, before anything is started
    programs.register_secrets()
    notices = make_first_use_notices(rt, command, project)
    ran = run_command(rt, programs, command, target, project)
    receipt = ran.receipt
    if not is_here:
        receipt = msgspec.structs.replace(
            receipt, check="", directory=ELSEWHERE, tree_before="", tree_after=""
        )
        message = "This is not the project of the run, so the receipt proves nothing about its files."
        notices.append(Notice(type="check_elsewhere", message=message, severity="warning"))
    elif _is_other_checkout(target.run, project):
        message = f"It ran in another checkout, {project}: it counts where that has the same files."
        notices.append(Notice(type="check_in_folder", message=message[:1000], severity="info"))
    recorded, receipt = record_receipt(rt, target, receipt)
    leave_tree(rt, recorded.history.session_id, target.node.node_id, project, "receipt", ran.tree)
    if ran.is_interrupted:
        raise _stopped(receipt)
    answer = _describe(recorded, receipt)
    return Success(data=msgspec.to_builtins(answer), notices=(*notices, *ran.notices))


def _keep_own_project(
    rt: WritePorts, session: Session, node_id: NodeId, asked: str | UnsetType, own: str | None
) -> Session:
    """Record the directory of a child run, for a check that comes before its first report."""
    run = session.history.runs[session.history.nodes[node_id].run_id]
    settled = settle_project(rt, run, asked, own)
    if settled is None:
        return session
    with healthy_session(rt, session, by_token=True) as (current, witness):
        node = current.history.nodes[node_id]
        planned = plan_helper(current.history, node, Helper(project=encode_project(settled)))
        return (commit(rt, witness, current, lambda _: planned) if planned else None) or current


def _is_other_checkout(run: Run, project: str) -> bool:
    """Whether it is the run's repository in another place; a helper may work in a place of its own."""
    began = run.project if run.parent is None else None
    return began is not None and began.directory not in ("", encode_project(project).directory)


def _go_to_own_project(rt: ReadPorts, run: Run, request: RunCheck, project: str) -> tuple[str, RunCheck]:
    """Return the run's own project, if this call is in it or around it: a repository may have several.

    A call that names a folder of it starts there.
    """
    own = find_own_project(rt.workspace, rt.places, run, request.project)
    if own is None or own == project or os.path.commonpath((own, project)) not in (own, project):
        return project, request
    is_folder = request.project is not UNSET and request.directory is UNSET and project.startswith(own)
    folder = os.path.relpath(project, own) if is_folder else request.directory
    return own, msgspec.structs.replace(request, directory=folder)


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
    rt: ReadPorts,
    programs: CheckPrograms,
    request: RunCheck,
    project: str,
    pins: tuple[PinnedCheck, ...] | None,
) -> Command:
    """Return the command. Raise Fault VALIDATION_ERROR, E_CONFIG."""
    asked = "" if request.directory is UNSET else request.directory
    if request.argv is not UNSET:
        return Command(
            argv=_name_env(tuple(request.argv)),
            directory=programs.directory_in(project, asked),
            seconds=DEFAULT_SECONDS if request.time_limit is UNSET else request.time_limit,
        )
    assert request.name is not UNSET, "one of the two is given"
    found = find_check(rt.settings.of(project), pins, request.name, rt.secrets)
    check = found.check
    is_own = asked in ("", check.directory)
    seconds = check.timeout_seconds if request.time_limit is UNSET else request.time_limit
    command = command_of(check, programs.directory_in(project, asked or check.directory), seconds)
    own = {} if is_own else {"check": "", "digest": ""}  # in another project it is another check
    return msgspec.structs.replace(command, change=found.change, **own)


def _name_env(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words with `env` before variables; without it only a shell accepts them before a program."""
    is_set = bool(_ASSIGNED.match(words[0])) and not all(map(_ASSIGNED.match, words))
    return ("env", *words) if is_set else words


# The reply


def _stopped(receipt: ReceiptRecorded) -> PartlyDone:
    """Return what was done when the call had to end: the run of the program is recorded all the same."""
    return PartlyDone(
        E_INTERRUPTED,
        f"A signal ended the check; receipt {receipt.receipt_id} says so and proves nothing.",
        details={"committed": True, "check_result_id": receipt.receipt_id},
        hint="Run it again if the step needs it.",
    )


def _describe(session: Session, receipt: ReceiptRecorded) -> CheckRun:
    history = session.history
    node = history.nodes[receipt.node_id]
    assert isinstance(node.state, Running), "a receipt belongs to a pending step"
    passed = has_passed(receipt.outcome, receipt.counts, receipt.uncounted)
    printed = receipt.tail or receipt.head
    return make_from(
        CheckRun,
        receipt,
        check_result_id=receipt.receipt_id,
        session_id=history.session_id,
        run_id=node.run_id,
        step_id=step_key(node.state),
        status=describe_outcome(receipt.outcome),
        has_passed=passed,
        exit_status=_exit_status(receipt.outcome),
        last_lines=find_last_lines(printed, MOST_OF_PASSED if passed else MOST_OF_FAILED),
        tail=printed,
    )


def find_last_lines(printed: str, most: int) -> str:
    """Return the last whole lines of a text that fit, or the end of its last line."""
    lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
    left, kept = most, list[str]()
    for line in reversed(lines):
        left -= len(line) + 1
        if left < 0:
            break
        kept.insert(0, line)
    return "\n".join(kept or [line[-most:] for line in lines[-1:]])


def _exit_status(outcome: RunOutcome) -> int:
    """Return the program's status, as a shell would report it."""
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


def _for_session(request: RunCheck, session: str) -> NextCall:
    named = msgspec.structs.replace(request, session=session)
    return NextCall(operation="check.run", params=msgspec.to_builtins(named))


OPERATION = Operation(
    name="check.run",
    effect="process",
    where="client",
    summary="Run a program of the project and record its result for the pending step.",
    input=RunCheck,
    output=CheckRun,
    perform=run_check,
    shape=Shape(
        levels={
            "minimal": ("checkResultId", "hasPassed", "exitStatus"),
            "standard": (
                "checkResultId",
                "runId",
                "status",
                "exitStatus",
                "hasPassed",
                "counts",
                "lastLines",
            ),
            "full": None,
        },
        id_field="checkResultId",
        select="top",
        untrusted=("argv", "lastLines", "tail"),
    ),
    errors=(
        "CONTEXT_MISSING",
        "SESSION_NOT_FOUND",
        "SESSION_LOCKED",
        "TOKEN_SCOPE_MISMATCH",
        "KEYRING_INVALID",
    ),
)
