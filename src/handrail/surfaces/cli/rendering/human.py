"""Text mode: which look a payload gets, and how people see workflows and what the tool says of itself. Pure.

What has no look is shown as plain aligned text.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.projections.plain_words import LOOP_ENDS
from handrail.surfaces.cli.rendering import gate, runs, sessions
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    describe_list,
    format_aligned,
    format_cell,
    format_table,
    item_table,
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
    """How to put the script in place."""
    size = format_count(payload["script"].count("\n"), "line")
    return [
        f"Completion for {one_line(payload['shell'])}, {size}. Put it in place with:",
        "",
        f"{INDENT}{one_line(payload['install'])}",
        "",
        "Then open a new shell.",
    ]


# Workflows: one of them, and what a simulation found

_PARTS = ("inputs", "steps", "slots", "source", "compiled", "diff", "capabilities", "problems")


def workflow_list_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """One row per workflow, and how to see or start one."""
    items = payload["items"]
    if not items:
        return [
            *describe_list(payload, page),
            "Make one: " + typed_line("handrail workflow new project.NAME --dry-run --human", page),
        ]
    broken = [item for item in items if isinstance(item, dict) and item.get("problems")]
    total = payload.get("total", len(items))
    shown = f"{len(items)} of " if total > len(items) else ""
    lines = [*item_table(items, page), "", f"{shown}{format_count(total, 'workflow')} shown."]
    lines += describe_list(payload, page)[1:]
    if broken:
        lines += ["Cannot be used as they are:", *(line for item in broken for line in _broken(item, page))]
    return [*lines, "One of them: " + typed_line("handrail workflow inspect ID --human", page)]


def _broken(item: dict[str, Json], page: Page) -> list[str]:
    """The first error of a file with its place; `workflow validate` has them all."""
    first = item["problems"][0]
    name = one_line(item.get("sourceRef") or item.get("id", ""))
    place = f"{name}:{first['line']}:{first['column']}" if first.get("line") else name
    lines = wrap(
        f"{place} {one_line(first['message'])} {one_line(first.get('fix', ''))}".rstrip(), page.width - 2
    )
    return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]


def workflow_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """What it is for, what it asks, and how it is started."""
    workflow = payload["workflow"]
    workflow_id = one_line(workflow["id"])
    lines = [f"{one_line(workflow['name'])} ({workflow_id})"]
    lines += [*wrap(one_line(workflow.get("description", "")), page.width), ""]
    facts = [
        ("Version", format_cell(workflow.get("version"))),
        ("Steps", format_cell(workflow.get("stepCount"))),
        ("From", one_line(workflow.get("sourceKind", ""))),
        ("Extends", _base(workflow.get("base", {}))),
        ("Recommended", ", ".join(one_line(str(one)) for one in workflow.get("recommended", {}).values())),
        ("Hash", one_line(workflow.get("workflowHash", ""))),
    ]
    lines += format_aligned([row for row in facts if row[1] not in ("", "-")])
    for name in _PARTS:
        if workflow.get(name):
            shown = _SHOWN[name](workflow[name], page) if name in _SHOWN else value_lines(workflow[name])
            lines += ["", f"{name.capitalize()}:", *(INDENT + line for line in shown)]
    for name in ("input", "step"):
        if left := workflow.get(f"{name}sOmitted"):
            omitted = format_count(left, f"more {name}")
            lines.append(f"{INDENT}{omitted} left out; --part compiled has all.")
    needed = {
        one["name"]: ["…"] if one.get("type") == "array" else "…"
        for one in workflow.get("inputs", ())
        if one.get("required") and "default" not in one
    }
    given = ["--context", msgspec.json.encode(needed).decode()] if needed else []
    words = ["handrail", "run", "start", workflow_id, *given, "--request-id", "KEY", "--human"]
    start = typed_line(shlex.join(words), page)
    return [*lines, "", *format_aligned([("Start it", start)])]


def _base(base: dict[str, Json]) -> str:
    """What an overlay extends, and what it leaves out of it."""
    left = [f"{one_line(one['id'])} ({one_line(one['how'])})" for one in base.get("leftOut", ())]
    left_out = f"; left out by the overlay: {', '.join(left)}" if left else ""
    return f"{one_line(base['id'])}{left_out}" if base else ""


def _inputs(inputs: Json, page: Page) -> list[str]:
    lines = []
    for one in inputs:
        required = ", required" if one.get("required") else ""
        lines.append(f"{one_line(one['name'])} ({one_line(one.get('type', ''))}{required})")
        lines += wrap(one_line(one.get("description", "")), page.width - 2, INDENT)
        if one.get("askedAt"):
            asked = f"Asked for by: {', '.join(map(one_line, one['askedAt']))}"
            lines += wrap(
                asked + (f" ({one_line(one['allowed'])})" if one.get("allowed") else ""),
                page.width - 2,
                INDENT,
            )
        if one.get("default") is not None:
            lines += wrap(f"Default: {format_cell(one['default'])}", page.width - 2, INDENT)
    return lines


def _steps(steps: Json, _: Page) -> list[str]:
    """One row per step; the steps of a loop are indented."""
    rows, depth = [], {"": 0}
    for step in steps:
        inside = depth.get(step.get("loop", ""), 0)
        depth[step["id"]] = inside + 1
        rows.append([INDENT * inside + one_line(step["id"]), one_line(step.get("title", "")), _step(step)])
    return format_table(rows)


def _step(step: dict[str, Json]) -> str:
    confirmation = step.get("requireConfirmation")
    does = "hands out" if step.get("type") == "delegate" else "choice of"
    facts = [
        f"loop, at most {format_count(step['maxIterations'], 'time')}" if step.get("maxIterations") else "",
        f"{does} {', '.join(map(one_line, step['options']))}" if step.get("options") else "",
        f"when {one_line(step['when'])}" if step.get("when") else "",
        f"delivers {one_line(step['contract'])}" if step.get("contract") else "",
        f"check {one_line(step['check'])}" if step.get("check") else "",
        "asks first" if confirmation is True else f"asks first when {confirmation}" if confirmation else "",
    ]
    return ", ".join(filter(None, facts))


def _slots(slots: Json, _: Page) -> list[str]:
    """Where an overlay may add steps."""
    rows = []
    for slot in slots:
        place = f"before {slot['before']}" if slot.get("before") else f"after {slot.get('after', '')}"
        rows.append((one_line(slot["id"]), one_line(f"{place}: {slot.get('title', '')}".rstrip(": "))))
    return format_aligned(rows)


_SHOWN = {"inputs": _inputs, "steps": _steps, "slots": _slots}


def simulation_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Whether every step can be reached and every way ends, and what became of the ways."""
    workflow_id = one_line(payload["workflow_id"])
    coverage, met = payload["coverage"], payload["paths"] - payload["completed"]
    verdict = "has no problems" if payload["ok"] else "has problems"
    lines = [f"{workflow_id} {verdict}: {coverage['reached']} of {coverage['total']} steps reached."]
    walked = f"{format_count(payload['paths'], 'way')} walked, {payload['completed']} to the end"
    met_words = f"; {met} met a place where another way had been, and went on as that one did" if met else ""
    lines += wrap(f"{walked}{met_words}.", page.width)
    for loop in payload["loops"]:
        rounds = ", ".join(map(str, loop["iterations"]))
        text = (
            f"The loop {one_line(loop['loop_id'])} ended after {rounds} rounds: "
            f"{', '.join(LOOP_ENDS[reason] for reason in loop['reasons'])}."
        )
        lines += wrap(text, page.width)
    lines += [f"- {one_line(one['step_id'])}: {one_line(one['message'])}" for one in payload["problems"]]
    for name, heading in (("dead_steps", "Never reached"), ("untried", "Not tried, which says nothing")):
        lines += [
            f"{heading}: {one_line(one['step_id'])}, {one_line(one['reason'])}" for one in payload[name]
        ]
    if payload["truncated"]:
        lines.append("There are more ways than were walked; --max-paths and --max-starts walk more.")
    rows = [[one_line(one["step_id"]), str(one["tokens"])] for one in payload["prompts"]]
    return [*lines, "", *format_table([["STEP", "TOKENS OF ITS PROMPT"], *rows])]


