"""The rows of `handrail session …`."""

from __future__ import annotations

from handrail.engine.events import EVENT_KINDS
from handrail.surfaces.cli.commands.row import CURSOR, LIMIT, Row, Spelling

SESSION = Spelling(field="sessionId", position=1, kind="id", value="ID", text="The id of the session.")

SESSION_ROWS = (
    Row(
        path="session list",
        operation="session.list",
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
        operation="session.show",
        spellings=(SESSION, Spelling(field="run", value="RUN_ID")),
        examples=(
            "handrail session show SESSION_ID --compact",
            "handrail session show SESSION_ID --run RUN_ID --compact",
        ),
    ),
    Row(
        path="session events",
        operation="session.events",
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
        path="session gaps",
        operation="session.gaps",
        spellings=(
            Spelling(field="workflow", value="ID", kind="id"),
            Spelling(field="session", value="ID", kind="id"),
            LIMIT,
            CURSOR,
        ),
        columns=("state", "severity", "summary", "workflow_id", "session_id"),
        examples=(
            "handrail session gaps --only open --compact",
            "handrail session gaps --severity critical --workflow wr.small_change --compact",
        ),
    ),
    Row(
        path="session needs",
        operation="session.needs",
        spellings=(Spelling(field="limit", value="N"),),
        examples=("handrail session needs --compact",),
    ),
    Row(
        path="session search",
        operation="session.search",
        spellings=(
            Spelling(
                field="query",
                position=1,
                kind="text",
                value="WORDS",
                text="Words that the notes or an artifact of a node all have.",
            ),
            Spelling(field="limit", value="N"),
        ),
        examples=("handrail session search 'parser bug' --compact",),
    ),
    Row(
        path="session timeline",
        operation="session.timeline",
        spellings=(SESSION, Spelling(field="before", value="INDEX"), Spelling(field="limit", value="N")),
        examples=("handrail session timeline SESSION_ID --limit 50 --compact",),
    ),
    Row(
        path="session start",
        operation="session.start",
        spellings=(
            Spelling(field="goal", value="TEXT"),
            Spelling(
                field="requestId",
                kind="text",
                value="KEY",
                text="Your key for this start: letters, digits, `._:-`. A repeat returns the same session.",
            ),
        ),
        examples=("handrail session start --goal 'Look around first' --request-id chat-7 --compact",),
    ),
    Row(
        path="session resume",
        operation="session.resume",
        spellings=(
            Spelling(
                field="query",
                position=1,
                kind="text",
                value="QUERY",
                text="Words, a branch, a commit, or a session or run id; optional.",
            ),
            Spelling(field="branch", value="BRANCH"),
            Spelling(field="head", value="COMMIT", kind="text"),
        ),
        columns=("sessionId", "status", "workflowId", "pendingTitle"),
        examples=(
            "handrail session resume 'parser bug' --compact",
            "handrail session resume --branch feature/parser --compact",
        ),
    ),
    Row(
        path="session export",
        operation="session.export",
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
        operation="session.import",
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
        operation="session.delete",
        spellings=(Spelling(field="ids", kind="ids", value="ID,ID", is_required=True, text="Session ids."),),
        columns=("target", "ok", "error"),
        examples=(
            "handrail session delete --ids SESSION_ID --dangerous --dry-run --compact",
            "handrail session delete --ids SESSION_ID --dangerous --confirm CONFIRM_TOKEN --compact",
        ),
    ),
)
