"""Checks of what agents have of Handrail: the skill, the registration in their clients, the protocol."""

from __future__ import annotations

from handrail import __version__
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import format_count, quote
from handrail.ports.program import ClientServer
from handrail.program.doctor.check import CheckInput, Finding, report_failure, report_pass, report_warning
from handrail.program.setup.set_up_clients import find_clients
from handrail.program.update.package_index import version_key

_SETUP = "handrail setup --dry-run --compact"
"""The first of a pair: its answer holds the token for the second."""
_UPDATE = "handrail update"
_OTHERWISE = {
    "editable": "git pull",
    "ephemeral": "uv tool install handrail",
    "system": "uv tool install handrail",
}
"""Copies that `update` does not touch."""


def check_mcp_registration(given: CheckInput) -> Finding:
    entries = given.rt.installation().client_servers(given.project)
    listed: list[Json] = [
        {
            "client": one.client,
            "path": one.path,
            "command": one.command,
            "args": list(one.arguments),
            "exists": one.command_exists,
        }
        for one in entries
    ]
    if not entries:
        return report_warning("No agent client here starts Handrail.", _setup(given), entries=[])
    gone = [one for one in entries if not one.command_exists]
    if gone:
        message = f"{gone[0].client} would start a command that does not exist, by {gone[0].path}."
        return report_failure(message, _setup_of(gone[0]), entries=listed)
    loose = [one for one in entries if not one.command.startswith("/")]
    if loose:
        message = f"{loose[0].client} finds the command by PATH, which desktop clients often do not have."
        return report_warning(message, _setup_of(loose[0]), entries=listed)
    return report_pass(
        f"{format_count(len(entries), 'client entry starts', 'client entries start')} Handrail.",
        entries=listed,
    )


def _setup(given: CheckInput) -> str:
    """The command that sets up the clients found here; where none is, one has to be named."""
    try:
        files = given.rt.clients()
        is_any_here = bool(find_clients(files, files.places()))
    except Fault:  # asked where no client can be looked for
        return _SETUP
    return (
        _SETUP
        if is_any_here
        else "Name your client, such as cursor: handrail setup --clients cursor --dry-run --compact"
    )


def _setup_of(entry: ClientServer) -> str:
    return f"handrail setup --clients {entry.client} --dry-run --compact"


def check_mcp_protocol(given: CheckInput) -> Finding:
    """A real handshake with a child; only when it is asked for by name."""
    if given.rt.is_served:
        return report_warning("A server starts no program.", "handrail doctor --checks mcp_protocol")
    answer = given.rt.installation().handshake()
    if answer.trouble:
        return report_failure(
            answer.trouble, "Run handrail mcp in a terminal and read what it writes to stderr."
        )
    facts = {"protocol_version": answer.protocol_version, "server_version": answer.server_version}
    return report_pass(f"The server speaks revision {answer.protocol_version}.", **facts)


def check_version_negotiation(given: CheckInput) -> Finding:
    skills = given.rt.installation().skills()
    running = version_key(__version__)
    assert running is not None, "our own version reads"
    for skill in skills:
        needed = version_key(skill.min_version)
        if needed is not None and running < needed:
            method = given.rt.installation().program().method
            fix = _OTHERWISE.get(method, _UPDATE)
            message = (
                f"The installed skill needs Handrail {skill.min_version} or newer; this is {__version__}."
            )
            return report_failure(
                message, fix, version=__version__, min_version=skill.min_version, path=skill.path
            )
        if needed is None and skill.min_version:
            message = f"The installed skill asks for {quote(skill.min_version)}, which is not a version."
            fix = _setup(given) if given.rt.installation().program().method in _OTHERWISE else _UPDATE
            return report_warning(message, fix, version=__version__, path=skill.path)
    lowest = [skill.min_version for skill in skills]
    return report_pass(
        "This version is what the installed skills expect.", version=__version__, min_versions=lowest
    )


def check_skill_sync(given: CheckInput) -> Finding:
    installation = given.rt.installation()
    skills = installation.skills()
    listed: list[Json] = [
        {"path": one.path, "version": one.version or None, "in_sync": one.is_packed_one} for one in skills
    ]
    different = [one for one in skills if not one.is_packed_one]
    if different:
        fix = _setup(given) if installation.program().method in _OTHERWISE else _UPDATE
        return report_warning("An installed skill differs from the one of this version.", fix, skills=listed)
    message = "The installed skill is the one of this version." if skills else "No skill is installed here."
    return report_pass(message, skills=listed)
