"""`program.update`: the newest release in one call, through the package manager that installed this one.

What is installed now is asked of a new process, never taken from the manager's exit status.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Annotated, Literal
from urllib.parse import urljoin

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    E_AUTH,
    E_CONFIG,
    E_CONFLICT,
    E_FORBIDDEN,
    E_INTEGRITY,
    E_INTERRUPTED,
    E_IO,
    E_NETWORK,
    E_RATE_LIMITED,
    E_SERVER,
    E_TIMEOUT,
    E_VALIDATION,
    Kind,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, Json, NextCall
from handrail.contract.released import INSTALL, WHERE
from handrail.contract.wording import quote
from handrail.ports.program import (
    Installed,
    InstallFacts,
    ManagerExit,
    SkillCopy,
    Updates,
)
from handrail.program.update.find_release import (
    CHECK_INDEX,
    FROM_A_CLONE,
    NO_RELEASE,
    FoundRelease,
    ReleaseRequest,
    choose_index,
    find_release,
    make_update_check,
    make_update_failure,
)
from handrail.program.update.package_index import OfferedFile, version_key
from handrail.program.update.verify_release import (
    require_extra,
    require_verified_files,
    verify_release,
)
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, Runtime
from handrail.version import __version__

_RETRY = "handrail update"
_VERIFIED = "handrail update --verify"
_LOOK_AT_INDEX = "Check update.index in config.json."
_INSTALL = f"Install it{WHERE}: {INSTALL}."
_REFUSED = {
    "editable": (
        E_CONFIG,
        "This copy runs from a checkout.",
        "Pull the newer source and install it again: git pull.",
    ),
    "ephemeral": (E_CONFIG, "This copy was made for one call by uvx.", _INSTALL),
    "system": (E_FORBIDDEN, "This Python belongs to the operating system.", _INSTALL),
}


class UpdateProgram(Input, frozen=True, kw_only=True):
    """Which release, and how far to go."""

    check: Maybe[Annotated[bool, Meta(description="Only say whether there is a newer release.")]] = UNSET
    dry_run: Maybe[Annotated[bool, Meta(description="Only show what would be done.")]] = UNSET
    target_version: Maybe[
        Annotated[str, Meta(description="This release instead of the newest.", min_length=1, max_length=64)]
    ] = UNSET
    verify: Maybe[
        Annotated[bool, Meta(description="Check the signature of the release before it is installed.")]
    ] = UNSET


class Updated(Answer, frozen=True, kw_only=True):
    """What is installed now, and how it came there."""

    status: Literal["updated", "up_to_date", "available", "no_release"]
    previous_version: str
    current_version: str
    target_version: str
    update_available: bool
    install_method: str
    command: list[str]
    binary_replaced: bool
    signature_status: Literal["not_checked", "verified"]
    signature_verified: bool
    skill_sync_status: Literal["synced", "unchanged", "failed", "skipped"]
    skill_sync_command: str
    hint: str
    skill_sync_supported: bool | UnsetType = UNSET
    signature_available: bool | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    """Checksum of the wheel that was verified."""
    notices: list[dict[str, Json]] | UnsetType = UNSET
    """Notices that later calls show, if the call was a check."""


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    """The order to the package manager, and the facts about the release."""

    found: FoundRelease
    argv: tuple[str, ...]
    is_verified: bool = False
    wheel: bytes = b""


def update_program(rt: Runtime, request: UpdateProgram) -> Updated:
    """Update this installation to the newest release, or to the requested one.

    Raises Fault; its details always name the stage, and the version that is installed now.
    """
    _require_version(request)
    updates = rt.updates()
    is_look = request.check is True or request.dry_run is True
    with rt.interruptions.defer():
        facts = updates.facts()
        if not choose_index(rt):
            return _report_no_release(facts.method)
        if not is_look:
            _require_replaceable(facts)
        is_verifying = request.verify is True or rt.settings.of().verify_updates
        if is_verifying and not is_look:
            with _explaining(""):
                require_extra(facts)
        wish = ReleaseRequest(
            version="" if request.target_version is UNSET else request.target_version,
            again=spell_same_call(request),
        )
        found = find_release(rt, updates, facts, wish, rt.interruptions.stop_reason)
        argv = spell_install(facts, found.offered, found.page) if found.is_other else ()
        order = _Order(found=found, argv=argv)
        if is_look:
            return _report_check(rt, updates, order, request)
        if not found.is_other:
            return _keep_installed(updates, order)
        if is_verifying:
            order = _verify(rt, updates, order)
        order = _download(rt, updates, order)
        _require_time(rt, "download", found.offered.version, spell_same_call(request))
        return _replace(rt, updates, order)


def _report_no_release(method: str) -> Updated:
    """Nothing is installed and no index is asked: whose package it has under our name is not known."""
    return Updated(
        status="no_release",
        previous_version=__version__,
        current_version=__version__,
        target_version=__version__,
        update_available=False,
        install_method=method,
        command=[],
        binary_replaced=False,
        signature_status="not_checked",
        signature_verified=False,
        skill_sync_status="skipped",
        skill_sync_command=_RETRY,
        hint=f"{NO_RELEASE} To update a clone: {FROM_A_CLONE}.",
    )


def install_command(request: UpdateProgram) -> str:
    """Return the command that installs the release of this call."""
    return " ".join(
        (
            _RETRY,
            *(("--target-version", request.target_version) if request.target_version is not UNSET else ()),
            *(("--verify",) if request.verify is True else ()),
        )
    )


def spell_same_call(request: UpdateProgram) -> str:
    """Return the command that repeats the call; a check stays a check."""
    looks = ("--check" if request.check is True else "", "--dry-run" if request.dry_run is True else "")
    return " ".join(filter(None, (install_command(request), *looks)))


def _require_time(rt: ReadPorts, stage: str, target: str, again: str) -> None:
    """Stop here if the call must stop: it is the last point at which nothing has been changed."""
    word = rt.interruptions.stop_reason()
    if word:
        raise make_update_failure(
            E_TIMEOUT if word == "deadline" else E_INTERRUPTED,
            f"The call was ended before anything was changed; {__version__} is installed.",
            stage=stage,
            target=target,
            hint=f"Run {again} again; a repeat is safe.",
            more={"committed": False},
        )


def _require_version(request: UpdateProgram) -> None:
    """Before the index is asked: nothing leaves the machine for a call that cannot succeed."""
    if request.target_version is not UNSET and version_key(request.target_version) is None:
        raise make_update_failure(
            E_VALIDATION,
            f"--target-version has the value {quote(request.target_version)}, which is not a version.",
            stage="discover",
            more={"param": "--target-version", "expected": "a version such as 1.9 or 2.0rc1"},
        )


def _require_replaceable(facts: InstallFacts) -> None:
    if facts.method in _REFUSED:
        kind, message, fix = _REFUSED[facts.method]
        raise make_update_failure(kind, f"{message} It was not changed.", stage="discover", hint=fix)


def _verify(rt: Runtime, updates: Updates, order: _Order) -> _Order:
    """Return the same release after its signature was verified."""
    found = order.found
    with _explaining(found.offered.version):
        try:
            verify_release(rt, updates, found.facts, found.offered, found.page)
        except Fault as fault:
            if fault.kind is not E_TIMEOUT or rt.interruptions.stop_reason() != "signal":
                raise
            raise Fault(
                E_INTERRUPTED, "Cancelled while verifying the release.", details={"committed": False}
            ) from fault
    return msgspec.structs.replace(order, is_verified=True)


def _download(rt: Runtime, updates: Updates, order: _Order) -> _Order:
    """The same release with its file, whose checksum is the one of the index: not every manager compares."""
    offered = order.found.offered
    try:
        wheel = updates.fetch(offered.url, "*/*", rt.interruptions.stop_reason, order.found.page).content
    except Fault as fault:
        _require_time(rt, "download", offered.version, _RETRY)
        hint = "Wait, then run handrail update again; a repeat is safe."
        raise make_update_failure(
            fault.kind,
            f"{fault.message} Nothing was changed.",
            stage="download",
            target=offered.version,
            hint=hint if fault.kind.is_retryable else CHECK_INDEX,
            more=fault.details,
        ) from fault
    if sha256(wheel).hexdigest() != offered.sha256.lower():
        raise make_update_failure(
            E_INTEGRITY,
            "The checksum of the release differs from its index. Nothing was changed.",
            stage="verify_checksum",
            target=offered.version,
            hint="Do not try again. Stop and report that this file is not what the index says it is.",
        )
    return msgspec.structs.replace(order, wheel=wheel)


@contextmanager
def _explaining(target: str) -> Iterator[None]:
    """Turn a refusal within the scope into one of the stage of verifying, before anything was changed."""
    try:
        yield
    except Fault as fault:
        again = f"Run {_VERIFIED} again; a repeat is safe." if fault.kind.is_retryable else _LOOK_AT_INDEX
        trouble = make_update_failure(
            fault.kind,
            f"{fault.message} Nothing was changed.",
            stage="verify_signature",
            target=target or None,
            hint=fault.hint or again,
            more=fault.details,
        )
        trouble.retry_after_ms = fault.retry_after_ms
        raise trouble from fault


def spell_install(facts: InstallFacts, offered: OfferedFile, page: str) -> tuple[str, ...]:
    """Return how the manager installs exactly this file: always a list, never a line for a shell."""
    extras = f"[{','.join(facts.extras)}]" if facts.extras else ""
    wanted = f"handrail{extras} @ {urljoin(page, offered.url)}#sha256={offered.sha256}"
    uv, pipx = facts.programs.get("uv", "uv"), facts.programs.get("pipx", "pipx")
    match facts.method:
        case "uv-tool":
            return (uv, "tool", "install", *facts.options, wanted)
        case "pipx":
            return (pipx, "install", "--force", *facts.options, wanted)
        case _ if facts.has_pip:
            return (facts.executable, "-P", "-m", "pip", "install", wanted)
        case _:
            return (uv, "pip", "install", "--python", facts.executable, wanted)


def _report_check(rt: ReadPorts, updates: Updates, order: _Order, request: UpdateProgram) -> Updated:
    """Nothing is changed but what is remembered for notices: only the newest stable release is news."""
    found = order.found
    target = found.offered.version if found.is_other else __version__
    install = install_command(request)
    notices: list[dict[str, Json]] | UnsetType = UNSET
    if request.check is True:
        look = make_update_check(rt, updates, found, rt.interruptions.stop_reason, install)
        _require_time(rt, "discover", target, spell_same_call(request))
        notices = [] if look.notice is None else [look.notice]
        if request.target_version is UNSET:
            updates.keep_check(look)
    answer = _make_answer(order, "available" if found.is_other else "up_to_date", __version__, "skipped")
    return msgspec.structs.replace(
        answer,
        target_version=target,
        update_available=found.is_newer,
        hint=install if found.is_other else answer.hint,
        skill_sync_supported=True,
        signature_available=found.facts.can_verify and bool(found.offered.provenance),
        notices=notices,
    )


def _keep_installed(updates: Updates, order: _Order) -> Updated:
    """Nothing newer: the manager is not started, but an older skill is updated."""
    now = updates.installed() or Installed(version=__version__, package="")
    skill = updates.sync_skill(now.package) if now.package else SkillCopy(status="skipped", path="")
    updates.keep_check(None)
    return _finish(order, "up_to_date", now.version, skill)


def _replace(rt: Runtime, updates: Updates, order: _Order) -> Updated:
    driven = updates.drive(order.argv, rt.interruptions.stop_reason, rt.progress.write)
    if order.is_verified:
        _require_verified_files(rt, order)
    now = updates.installed()
    was_killed = bool(driven.stopped_by) and driven.status != 0
    wanted = version_key(order.found.offered.version)
    if now is None or was_killed or version_key(now.version) != wanted:
        raise _explain_not_replaced(order, driven, now)
    rt.commits.note(NextCall(operation="self.context"))
    updates.keep_check(None)
    skill = updates.sync_skill(now.package)
    return _finish(order, "updated", now.version, skill)


def _require_verified_files(rt: Runtime, order: _Order) -> None:
    """The version that is now installed is not reported: files that were not verified are never started."""
    try:
        require_verified_files(rt, order.wheel)
    except Fault as fault:
        raise make_update_failure(
            fault.kind,
            fault.message,
            stage="verify_signature",
            current=None,
            target=order.found.offered.version,
            command=order.argv,
            hint=fault.hint,
            more={"binary_replaced": True, **fault.details},
        ) from fault


def _finish(
    order: _Order, status: Literal["updated", "up_to_date"], current: str, skill: SkillCopy
) -> Updated:
    if skill.status != "failed":
        return _make_answer(order, status, current, skill.status)
    raise make_update_failure(
        E_IO,
        f"Handrail is at {current}, but its skill is not: {skill.trouble}. The update is half done.",
        stage="skill_sync",
        current=current,
        target=current,
        command=order.argv if status == "updated" else (),
        hint=f"Correct {skill.path}, then run handrail update again.",
        more={
            "binary_replaced": status == "updated",
            "skill_sync_status": "failed",
            "skill_sync_command": _RETRY,
            "cause": skill.trouble,
        },
    )


def _make_answer(
    order: _Order, status: Literal["updated", "up_to_date", "available"], current: str, skill: str
) -> Updated:
    """Return the result: what was done or found, with the command that was run or would be."""
    return Updated(
        status=status,
        previous_version=__version__,
        current_version=current,
        target_version=current,
        update_available=False,
        install_method=order.found.facts.method,
        command=[] if status == "up_to_date" else list(order.argv),
        binary_replaced=status == "updated",
        signature_status="verified" if order.is_verified else "not_checked",
        signature_verified=order.is_verified,
        skill_sync_status="synced"
        if skill == "synced"
        else "unchanged"
        if skill == "unchanged"
        else "skipped",
        skill_sync_command=_RETRY,
        hint=f"handrail changelog --since {__version__}",
        sha256=order.found.offered.sha256 if order.is_verified else UNSET,
    )


def _explain_not_replaced(order: _Order, driven: ManagerExit, now: Installed | None) -> Fault:
    """Return why the installed version is not the target, by the most certain evidence first."""
    found, command = order.found, order.argv
    current = now.version if now is not None else ""
    state = f"handrail {current} is installed" if current else "no working handrail is installed"
    is_replaced = bool(current) and current != __version__

    def failed(kind: Kind, message: str, stage: str, hint: str, **more: Json) -> Fault:
        return make_update_failure(
            kind,
            f"{message} Now {state}.",
            stage=stage,
            current=current or None,
            target=found.offered.version,
            command=command,
            hint=hint,
            more={"binary_replaced": is_replaced, **more},
        )

    if driven.stopped_by:
        kind = E_TIMEOUT if driven.stopped_by == "deadline" else E_INTERRUPTED
        again = "Run handrail update again; a repeat is safe."
        return failed(
            kind, "The update was ended before it was done.", "replace", again, committed=is_replaced
        )
    if driven.trouble:
        hint = f"Install {command[0]}, or run the command in details by hand."
        return failed(
            E_IO,
            f"The package manager was not run: {driven.trouble}.",
            "download",
            hint,
            cause=driven.trouble,
        )
    if not found.facts.is_writable:
        hint = f"Ask for write access to {found.facts.prefix}, or install Handrail with uv or pipx."
        return failed(E_FORBIDDEN, "This user may not change the installation.", "replace", hint)
    cause = f"exit {driven.status}" if driven.status else "it changed nothing"
    hint = "Read its output on stderr, or run the command in details by hand."
    return failed(E_IO, f"The package manager did not install it ({cause}).", "replace", hint, cause=cause)


OPERATION = Operation(
    name="program.update",
    effect="update",
    where="client",
    summary="Bring Handrail and its skill to the newest release, through the manager that installed it.",
    input=UpdateProgram,
    output=Updated,
    perform=update_program,
    shape=Shape(
        levels={"minimal": ("status", "current_version", "target_version", "update_available", "hint")},
    ),
    reads_with=("check", "dryRun"),
    errors=(
        E_AUTH.code,
        E_CONFLICT.code,
        E_NETWORK.code,
        E_RATE_LIMITED.code,
        E_SERVER.code,
        E_INTEGRITY.code,
    ),
)
