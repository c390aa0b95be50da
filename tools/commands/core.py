"""The commands of the core, by hand: only what a terminal adds to an operation.

`merged.py` merges them with the operation registry, and `tools/generate.py` writes what the parser, help and
reference need into `packed/`. Nothing imports them at run time.
"""

from __future__ import annotations

import msgspec

from handrail.engine.events import EVENT_KINDS
from tools.commands.own import (
    CLIENT_ROWS,
    LEDGER_ROWS,
    OWN_ROWS,
    SELF_DESCRIPTION_ROWS,
    SETTINGS_ROWS,
    STORE_ROWS,
)
from tools.commands.rows import (
    ARTIFACTS,
    CURSOR,
    LIMIT,
    NOTES,
    NOTES_FILE,
    STATE,
    WORKFLOW,
    Row,
    Spelling,
    show_gated,
)

_OUT = Spelling(field="out", kind="directory", value="FILE")

WORKFLOW_ROWS = (
    Row(
        path="workflow list",
        spellings=(
            Spelling(field="query", value="WORDS"),
            Spelling(field="source"),
            LIMIT,
            CURSOR,
        ),
        columns=("id", "description"),
        shown=("id", "description", "suggestedId", "sourceRef", "problems"),
        examples=(
            "handrail workflow list --compact",
            "handrail workflow list --query review --fields items.id,items.name --compact",
        ),
    ),
    Row(
        path="workflow inspect",
        spellings=(
            WORKFLOW,
            Spelling(
                field="part",
                text="summary by default; source and compiled show the whole text; diff needs --run.",
            ),
            Spelling(field="run", kind="id"),
        ),
        raw="workflow.source",
        raw_when=("part", "source"),
        examples=(
            "handrail workflow inspect wr.code_review --part steps --compact",
            "handrail workflow inspect wr.code_review --part source --format raw",
        ),
    ),
    Row(
        path="workflow validate",
        spellings=(
            Spelling(
                field="documents",
                position=1,
                is_required=True,
                kind="sources",
                value="PATH|ID",
                text="Workflow files, directories of them, or ids; `-` is stdin.",
            ),
        ),
        examples=(
            "handrail workflow validate my_check.json --compact",
            "handrail workflow validate wr.code_review --min-severity warning --report-only --compact",
        ),
    ),
    Row(
        path="workflow graph",
        spellings=(WORKFLOW,),
        raw="drawing",
        examples=(
            "handrail workflow graph wr.code_review --as text --format raw",
            "handrail workflow graph wr.code_review --as svg --format raw",
        ),
    ),
    Row(
        path="workflow diff",
        spellings=(
            Spelling(
                field="workflows",
                position=1,
                kind="sources",
                value="PATH|ID",
                text="Two workflows, the older first: files or ids; `-` is stdin.",
            ),
        ),
        examples=("handrail workflow diff wr.small_change my_check.json --compact",),
    ),
    Row(
        path="workflow simulate",
        spellings=(msgspec.structs.replace(WORKFLOW, is_required=False),),
        examples=(
            "handrail workflow simulate wr.small_change --compact",
            "handrail workflow simulate my_check.json --mode guided --compact",
        ),
    ),
    Row(
        path="workflow builtins",
        spellings=(Spelling(field="query", value="WORDS"), LIMIT, CURSOR),
        columns=("kind", "id", "title"),
        examples=("handrail workflow builtins --kind contract --compact",),
    ),
    Row(
        path="workflow schema",
        raw="schema",
        examples=("handrail workflow schema --format raw",),
    ),
    Row(
        path="workflow new",
        spellings=(
            Spelling(field="workflowId", position=1, kind="id", value="ID"),
            Spelling(field="to", kind="directory", value="DIR"),
        ),
        examples=show_gated("workflow new project.my_check --to drafts"),
    ),
    Row(
        path="workflow convert",
        spellings=(WORKFLOW, Spelling(field="to"), _OUT),
        raw="text",
        examples=(
            "handrail workflow convert wr.small_change --to md --format raw",
            "handrail workflow convert my_check.json --to md --out my_check.md --dry-run --compact",
            "handrail workflow convert my_check.json --to md --out my_check.md --confirm CONFIRM_TOKEN",
        ),
    ),
    Row(
        path="workflow fmt",
        spellings=(WORKFLOW, _OUT),
        raw="text",
        examples=(
            "handrail workflow fmt my_check.json --format raw",
            "handrail workflow fmt my_check.json --fix --format raw",
            "handrail workflow fmt my_check.json --out my_check.json --dry-run --compact",
            "handrail workflow fmt my_check.json --out my_check.json --confirm CONFIRM_TOKEN",
        ),
    ),
    Row(
        path="workflow save",
        spellings=(
            Spelling(
                field="document",
                position=1,
                kind="document",
                value="FILE",
                text="The file with the workflow; `-` is stdin.",
            ),
            Spelling(field="file", value="NAME"),
            Spelling(field="base", value="DIGEST"),
        ),
        examples=show_gated("workflow save my_check.json"),
    ),
)


