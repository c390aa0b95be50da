"""The rows of `handrail session …`."""

from __future__ import annotations

import msgspec

from handrail.engine.events import EVENT_KINDS
from handrail.surfaces.cli.commands.row import CURSOR, LIMIT, NOTES_FILE, Row, Spelling, show_gated

SESSION = Spelling(field="sessionId", position=1, kind="id", value="ID", text="The id of the session.")

_NODE = Spelling(field="node", flag="--node", position=2, value="NODE", text="A node id, as the second word.")

SESSION_ROWS = (
    Row(
        path="session list",
        spellings=(
            Spelling(field="workflow", value="ID", kind="id"),
            Spelling(field="since", value="TIME"),
            Spelling(field="until", value="TIME"),
            Spelling(field="query", value="TEXT"),
            LIMIT,
            CURSOR,
        ),
        columns=("id", "status", "workflow_id", "project", "goal", "last_activity"),
        examples=(
            "handrail session list --compact",
            "handrail session list --since 2026-11-01T00:00:00Z --status in_progress --compact",
        ),
    ),
    Row(
        path="session show",
        spellings=(SESSION, Spelling(field="run", value="RUN_ID")),
        examples=(
            "handrail session show SESSION_ID --compact",
            "handrail session show SESSION_ID --run RUN_ID --compact",
        ),
    ),
    Row(
        path="session show --graph",
        operation="run.graph",
        spellings=(SESSION, Spelling(field="run", value="RUN_ID")),
        examples=(
            "handrail session show SESSION_ID --graph --compact",
            "handrail session show SESSION_ID --graph --run RUN_ID --compact",
        ),
    ),
    Row(
        path="session show --timeline",
        operation="session.timeline",
        spellings=(SESSION, Spelling(field="before", value="INDEX"), LIMIT, CURSOR),
        columns=("at", "what", "title", "workflow_name"),
        examples=("handrail session show SESSION_ID --timeline --limit 50 --compact",),
    ),
    Row(
        path="session show --node",
        operation="run.node",
        spellings=(SESSION, msgspec.structs.replace(_NODE, field="node")),
        examples=("handrail session show SESSION_ID NODE_ID --compact",),
    ),
    Row(
        path="session show --compare",
        operation="run.compare",
        spellings=(
            SESSION,
            msgspec.structs.replace(_NODE, field="one"),
            Spelling(field="other", flag="--compare", value="NODE"),
        ),
        examples=("handrail session show SESSION_ID NODE_ID --compare OTHER_NODE_ID --compact",),
    ),
    Row(
        path="session events",
        spellings=(
            SESSION,
            Spelling(field="after", value="INDEX"),
            Spelling(field="kinds", kind="choices", choices=EVENT_KINDS, value="KIND,KIND"),
            LIMIT,
            CURSOR,
        ),
        columns=("eventIndex", "kind", "at"),
        examples=(
            "handrail session events SESSION_ID --after 10 --compact",
            "handrail session events SESSION_ID --stream",
            "handrail session events SESSION_ID --kinds gap_recorded,advance_recorded --compact",
        ),
    ),
    Row(
        path="session needs",
        spellings=(LIMIT, CURSOR),
        columns=("kind", "title", "why", "session_id"),
        examples=("handrail session needs --compact",),
    ),
    Row(
        path="session needs --gaps",
        operation="session.gaps",
        spellings=(
            Spelling(field="workflow", value="ID", kind="id"),
            Spelling(field="session", value="ID", kind="id"),
            LIMIT,
            CURSOR,
        ),
        columns=("state", "severity", "summary", "workflow_id", "session_id"),
        examples=(
            "handrail session needs --gaps --only open --compact",
            "handrail session needs --gaps --severity critical --workflow wr.small_change --compact",
        ),
    ),
    Row(
        path="session settle",
        operation="session.settle_gap",
        spellings=(
            Spelling(field="gap", position=1),
            Spelling(field="note", value="TEXT"),
            Spelling(field="session", value="SESSION_ID"),
        ),
        examples=(
            "handrail session settle GAP_ID --note 'Looked at it.' --compact",
            "handrail session settle RUN_ID --note 'The changed tests are right.' --compact",
        ),
    ),
    Row(
        path="session rename",
        spellings=(
            msgspec.structs.replace(SESSION, field="session"),
            Spelling(field="title", position=2),
        ),
        examples=("handrail session rename SESSION_ID 'The parser, once more' --compact",),
    ),
    Row(
        path="session note",
        operation="session.start",
        spellings=(
            Spelling(field="session", value="ID", kind="id"),
            Spelling(field="notes", value="TEXT"),
            msgspec.structs.replace(NOTES_FILE, field="notes"),
            Spelling(field="goal", value="TEXT"),
            Spelling(
                field="requestId",
                value="KEY",
                text="Your key for this call: letters, digits, `._:-`. A repeat returns the same session.",
            ),
        ),
        examples=(
            "handrail session note --session SESSION_ID --notes 'Half of it.' --request-id k-1 --compact",
            "handrail session note --notes 'Look around first' --request-id chat-7 --compact",
        ),
    ),
    Row(
        path="session resume",
        spellings=(
            Spelling(
                field="query", position=1, text="Words, a branch, a commit, or a session or run id; optional."
            ),
            Spelling(field="branch"),
            Spelling(field="head", value="COMMIT"),
        ),
        columns=("sessionId", "status", "workflowId", "pendingTitle"),
        examples=(
            "handrail session resume 'parser bug' --compact",
            "handrail session resume --branch feature/parser --compact",
        ),
    ),
    Row(
        path="session export",
        spellings=(SESSION,),
        raw="content",
        out="content",
        examples=(
            "handrail session export SESSION_ID --out work.handrail.json --compact",
            "handrail session export SESSION_ID --as markdown --format raw",
        ),
    ),
    Row(
        path="session import",
        spellings=(
            Spelling(
                field="bundle",
                position=1,
                kind="document",
                value="FILE",
                text="The bundle to import; `-` is stdin.",
            ),
            Spelling(field="part"),
            Spelling(field="offset", value="N"),
        ),
        examples=(
            "handrail session import work.handrail.json --dry-run --compact",
            "handrail session import work.handrail.json --dry-run --part steps --human",
            "handrail session import work.handrail.json --confirm CONFIRM_TOKEN --compact",
        ),
    ),
    Row(
        path="session delete",
        spellings=(Spelling(field="ids", kind="ids", value="ID,ID"),),
        columns=("target", "ok", "error"),
        examples=show_gated("session delete --ids SESSION_ID --dangerous"),
    ),
)
