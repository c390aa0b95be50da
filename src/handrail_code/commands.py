"""The commands of the code tools: `handrail code …`, `handrail run file` and the scripts of CONT."""

from __future__ import annotations

from handrail.surfaces.cli.commands.row import Row, Spelling

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
_WITH_FILE = Spelling(
    field="withText",
    flag="--with-file",
    kind="file",
    value="FILE",
    text="That text; `-` is stdin.",
)
_ACCEPT = Spelling(field="accept", kind="ids", value="PLACE", text="FILE:LINE of a refusal that is fine.")
_SCOPE = Spelling(field="scope", kind="text", value="DIR")
_KINDS = Spelling(
    field="kind",
    kind="choices",
    value="KIND",
    choices=("function", "class", "method", "variable", "type", "import"),
    text="Only these kinds.",
)
_LIMIT = Spelling(field="limit", value="N")
_CONTEXT = Spelling(
    field="context", kind="object", value="JSON", text="External facts the steps need, or @FILE."
)
_NOTES = Spelling(field="notes", kind="text", value="TEXT")
_KEY = Spelling(
    field="requestId",
    kind="text",
    value="KEY",
    text="Your key for a start: letters, digits, `._:-`. A repeat returns the same run.",
)
_GOES_ON = (
    _TOKEN,
    Spelling(field="refetch"),
    Spelling(field="refresh"),
    Spelling(field="aiMode"),
)
"""What every question and every edit takes: how a token of an answer goes on."""


def _ask(verb: str, field: str, value: str, summary: str, *own: Spelling, example: str) -> Row:
    """One question about source files."""
    return Row(
        path=f"code {verb}",
        operation="code.scan",
        summary=summary,
        spellings=(
            Spelling(field=field, position=1, kind="text", value=value),
            _SCOPE,
            *own,
            _LANGUAGES,
            *_GOES_ON,
        ),
        takes_rest=False,
        needs=("tree_sitter",),
        seconds=120,
        examples=(example,),
    )


def _edit(verb: str, summary: str, *own: Spelling, example: str) -> Row:
    """One edit of source files: a preview, then its token with `--fix`."""
    return Row(
        path=f"code {verb}",
        operation="code.edit",
        summary=summary,
        spellings=(
            Spelling(field=verb, position=1, kind="text", value="NAME"),
            _FILE,
            *own,
            _HASH,
            Spelling(field="span", kind="text", value="A:B"),
            _LANGUAGES,
            *_GOES_ON,
            Spelling(field="fix"),
        ),
        takes_rest=False,
        blast_radius="Files of the preview; none without --fix.",
        needs=("tree_sitter",),
        seconds=120,
        examples=(example,),
    )


def _locate(field: str, summary: str, *own: Spelling) -> Row:
    """Where a name is defined, or the definition with what is around it."""
    return Row(
        path=f"code explain --{field}",
        operation="code.edit",
        summary=summary,
        spellings=(
            Spelling(field=field, position=1, kind="text", value="NAME"),
            _FILE,
            *own,
            _HASH,
            Spelling(field="span", kind="text", value="A:B"),
            _LANGUAGES,
            *_GOES_ON,
        ),
        takes_rest=False,
        needs=("tree_sitter",),
        seconds=120,
        examples=(f"handrail code explain greet --{field} --compact",),
    )