RECEIPT = Spelling(
    field="receipt", position=1, kind="document", value="FILE", text="The receipt; `-` is stdin."
)

EXPECT = Spelling(
    field="expect",
    value="WORD",
    text="Exit with 1 unless this is the word: proved, kept, rewrote, fails, new_rules, unseen, flaky or "
    "not_tried.",
)

CHECK_ROWS = (
    Row(
        path="prove",
        operation="check.prove",
        spellings=(
            Spelling(
                field="names", position=1, kind="ids", value="CHECK", text="Declared checks; all by default."
            ),
            Spelling(
                field="argv",
                position=2,
                kind="words",
                value="-- COMMAND",
                text="Or a program and its arguments, after `--`; no shell reads them.",
            ),
            Spelling(field="run", kind="id", value="ID"),
            Spelling(field="base", value="REV"),
            Spelling(field="head", value="REV"),
            EXPECT,
            Spelling(field="inPlace"),
            Spelling(field="fresh"),
            Spelling(field="as"),
        ),
        raw="markdown",
        raw_when=("as", "markdown"),
        seconds=3600,
        examples=(
            "handrail prove --compact",
            "handrail prove --as markdown --format raw -- python -m pytest -q",
        ),
    ),
    Row(
        path="check run",
        spellings=(
            Spelling(field="name", position=1, kind="id", text="A check of the project."),
            Spelling(
                field="argv",
                position=2,
                kind="words",
                value="-- COMMAND",
                text="Or a program and its arguments, after `--`; no shell reads them.",
            ),
            STATE,
            Spelling(field="session", kind="id", value="ID"),
            Spelling(field="directory", value="DIR"),
            Spelling(
                field="timeLimit",
                value="SECONDS",
                text="When the program is ended, 600 by default; `--timeout` does not end it.",
            ),
            Spelling(field="passStatus", text="Exit with the program's status instead of 0."),
        ),
        examples=(
            "handrail check run tests --session SESSION_ID --quiet --compact",
            "handrail check run --state STATE_TOKEN --quiet --pass-status -- git --version",
        ),
    ),
    Row(
        path="check list",
        columns=("name", "line", "timeoutSeconds", "isApproved", "description"),
        examples=("handrail check list --compact",),
    ),
    Row(
        path="check approve",
        spellings=(
            Spelling(
                field="name",
                position=1,
                kind="id",
                text="A check of the project; else every one that it declares.",
            ),
            Spelling(field="withdraw"),
        ),
        takes_rest=False,
        examples=("handrail check approve tests --withdraw --compact",),
    ),
)

