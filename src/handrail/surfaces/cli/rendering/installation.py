"""How people see what the tool says about itself and its installation. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    format_aligned,
    format_cell,
    format_table,
    one_line,
    spell_for_people,
    value_lines,
    width_of,
    wrap,
)

_MARKS = {"pass": "ok  ", "warn": "warn", "fail": "FAIL"}
_KINDS = ("security", "added", "changed", "fixed", "deprecated", "removed")


def doctor_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """One line per check; what is not as it should be comes with its fix."""
    room = max((width_of(check["check"]) for check in payload["checks"]), default=0)
    lines = []
    for check in payload["checks"]:
        head = f"{_MARKS.get(check['status'], check['status'])}  {check['check']:<{room}}  "
        indent = " " * len(head)
        first, *rest = wrap(one_line(check.get("message", "")), page.width - len(head))
        lines += [head + first, *(indent + line for line in rest)]
        if check.get("fix"):
            lines += _fix(spell_for_people(one_line(check["fix"])), page, indent)
    summary = payload["summary"]
    told = [
        f"{summary['pass']} ok",
        *(f"{summary[name]} {name}" for name in ("warn", "fail") if summary[name]),
    ]
    return [*lines, "", f"{format_count(len(payload['checks']), 'check')}: {', '.join(told)}."]


def _fix(fix: str, page: Page, indent: str) -> list[str]:
    """A sentence fits the page; a command stays whole, so that it can be copied."""
    return [f"{indent}Fix: {fix}"] if fix.startswith("handrail ") else wrap(f"Fix: {fix}", page.width, indent)


def context_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Where a call would act, as whom, and what comes next."""
    workspace, config = payload["workspace"], payload["config"]
    skill, credentials = payload["skill"], payload["credentials"]
    head = one_line(workspace.get("head") or "")[:12]
    at = ", ".join(filter(None, (one_line(workspace.get("branch") or ""), head)))
    synced = "as packed" if skill.get("in_sync") else "differs from the packed one"
    rows = [
        ("Version", one_line(payload["version"])),
        ("Project", one_line(workspace.get("root") or "none: the place that is named is not there")),
        ("Git", at or "none"),
        ("Home", one_line(config["home"])),
        ("Store", one_line(config["store"])),
        ("Allowed", f"up to {one_line(config['max_effect'])} commands"),
        ("Output", f"{one_line(config.get('format', 'json'))}, envelope {one_line(config['envelope'])}"),
        ("Keys", _keys(credentials)),
        ("Skill", f"{one_line(skill['version'])}, {synced}" if skill.get("version") else "not installed"),
    ]
    lines = format_aligned(rows, page.width)
    for notice in payload.get("notices", []):
        latest = notice.get("latest_version")
        told = f"Version {one_line(latest)} is there." if latest else one_line(str(notice.get("message", "")))
        command = notice.get("recommended_command")
        lines += ["", f"Notice: {told}" + (f" Get it: {one_line(command)}" if command else "")]
    return [*lines, "", "Next:", *(INDENT + spell_for_people(one_line(one)) for one in payload["next_steps"])]


def _keys(credentials: dict[str, Json]) -> str:
    if not credentials.get("usable", True):
        return "cannot be used; handrail doctor --human says why"
    return "in a file of yours" if credentials.get("configured") else "made with the first signed token"


def changelog_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """What changed, newest first."""
    since = payload.get("since")
    if not payload["entries"]:
        told = f"Nothing is newer than {one_line(since)}." if since else "No release is recorded yet."
        return [f"This is handrail {one_line(payload['current_version'])}.", told]
    lines = []
    for entry in payload["entries"]:
        date = f", {one_line(entry['date'])}" if entry.get("date") else ""
        lines += [f"{one_line(entry['version'])}{date}"]
        for kind in _KINDS:
            changes = entry["changes"].get(kind) or []
            lines += [f"{INDENT}{kind.capitalize()}"] if changes else []
            for change in changes:
                first, *rest = wrap(one_line(change), page.width - 6)
                lines += [f"{INDENT * 2}- {first}", *(INDENT * 3 + line for line in rest)]
        lines.append("")
    return [
        *lines,
        f"{format_count(payload['count'], 'release')} shown; this is {one_line(payload['current_version'])}.",
    ]


def preferences_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """How far agents go, for whom, and since when."""
    where = (
        f"In session {one_line(payload['session_id'])}" if payload.get("session_id") else "In new sessions"
    )
    rows = [
        ("Autonomy", one_line(payload["autonomy"])),
        ("Risk", one_line(payload["risk_policy"])),
        ("Set by", one_line(payload["source"])),
        ("Preset", next((one["label"] for one in payload["presets"] if one["id"] == payload["preset"]), "")),
        ("Effect", one_line(payload["takes_effect"])),
    ]
    names = "|".join(one["id"] for one in payload["presets"])
    change = f"handrail preferences set --preset {names} --dry-run --human"
    return [
        f"{where}:",
        *(INDENT + line for line in format_aligned(rows, page.width - 2)),
        "",
        f"Change it: {change}",
    ]


