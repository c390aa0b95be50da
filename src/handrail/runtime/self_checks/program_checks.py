"""Checks of the program itself: interpreter, installation, settings, workspace, release."""

from __future__ import annotations

import msgspec

from handrail.contract.outcome import Fault
from handrail.contract.versions import version_key
from handrail.runtime.release_readiness import release_readiness
from handrail.runtime.self_checks.check import Examined, Finding, failed, passed, warned

OLDEST_PYTHON = "3.11"
_METHODS = {
    "editable": "Handrail runs from a checkout.",
    "uv-tool": "Handrail was installed as a uv tool.",
    "pipx": "Handrail was installed by pipx.",
    "pip": "Handrail was installed into a virtual environment.",
    "pip-user": "Handrail was installed by pip for this user.",
}


def python(given: Examined) -> Finding:
    version = given.rt.installation().program().python
    oldest = version_key(OLDEST_PYTHON)
    running = version_key(version)
    assert oldest is not None, "a constant version reads"
    if running is None or running < oldest:
        fix = f"Install Handrail with Python {OLDEST_PYTHON} or newer."
        return failed(f"Python {version} is older than {OLDEST_PYTHON}.", fix, version=version)
    return passed(f"Python {version} is new enough.", version=version)


def install(given: Examined) -> Finding:
    program = given.rt.installation().program()
    facts = {"method": program.method, "package": program.package}
    match program.method:
        case "ephemeral":
            return warned(
                "Handrail runs from a cache that may be cleaned at any time.",
                "uv tool install handrail",
                **facts,
            )
        case "system":
            fix = "uv tool install handrail"
            return warned("Handrail stands in a Python that the system manages.", fix, **facts)
        case _:
            return passed(_METHODS[program.method], **facts)


def path(given: Examined) -> Finding:
    program = given.rt.installation().program()
    facts = {"first_on_path": program.on_path or None}
    if not program.on_path:
        fix = "Add the directory of the handrail command to PATH, or name the command by its whole path."
        return warned("No handrail command is on PATH.", fix, **facts)
    if not program.is_on_path:
        fix = "Remove the other installation, or put this one first on PATH."
        return warned("The first handrail command on PATH belongs to another installation.", fix, **facts)
    return passed("The first handrail command on PATH is this one.", **facts)


def settings(given: Examined) -> Finding:
    problems = given.rt.settings.problems(given.project)
    listed = [msgspec.to_builtins(problem) for problem in problems]
    try:
        given.rt.settings.of(given.project)
    except Fault as fault:
        return failed(fault.message, fault.hint or fault.kind.hint, problems=listed)
    if problems:
        return warned(problems[0].message, problems[0].fix, problems=listed)
    return passed("The settings can be used.", problems=[])


def workspace(given: Examined) -> Finding:
    if given.trouble is not None:
        raise given.trouble
    seen = given.rt.workspace.observations(given.project)
    if "repo_root_hash" not in seen:
        fix = "Run git init in the project, or go on without: sessions are then found by their words only."
        return warned("The project is not inside a git repository.", fix, root=given.project)
    facts = {"root": given.project, "branch": seen.get("git_branch"), "head": seen.get("git_head_sha")}
    return passed("The project is inside a git repository.", **facts)


def git(given: Examined) -> Finding:
    found = given.rt.installation().program().git
    if not found:
        fix = "Install git; without it workflow sources in repositories cannot be read."
        return warned("No git command is on PATH.", fix, path=None)
    return passed("git is on PATH.", path=found)


def readiness(given: Examined) -> Finding:
    found = release_readiness(given.rt.installation())
    facts = msgspec.to_builtins(found)
    match found.level:
        case "stable":
            return passed(found.reason, **facts)
        case "beta":
            return warned(
                found.reason, "Record a smoke run of the release candidate before calling it stable.", **facts
            )
        case _ if given.rt.installation().program().method == "editable":
            return passed("A checkout carries no record of its tests; a release does.", **facts)
        case _:
            fix = "Install a release that CI built, or run tools/readiness.py after the tests of this build."
            return failed(found.reason, fix, **facts)
