"""Text mode: which look a payload gets; what has none is shown as plain aligned text. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.surfaces.cli.rendering import gate, runs, sessions, workflows
from handrail.surfaces.cli.rendering.text import (
    Page,
    join_lines,
    one_line,
    spell_for_people,
    text_of,
    width_of,
    wrap,
)

Look: TypeAlias = Callable[[dict[str, Json], Page], list[str]]

_MARKS = {"pass": "ok  ", "warn": "warn", "fail": "FAIL"}


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
    return _LOOKS.get(operation, text_of)


def _doctor_lines(payload: dict[str, Json], page: Page) -> list[str]:
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


_LOOKS: dict[str, Look] = {
    "workflow.list": workflows.list_lines,
    "workflow.inspect": workflows.workflow_lines,
    "workflow.graph": workflows.drawing_lines,
    "run.continue": runs.verdict_lines,
    "run.checkpoint": runs.verdict_lines,
    "run.confirm": runs.confirmed_lines,
    "check.run": runs.check_lines,
    "session.list": sessions.list_lines,
    "session.resume": sessions.resume_lines,
    "session.show": sessions.session_lines,
    "self.doctor": _doctor_lines,
}
"""What people use most; everything else has the plain look."""
