"""`self.doctor`: how this installation stands, check by check, each with what to do about it."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Answer, Fault, Json
from handrail.contract.parameters import ProjectPath
from handrail.contract.released import INSTALL, WHERE
from handrail.contract.suggest import find_nearest
from handrail.contract.tokens.workflow import WORKFLOW
from handrail.contract.wording import format_count, quote
from handrail.engine.events import is_newer
from handrail.operations.stored_sessions import ask_sessions
from handrail.operations.workflow_catalog import find_undeclared_checks, list_errors_in_use, load_catalog
from handrail.ports.program import ClientServer, PlaceFacts
from handrail.ports.server import TeamState
from handrail.ports.store import DatabaseFacts, StoreOrigin
from handrail.program.doctor import program_checks
from handrail.program.doctor.program_checks import (
    CheckInput,
    DoctorCheck,
    report_failure,
    report_pass,
    report_warning,
)
from handrail.program.setup.set_up_clients import find_clients
from handrail.program.update.package_index import version_key
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import Runtime, project_or_root
from handrail.runtime.sessions import read_session
from handrail.version import __version__
from handrail.workflows.catalog import source_of

# What agents have of Handrail: the skill, the registration in their clients, the protocol


_SETUP = "handrail setup --dry-run --compact"
"""The first of a pair: its answer holds the token for the second."""
_UPDATE = "handrail update"
_OTHERWISE = {
    "editable": "git pull",
    "ephemeral": INSTALL + WHERE,
    "system": INSTALL + WHERE,
}
"""Copies that `update` does not touch."""


def check_mcp_registration(given: CheckInput) -> DoctorCheck:
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


def check_mcp_protocol(given: CheckInput) -> DoctorCheck:
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


def check_version_negotiation(given: CheckInput) -> DoctorCheck:
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


def check_skill_sync(given: CheckInput) -> DoctorCheck:
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


# What is kept: store, workflow library, keys, used tokens, audit. The checks write nothing but caches.


MOST_SESSIONS = 100
"""How many sessions are looked at, newest first; `store verify` looks at all of them."""
OLD_KEY_DAYS = 365
ENDS_SOON_DAYS = 14
"""How long before the token of a machine ends its user gets a warning."""
_OTHERS_WRITE = 0o022
_DAY_SECONDS = 86_400
LEAST_FREE_BYTES = 1 << 20
"""A step with the longest notes takes less than a tenth of this."""


def check_store(given: CheckInput) -> DoctorCheck:
    if (team := given.team()) is not None:
        return _check_team(team, is_offline=given.is_offline)
    if given.rt.database is not None:
        return _check_database(given, given.rt.database())
    place = given.rt.installation().place("data")
    facts: dict[str, Json] = {"path": place.path, "exists": place.exists}
    if not place.is_writable:
        fix = f"Give this user the right to write {place.path}, or set HANDRAIL_HOME to another directory."
        return report_failure("The store cannot be written.", fix, **facts)
    if place.can_lock is False:
        fix = "Move HANDRAIL_HOME to a file system with locks, such as a local disk."
        return report_failure("The file system of the store has no locks.", fix, **facts)
    if place.free_bytes is not None and place.free_bytes < LEAST_FREE_BYTES:
        facts["free_bytes"] = place.free_bytes
        fix = f"Free space on the disk that holds {place.path}, then send the refused calls again."
        return report_failure("The disk of the store is full.", fix, **facts)
    counted, trouble = _check_sessions(given, facts)
    if trouble is not None:
        return trouble
    home = given.rt.installation().place("")
    if home.mode is not None and home.mode & _OTHERS_WRITE:
        message = "Other users can put another store in its place."
        return report_warning(message, f"chmod go-w {shlex.quote(home.path)}", **facts, home_mode=_mode(home))
    found = given.rt.keeper().origin() if place.exists else StoreOrigin()
    facts |= {"unproven_sessions": 0 if found.is_adopted else found.listed}
    if found.listed and not found.is_adopted:
        counted = format_count(found.listed, "session is", "sessions are")
        message = f"{counted} older than the store key: their answers are asked again where needed."
        return report_warning(message, "handrail store adopt", **facts)
    state = "can be read, written and locked" if place.exists else "does not exist yet and can be made"
    return report_pass(f"The store {state}; {counted} in it.", **facts)


def _check_team(team: TeamState, *, is_offline: bool) -> DoctorCheck:
    facts: dict[str, Json] = {"place": team.server, "machine": team.machine}
    if team.trouble:
        fix = "Wait for the server, or sign in again with handrail login; refused calls can be sent again."
        return report_failure(f"This project belongs to a team, and its server: {team.trouble}", fix, **facts)
    state = "was not asked" if is_offline else f"answers {team.account}"
    return report_pass(f"This project belongs to a team, and its server {state}.", **facts)


def _check_database(given: CheckInput, found: DatabaseFacts) -> DoctorCheck:
    facts: dict[str, Json] = {"address": found.place, "version": found.version}
    if not found.is_answering:
        fix = "Start the database or correct HANDRAIL_STORE; refused calls can then be sent again."
        return report_failure(found.trouble, fix, **facts)
    counted, trouble = _check_sessions(given, facts)
    if trouble is not None:
        return trouble
    return report_pass(f"The database answers; {counted} in it.", **facts)


def _check_sessions(given: CheckInput, facts: dict[str, Json]) -> tuple[str, DoctorCheck | None]:
    """How many there are, in words, and what is wrong with the newest; adds the numbers to the facts."""
    count, latest = ask_sessions(given.rt, lambda all_: (all_.count(), all_.latest(MOST_SESSIONS)))
    states = Counter(_health(given, stamp.session_id) for stamp in latest[:MOST_SESSIONS])
    facts |= {
        "sessions": count,
        "looked_at": sum(states.values()),
        "health": dict(sorted(states.items())),
    }
    newer = sum(count for state, count in states.items() if is_newer(state))
    unsound = sum(count for state, count in states.items() if state != "healthy") - newer
    counted = format_count(count, "session is", "sessions are")
    if unsound:
        message = f"{format_count(unsound, 'session is', 'sessions are')} not sound and can only be read."
        return counted, report_failure(message, "handrail store verify", **facts)
    if newer:
        message = (
            f"{format_count(newer, 'session was', 'sessions were')} written by a newer version of Handrail."
        )
        return counted, report_warning(message, "handrail update", **facts)
    return counted, None


def check_workflow_library(given: CheckInput) -> DoctorCheck:
    catalog = load_catalog(given.rt, given.project)
    unusable = [one for one in catalog.entries if not one.is_usable or list_errors_in_use(catalog, one)]
    broken = [one.id for one in unusable]
    by_source = Counter(map(source_of, unusable)) + Counter(map(source_of, catalog.broken_contracts))
    contracts = sorted(one.source_ref for one in catalog.broken_contracts)
    facts: dict[str, Json] = {
        "workflows": len(catalog.entries),
        "broken": sorted(broken)[:20],
        "broken_contracts": contracts[:20],
        "sources": sorted({source_of(entry) for entry in catalog.entries}),
    }
    if broken or contracts:
        total = len(broken) + len(contracts)
        fix = "handrail workflow list --compact"
        if len(by_source) == 1:
            only = shlex.quote(next(iter(by_source)).split(" ")[-1])
            fix = f"handrail workflow list --source {only} --compact"
        where = ", ".join(f"{count} of {name}" for name, count in sorted(by_source.items()))
        return report_warning(f"{total} workflow files or sources cannot be used: {where}.", fix, **facts)
    declared = [check.name for check in given.rt.settings.of(given.project).checks]
    own = [one for one in catalog.entries if one.source_kind != "bundled" and b"check" in one.content]
    lacking = [(one.id, found) for one in own for found in find_undeclared_checks(one, declared)]
    if lacking:
        named = [name for name, _ in lacking]
        message = f"{named[0]}: {lacking[0][1].message}"
        return report_warning(message, lacking[0][1].fix, unproven=list(dict.fromkeys(named))[:20], **facts)
    return report_pass(f"All {len(catalog.entries)} workflows can be used.", **facts)


def check_keyring(given: CheckInput) -> DoctorCheck:
    installation = given.rt.installation()
    source = installation.secret_source()
    place = installation.place("data/keys/keyring.json")
    facts: dict[str, Json] = {"backend": source, "exists": place.exists, "mode": _mode(place)}
    keys = given.rt.keys.verifying_keys(WORKFLOW)  # a Fault of the keyring becomes the finding
    if source == "environment":
        return report_pass("The keys come from AI_NATIVE_CLI_SECRET.", **facts)
    if given.rt.database is not None:
        facts |= {"backend": "database", "keys": len(keys)}
        return report_pass("The keyring is in the database; confirm tokens use that of the home.", **facts)
    if not place.exists:
        return report_pass("There is no keyring yet; the first signed token makes it.", **facts)
    if not place.is_ours:
        fix = f"Give {place.path} to the user who runs Handrail."
        return report_failure("The keyring belongs to another user.", fix, **facts)
    age = max(0, given.rt.clock.unix_seconds() - place.modified_at) // _DAY_SECONDS
    facts |= {"keys": len(keys), "age_days": age}
    if age > OLD_KEY_DAYS:
        fix = "handrail keys rotate --dry-run --compact"
        return report_warning(f"The signing key is {age} days old.", fix, **facts)
    return report_pass("The keyring is private and sound.", **facts)


def check_credentials(given: CheckInput) -> DoctorCheck:
    """The token of this machine (CLI 16.1); keys of a store on this machine do not end."""
    team = given.team()
    if team is None:
        return report_pass("Nothing here ends: tokens of this store are signed with its own keys.")
    facts: dict[str, Json] = {"place": team.server, "expires_at": team.expires_at or None}
    sign_in = f"handrail login {team.server}, or set HANDRAIL_TOKEN to a new token."
    if team.trouble and team.is_reachable:
        return report_failure(f"The server does not take the token of this machine: {team.trouble}", sign_in)
    if team.trouble or given.is_offline:
        return report_pass("When the token of this machine ends is not known: its server did not say.")
    soon = given.rt.clock.unix_seconds() + ENDS_SOON_DAYS * _DAY_SECONDS
    if team.expires_at and team.expires_at < time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(soon)):
        return report_warning(f"The token of this machine ends at {team.expires_at}.", sign_in, **facts)
    return report_pass(
        f"The token of this machine is good until {team.expires_at or 'it is ended'}.", **facts
    )


def check_confirm_tokens(given: CheckInput) -> DoctorCheck:
    return _private_directory(given, "confirm-consumed", "used confirm tokens")


def check_audit(given: CheckInput) -> DoctorCheck:
    return _private_directory(given, "audit", "the audit")


def _private_directory(given: CheckInput, name: str, what: str) -> DoctorCheck:
    place = given.rt.installation().place(name)
    facts: dict[str, Json] = {"path": place.path, "exists": place.exists, "mode": _mode(place)}
    if not place.is_writable:
        fix = f"Give this user the right to write {place.path}."
        return report_failure(f"The directory of {what} cannot be written.", fix, **facts)
    if place.exists and not place.is_ours:
        return report_failure(
            f"The directory of {what} belongs to another user.", f"Give {place.path} to this user.", **facts
        )
    if place.mode is not None and place.mode & 0o077:
        return report_warning(
            f"The directory of {what} is open to other users.", f"chmod 700 {place.path}", **facts
        )
    state = "is private and can be written" if place.exists else "does not exist yet and can be made"
    return report_pass(f"The directory of {what} {state}.", **facts)


def _health(given: CheckInput, session_id: SessionId) -> str:
    try:
        session = read_session(given.rt.log, session_id)
    except Fault as fault:  # one bad session never hides the others
        return "unknown_version" if is_newer(fault.kind.code) else fault.kind.code.lower()
    return "missing" if session is None else session.health.state


def _mode(place: PlaceFacts) -> str | None:
    return None if place.mode is None else f"{place.mode:04o}"


# The checks, in the order of the answer

CHECKS: dict[str, Callable[[CheckInput], DoctorCheck]] = {
    "path": program_checks.check_path,
    "settings": program_checks.check_settings,
    "workspace": program_checks.check_workspace,
    "git": program_checks.check_git,
    "store": check_store,
    "workflow_library": check_workflow_library,
    "keyring": check_keyring,
    "credentials": check_credentials,
    "confirm_tokens": check_confirm_tokens,
    "audit": check_audit,
    "mcp_registration": check_mcp_registration,
    "mcp_protocol": check_mcp_protocol,
    "version_negotiation": check_version_negotiation,
    "skill_sync": check_skill_sync,
    "update": program_checks.check_update,
    "release_readiness": program_checks.check_readiness,
}
"""By name; the release gate is always the last."""

CHECK_NAMES: tuple[str, ...] = tuple(CHECKS)
FOR_MAINTAINERS = frozenset({"release_readiness"})
"""CLI 11 wants it as `fail` in a clone, where no user can correct it."""
ON_REQUEST = frozenset({"mcp_protocol"})
"""Run only when named: they start a program."""


def examine(given: CheckInput, wanted: Sequence[str]) -> list[DoctorCheck]:
    """Run the named checks, in the order of the table; by default, every check except the expensive ones."""
    names = [name for name in CHECKS if (name in wanted if wanted else name not in ON_REQUEST)]
    return [msgspec.structs.replace(_finding(CHECKS[name], given), check=name) for name in names]


def _finding(check: Callable[[CheckInput], DoctorCheck], given: CheckInput) -> DoctorCheck:
    """A check that cannot run is a failed check, never a failed call."""
    try:
        return check(given)
    except Fault as fault:
        return report_failure(fault.message, fault.hint or fault.kind.hint, code=fault.kind.code)


# The operation


class ExamineInstallation(Input, frozen=True, kw_only=True):
    """What to look at."""

    checks: Maybe[
        Annotated[
            list[Annotated[str, Meta(extra_json_schema={"enum": list(CHECK_NAMES)})]],
            Meta(
                description="Only these checks; mcp_protocol, which starts a server, runs only when named.",
                min_length=1,
                max_length=50,
            ),
        ]
    ] = UNSET
    offline: Maybe[
        Annotated[
            bool, Meta(description="Use only this machine, with the result of the last check of the index.")
        ]
    ] = UNSET
    project: Maybe[ProjectPath] = UNSET


class CheckCounts(Answer, frozen=True, kw_only=True):
    """How many checks ended how; what only a maintainer can correct is counted apart."""

    passed: int = msgspec.field(name="pass")
    warned: int = msgspec.field(name="warn")
    failed: int = msgspec.field(name="fail")
    for_maintainers: int
    """Checks of this copy of the program that did not pass, whose reader can do nothing about them."""


class Examination(Answer, frozen=True, kw_only=True):
    """The check-up; a failed check is an answer, not an error."""

    checks: list[DoctorCheck]
    summary: CheckCounts


def examine_installation(rt: Runtime, request: ExamineInstallation) -> Examination:
    """Every check that was asked for. Raises Fault E_VALIDATION for a name that is no check."""
    wanted = [] if request.checks is UNSET else request.checks
    unknown = [name for name in wanted if name not in CHECK_NAMES]
    if unknown:
        raise Fault(
            E_VALIDATION,
            f"There is no check {unknown[0]!r}.",
            details={"param": "checks", "valid": list(CHECK_NAMES), "got": unknown[0][:80]},
            hint=f"Did you mean {', '.join(find_nearest(unknown[0], CHECK_NAMES) or CHECK_NAMES)}?",
        )
    is_offline = request.offline is True or rt.is_served
    project, trouble = project_or_root(rt, request.project)
    examined = CheckInput(
        rt=rt,
        project=project,
        trouble=trouble,
        is_offline=is_offline,
        team=cache(lambda: _find_team(rt, project, is_offline=is_offline)),
    )
    checks = examine(examined, wanted)
    apart = [check for check in checks if check.check in FOR_MAINTAINERS and check.status != "pass"]
    counted = Counter(check.status for check in checks if check not in apart)
    summary = CheckCounts(
        passed=counted["pass"], warned=counted["warn"], failed=counted["fail"], for_maintainers=len(apart)
    )
    return Examination(checks=checks, summary=summary)


def _find_team(rt: Runtime, project: str, *, is_offline: bool) -> TeamState | None:
    return None if rt.team is None or rt.is_served else rt.team().state(project, is_offline=is_offline)


OPERATION = Operation(
    name="self.doctor",
    effect="read",
    where="client",
    summary="Check the installation, the store and the agent's side, each with what to do about it.",
    input=ExamineInstallation,
    output=Examination,
    perform=examine_installation,
    shape=Shape(
        levels={"minimal": ("summary", "checks.check", "checks.status", "checks.fix")},
        windows=("checks",),
    ),
)
