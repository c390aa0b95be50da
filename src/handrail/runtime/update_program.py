"""`program.update`: the newest release in one call, through the package manager that installed this one.

What is installed now is asked of a new process, never taken from the manager's exit status.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail import __version__
from handrail.contract.catalogue import (
    E_AUTH,
    E_CONFIG,
    E_FORBIDDEN,
    E_INTEGRITY,
    E_INTERRUPTED,
    E_IO,
    E_NETWORK,
    E_NOT_FOUND,
    E_RATE_LIMITED,
    E_SERVER,
    E_TIMEOUT,
    E_VALIDATION,
    Kind,
)
from handrail.contract.client_facts import SkillCopy
from handrail.contract.outcome import Fault, Json
from handrail.contract.package_index import OfferedFile, best, exactly, is_major_step, offered_files
from handrail.contract.payload import Answer
from handrail.contract.provenance_facts import Verified
from handrail.contract.shape import Shape
from handrail.contract.update_facts import Driven, Installed, InstallFacts
from handrail.contract.versions import version_key
from handrail.contract.wording import quoted
from handrail.ports import Updates
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.verify_release import (
    exact_command,
    require_extra,
    require_verified_files,
    verified_release,
)

DEFAULT_INDEX = "https://pypi.org/simple"
LISTING = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_NPX = "npx skills add handrail -y -g"
_RETRY = "handrail update"
_VERIFIED = "handrail update --verify"
_LOOK_AT_INDEX = "Check update.index in config.json."
_INSTALL = "Install it: uv tool install handrail, or pipx install handrail."
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

    check: Annotated[bool, Meta(description="Only say whether there is a newer release.")] | UnsetType = UNSET
    dry_run: Annotated[bool, Meta(description="Only show what would be done.")] | UnsetType = UNSET
    target_version: (
        Annotated[str, Meta(description="This release instead of the newest.", min_length=1, max_length=64)]
        | UnsetType
    ) = UNSET
    channel: (
        Annotated[Literal["stable", "pre"], Meta(description="Whether releases before a final one count.")]
        | UnsetType
    ) = UNSET
    verify: (
        Annotated[bool, Meta(description="Check the signature of the release before it is installed.")]
        | UnsetType
    ) = UNSET


class Updated(Answer, frozen=True, kw_only=True):
    """What is installed now, and how it came there."""

    status: Literal["updated", "up_to_date", "available"]
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
    """Of the wheel that was verified."""


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """What discovery settled."""

    facts: InstallFacts
    index: str
    page: str
    offered: OfferedFile
    command: tuple[str, ...]
    is_newer: bool
    verified: Verified | None = None


def update_program(rt: Runtime, request: UpdateProgram) -> Updated:
    """Bring this installation to the newest release, or to the one that was asked for.

    Raises Fault; its details always say the stage, and which version is installed now.
    """
    _require_version(request)
    updates = rt.updates()
    facts = updates.facts()
    is_look = request.check is True or request.dry_run is True
    with rt.interruptions.deferred():
        if not is_look:
            _require_replaceable(facts)
        is_verifying = request.verify is True or rt.settings.of().verify_updates
        if is_verifying and not is_look:
            _require_extra(facts)
        found = _discovered(rt, updates, facts, request)
        if is_verifying:
            found = _exact(rt, found)
        if is_look:
            return _looked(rt, updates, found, request)
        if not found.is_newer:
            return _kept(updates, found)
        if is_verifying:
            found = _verified(rt, updates, found)
        return _replaced(rt, updates, found)


def _require_version(request: UpdateProgram) -> None:
    """Before the index is asked: nothing leaves the machine for a call that cannot succeed."""
    if request.target_version is not UNSET and version_key(request.target_version) is None:
        raise _failed(
            E_VALIDATION,
            f"--target-version has the value {quoted(request.target_version)}, which is no version.",
            stage="discover",
            more={"param": "--target-version", "expected": "a version such as 1.9 or 2.0rc1"},
        )


def _require_replaceable(facts: InstallFacts) -> None:
    if facts.method in _REFUSED:
        kind, message, fix = _REFUSED[facts.method]
        raise _failed(kind, f"{message} It was not changed.", stage="discover", hint=fix)


def _require_extra(facts: InstallFacts) -> None:
    try:
        require_extra(facts)
    except Fault as fault:
        raise _unverified(fault, "") from fault


def _exact(rt: Runtime, found: _Found) -> _Found:
    """The same release, and the manager may install no other."""
    exact = _command(found.facts, found.offered.version, rt.settings.of().update_index)
    return msgspec.structs.replace(found, command=exact_command(exact, found.offered.version))


def _verified(rt: Runtime, updates: Updates, found: _Found) -> _Found:
    """The same release, now known to be ours."""
    try:
        verified = verified_release(rt, updates, found.facts, found.offered, found.page)
    except Fault as fault:
        if fault.kind is E_TIMEOUT and rt.interruptions.asked() == "signal":
            fault = Fault(
                E_INTERRUPTED, "Cancelled while verifying the release.", details={"committed": False}
            )
        raise _unverified(fault, found.offered.version) from fault
    return msgspec.structs.replace(found, verified=verified)


def _unverified(fault: Fault, target: str) -> Fault:
    is_passing = fault.kind.is_retryable
    trouble = _failed(
        fault.kind,
        f"{fault.message} Nothing was changed.",
        stage="verify_signature",
        target=target or None,
        hint=fault.hint or (f"Run {_VERIFIED} again; a repeat is safe." if is_passing else _LOOK_AT_INDEX),
        more=fault.details,
    )
    trouble.retry_after_ms = fault.retry_after_ms
    return trouble


def _discovered(rt: Runtime, updates: Updates, facts: InstallFacts, request: UpdateProgram) -> _Found:
    """A concrete release of the index that the user configured."""
    own = rt.settings.of().update_index
    index = own or facts.index or DEFAULT_INDEX
    try:
        page = updates.fetch(_page_of(index), LISTING, rt.interruptions.asked)
        files = offered_files(page.content, page.media_type)
    except Fault as fault:
        raise _discovery_trouble(rt, fault) from fault
    except ValueError as trouble:
        raise _failed(E_NETWORK, "The index did not answer with a listing.", stage="discover") from trouble
    chosen = _chosen(files, facts, request)
    is_newer = _differs(chosen.version, request)
    is_exact = request.target_version is not UNSET or request.channel == "pre"
    return _Found(
        facts=facts,
        index=index,
        page=page.url,
        offered=chosen,
        command=_command(facts, chosen.version if is_exact else "", own),
        is_newer=is_newer,
    )


def _page_of(index: str) -> str:
    return f"{index.rstrip('/')}/handrail/"


def _chosen(files: list[OfferedFile], facts: InstallFacts, request: UpdateProgram) -> OfferedFile:
    if request.target_version is not UNSET:
        chosen = exactly(files, request.target_version)
    else:
        chosen = best(files, facts.python, with_pre=request.channel == "pre")
    if chosen is None:
        what = "the release asked for" if request.target_version is not UNSET else "a release for this Python"
        raise _failed(
            E_NOT_FOUND,
            f"The index does not offer {what}. Nothing was changed.",
            stage="discover",
            hint="Look at what the index offers, or name another one in update.index of config.json.",
            more={"resource": "release", "id": request.target_version or "handrail"},
        )
    return chosen


def _differs(offered: str, request: UpdateProgram) -> bool:
    current, there = version_key(__version__), version_key(offered)
    assert current is not None, "our own version reads"
    assert there is not None, "only what reads as a version is chosen"
    return there != current if request.target_version is not UNSET else there > current


def _command(facts: InstallFacts, exact: str, own_index: str) -> tuple[str, ...]:
    """How the manager that installed this copy is told; always a list, never a line for a shell."""
    wanted = f"handrail=={exact}" if exact else "handrail"
    uv, pipx = facts.programs.get("uv", "uv"), facts.programs.get("pipx", "pipx")
    uv_index = ("--default-index", own_index) if own_index else ()
    pip_index = ("--index-url", own_index) if own_index else ()
    match facts.method:
        case "uv-tool" if exact:
            return (uv, "tool", "install", "--refresh", *uv_index, wanted)
        case "uv-tool" if facts.is_pinned:
            return (uv, "tool", "install", "--refresh", *uv_index, "handrail@latest")
        case "uv-tool":
            return (uv, "tool", "upgrade", "--reinstall-package", "handrail", *uv_index, "handrail")
        case "pipx" if exact:
            return (pipx, "install", "--force", *pip_index, wanted)
        case "pipx":
            return (pipx, "upgrade", *pip_index, "handrail")
        case _ if facts.has_pip:
            return (facts.executable, "-m", "pip", "install", "--upgrade", *pip_index, wanted)
        case _:
            return (
                uv,
                "pip",
                "install",
                "--python",
                facts.executable,
                "--upgrade",
                "--refresh",
                *uv_index,
                wanted,
            )


def _looked(rt: Runtime, updates: Updates, found: _Found, request: UpdateProgram) -> Updated:
    """Nothing is changed but what is remembered for notices."""
    target = found.offered.version if found.is_newer else __version__
    again = _VERIFIED if request.verify is True else _RETRY
    if request.check is True:
        updates.keep_notice(_notice(rt, found) if found.is_newer else None)
    return Updated(
        status="available" if found.is_newer else "up_to_date",
        previous_version=__version__,
        current_version=__version__,
        target_version=target,
        update_available=found.is_newer,
        install_method=found.facts.method,
        command=list(found.command) if found.is_newer else [],
        binary_replaced=False,
        signature_status="not_checked",
        signature_verified=False,
        skill_sync_status="skipped",
        skill_sync_command=_RETRY,
        hint=again if found.is_newer else f"handrail changelog --since {__version__}",
        skill_sync_supported=True,
        signature_available=found.facts.can_verify and bool(found.offered.provenance),
    )


def _notice(rt: Runtime, found: _Found) -> bytes:
    """Read later without a look at the network; the level is by version alone."""
    latest = found.offered.version
    content: dict[str, Json] = {
        "type": "update_available",
        "severity": "warning" if is_major_step(__version__, latest) else "info",
        "severity_basis": "version",
        "current_version": __version__,
        "latest_version": latest,
        "install_method": found.facts.method,
        "recommended_command": _RETRY,
        "release_url": None,
        "checked_at": rt.clock.now(),
        "next_steps": [_RETRY, f"handrail changelog --since {__version__}"],
    }
    return msgspec.json.encode([content])


def _kept(updates: Updates, found: _Found) -> Updated:
    """Nothing newer: the manager is not started, but a skill that lags behind is brought up."""
    now = updates.installed() or Installed(version=__version__, package="")
    skill = updates.sync_skill(now.package) if now.package else SkillCopy(status="skipped", path="")
    updates.keep_notice(None)
    return _finished(found, "up_to_date", __version__, now.version, skill)


def _replaced(rt: Runtime, updates: Updates, found: _Found) -> Updated:
    target = found.offered.version
    driven = updates.drive(found.command, rt.interruptions.asked, rt.progress.say)
    if found.verified is not None:
        _require_verified_files(rt, found, found.verified)
    now = updates.installed()
    if now is None or version_key(now.version) != version_key(target):
        raise _not_replaced(rt, updates, found, driven, now)
    updates.keep_notice(None)
    skill = updates.sync_skill(now.package)
    return _finished(found, "updated", __version__, now.version, skill)


def _require_verified_files(rt: Runtime, found: _Found, verified: Verified) -> None:
    """Which version runs now is not told: what differs from the verified release is not started to ask it."""
    try:
        require_verified_files(rt, verified)
    except Fault as fault:
        raise _failed(
            fault.kind,
            fault.message,
            stage="verify_signature",
            current=None,
            target=found.offered.version,
            command=found.command,
            hint=fault.hint,
            more={"binary_replaced": True, **fault.details},
        ) from fault


def _finished(
    found: _Found, status: Literal["updated", "up_to_date"], previous: str, current: str, skill: SkillCopy
) -> Updated:
    is_replaced = status == "updated"
    if skill.status == "failed":
        raise _failed(
            E_NETWORK,
            f"Handrail is at {current}, but its skill is not: {skill.trouble}. This is half an update.",
            stage="skill_sync",
            current=current,
            target=current,
            command=found.command,
            hint=f"Correct {skill.path}, then run handrail update again; or run {_NPX}.",
            more={
                "binary_replaced": is_replaced,
                "skill_sync_status": "failed",
                "skill_sync_command": _RETRY,
                "cause": skill.trouble,
            },
        )
    synced: Literal["synced", "unchanged", "skipped"] = (
        "synced" if skill.status == "synced" else "unchanged" if skill.status == "unchanged" else "skipped"
    )
    return Updated(
        status=status,
        previous_version=previous,
        current_version=current,
        target_version=current,
        update_available=False,
        install_method=found.facts.method,
        command=list(found.command) if is_replaced else [],
        binary_replaced=is_replaced,
        signature_status="verified" if found.verified else "not_checked",
        signature_verified=found.verified is not None,
        skill_sync_status=synced,
        skill_sync_command=_RETRY,
        hint=f"handrail changelog --since {previous}",
        sha256=found.verified.sha256 if found.verified else UNSET,
    )


def _not_replaced(
    rt: Runtime, updates: Updates, found: _Found, driven: Driven, now: Installed | None
) -> Fault:
    """Why the target is not what is installed, by the most certain evidence first."""
    current = now.version if now is not None else ""
    told = f"handrail {current} is installed" if current else "no working handrail is installed"
    is_replaced = bool(current) and current != __version__

    def failed(kind: Kind, message: str, stage: str, hint: str, **more: Json) -> Fault:
        return _failed(
            kind,
            f"{message} Now {told}.",
            stage=stage,
            current=current or None,
            target=found.offered.version,
            command=found.command,
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
        hint = f"Install {found.command[0]}, or run the command in details by hand."
        return failed(
            E_IO,
            f"The package manager was not run: {driven.trouble}.",
            "download",
            hint,
            cause=driven.trouble,
        )
    if _is_tampered(rt, updates, found):
        hint = "Do not try again. Stop and report that this file is not what the index says it is."
        return failed(
            E_INTEGRITY, "The release has not the checksum that its index states.", "verify_checksum", hint
        )
    if not found.facts.is_writable:
        hint = f"Ask for write access to {found.facts.prefix}, or install Handrail with uv or pipx."
        return failed(E_FORBIDDEN, "The installation may not be changed by this user.", "replace", hint)
    cause = f"exit {driven.status}" if driven.status else "it changed nothing"
    hint = "Read its output on stderr, or run the command in details by hand."
    return failed(E_IO, f"The package manager did not install it ({cause}).", "replace", hint, cause=cause)


def _is_tampered(rt: Runtime, updates: Updates, found: _Found) -> bool:
    """Look at the file ourselves: what a manager prints about a wrong checksum is not for programs."""
    if not found.offered.sha256:
        return False
    try:
        fetched = updates.fetch(found.offered.url, "*/*", rt.interruptions.asked, found.page)
    except Fault:
        return False
    return sha256(fetched.content).hexdigest() != found.offered.sha256.lower()


def _discovery_trouble(rt: Runtime, fault: Fault) -> Fault:
    if rt.interruptions.asked() == "signal":
        message = f"Cancelled while looking for a release; nothing was changed, {__version__} is installed."
        return _failed(E_INTERRUPTED, message, stage="discover", more={"committed": False})
    is_passing = fault.kind.is_retryable
    hint = "Run handrail update again; it is safe to repeat." if is_passing else _LOOK_AT_INDEX
    trouble = _failed(
        fault.kind, f"{fault.message} Nothing was changed.", stage="discover", hint=hint, more=fault.details
    )
    trouble.retry_after_ms = fault.retry_after_ms
    return trouble


def _failed(
    kind: Kind,
    message: str,
    *,
    stage: str,
    current: str | None = __version__,
    target: str | None = None,
    command: tuple[str, ...] = (),
    hint: str = "",
    more: dict[str, Json] | None = None,
) -> Fault:
    """Every failure says how far it came and what is installed now."""
    details: dict[str, Json] = {
        "stage": stage,
        "current_version": current,
        "target_version": target,
        "binary_replaced": False,
        "skill_sync_status": "skipped",
        "command": list(command),
        **(more or {}),
    }
    return Fault(kind, message, details=details, hint=hint)


OPERATION = Operation(
    name="program.update",
    effect="update",
    summary="Bring Handrail and its skill to the newest release, through the manager that installed it.",
    input=UpdateProgram,
    output=Updated,
    perform=update_program,
    shape=Shape(
        levels={
            "minimal": ("status", "current_version", "target_version", "update_available", "hint"),
            "standard": None,
            "full": None,
        },
        select="top",
    ),
    reads_with=("check", "dryRun"),
    errors=(
        "VALIDATION_ERROR",
        E_VALIDATION.code,
        E_NOT_FOUND.code,
        E_AUTH.code,
        E_FORBIDDEN.code,
        E_CONFIG.code,
        E_NETWORK.code,
        E_RATE_LIMITED.code,
        E_SERVER.code,
        E_TIMEOUT.code,
        E_INTEGRITY.code,
        E_IO.code,
        E_INTERRUPTED.code,
    ),
)
