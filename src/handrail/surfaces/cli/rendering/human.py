"""Text mode: choose one of six layouts for a payload. Pure.

A step, a proof or receipt, blocks of sessions and checks, a preview with its batch, a table, and
names with their values. A payload without a layout of its own gets one of the last two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.surfaces.cli.rendering import gate, runs, sessions, traces
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    format_aligned,
    format_cell,
    format_table,
    heading,
    join_lines,
    lines_of,
    one_line,
    spell_for_people,
    text_of,
    typed_line,
    value_lines,
    width_of,
    wrap,
)

_MARKS = {"pass": "ok  ", "warn": "warn", "fail": "FAIL"}


def doctor_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return one line per check; a failed one includes its fix."""
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
    """Return a fix: a sentence is wrapped; a command stays on one line, so that it can be copied."""
    return [f"{indent}Fix: {fix}"] if fix.startswith("handrail ") else wrap(f"Fix: {fix}", page.width, indent)


def _proof_lines(payload: dict[str, Json], page: Page) -> list[str]:
    from handrail.surfaces.cli.rendering.proofs import proof_lines  # noqa: PLC0415 - few calls prove a change

    return proof_lines(payload, page)


def _receipt_lines(payload: dict[str, Json], page: Page) -> list[str]:
    from handrail.surfaces.cli.rendering.receipts import export_lines  # noqa: PLC0415 - few calls do

    return export_lines(payload, page)


def _verified_lines(payload: dict[str, Json], page: Page) -> list[str]:
    from handrail.surfaces.cli.rendering.receipts import verified_lines  # noqa: PLC0415 - few calls do

    return verified_lines(payload, page)


def reference_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return one command with its flags and examples, or a line for every command."""
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
    rows = [["COMMAND", "TYPE", "WHAT IT DOES"]]
    rows += [[one["path"], one["type"], one_line(one["description"])] for one in commands]
    more = typed_line("handrail reference --command 'run continue' --human", page)
    return [
        *format_table(rows, page.width, [2]),
        "",
        f"{format_count(len(commands), 'command')}. One of them: {more}",
        "Everything, for programs: " + typed_line("handrail reference --mvi full", page),
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
    """Return how to install the script."""
    size = format_count(payload["script"].count("\n"), "line")
    return [
        f"Completion for {one_line(payload['shell'])}, {size}. Put it in place with:",
        "",
        f"{INDENT}{one_line(payload['install'])}",
        "",
        "Then open a new shell.",
    ]


def settings_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return every setting in force, and the servers that still use another value."""
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
    """Return a value as one cell; for an object only its names."""
    held = list(value) if isinstance(value, dict) else value
    if isinstance(held, list):
        return ", ".join(one_line(one) if isinstance(one, str) else "…" for one in held) or "-"
    return format_cell(held)


# Which layout a payload gets

Layout: TypeAlias = Callable[[dict[str, Json], Page], list[str]]

_LAYOUTS: dict[str, Layout] = {
    "run.continue": runs.verdict_lines,
    "run.checkpoint": runs.verdict_lines,
    "run.answer": runs.confirmed_lines,
    "check.prove": _proof_lines,
    "check.run": runs.check_lines,
    "session.list": sessions.list_lines,
    "session.inbox": sessions.needs_lines,
    "session.resume": sessions.resume_lines,
    "session.show": sessions.session_lines,
    "session.export": sessions.export_lines,
    "code.diff": runs.diff_lines,
    "code.workflow": runs.file_lines,
    "code.scan": traces.trace_lines,
    "receipt.export": _receipt_lines,
    "receipt.verify": _verified_lines,
    "self.completion": completion_lines,
    "self.doctor": doctor_lines,
    "self.settings": settings_lines,
    "self.reference": reference_lines,
}
_ROWS = {
    "run.graph": ("nodes", ("title", "kind", "gap_count")),
}
"""The list that is the answer, and the columns of its table; the document has the rest."""
_TEXTS = {
    "workflow.graph": "drawing",
    "workflow.convert": "text",
    "workflow.fmt": "text",
}
"""The field that is the whole answer, such as a drawing or a file."""


def human_text(payload: Json, page: Page, operation: str = "", *, is_selected: bool = False) -> str:
    """Return the whole payload for people, with one newline at the end.

    A level, a budget or an older file may leave out what a layout draws, at any depth; then the
    rest is shown plainly.
    """
    try:
        lines = _layout(payload, operation, is_selected=is_selected)(payload, page)
    except KeyError:
        lines = text_of(payload, page)
    return join_lines(lines)


def _layout(payload: Json, operation: str, *, is_selected: bool) -> Callable[[Json, Page], list[str]]:
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
    rows, columns = _ROWS.get(operation, ("", ()))
    if len(payload.get(rows) or ()) > 1:
        return lambda held, page: _row_lines(held, rows, columns, page)
    return _LAYOUTS.get(operation, text_of)


def _row_lines(payload: dict[str, Json], name: str, columns: tuple[str, ...], page: Page) -> list[str]:
    """Return the rows as a table, then the answer's other values."""
    rows = payload[name]
    cells = [[format_cell(row[column]) for column in columns] for row in rows]
    table = format_table([[heading(one) for one in columns], *cells], page.width, range(1, len(columns)))
    beside = {key: value for key, value in payload.items() if not isinstance(value, dict | list)}
    more = f"{format_count(len(rows), 'row')}; --json has more of each."
    return [*table, "", *value_lines(beside, page.width), more]