def settings_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Every setting in force, and the servers that still have another one."""
    rows = [
        (row["name"], _setting_text(row["applied"]), one_line(row["source"]), _setting_text(row["desired"]))
        for row in payload["settings"]
    ]
    lines = format_table([("setting", "in force", "from", "asked for"), *rows], page.width, yielding=(1, 3))
    servers = [
        (str(one["pid"]), one["version"], one["transport"], "start again" if one["restart_needed"] else "")
        for one in payload["servers"]
    ]
    if servers:
        lines += ["", "MCP servers that run now:", *(INDENT + line for line in format_table(servers))]
    for problem in payload["problems"]:
        lines += ["", *wrap(f"{one_line(problem['message'])} {one_line(problem['fix'])}", page.width)]
    return lines


def _setting_text(value: Json) -> str:
    """A value in one cell; of what stands under names of its own, the names."""
    held = list(value) if isinstance(value, dict) else value
    if isinstance(held, list):
        return ", ".join(one_line(one) if isinstance(one, str) else "…" for one in held) or "-"
    return format_cell(held)


def completion_lines(payload: dict[str, Json], _: Page) -> list[str]:
    """How to put the script in place."""
    size = format_count(payload["script"].count("\n"), "line")
    return [
        f"Completion for {one_line(payload['shell'])}, {size}. Put it in place with:",
        "",
        f"{INDENT}{one_line(payload['install'])}",
        "",
        "Then open a new shell.",
    ]


def reference_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """One command with its flags and examples, or every command in one line."""
    commands = payload["commands"]
    if len(commands) == 1:
        return _command(commands[0], page)
    if payload.get("selection", {}).get("kind") == "schema":
        return [line for label, schema in payload["schemas"].items() for line in _type(label, schema, page)]
    rows = [["COMMAND", "EFFECT", "WHAT IT DOES"]]
    rows += [[one["path"], one["effect"], one_line(one["description"])] for one in commands]
    more = "handrail reference --command 'run continue' --human"
    return [
        *format_table(rows, page.width, [2]),
        "",
        f"{format_count(len(commands), 'command')}. One of them: {more}",
        "Everything, for programs: handrail reference",
    ]


def _command(command: dict[str, Json], page: Page) -> list[str]:
    lines = [*wrap(f"Usage: {one_line(command['usage'])}", page.width), ""]
    lines += wrap(one_line(command["description"]), page.width)
    lines += [
        f"Effect: {command['effect']}"
        + (f"; by {command['authorised_by']}" if command["authorised_by"] else "")
    ]
    lines += (
        wrap(f"Reach: {one_line(command['blast_radius'])}", page.width) if command["blast_radius"] else []
    )
    rows = [(one.get("flag") or one["name"], _param(one)) for one in command["params"]]
    lines += ["", *format_aligned(rows, page.width)] if rows else []
    lines += ["", "Global flags:", *wrap(" ".join(command["global_flags"]), page.width, INDENT)]
    lines += ["", "Examples:", *(f"{INDENT}{one_line(one)}" for one in command["examples"])]
    return [*lines, "", "Errors:", *wrap(", ".join(command["errors"]), page.width, INDENT)]


def _type(label: str, schema: dict[str, Json], page: Page) -> list[str]:
    marked = ", ".join(schema["untrusted_fields"])
    return [
        f"{one_line(label)}: {schema['shape']} with {format_count(len(schema['fields']), 'field')}",
        *(INDENT + one_line(name) for name in schema["fields"]),
        *(wrap(f"From outside: {marked}", page.width) if marked else []),
    ]


def _param(param: dict[str, Json]) -> str:
    choices = f" One of {', '.join(map(str, param['values']))}." if param.get("values") else ""
    return one_line(param["description"]) + choices + (" Required." if param.get("required") else "")


def update_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """What is installed now, and what comes next."""
    now, target = one_line(payload["current_version"]), one_line(payload["target_version"])
    command = " ".join(one_line(str(word)) for word in payload.get("command", []))
    match payload["status"]:
        case "updated":
            lines = [f"Updated from {one_line(payload['previous_version'])} to {now}."]
        case "available":
            lines = [f"Version {target} can be had; this is {now}.", "Get it: handrail update --human"]
            lines += [f"It would run: {command}"] if command else []
        case _:
            lines = [f"Version {now} is the newest."]
    skill = payload.get("skill_sync_status")
    lines += [f"Skill: {one_line(skill)}."] if skill and skill != "skipped" else []
    return lines + (wrap(one_line(payload["hint"]), page.width) if payload.get("hint") else [])


def lafs_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """One line per document, with what it breaks below."""
    lines = []
    for report in payload["reports"]:
        mark = "ok      " if report["ok"] else "failed  "
        lines.append(
            f"{mark}{one_line(report['source'])} ({one_line(report['kind'])}, {one_line(report['tier'])})"
        )
        lines += lafs_troubles(report, page)
    return [*lines, "", f"{format_count(payload['checked'], 'document')} checked."]


def lafs_troubles(report: dict[str, Json], page: Page) -> list[str]:
    lines = []
    for check in report["checks"]:
        if check["pass"] is False:
            lines += wrap(f"{one_line(check['name'])}: {one_line(check['detail'])}", page.width, INDENT * 2)
    for error in report.get("schema_errors") or []:
        lines += wrap(
            f"{one_line(error['pointer']) or '/'}: {one_line(error['message'])}", page.width, INDENT * 3
        )
    lines += [INDENT * 2 + line for line in value_lines(report.get("advisories") or [])]
    return lines
