"""Text mode: which look a payload gets; what has none is shown as plain aligned text. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from handrail.contract.outcome import Json
from handrail.surfaces.cli.rendering import code, gate, installation, runs, sessions, store, workflows
from handrail.surfaces.cli.rendering.text import Page, join_lines, text_of

Look: TypeAlias = Callable[[dict[str, Json], Page], list[str]]

_LOOKS: dict[str, Look] = {
    "workflow.list": workflows.list_lines,
    "workflow.inspect": workflows.workflow_lines,
    "workflow.graph": workflows.drawing_lines,
    "workflow.simulate": workflows.simulation_lines,
    "workflow.schema": workflows.schema_lines,
    "run.continue": runs.verdict_lines,
    "run.checkpoint": runs.verdict_lines,
    "run.close": runs.closed_lines,
    "run.confirm": runs.confirmed_lines,
    "check.run": runs.check_lines,
    "code.status": code.status_lines,
    "code.diff": code.diff_lines,
    "code.restore": code.restored_lines,
    "code.workflow": runs.file_lines,
    "session.list": sessions.list_lines,
    "session.resume": sessions.resume_lines,
    "session.show": sessions.session_lines,
    "session.gaps": sessions.gaps_lines,
    "session.events": sessions.events_lines,
    "session.export": sessions.export_lines,
    "ledger.show": sessions.ledger_lines,
    "store.verify": store.verify_lines,
    "store.du": store.sizes_lines,
    "store.selftest": store.selftest_lines,
    "self.doctor": installation.doctor_lines,
    "self.context": installation.context_lines,
    "self.settings": installation.settings_lines,
    "self.changelog": installation.changelog_lines,
    "self.completion": installation.completion_lines,
    "self.reference": installation.reference_lines,
    "preferences.show": installation.preferences_lines,
    "preferences.set": installation.preferences_lines,
    "workflow.new": gate.made_file_lines,
    "session.import": gate.imported_lines,
    "keys.rotate": gate.rotated_lines,
    "program.update": installation.update_lines,
    "lafs.check": installation.lafs_lines,
}


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
