"""Text mode: which look a payload gets, and how people see what the tool says about itself. Pure.

What has no look is shown as plain aligned text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.surfaces.cli.rendering import gate, runs, sessions, workflows
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    format_aligned,
    format_cell,
    format_table,
    join_lines,
    lines_of,
    one_line,
    spell_for_people,
    text_of,
    typed_line,
    width_of,
    wrap,
)

# What the tool says about itself and its installation

_MARKS = {"pass": "ok  ", "warn": "warn", "fail": "FAIL"}


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
    counts = [
        f"{summary['pass']} ok",
        *(f"{summary[name]} {name}" for name in ("warn", "fail") if summary[name]),
        *([f"{summary['for_maintainers']} for maintainers"] if summary.get("for_maintainers") else []),
    ]
    return [*lines, "", f"{format_count(len(payload['checks']), 'check')}: {', '.join(counts)}."]


def _fix(fix: str, page: Page, indent: str) -> list[str]:
    """A sentence fits the page; a command stays whole, so that it can be copied."""
    return [f"{indent}Fix: {fix}"] if fix.startswith("handrail ") else wrap(f"Fix: {fix}", page.width, indent)


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


def reference_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """One command with its flags and examples, or every command in one line."""
    commands = payload["commands"]
    if len(commands) == 1:
        views = payload.get("selection", {}).get("views", ())
        others = [INDENT + typed_line(f"handrail reference --command '{one}' --human", page) for one in views]
        return [*_describe_command(commands[0], page), *(["", "Other views:", *others] if others else [])]
    if payload.get("selection", {}).get("kind") == "schema":
        return [
            line
            for label, schema in payload["schemas"].items()
            for line in _describe_type(label, schema, page)
        ]
    rows = [["COMMAND", "EFFECT", "WHAT IT DOES"]]
    rows += [[one["path"], one["effect"], one_line(one["description"])] for one in commands]
    more = typed_line("handrail reference --command 'run continue' --human", page)
    return [
        *format_table(rows, page.width, [2]),
        "",
        f"{format_count(len(commands), 'command')}. One of them: {more}",
        "Everything, for programs: " + typed_line("handrail reference", page),
    ]


def _describe_command(command: dict[str, Json], page: Page) -> list[str]:
    lines = [*wrap(f"Usage: {one_line(command['usage'])}", page.width), ""]
    lines += wrap(one_line(command["description"]), page.width)
    lines += [
        f"Effect: {command['effect']}"
        + (f"; by {command['authorised_by']}" if command["authorised_by"] else "")
    ]
    lines += (
        wrap(f"Reach: {one_line(command['blast_radius'])}", page.width) if command["blast_radius"] else []
    )
    rows = [(one.get("flag") or one["name"], _describe_param(one)) for one in command["params"]]
    lines += ["", *format_aligned(rows, page.width)] if rows else []
    lines += ["", "Global flags:", *wrap(" ".join(command["global_flags"]), page.width, INDENT)]
    lines += ["", "Examples:", *(f"{INDENT}{one_line(one)}" for one in command["examples"])]
    return [*lines, "", "Errors:", *wrap(", ".join(command["errors"]), page.width, INDENT)]


def _describe_type(label: str, schema: dict[str, Json], page: Page) -> list[str]:
    marked = ", ".join(schema["untrusted_fields"])
    return [
        f"{one_line(label)}: {schema['shape']} with {format_count(len(schema['fields']), 'field')}",
        *(INDENT + one_line(name) for name in schema["fields"]),
        *(wrap(f"From outside: {marked}", page.width) if marked else []),
    ]


def _describe_param(param: dict[str, Json]) -> str:
    choices = f" One of {', '.join(map(str, param['values']))}." if param.get("values") else ""
    return one_line(param["description"]) + choices + (" Required." if param.get("required") else "")


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


# Which look a payload gets

Look: TypeAlias = Callable[[dict[str, Json], Page], list[str]]

_LOOKS: dict[str, Look] = {
    "workflow.list": workflows.list_lines,
    "workflow.inspect": workflows.workflow_lines,
    "workflow.simulate": workflows.simulation_lines,
    "run.continue": runs.verdict_lines,
    "run.checkpoint": runs.verdict_lines,
    "run.confirm": runs.confirmed_lines,
    "check.run": runs.check_lines,
    "session.list": sessions.list_lines,
    "session.needs": sessions.needs_lines,
    "session.gaps": sessions.gaps_lines,
    "session.timeline": sessions.timeline_lines,
    "run.graph": sessions.graph_lines,
    "run.node": runs.node_lines,
    "run.compare": runs.compare_lines,
    "session.resume": sessions.resume_lines,
    "session.show": sessions.session_lines,
    "session.export": sessions.export_lines,
    "code.diff": runs.diff_lines,
    "receipt.export": sessions.receipt_lines,
    "code.workflow": runs.file_lines,
    "self.completion": completion_lines,
    "self.settings": settings_lines,
    "self.reference": reference_lines,
    "self.doctor": doctor_lines,
}
"""What people use most; everything else has the plain look."""
_TEXTS = {
    "workflow.graph": "drawing",
    "workflow.convert": "text",
    "workflow.fmt": "text",
}
"""The field that is the answer itself, as it is: a drawing or a file."""


def human_text(payload: Json, page: Page, operation: str = "", *, is_selected: bool = False) -> str:
    """The whole payload for people, one newline at the end.

    A level, a budget or an older file may leave out what a look draws, at any depth: then the rest is
    shown plainly.
    """
    try:
        lines = _look(payload, operation, is_selected=is_selected)(payload, page)
    except KeyError:
        lines = text_of(payload, page)
    return join_lines(lines)


def _look(payload: Json, operation: str, *, is_selected: bool) -> Callable[[Json, Page], list[str]]:
    if not isinstance(payload, dict) or is_selected:
        return text_of
    if operation == "run.checkpoint" and "verdict" not in payload:
        return runs.saved_lines
    if "nextIntent" in payload:
        return runs.step_lines
    if isinstance(payload.get("preview"), dict):
        return gate.preview_lines
    if gate.is_batch(payload):
        return gate.batch_lines
    text = payload.get(_TEXTS.get(operation, ""))
    if text and isinstance(text, str):
        return lambda _, __: lines_of(text.rstrip("\n"))
    return _LOOKS.get(operation, text_of)