_TOOL_ROWS = (
    _ask(
        "search",
        "search",
        "TEXT",
        "Find names in source files.",
        _KINDS,
        _HASH,
        Spelling(field="exported"),
        Spelling(field="text"),
        _LIMIT,
        example="handrail code search greet --compact",
    ),
    _ask(
        "outline",
        "outline",
        "FILE",
        "Show what a file defines.",
        _LIMIT,
        example="handrail code outline src/app.js --compact",
    ),
    _ask(
        "explain",
        "analyze",
        "NAME",
        "Show one definition: what it is, who uses it, what it uses.",
        _KINDS,
        _HASH,
        _LIMIT,
        example="handrail code explain greet --compact",
    ),
    _locate(
        "locate",
        "Only where it is defined.",
        Spelling(field="names", kind="ids", value="NAME", text="Several to locate."),
    ),
    _locate("context", "The definition with what is around it."),
    _ask(
        "trace",
        "trace",
        "NAME",
        "Show who calls it, as a tree.",
        Spelling(field="depth", value="N"),
        Spelling(field="down"),
        _HASH,
        _LIMIT,
        example="handrail code trace greet --compact",
    ),
    _ask(
        "ripple",
        "ripple",
        "NAME",
        "Show what may break if it changes.",
        _HASH,
        _LIMIT,
        example="handrail code ripple greet --compact",
    ),
    _ask(
        "deps",
        "deps",
        "FILE",
        "Show what a file imports, and who imports it.",
        _LIMIT,
        example="handrail code deps src/app.js --compact",
    ),
    _edit(
        "rename",
        "Preview, then apply, a new name in every file.",
        Spelling(field="to", kind="text", value="NEW"),
        Spelling(field="public"),
        _ACCEPT,
        example="handrail code rename greet --to welcome --ai-mode --compact",
    ),
    _edit(
        "move",
        "Preview, then apply, a move to another module with its imports.",
        Spelling(field="toModule", kind="text", value="FILE"),
        Spelling(field="exportNeeds"),
        example="handrail code move greet --to-module src/words.js --export-needs --ai-mode --compact",
    ),
    _edit(
        "extract",
        "Preview, then apply, a move to a module of its own.",
        Spelling(field="toModule", kind="text", value="FILE"),
        Spelling(field="exportNeeds"),
        example="handrail code extract greet --export-needs --ai-mode --compact",
    ),
    _edit(
        "replace",
        "Preview, then apply, another text of a definition.",
        _WITH_FILE,
        example="handrail code replace greet --with-file greet.txt --ai-mode --compact",
    ),
    Row(
        path="run file",
        operation="code.workflow",
        spellings=(
            Spelling(
                field="workflowId",
                position=1,
                kind="source",
                value="FILE",
                text="A workflow file, or the id of a workflow; `-` is stdin.",
            ),
            Spelling(field="workflowResume", flag="--resume", kind="token", value="TOKEN"),
            _CONTEXT,
            _NOTES,
            _KEY,
        ),
        blast_radius="Appends to one session; files of the project only where an action writes them.",
        needs=("tree_sitter",),
        seconds=120,
        examples=("handrail run file my-refactor.json --checkpoint-mode --compact",),
    ),
)


_SCRIPT_ROWS = (
    Row(
        path="js-scan",
        operation="code.scan",
        spellings=(
            Spelling(field="search", kind="text", value="TEXT"),
            Spelling(field="analyze", kind="text", value="NAME"),
            Spelling(field="trace", kind="text", value="NAME"),
            Spelling(field="ripple", kind="text", value="NAME"),
            Spelling(field="outline", kind="text", value="FILE"),
            Spelling(field="deps", kind="text", value="FILE"),
            _TOKEN,
            _SCOPE,
            _KINDS,
            _HASH,
            _LANGUAGES,
            _LIMIT,
        ),
        needs=("tree_sitter",),
        seconds=120,
        examples=("handrail js-scan --search greet --compact",),
    ),
    Row(
        path="js-edit",
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
            _WITH_FILE,
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
            *(Spelling(field=name) for name in ("exportNeeds", "refetch", "refresh", "fix", "aiMode")),
        ),
        takes_rest=False,
        blast_radius="Files of the preview; none without --fix.",
        needs=("tree_sitter",),
        seconds=120,
        examples=("handrail js-edit --rename greet --to welcome --ai-mode --compact",),
    ),
    Row(
        path="js-tools",
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
            _CONTEXT,
            _NOTES,
            _KEY,
        ),
        blast_radius="Appends to one session; files of the project only where an action writes them.",
        needs=("tree_sitter",),
        seconds=120,
        examples=("handrail js-tools --workflow my-refactor.json --checkpoint-mode --compact",),
    ),
)

ROWS = (*_TOOL_ROWS, *_SCRIPT_ROWS)
