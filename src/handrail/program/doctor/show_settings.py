"""`self.settings` and `settings.set`: every setting as it is asked for and in force, and one set anew.

Showing works with settings that cannot be read: then it says what is wrong with them. Setting is gated.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, Meta

from handrail import __version__
from handrail.contract.catalogue import E_HUMAN_REQUIRED, E_IO
from handrail.contract.disclosure.fields import Shape
from handrail.contract.fence import flatten_text
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Answer, Fault, Json, NextCall, Success, refuse_argument
from handrail.contract.parameters import NamedId, ProjectPath
from handrail.contract.printed_text import spell_whole
from handrail.contract.redaction import redact_credentials
from handrail.contract.suggest import find_nearest
from handrail.contract.tokens.confirm import refusal
from handrail.contract.wording import quote
from handrail.ports.process import McpProcess
from handrail.ports.workspace import DesiredSettings, Settings
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import Runtime, WritePorts, project_or_root
from handrail.runtime.who_confirms import require_yes
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write

PACKED_NAME = "settings.json"
"""What is packed with the program: the names of all settings, and what each is for."""

SettingSource: TypeAlias = Literal["default", "user", "project", "environment"]

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
"""What a server offers is settled when it starts, and an agent's client starts it."""
_OF_TEAM_SERVERS = "limits."
"""What they read when they start."""


class ShowSettings(Input, frozen=True, kw_only=True):
    """For which project."""

    project: Maybe[ProjectPath] = UNSET


class PackedSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting as the reference page has it."""

    name: str
    of: tuple[str, ...]
    takes: str
    default: Json
    text: str


class SettingRow(Answer, frozen=True, kw_only=True):
    """One setting."""

    name: str
    desired: Json
    """What a file says; null where none does."""
    applied: Json
    """What is in force; null where the settings cannot be used."""
    default: Json
    source: SettingSource
    """What `applied` comes from."""
    of: list[str]
    """Whose file may set it: user, project."""
    takes: str
    takes_effect: str
    restart_needed: bool
    """A server that runs now still has another value."""
    text: str


class ProblemRow(Answer, frozen=True, kw_only=True):
    """Something in a settings file that is not as it should be."""

    place: str
    message: str
    fix: str


class ServerRow(Answer, frozen=True, kw_only=True):
    """An MCP server of this home that runs now."""

    pid: int
    version: str
    transport: str
    project: str
    tools: list[str]
    started_at: str
    restart_needed: bool
    """It is of another version, or began with another value of a setting."""


class ShownSettings(Answer, frozen=True, kw_only=True):
    """All settings, what is wrong with their files, and the servers that run now."""

    project: str
    user_file: str
    project_file: str
    settings: list[SettingRow]
    problems: list[ProblemRow]
    servers: list[ServerRow]


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


def list_packed(rt: Runtime) -> list[PackedSetting]:
    """Every setting as the reference page has it. Raises Fault E_IO when the program was packed without."""
    content = rt.installation().packed(PACKED_NAME)
    if content is None:
        raise Fault(
            E_IO,
            "The names of the settings are missing in this installation.",
            hint="Install Handrail again; `handrail doctor --checks install` tells how this copy came here.",
        )
    return msgspec.json.decode(content, type=list[PackedSetting])


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


def redact_value(value: Json) -> Json:
    """An address may hold a login."""
    match value:
        case str():
            return redact_credentials(value)
        case list():
            return [redact_value(one) for one in value]
        case dict():
            return {str(name): redact_value(held) for name, held in value.items()}
        case _:
            return value


SHOW = Operation(
    name="self.settings",
    effect="read",
    where="companion",
    summary="Show every setting: what is asked for, what is in force, and where that comes from.",
    input=ShowSettings,
    output=ShownSettings,
    perform=show_settings,
    shape=Shape(
        levels={"minimal": ("settings.name", "settings.applied", "settings.source")},
        untrusted=("settings.desired", "settings.applied", "problems.message"),
    ),
)


# One of the user's settings, from now on; a rule is loosened only by a person
#
# Everything that says how answers look, what is kept and what is audited anyone may set after a preview, and
# so the two preferences. The rest are rules: an agent that could loosen them would have none.


LONGEST_VALUE = 16_384
LOOK = (
    *("output.format", "output.envelope", "output.compact", "startSession", "idleMinutes"),
    *("retentionDays", "keptSessions", "auditReads", "auditMonths"),
    *("preferences.autonomy", "preferences.riskPolicy"),
)
"""What a preview is enough for; every other setting is a rule."""
_STRICTER: dict[str, tuple[Json, ...]] = {
    "confirmations": ("claimed", "person"),
    "maxEffect": ("dangerous", "write", "read"),
    "code.snapshots": ("off", "git", "always"),
    "update.verify": (False, True),
}
"""Of rules with an order, the values from the loosest to the strictest."""
_FEWER = ("workflowSources", "plugins", "roots")
"""Rules that are tighter with fewer entries."""


class SetSetting(GatedInput, frozen=True, kw_only=True):
    """Which setting, and what it is from now on."""

    key: Annotated[NamedId, Meta(description="The name of the setting.", min_length=1, max_length=128)]
    value: Annotated[
        str, Meta(description="As text or as JSON; null: the default again.", max_length=LONGEST_VALUE)
    ]


class SettingSet(Answer, frozen=True, kw_only=True):
    """The setting as the user's file has it now; null: the default holds."""

    key: str
    before: Json
    after: Json
    file: str
    door: str
    """Where a person agreed; empty: nobody had to."""


