"""The rows of `handrail code …`."""

from __future__ import annotations

from handrail.surfaces.cli.commands.row import Row, Spelling

_SESSION = Spelling(
    field="session", kind="id", value="ID", text="A session id; default the only run in progress here."
)

CODE_ROWS = (
    Row(
        path="code status",
        operation="code.status",
        spellings=(
            Spelling(
                field="node",
                position=1,
                kind="text",
                value="NODE",
                text="A node id or tree id; default the tree of the open step.",
            ),
            _SESSION,
        ),
        examples=("handrail code status NODE_ID --compact",),
    ),
    Row(
        path="code diff",
        operation="code.diff",
        spellings=(
            Spelling(field="before", position=1, kind="text", value="A", text="A node id or tree id."),
            Spelling(
                field="after", position=2, kind="text", value="B", text="The same, or `now`, the default."
            ),
            _SESSION,
        ),
        examples=(
            "handrail code diff NODE_ID --compact",
            "handrail code diff NODE_ID OTHER_NODE_ID --human",
        ),
    ),
    Row(
        path="code restore",
        operation="code.restore",
        spellings=(
            Spelling(field="node", position=1, kind="text", value="NODE", text="A node id or tree id."),
            _SESSION,
        ),
        blast_radius="Files of the project, ignored ones never; the files before it are recorded first.",
        examples=(
            "handrail code restore NODE_ID --dry-run --compact",
            "handrail code restore NODE_ID --confirm CONFIRM_TOKEN --compact",
        ),
    ),
)

_TOKEN = Spelling(
    field="continuation",
    kind="token",
    value="TOKEN",
    text="A token of an answer.",
)
_HASH = Spelling(
    field="hash",
    kind="ids",
    value="HASH",
    text="Only with this hash.",
)
_LANGUAGES = Spelling(
    field="languages",
    kind="choices",
    value="LANGUAGE",
    choices=("javascript", "python"),
    text="TypeScript is javascript.",
)
_FILE = Spelling(field="file", kind="text", value="FILE")

CODE_TOOL_ROWS = (
    Row(
        path="scan",
        operation="code.scan",
        spellings=(
            Spelling(field="search", kind="text", value="TEXT"),
            Spelling(field="analyze", kind="text", value="NAME"),
            Spelling(field="trace", kind="text", value="NAME"),
            Spelling(field="ripple", kind="text", value="NAME"),
            Spelling(field="outline", kind="text", value="FILE"),
            Spelling(field="deps", kind="text", value="FILE"),
            _TOKEN,
            Spelling(field="scope", kind="text", value="DIR"),
            Spelling(
                field="kind",
                kind="choices",
                value="KIND",
                choices=("function", "class", "method", "variable", "type", "import"),
                text="Only these kinds.",
            ),
            _HASH,
            _LANGUAGES,
            Spelling(field="limit", value="N"),
        ),
        needs=("tree_sitter",),
        seconds=120,
        examples=("handrail scan --search greet --compact",),
    ),
    Row(
        path="edit",
        operation="code.edit",
        spellings=(
            _TOKEN,
            _FILE,
            Spelling(field="locate", kind="text", value="NAME"),
            Spelling(field="context", kind="text", value="NAME"),
            Spelling(field="extract", kind="text", value="NAME"),
            Spelling(field="move", kind="text", value="NAME"),
            Spelling(field="toModule", kind="text", value="FILE"),
            Spelling(field="replace", kind="text", value="NAME"),
            Spelling(
                field="withText",
                flag="--with-file",
                kind="file",
                value="FILE",
                text="That text; `-` is stdin.",
            ),
            Spelling(field="rename", kind="text", value="NAME"),
            Spelling(field="to", kind="text", value="NEW"),
            Spelling(
                field="names",
                kind="ids",
                value="NAME",
                text="Several to locate.",
            ),
            _HASH,
            _LANGUAGES,
            Spelling(field="span", kind="text", value="A:B"),
            Spelling(
                field="changes",
                kind="records",
                value="FILE",
                text='Edits, [{"rename": NAME, "to": NEW}]; `-` is stdin.',
            ),
        ),
        blast_radius="Files that the preview named; none without --fix.",
        needs=("tree_sitter",),
        seconds=120,
        examples=("handrail edit --rename greet --to welcome --ai-mode --compact",),
    ),
    Row(
        path="tools",
        operation="code.workflow",
        spellings=(
            Spelling(field="workflowResume", kind="token", value="TOKEN"),
            Spelling(
                field="workflowId",
                flag="--workflow",
                kind="source",
                value="FILE",
                text="A workflow file, or the id of a workflow; `-` is stdin.",
            ),
            Spelling(
                field="context", kind="object", value="JSON", text="External facts the steps need, or @FILE."
            ),
            Spelling(field="notes", kind="text", value="TEXT"),
            Spelling(
                field="requestId",
                kind="text",
                value="KEY",
                text="Your key for a start: letters, digits, `._:-`. A repeat returns the same run.",
            ),
        ),
        blast_radius="Appends to one session; files of the project only where an action writes them.",
        needs=("tree_sitter",),
        seconds=120,
        examples=("handrail tools --workflow my-refactor.json --checkpoint-mode --compact",),
    ),
)