RECEIPT_ROWS = (
    Row(
        path="receipt export",
        spellings=(
            Spelling(field="session", kind="id", value="ID"),
            Spelling(field="commit", kind="id", value="REF"),
        ),
        raw="content",
        out="content",
        examples=(
            "handrail receipt export --session SESSION_ID --out made.json --compact",
            "handrail receipt export --session SESSION_ID --as markdown --format raw",
        ),
    ),
    Row(
        path="receipt verify",
        spellings=(
            RECEIPT,
            Spelling(field="commit", kind="id", value="REF"),
            Spelling(field="key", value="PUB"),
            EXPECT,
        ),
        examples=("handrail receipt verify receipt.json --commit HEAD --compact",),
    ),
    Row(
        path="receipt key",
        spellings=(Spelling(field="trust", value="PUB"),),
        blast_radius="The keys of receipts in the home: which one signs, and whose are trusted.",
        examples=("handrail receipt key --compact",),
    ),
)


RUN_ROWS = (
    Row(
        path="run start",
        spellings=(
            Spelling(field="workflowId", position=1, kind="id", value="ID", text="The id of the workflow."),
            Spelling(field="goal", value="TEXT"),
            Spelling(
                field="context", kind="object", value="JSON", text="External facts the steps need, or @FILE."
            ),
            Spelling(
                field="requestId",
                value="KEY",
                text="Your key for this start: letters, digits, `._:-`. A repeat returns the same run.",
            ),
            Spelling(field="session", kind="token"),
            Spelling(field="preferences.autonomy", text="How far to go without the user."),
            Spelling(field="preferences.riskPolicy", text="How much risk to take."),
        ),
        examples=(
            "handrail run start wr.code_review --goal 'Review the change' --request-id pr-118 --compact",
            'handrail run start wr.small_change --context \'{"scope":"src"}\' --request-id pr-119 --compact',
        ),
    ),
    Row(
        path="run continue",
        spellings=(
            Spelling(field="ackToken", flag="--ack", kind="token", value="TOKEN"),
            STATE,
            NOTES,
            NOTES_FILE,
            ARTIFACTS,
            Spelling(
                field="context",
                kind="object",
                value="JSON",
                text="Facts to set, or @FILE; null deletes a key.",
            ),
        ),
        examples=(
            "handrail run continue --ack ACK_TOKEN --notes 'Looked at every file.' --compact",
            "handrail run continue --state STATE_TOKEN --compact",
        ),
    ),
    Row(
        path="run checkpoint",
        spellings=(
            Spelling(field="checkpointToken", flag="--checkpoint", kind="token", value="TOKEN"),
            STATE,
            NOTES,
            NOTES_FILE,
        ),
        examples=("handrail run checkpoint --checkpoint CHECKPOINT_TOKEN --notes 'Half way.' --compact",),
    ),
    Row(
        path="run answer",
        spellings=(
            STATE,
            Spelling(field="session", kind="id", value="ID"),
            Spelling(field="note", value="TEXT"),
        ),
        blast_radius="Appends one fact to one session: what the person answered.",
        examples=(
            "handrail run answer --session SESSION_ID --human",
            "handrail run answer --state STATE_TOKEN --note 'Seen in staging.' --compact",
        ),
    ),
    Row(
        path="run close",
        spellings=(
            Spelling(field="run", position=1, kind="token"),
            STATE,
            Spelling(field="reason"),
            Spelling(field="note", value="TEXT"),
            Spelling(
                field="requestId",
                value="KEY",
                text="Your key for this closing; a repeat does not close a run that was reopened since.",
            ),
        ),
        blast_radius="Appends one fact to one session; the run can be opened again by continuing it.",
        examples=(
            "handrail run close SESSION_ID --reason abandoned --compact",
            "handrail run close --state STATE_TOKEN --reason superseded --note 'Begun twice.' --compact",
        ),
    ),
)


_OF_SESSION = Spelling(
    field="session", kind="id", value="ID", text="A session id; default the only run in progress here."
)

