"""How people see workflows: one of them, its drawing, its schema, and what a simulation found. Pure."""

from __future__ import annotations

import shlex

import msgspec

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.projections.plain_words import LOOP_ENDS
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    describe_list,
    format_aligned,
    format_cell,
    format_table,
    item_table,
    one_line,
    typed_line,
    value_lines,
    wrap,
)

_PARTS = ("inputs", "steps", "slots", "source", "compiled", "diff", "capabilities", "problems")


def list_lines(payload: dict[str, Json], page: Page) -> list[str]:
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
    if "replay" in payload:
        replay = payload["replay"]
        way = "the same way" if replay["is_same"] else f"another way, {one_line(replay['difference'])}"
        return wrap(f"{workflow_id}: the recorded run goes {way}.", page.width)
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
