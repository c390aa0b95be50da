"""Text mode: which look a payload gets; what has none is shown as plain aligned text. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from handrail.contract.outcome import Json
from handrail.surfaces.cli.looks import gate, installation, runs, sessions, store, workflows
from handrail.surfaces.cli.text import Page, joined, text_of

Look: TypeAlias = Callable[[dict[str, Json], Page], list[str]]

_LOOKS: dict[str, tuple[Look, tuple[str, ...]]] = {
    "workflow.list": (workflows.list_lines, ("items",)),
    "workflow.inspect": (workflows.workflow_lines, ("workflow",)),
    "workflow.graph": (workflows.drawing_lines, ("drawing",)),
    "workflow.simulate": (workflows.simulation_lines, ("ok", "workflow_id")),
    "workflow.schema": (workflows.schema_lines, ("schema",)),
    "run.continue": (runs.verdict_lines, ("verdict",)),
    "run.checkpoint": (runs.verdict_lines, ("verdict",)),
    "run.close": (runs.closed_lines, ("run_id", "session_id", "status", "reason")),
    "session.list": (sessions.list_lines, ("items",)),
    "session.resume": (sessions.resume_lines, ("items",)),
    "session.show": (sessions.session_lines, ("session_id", "runs")),
    "session.events": (sessions.events_lines, ("items",)),
    "session.export": (sessions.export_lines, ("session_id", "as", "event_count", "health")),
    "ledger.show": (sessions.ledger_lines, ("ledgerId", "version", "entries")),
    "store.verify": (
        store.verify_lines,
        ("ok", "sessions", "events", "blobs", "bytes_read", "problems", "problem_count"),
    ),
    "store.du": (
        store.sizes_lines,
        (
            *("session_count", "session_bytes", "blob_count", "blob_bytes", "leftover_blobs"),
            *("leftover_bytes", "cache_bytes", "total_bytes", "largest_sessions"),
        ),
    ),
    "store.selftest": (store.selftest_lines, ("ok", "cases", "kills", "parts", "effort", "seed")),
    "self.doctor": (installation.doctor_lines, ("checks", "summary")),
    "self.context": (
        installation.context_lines,
        ("version", "workspace", "config", "credentials", "skill", "next_steps"),
    ),
    "self.changelog": (installation.changelog_lines, ("current_version", "count", "entries")),
    "self.completion": (installation.completion_lines, ("shell", "install", "script")),
    "self.reference": (installation.reference_lines, ("commands",)),
    "preferences.show": (
        installation.preferences_lines,
        ("autonomy", "risk_policy", "source", "takes_effect"),
    ),
    "preferences.set": (
        installation.preferences_lines,
        ("autonomy", "risk_policy", "source", "takes_effect"),
    ),
    "workflow.new": (gate.made_file_lines, ("workflow_id", "path", "size_bytes")),
    "session.import": (
        gate.imported_lines,
        ("session_id", "source_session_id", "event_count", "run_count"),
    ),
    "keys.rotate": (gate.rotated_lines, ("stays_valid", "stops_working")),
    "program.update": (installation.update_lines, ("status", "current_version", "target_version")),
    "lafs.check": (installation.lafs_lines, ("reports", "checked")),
}
"""By operation: the look, and the fields without which it is not used (a caller may choose fewer)."""


def human_text(payload: Json, page: Page, operation: str = "", *, is_selected: bool = False) -> str:
    """The whole payload for people, one newline at the end."""
    return joined(_look(payload, operation, is_selected=is_selected)(payload, page))


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
    look, needed = _LOOKS.get(operation, (text_of, ()))
    return look if all(name in payload for name in needed) else text_of
