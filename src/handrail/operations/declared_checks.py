"""The checks that a project declares: Handrail pins all of them when a run starts, and finds one by name."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault, Json, NextCall, refuse_argument
from handrail.contract.printed_text import redact_argv, show_line
from handrail.contract.redaction import Secrets
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.engine.receipts import PinnedCheck, digest_argv
from handrail.ports.checks import KnownChecks
from handrail.ports.workspace import DeclaredCheck, ReportPlace, Settings


class NamedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The check that a name means in a run."""

    check: DeclaredCheck
    change: str = ""
    """How it differs from the present declaration; empty if it does not."""


def pin_checks(
    settings: Settings, secrets: Secrets, known: KnownChecks, project: str
) -> tuple[PinnedCheck, ...]:
    """Return the declared checks as a run keeps them: from now on these count under these names."""
    return tuple(
        PinnedCheck(
            name=check.name,
            argv=redact_argv(check.command, secrets),
            argv_digest=digest_argv(check.command),
            directory=check.directory,
            timeout_seconds=check.timeout_seconds,
            report_path="" if check.report is None else check.report.path,
            report_format="" if check.report is None else check.report.format,
            environment_digest=digest_environment(check.environment),
            is_approved=known.find(project, digest_check(check)).is_approved,
        )
        for check in settings.checks
    )


def digest_check(check: DeclaredCheck) -> str:
    """Return the digest of a declaration: what is started, where, for how long, and what counts its tests.

    Besides its own variables, a check gets the caller's environment without variables that steer a runner.
    """
    report = None if check.report is None else {"path": check.report.path, "format": check.report.format}
    facts: dict[str, Json] = {
        "command": [word.encode("utf-8", "replace").decode() for word in check.command],
        "directory": check.directory,
        "timeoutSeconds": check.timeout_seconds,
        "report": report,
    }
    if check.environment:  # without variables, the digest stays as in earlier versions
        facts["environment"] = dict(check.environment)
    for name in ("narrow", "prepare"):  # further commands that Handrail starts
        if words := getattr(check, name):
            facts[name] = list(words)
    return digest(facts)


def digest_environment(environment: Sequence[tuple[str, str]]) -> str:
    return digest(dict(environment)) if environment else ""


def find_declared(settings: Settings, name: str) -> tuple[DeclaredCheck, ...]:
    """Return the check of this name, or every check if no name is given. Raise Fault VALIDATION_ERROR."""
    found = tuple(check for check in settings.checks if name in ("", check.name))
    if not found:
        raise _not_declared(name, [check.name for check in settings.checks])
    return found


def find_check(
    settings: Settings, pins: Sequence[PinnedCheck] | None, name: str, secrets: Secrets
) -> NamedCheck:
    """Return the check of this name as it was when the run began.

    If the run has no pin of it, return the check as declared now.

    `pins` is None if the run belongs to another project. Raise Fault VALIDATION_ERROR.
    """
    declared = next((check for check in settings.checks if check.name == name), None)
    pinned = next((check for check in pins or () if check.name == name), None)
    if pinned is None:
        if declared is None:
            raise _not_declared(name, [check.name for check in settings.checks])
        change = "" if pins is None else f"The project declared no check {name} when the run began."
        return NamedCheck(check=declared, change=change)
    check = _restore(pinned, declared)
    return NamedCheck(check=check, change=_compare(check, declared, secrets))


def _restore(pinned: PinnedCheck, declared: DeclaredCheck | None) -> DeclaredCheck:
    """Return the declaration from the start of the run; what older logs lack comes from the present one."""
    now = declared or DeclaredCheck(name=pinned.name, command=())
    if pinned.environment_digest != digest_environment(now.environment):
        raise _words_not_kept(pinned)
    if digest_argv(now.command) == pinned.argv_digest:
        command = now.command
    elif digest_argv(pinned.argv) == pinned.argv_digest:
        command = pinned.argv
    else:
        raise _words_not_kept(pinned)
    if not pinned.directory:
        return msgspec.structs.replace(now, command=command)
    report = None
    if pinned.report_format:
        report = ReportPlace(path=pinned.report_path, format=pinned.report_format)
    return msgspec.structs.replace(
        now,
        command=command,
        directory=pinned.directory,
        timeout_seconds=pinned.timeout_seconds,
        report=report,
    )


def _compare(check: DeclaredCheck, declared: DeclaredCheck | None, secrets: Secrets) -> str:
    if declared == check:
        return ""
    counts = f"The check {check.name} of the start of the run is run, and counts"
    if declared is None:
        return f"{counts}: {_show(check, secrets)}. The project no longer declares it."
    if declared.command != check.command:
        return f"{counts}: {_show(check, secrets)}. Declared now: {_show(declared, secrets)}"
    return f"{counts}. Its directory, time limit or report is declared differently now."


def _show(check: DeclaredCheck, secrets: Secrets) -> str:
    return show_line(secrets, check.command, check.environment, check.directory)


def _not_declared(name: str, names: Sequence[str]) -> Fault:
    known = f"declared are {', '.join(names)}" if names else "it declares none"
    which = f"check {quote(name)}" if name else "check"
    return refuse_argument(
        f"The project declares no {which}; {known}. To run a command as it is, put -- before it.",
        "name",
        "is not declared",
        known,
        did_you_mean=find_nearest(name, list(names)),
        hint="Declare it under `checks` in .handrail/config.json, or run the command itself after --.",
        next_call=NextCall(operation="check.list", params={}),
    )


def _words_not_kept(pinned: PinnedCheck) -> Fault:
    shown = " ".join(pinned.argv)
    return refuse_argument(
        f"The check {pinned.name} is declared differently since the run began, and its words or variables "
        f"then held something that is not stored: {shown}"[:1000],
        "name",
        "cannot be run as it was declared",
        shown[:200],
        hint="Declare it as it was in .handrail/config.json, or run the present command itself after --.",
        next_call=NextCall(operation="check.list", params={}),
    )
