"""Spellings that several commands share."""

from __future__ import annotations

from handrail.surfaces.cli.command_rows.row import Spelling

CURSOR = Spelling(field="cursor", kind="token", value="CURSOR")
LIMIT = Spelling(field="limit", value="N", text="Items per page, 50 by default.")
NOTES = Spelling(field="output.notesMarkdown", flag="--notes", kind="text", value="TEXT")
ARTIFACTS = Spelling(
    field="output.artifacts",
    flag="--artifacts",
    kind="array",
    value="JSON",
    text="What the step asks for, as a JSON array of objects with a kind, or @FILE.",
)
NOTES_FILE = Spelling(
    field="output.notesMarkdown",
    flag="--notes-file",
    kind="file",
    value="FILE",
    text="The same from a file; `-` is stdin.",
)
STATE = Spelling(field="stateToken", flag="--state", kind="token", value="TOKEN")
WORKFLOW = Spelling(
    field="workflowId",
    position=1,
    is_required=True,
    kind="source",
    value="ID|PATH",
    text="The id of the workflow, or a file; `-` is stdin.",
)
