"""`settings show`: every setting as it is asked for and in force.

It works with settings that cannot be read: then it says what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec import UNSET

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Fault, Json
from handrail.contract.parameters import ProjectPath
from handrail.ports.process import McpProcess
from handrail.ports.workspace import DesiredSettings, Settings
from handrail.program.doctor.packed_settings import PackedSetting, list_packed, redact_value
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import Runtime, project_or_root
from handrail.version import __version__
from handrail.views.settings import ProblemRow, ServerRow, SettingRow, SettingSource, ShownSettings

_IN_FORCE = {
    "output.format": "output_format",
    "output.envelope": "output_envelope",
    "output.compact": "is_compact",
    "startSession": "start_session",
    "maxEffect": "max_effect",
    "idleMinutes": "idle_minutes",
    "retentionDays": "retention_days",
    "keptSessions": "kept_sessions",
    "auditReads": "audit_reads",
    "auditMonths": "audit_months",
    "preferences.autonomy": "autonomy",
    "preferences.riskPolicy": "risk_policy",
    "update.index": "update_index",
    "update.verify": "verify_updates",
    "update.trustedRoot": "trusted_root",
    "code.snapshots": "snapshots",
    "confirmations": "confirmations",
    "roots": "roots",
}
"""Where the settings in force have the value of each; the others are read where they are used."""
_OF_CLIENTS = frozenset({"startSession"})
"""What a server offers is fixed when it starts, and an agent's client starts it."""
_OF_TEAM_SERVERS = "limits."
"""What they read when they start."""


class ShowSettings(Input, frozen=True, kw_only=True):
    """For which project."""

    project: Maybe[ProjectPath] = UNSET


def show_settings(rt: Runtime, request: ShowSettings) -> ShownSettings:
    """Every setting. Raises Fault E_IO when the program was packed without their names."""
    project, _ = project_or_root(rt, request.project)
    desired = rt.settings.desired(project)
    try:
        in_force = rt.settings.of(project)
    except Fault:
        in_force = None
    servers = [_server_row(one, in_force) for one in rt.mcp_processes().running()]
    return ShownSettings(
        project=project,
        user_file=desired.user_file,
        project_file=desired.project_file,
        settings=[_row(one, desired, in_force, servers) for one in list_packed(rt)],
        problems=msgspec.convert(rt.settings.problems(project), list[ProblemRow], from_attributes=True),
        servers=servers,
    )


def _server_row(server: McpProcess, in_force: Settings | None) -> ServerRow:
    is_other = in_force is not None and _offers_sessions(server.tools) != in_force.start_session
    facts = msgspec.structs.asdict(server) | {"restart_needed": server.version != __version__ or is_other}
    return msgspec.convert(facts, ServerRow)


def _offers_sessions(tools: Collection[str]) -> bool:
    return "start_session" in tools


def _row(
    one: PackedSetting, desired: DesiredSettings, in_force: Settings | None, servers: Sequence[ServerRow]
) -> SettingRow:
    asked, asked_by = _find_asked(one, desired)
    applied = _find_applied(one, asked, in_force)
    is_lowered = one.name == "maxEffect" and in_force is not None and applied != (asked or one.default)
    source: SettingSource = "environment" if is_lowered else asked_by
    return SettingRow(
        name=one.name,
        desired=redact_value(asked),
        applied=redact_value(applied),
        default=one.default,
        source=source,
        of=list(one.of),
        takes=one.takes,
        takes_effect=_effect_of(one.name),
        restart_needed=one.name in _OF_CLIENTS
        and any(_offers_sessions(server.tools) != applied for server in servers),
        text=one.text,
    )


def _effect_of(name: str) -> str:
    if name in _OF_CLIENTS:
        return "when an agent's client starts its server again"
    if name.startswith(_OF_TEAM_SERVERS):
        return "when the server of a team starts again"
    return "at the next call"


def _find_asked(one: PackedSetting, desired: DesiredSettings) -> tuple[Json, SettingSource]:
    """What a file says; of the same setting, a project's beats the user's."""
    if "project" in one.of and one.name in desired.project:
        return desired.project[one.name], "project"
    if "user" in one.of and one.name in desired.user:
        return desired.user[one.name], "user"
    return None, "default"


def _find_applied(one: PackedSetting, asked: Json, in_force: Settings | None) -> Json:
    if in_force is None:
        return None
    if one.name == "checks":
        return [check.name for check in in_force.checks]
    if one.name not in _IN_FORCE:
        return one.default if asked is None else asked
    held = getattr(in_force, _IN_FORCE[one.name])
    return one.default if held in ("", None, ()) else msgspec.to_builtins(held)


OPERATION = Operation(
    name="self.settings",
    effect="read",
    where="client",
    summary="Show every setting, the value in force, and where it comes from.",
    input=ShowSettings,
    output=ShownSettings,
    perform=show_settings,
    shape=Shape(
        levels={"minimal": ("settings.name", "settings.applied", "settings.source")},
        untrusted=("settings.desired", "settings.applied", "problems.message"),
    ),
)
