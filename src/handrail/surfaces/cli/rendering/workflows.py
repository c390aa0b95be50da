"""How people see workflows: one of them, its drawing, its schema, and what a simulation found. Pure."""

from __future__ import annotations

from itertools import zip_longest

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    describe_list,
    format_aligned,
    format_cell,
    format_table,
    item_table,
    lines_of,
    one_line,
    value_lines,
    wrap,
)

_PARTS = ("inputs", "steps", "source", "compiled", "diff", "capabilities", "problems")


def list_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """One row per workflow, and how to see or start one."""
    items = payload["items"]
    if not items:
        return [
            *describe_list(payload, page),
            "Make one: handrail workflow new project.NAME --dry-run --human",
        ]
    broken = [one_line(item["id"]) for item in items if isinstance(item, dict) and _has_error(item)]
    lines = [*item_table(items, page), "", f"{format_count(len(items), 'workflow')} shown."]
    lines += describe_list(payload, page)[1:]
    if broken:
        lines += wrap(f"Cannot be used as they are: {', '.join(broken)}.", page.width)
    return [*lines, "One of them: handrail workflow inspect ID --human"]


def _has_error(item: dict[str, Json]) -> bool:
    """Whether it has an error; warnings do not count."""
    return any(problem.get("severity") == "error" for problem in item.get("problems", ()))


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
    start = f"handrail run start {workflow_id} --request-id KEY --human"
    return [*lines, "", *format_aligned([("Start it", start)])]


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
    told = [
        f"loop, at most {format_count(step['maxIterations'], 'time')}" if step.get("maxIterations") else "",
        f"choice of {', '.join(map(one_line, step['options']))}" if step.get("options") else "",
        f"when {one_line(step['when'])}" if step.get("when") else "",
        f"delivers {one_line(step['contract'])}" if step.get("contract") else "",
        "asks first" if confirmation is True else f"asks first when {confirmation}" if confirmation else "",
    ]
    return ", ".join(filter(None, told))


_SHOWN = {"inputs": _inputs, "steps": _steps}


def drawing_lines(payload: dict[str, Json], _: Page) -> list[str]:
    """The drawing as it is; a graph as data has no better look than its own."""
    drawing = payload["drawing"]
    return lines_of(drawing.rstrip("\n")) if isinstance(drawing, str) else value_lines(payload)


def simulation_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Whether every step can be reached and every way ends, then the size of what an agent reads."""
    if "replay" in payload:
        return _replay_lines(payload, page)
    if "coverage" not in payload:
        return value_lines(payload)
    workflow_id, coverage = one_line(payload["workflow_id"]), payload["coverage"]
    verdict = "has no problems" if payload["ok"] else "has problems"
    reached = f"{coverage['reached']} of {coverage['total']} steps reached"
    lines = [f"{workflow_id} {verdict}: {reached}."]
    if "paths" in payload:
        met = payload["paths"] - payload["completed"]
        walked = f"{format_count(payload['paths'], 'way')} walked: {payload['completed']} to the end"
        met_words = f", {met} until {'it' if met == 1 else 'they'} met an earlier one" if met else ""
        lines.append(f"{walked}{met_words}.")
    for problem in payload.get("problems", ()):
        first, *rest = value_lines(problem) or [""]
        lines += [f"- {first}", *(INDENT + line for line in rest)]
    for name, heading in (("dead_steps", "Never reached"), ("untried", "Not tried")):
        for step in payload.get(name, ()):
            told = f"{heading}: {one_line(step['step_id'])}, {one_line(step['reason'])}."
            lines += wrap(told, page.width)
    if payload.get("unproven"):
        lines += ["Not proven:", *(INDENT + line for line in value_lines(payload["unproven"]))]
    if payload.get("truncated"):
        lines.append("There are more ways than were walked; --max-paths and --max-starts walk more.")
    modes = [["MODE", "STEPS REACHED"]]
    modes += [
        [mode, f"{one['reached']} of {one['total']}"] for mode, one in payload.get("by_mode", {}).items()
    ]
    lines += ["", *format_table(modes)] if len(modes) > 1 else []
    prompts = [["STEP", "TOKENS OF ITS PROMPT"]]
    prompts += [[one_line(one["step_id"]), str(one["tokens"])] for one in payload.get("prompts", [])]
    return lines + (["", *format_table(prompts)] if len(prompts) > 1 else [])


def _replay_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """The recorded way beside the one that the same reports take now."""
    workflow_id, replay = one_line(payload["workflow_id"]), payload["replay"]
    if replay["is_same"]:
        places = format_count(len(replay["actual"]), "place")
        return [f"{workflow_id}: the recorded run goes the same way, {places}."]
    told = f"{workflow_id}: the recorded run goes another way, {one_line(replay['difference'])}."
    lines = wrap(told, page.width)
    pairs = zip_longest(replay["expected"], replay["actual"], fillvalue="-")
    rows = [["RECORDED", "NOW"], *([one_line(was), one_line(now)] for was, now in pairs)]
    return [*lines, "", *format_table(rows)]


def schema_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """What a file may hold at its top; the whole is for an editor."""
    schema = payload["schema"]
    required = schema.get("required", [])
    rows = [
        (one_line(name) + (" *" if name in required else ""), one_line(str(part.get("description", ""))))
        for name, part in schema.get("properties", {}).items()
    ]
    return [
        f"{one_line(schema.get('title', ''))}: {one_line(schema.get('description', ''))}",
        "",
        *format_aligned(rows, page.width),
        "",
        "* must be there.",
        "The whole schema, for an editor: handrail workflow schema --format raw > workflow.schema.json",
    ]