def set_setting(rt: Runtime, request: SetSetting) -> DryRun | Success:
    """Show or keep the change.

    Raises Fault VALIDATION_ERROR for a name or value that is none, E_HUMAN_REQUIRED where a rule would be
    loosened and nobody agrees, and what the gate raises.
    """
    one = _find_setting(rt, request.key)
    after = _read_value(request.value)
    desired = rt.settings.desired()
    before = desired.user.get(one.name)
    rt.settings.check({one.name: after})
    is_looser = loosens(one, before, after)
    doors: list[str] = []

    def wait() -> None:
        if is_looser:
            doors.append("console" if rt.is_at_console else _ask(rt, one, before, after, request.value))

    def resolve() -> Plan[Json]:
        change = Change(
            action="none" if before == after else "update",
            resource="setting",
            id=one.name,
            before={"value": redact_value(before)},
            after={"value": redact_value(after)},
        )
        asked = " It loosens a rule, so a person has to agree at a terminal or in the Console."
        return Plan(
            action="set a setting",
            changes=(change,),
            targets=(one.name,),
            versions={one.name: str(before)},
            blast_radius="What Handrail does in every project of this home." + asked * is_looser,
            found=before,
        )

    def write(held: Json) -> SettingSet:
        if not rt.settings.keep({one.name: after}, {one.name: held}):
            raise refusal("target_changed")
        rt.commits.note(NextCall(operation="self.settings"))
        return SettingSet(
            key=one.name,
            before=redact_value(held),
            after=redact_value(after),
            file=desired.user_file,
            door="".join(doors),
        )

    return preview_or_write(rt, SET, request, workspace="", resolve=resolve, write=write, wait=wait)


def loosens(one: PackedSetting, before: Json, after: Json) -> bool:
    """Whether the change makes a rule less strict; of a rule without an order every change does."""
    if one.name in LOOK or before == after:
        return False
    old, new = (one.default if value is None else value for value in (before, after))
    if one.name in _STRICTER:
        order = _STRICTER[one.name]
        return order.index(new) < order.index(old)
    if one.name in _FEWER:
        return any(entry not in (old or []) for entry in new or [])
    return True


def _find_setting(rt: Runtime, name: str) -> PackedSetting:
    known = {one.name: one for one in list_packed(rt)}
    if name in known and "user" in known[name].of:
        return known[name]
    own = [one for one in known if "user" in known[one].of]
    expected = " or ".join(find_nearest(name, own)) or "a name that `settings show` lists"
    if name in known:
        message = f"{name} is a setting of projects: it stands in .handrail/config.json of the project."
    else:
        message = f"There is no setting {quote(name)}."
    following = NextCall(operation="self.settings")
    raise refuse_argument(message, "key", "is not one", expected, next_call=following)


def _read_value(text: str) -> Json:
    """JSON where it is JSON, else the text itself: nobody quotes a word twice."""
    try:
        return decode_json(text.encode(), max_bytes=LONGEST_VALUE)
    except Fault:
        return text


def _ask(rt: WritePorts, one: PackedSetting, before: Json, after: Json, typed: str) -> str:
    def show(value: Json) -> str:
        redacted: Any = redact_value(one.default if value is None else value)
        return f'"{spell_whole(str(redacted))}"'

    text = (
        f"\n{one.name}: {flatten_text(one.text)}\nIt is {show(before)} and would be {show(after)}, "
        "which loosens a rule for every project.\nSet it? [y/n] "
    )
    shown = cast("str", redact_value(typed))
    command = f"handrail settings set {one.name} {shlex.quote(shown)} --dry-run"
    return require_yes(rt, text, command=command, resume="handrail settings show")


SET = Operation(
    name="settings.set",
    effect="gated",
    where="companion",
    summary="Set one setting of the user; a rule is loosened only by a person.",
    input=SetSetting,
    output=SettingSet,
    perform=set_setting,
    shape=Shape(levels={"minimal": ("key", "after")}, id_field="key", untrusted=("before", "after")),
    errors=(E_HUMAN_REQUIRED.code,),
)