CODE_ROWS = (
    Row(
        path="code status",
        spellings=(
            Spelling(field="node", position=1),
            _OF_SESSION,
            STATE,
        ),
        examples=("handrail code status NODE_ID --compact",),
    ),
    Row(
        path="code diff",
        spellings=(
            Spelling(field="before", position=1, value="A"),
            Spelling(field="after", position=2, value="B", text="The same, or `now`, the default."),
            _OF_SESSION,
        ),
        examples=(
            "handrail code diff NODE_ID --compact",
            "handrail code diff NODE_ID OTHER_NODE_ID --human",
        ),
    ),
    Row(
        path="code restore",
        spellings=(
            Spelling(field="node", position=1),
            _OF_SESSION,
        ),
        blast_radius="Files of the project, ignored ones never; the files before it are recorded first.",
        examples=show_gated("code restore NODE_ID"),
    ),
)


_SESSION_ID = Spelling(field="sessionId", position=1, kind="id", value="ID", text="The id of the session.")

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
        spellings=(_SESSION_ID, Spelling(field="run", value="RUN_ID")),
        examples=(
            "handrail session show SESSION_ID --compact",
            "handrail session show SESSION_ID --run RUN_ID --compact",
        ),
    ),
    Row(
        path="session show --graph",
        operation="run.graph",
        spellings=(_SESSION_ID, Spelling(field="run", value="RUN_ID")),
        examples=(
            "handrail session show SESSION_ID --graph --compact",
            "handrail session show SESSION_ID --graph --run RUN_ID --compact",
        ),
    ),
    Row(
        path="session show --timeline",
        operation="session.timeline",
        spellings=(_SESSION_ID, Spelling(field="before", value="INDEX"), LIMIT, CURSOR),
        columns=("at", "what", "title", "workflow_name"),
        examples=("handrail session show SESSION_ID --timeline --limit 50 --compact",),
    ),
    Row(
        path="session show --node",
        operation="run.node",
        spellings=(_SESSION_ID, msgspec.structs.replace(_NODE, field="node")),
        examples=("handrail session show SESSION_ID NODE_ID --compact",),
    ),
    Row(
        path="session show --compare",
        operation="run.compare",
        spellings=(
            _SESSION_ID,
            msgspec.structs.replace(_NODE, field="one"),
            Spelling(field="other", flag="--compare", value="NODE"),
        ),
        examples=("handrail session show SESSION_ID NODE_ID --compare OTHER_NODE_ID --compact",),
    ),
    Row(
        path="session events",
        spellings=(
            _SESSION_ID,
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
        path="session inbox",
        spellings=(LIMIT, CURSOR),
        columns=("kind", "title", "why", "session_id"),
        examples=("handrail session inbox --compact",),
    ),
    Row(
        path="session inbox --gaps",
        operation="session.gaps",
        spellings=(
            Spelling(field="workflow", value="ID", kind="id"),
            Spelling(field="session", value="ID", kind="id"),
            LIMIT,
            CURSOR,
        ),
        columns=("id", "state", "severity", "summary", "session_id"),
        examples=(
            "handrail session inbox --gaps --only open --compact",
            "handrail session inbox --gaps --severity critical --workflow wr.small_change --compact",
        ),
    ),
    Row(
        path="session resolve",
        operation="session.resolve_gap",
        spellings=(
            Spelling(field="gap", position=1),
            Spelling(field="note", value="TEXT"),
            Spelling(field="session", value="SESSION_ID"),
        ),
        examples=(
            "handrail session resolve GAP_ID --note 'Looked at it.' --compact",
            "handrail session resolve RUN_ID --note 'The changed tests are right.' --compact",
        ),
    ),
    Row(
        path="session rename",
        spellings=(
            msgspec.structs.replace(_SESSION_ID, field="session"),
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
        spellings=(_SESSION_ID,),
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


ROWS = (
    *WORKFLOW_ROWS,
    *RUN_ROWS,
    *CHECK_ROWS,
    *RECEIPT_ROWS,
    *CODE_ROWS,
    *SESSION_ROWS,
    *LEDGER_ROWS,
    *STORE_ROWS,
    *SETTINGS_ROWS,
    *SELF_DESCRIPTION_ROWS,
    *CLIENT_ROWS,
    *OWN_ROWS,
)