# Which look a payload gets


def _proof_lines(payload: dict[str, Json], page: Page) -> list[str]:
    from handrail.surfaces.cli.rendering.proofs import proof_lines  # noqa: PLC0415 - few calls prove a change

    return proof_lines(payload, page)


def _receipt_lines(payload: dict[str, Json], page: Page) -> list[str]:
    from handrail.surfaces.cli.rendering.receipts import export_lines  # noqa: PLC0415 - few calls do

    return export_lines(payload, page)


def _verified_lines(payload: dict[str, Json], page: Page) -> list[str]:
    from handrail.surfaces.cli.rendering.receipts import verified_lines  # noqa: PLC0415 - few calls do

    return verified_lines(payload, page)


Look: TypeAlias = Callable[[dict[str, Json], Page], list[str]]

_LOOKS: dict[str, Look] = {
    "workflow.list": workflow_list_lines,
    "workflow.inspect": workflow_lines,
    "workflow.simulate": simulation_lines,
    "run.continue": runs.verdict_lines,
    "run.checkpoint": runs.verdict_lines,
    "run.answer": runs.confirmed_lines,
    "check.prove": _proof_lines,
    "check.run": runs.check_lines,
    "session.list": sessions.list_lines,
    "session.inbox": sessions.needs_lines,
    "session.gaps": sessions.gaps_lines,
    "session.timeline": sessions.timeline_lines,
    "run.graph": sessions.graph_lines,
    "run.node": runs.node_lines,
    "run.compare": runs.compare_lines,
    "session.resume": sessions.resume_lines,
    "session.show": sessions.session_lines,
    "session.export": sessions.export_lines,
    "code.diff": runs.diff_lines,
    "receipt.export": _receipt_lines,
    "receipt.verify": _verified_lines,
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
