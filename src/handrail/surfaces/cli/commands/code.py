"""The rows of `handrail code …`."""

from __future__ import annotations

from handrail.surfaces.cli.commands.row import STATE, Row, Spelling

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
            STATE,
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
