"""What a check of `doctor` is given and says, and the checks of the program itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from handrail.contract.outcome import Answer, Fault, Json, make_from
from handrail.ports.program import Installation, InstallFacts, UpdateCheck, Updates
from handrail.ports.server import TeamState
from handrail.program.update.find_release import (
    NO_RELEASE,
    UPDATE,
    ReleaseRequest,
    choose_index,
    find_fresh_check,
    find_release,
    make_update_check,
)
from handrail.program.update.package_index import version_key
from handrail.runtime.runtime import Runtime
from handrail.version import __version__

CheckStatus: TypeAlias = Literal["pass", "warn", "fail"]


class DoctorCheck(Answer, frozen=True, kw_only=True):
    """One line of the check-up; `fix` is a command or one sentence, and null on a pass."""

    check: str
    status: CheckStatus
    fix: str | None
    message: str
    details: dict[str, Json]


class CheckInput(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks look at."""

    rt: Runtime
    project: str
    trouble: Fault | None = None
    """Why there is no project to look at; the rest is looked at all the same."""
    is_offline: bool = False
    """Whether nothing but this machine may be asked."""
    team: Callable[[], TeamState | None] = lambda: None
    """The team of the project, asked once."""


def report_pass(message: str, **details: Json) -> DoctorCheck:
    """What a check found; its name comes from the table."""
    return DoctorCheck(check="", status="pass", fix=None, message=message, details=details)


def report_warning(message: str, fix: str, **details: Json) -> DoctorCheck:
    return DoctorCheck(check="", status="warn", fix=fix, message=message, details=details)


def report_failure(message: str, fix: str, **details: Json) -> DoctorCheck:
    return DoctorCheck(check="", status="fail", fix=fix, message=message, details=details)


# Release readiness: computed from what CI recorded about this build, never typed
#
# The record names the digest of the files it is about. If one byte of a packed file changes, the record no
# longer counts.

RECORD_NAME = "_readiness.json"

Status: TypeAlias = Literal["verified", "missing", "not_applicable", "unknown"]
Level: TypeAlias = Literal["stable", "beta", "unpublishable"]

REQUIRED_EVIDENCE = (
    "functional_contract_coverage_100",
    "mock_upstream_contract_tests",
    "recorded_live_smoke_for_stable",
)
_SETTLED = ("verified", "not_applicable")


class ReadinessRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `tools/readiness.py` wrote after the tests of a build."""

    v: Literal[1]
    digest: str
    fcc_status: Status
    mock_upstream_status: Status
    live_smoke_status: Status
    gaps: int = 0
    """How many behaviours of the public contract no test showed."""


class ReleaseReadiness(Answer, frozen=True, kw_only=True):
    """The release gate as `reference` and `doctor` show it (CLI sections 11 and 13)."""

    level: Level
    fcc_required: bool = True
    fcc_status: Status = "unknown"
    mock_upstream_required: bool = True
    mock_upstream_status: Status = "unknown"
    live_smoke_required_for_stable: bool = True
    live_smoke_status: Status = "unknown"
    reason: str
    required_evidence: list[str] = msgspec.field(default_factory=lambda: list(REQUIRED_EVIDENCE))


def release_readiness(installation: Installation) -> ReleaseReadiness:
    """The level of this build, from its record and its own bytes."""
    content = installation.packed(RECORD_NAME)
    if content is None:
        return _unknown("This build carries no record of its tests; only a release that CI made has one.")
    try:
        record = msgspec.json.decode(content, type=ReadinessRecord)
    except (msgspec.MsgspecError, ValueError):
        return _unknown("The record of this build's tests cannot be read; install the release again.")
    if record.digest != installation.digest():
        return _unknown("A packed file differs from the one that was tested; install the release again.")
    return judge_readiness(record)


def judge_readiness(record: ReadinessRecord) -> ReleaseReadiness:
    """The level that the evidence allows; a missing smoke run alone makes it a beta."""
    level: Level
    if record.fcc_status not in _SETTLED:
        level, reason = "unpublishable", f"{record.gaps} behaviours of the public contract have no test."
    elif record.mock_upstream_status not in _SETTLED:
        level, reason = "unpublishable", "The fakes of what Handrail depends on were not tested as a whole."
    elif record.live_smoke_status not in _SETTLED:
        level, reason = "beta", "Stable requires a recorded smoke run of the release candidate."
    else:
        level, reason = "stable", "Every required piece of evidence is recorded for exactly these files."
    return make_from(ReleaseReadiness, record, level=level, reason=reason)


def _unknown(reason: str) -> ReleaseReadiness:
    return ReleaseReadiness(level="unpublishable", reason=reason)


# The checks


def check_path(given: CheckInput) -> DoctorCheck:
    program = given.rt.installation().program()
    facts = {"first_on_path": program.on_path or None}
    if not program.on_path:
        fix = "Add the directory of the handrail command to PATH, or use the full path of the command."
        return report_warning("No handrail command is on PATH.", fix, **facts)
    if not program.is_on_path:
        fix = "Remove the other installation, or put this one first on PATH."
        return report_warning(
            "The first handrail command on PATH belongs to another installation.", fix, **facts
        )
    return report_pass("The first handrail command on PATH is this one.", **facts)


def check_settings(given: CheckInput) -> DoctorCheck:
    problems = given.rt.settings.problems(given.project)
    listed = [msgspec.to_builtins(problem) for problem in problems]
    try:
        given.rt.settings.of(given.project)
    except Fault as fault:
        return report_failure(fault.message, fault.hint or fault.kind.hint, problems=listed)
    if problems:
        return report_warning(problems[0].message, problems[0].fix, problems=listed)
    return report_pass("The settings can be used.", problems=[])


def check_workspace(given: CheckInput) -> DoctorCheck:
    if given.trouble is not None:
        raise given.trouble
    seen = given.rt.workspace.observations(given.project)
    if "repo_root_hash" not in seen:
        fix = "Run git init in the project, or go on without: sessions are then found by their words only."
        return report_warning("The project is not inside a git repository.", fix, root=given.project)
    facts = {"root": given.project, "branch": seen.get("git_branch"), "head": seen.get("git_head_sha")}
    return report_pass("The project is inside a git repository.", **facts)


def check_git(given: CheckInput) -> DoctorCheck:
    found = given.rt.installation().program().git
    if not found:
        fix = "Install git; without it no files are remembered, and `handrail prove` cannot run."
        return report_warning("No git command is on PATH.", fix, path=None)
    return report_pass("git is on PATH.", path=found)


def check_readiness(given: CheckInput) -> DoctorCheck:
    found = release_readiness(given.rt.installation())
    facts = msgspec.to_builtins(found)
    match found.level:
        case "stable":
            return report_pass(found.reason, **facts)
        case "beta":
            return report_warning(
                found.reason, "Record a smoke run of the release candidate before calling it stable.", **facts
            )
        case _ if given.rt.installation().program().method == "editable":
            return report_pass("A checkout carries no record of its tests; a release does.", **facts)
        case _:
            fix = "Install a release that CI built, or run tools/readiness.py after the tests of this build."
            return report_failure(found.reason, fix, **facts)


# Updates: from the last check of the index, or from a new one of at most two seconds

NETWORK_MS = 2_000
"""How long the index may take in all, so that another machine does not delay a check-up."""
CHECK = "handrail update --check"
_NOT_OURS = {
    "editable": "This copy runs from a checkout; git brings it up to date.",
    "ephemeral": "This copy was made for one call and is not updated.",
    "system": "This copy belongs to the operating system, which brings it up to date.",
}


def check_update(given: CheckInput) -> DoctorCheck:
    """Never a failure by itself: an old version works, and a silent index says nothing about this one."""
    try:
        updates = given.rt.updates()
        facts = updates.facts()
        if facts.method in _NOT_OURS:
            return report_pass(
                _NOT_OURS[facts.method], version=__version__, latest_version=None, checked_at=None
            )
        return _check_index(given, updates, facts)
    except Fault as fault:
        return report_warning(fault.message, CHECK, version=__version__, latest_version=None, checked_at=None)


def _check_index(given: CheckInput, updates: Updates, facts: InstallFacts) -> DoctorCheck:
    index = choose_index(given.rt)
    if not index:
        return report_pass(NO_RELEASE, version=__version__, latest_version=None, checked_at=None)
    look = find_fresh_check(given.rt, updates, index)
    if look is not None or given.is_offline:
        return _report_check(look or updates.last_check())
    try:
        look = _look(given, updates, facts)
    except Fault as fault:
        return _report_silence(fault, updates.last_check())
    updates.keep_check(look)
    return _report_check(look)


def _look(given: CheckInput, updates: Updates, facts: InstallFacts) -> UpdateCheck:
    rt = given.rt
    ends_at = rt.clock.monotonic_ms() + NETWORK_MS

    def asked() -> str:
        return rt.interruptions.stop_reason() or ("deadline" if rt.clock.monotonic_ms() >= ends_at else "")

    return make_update_check(rt, updates, find_release(rt, updates, facts, ReleaseRequest(), asked), asked)


def _report_check(look: UpdateCheck | None) -> DoctorCheck:
    if look is None:
        message = f"Nothing has checked for a release newer than {__version__} yet."
        return report_pass(message, version=__version__, latest_version=None, checked_at=None)
    facts: dict[str, Json] = {
        "version": __version__,
        "latest_version": look.latest,
        "checked_at": look.checked_at,
    }
    if _is_behind(look):
        facts["notice"] = look.notice
        return report_warning(f"Handrail {look.latest} is available; this is {__version__}.", UPDATE, **facts)
    return report_pass(f"There is no release newer than {__version__}.", **facts)


def _report_silence(fault: Fault, look: UpdateCheck | None) -> DoctorCheck:
    """Report what an earlier check found, and that the index did not answer now."""
    known = _report_check(look)
    message = f"{fault.message.removesuffix(' Nothing was changed.')} {known.message}"
    return report_warning(message, known.fix or CHECK, **known.details, code=fault.kind.code)


def _is_behind(look: UpdateCheck) -> bool:
    latest, running = version_key(look.latest), version_key(__version__)
    return latest is not None and running is not None and running < latest
