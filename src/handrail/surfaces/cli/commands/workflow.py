"""The rows of `handrail workflow …`."""

from __future__ import annotations

import msgspec

from handrail.surfaces.cli.commands.row import CURSOR, LIMIT, WORKFLOW, Row, Spelling

_OUT = Spelling(field="out", kind="directory", value="FILE")

WORKFLOW_ROWS = (
    Row(
        path="workflow list",
        operation="workflow.list",
        spellings=(
            Spelling(field="query", value="WORDS"),
            Spelling(field="source", kind="text", value="SOURCE"),
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
        operation="workflow.inspect",
        spellings=(
            Spelling(field="workflowId", position=1, kind="id", value="ID", text="The id of the workflow."),
            Spelling(
                field="part",
                text="summary by default; source and compiled show the whole text; diff needs --run.",
            ),
            Spelling(field="run", kind="id", value="RUN"),
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
        operation="workflow.validate",
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
        operation="workflow.graph",
        spellings=(WORKFLOW,),
        raw="drawing",
        examples=(
            "handrail workflow graph wr.code_review --as text --format raw",
            "handrail workflow graph wr.code_review --as svg --format raw",
        ),
    ),
    Row(
        path="workflow diff",
        operation="workflow.diff",
        spellings=(
            Spelling(
                field="workflows",
                position=1,
                is_required=True,
                kind="sources",
                value="PATH|ID",
                text="Two workflows, the older first: files or ids; `-` is stdin.",
            ),
        ),
        examples=("handrail workflow diff wr.small_change my_check.json --compact",),
    ),
    Row(
        path="workflow simulate",
        operation="workflow.simulate",
        spellings=(
            msgspec.structs.replace(WORKFLOW, is_required=False),
            Spelling(field="record", kind="id", value="RUN"),
            Spelling(field="replay", kind="file", value="FILE"),
        ),
        raw="case",
        raw_when=("record", ""),
        examples=(
            "handrail workflow simulate wr.small_change --compact",
            "handrail workflow simulate --record SESSION_ID --format raw",
        ),
    ),
    Row(
        path="workflow builtins",
        operation="workflow.builtins",
        spellings=(Spelling(field="query", value="WORDS"), LIMIT, CURSOR),
        columns=("kind", "id", "title"),
        examples=("handrail workflow builtins --kind contract --compact",),
    ),
    Row(
        path="workflow schema",
        operation="workflow.schema",
        raw="schema",
        examples=("handrail workflow schema --format raw",),
    ),
    Row(
        path="workflow new",
        operation="workflow.new",
        spellings=(
            Spelling(field="workflowId", position=1, kind="id", value="ID", text="Its id, namespace.name."),
            Spelling(field="to", kind="directory", value="DIR"),
        ),
        examples=(
            "handrail workflow new project.my_check --to drafts --dry-run --compact",
            "handrail workflow new project.my_check --to drafts --confirm CONFIRM_TOKEN --compact",
        ),
    ),
    Row(
        path="workflow convert",
        operation="workflow.convert",
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
        operation="workflow.fmt",
        spellings=(WORKFLOW, _OUT),
        raw="text",
        examples=(
            "handrail workflow fmt my_check.json --format raw",
            "handrail workflow fmt my_check.json --out my_check.json --dry-run --compact",
            "handrail workflow fmt my_check.json --out my_check.json --confirm CONFIRM_TOKEN",
        ),
    ),
    Row(
        path="workflow save",
        operation="workflow.save",
        spellings=(
            Spelling(
                field="document",
                position=1,
                is_required=True,
                kind="document",
                value="FILE",
                text="The file with the workflow; `-` is stdin.",
            ),
            Spelling(field="file", kind="text", value="NAME"),
            Spelling(field="base", kind="text", value="DIGEST"),
        ),
        examples=(
            "handrail workflow save my_check.json --dry-run --compact",
            "handrail workflow save my_check.json --confirm CONFIRM_TOKEN --compact",
        ),
    ),
)
