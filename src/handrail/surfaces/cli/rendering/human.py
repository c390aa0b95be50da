"""Text mode: which look a payload gets; what has none is shown as plain aligned text. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from handrail.contract.outcome import Json
from handrail.surfaces.cli.rendering import gate, installation, runs, sessions, workflows
from handrail.surfaces.cli.rendering.text import Page, join_lines, lines_of, text_of

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
    "self.completion": installation.completion_lines,
    "self.settings": installation.settings_lines,
    "self.reference": installation.reference_lines,
    "self.doctor": installation.doctor_lines,
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
