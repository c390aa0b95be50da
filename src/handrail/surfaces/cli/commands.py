"""The command table by hand: only what a terminal adds to an operation.

`tools/generate.py` merges it with the operation registry into `_table.py` (what the parser needs) and
`_catalog.py` (what help needs). Nothing imports this file at run time.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import msgspec

from handrail.contract.vocabulary import SourceKind
from handrail.surfaces.cli.rows import Kind

OutputKind: TypeAlias = Literal["document", "protocol", "text"]


class Spelling(msgspec.Struct, frozen=True, kw_only=True):
    """How one input field is written on a command line, where that differs from its kebab-case name."""

    field: str
    """Wire name, dotted where nested."""
    flag: str = ""
    position: int = 0
    is_required: bool = False
    """Where the input type does not ask for it alone."""
    kind: Kind | None = None
    """Where the input type alone does not say it: ids, tokens, files."""
    value: str = ""
    """How usage lines call the value."""
    choices: tuple[str, ...] = ()
    text: str = ""
    """What it is for; empty: the description of the input field."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf of the command tree. A path is a leaf or a group, never both."""

    path: str
    operation: str = ""
    """Registry name: gives effect, summary, input, output, errors."""
    summary: str = ""
    """Of a command that is not one operation."""
    spellings: tuple[Spelling, ...] = ()
    columns: tuple[str, ...] = ()
    """Of a list: what text output shows."""
    raw: str = ""
    """The payload field that `--format raw` prints."""
    raw_when: tuple[str, str] = ("", "")
    """The field and value that raw output goes with; without a value, any."""
    output: OutputKind = "document"
    also: tuple[str, ...] = ()
    """Global flags that it takes beside those its output brings."""
    examples: tuple[str, ...]


class GlobalFlag(msgspec.Struct, frozen=True, kw_only=True):
    """A flag that means the same on every command that offers it."""

    flag: str
    kind: Kind
    value: str = ""
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    environment: str = ""
    text: str
    on: Literal["every", "calls", "answers", "queries", "gated"] = "answers"
    """`every` command; those that make calls, the server too; those that answer; those that only read;
    those that change something only after a preview."""


GLOBAL_FLAGS = (
    GlobalFlag(
        flag="--format",
        kind="choice",
        value="json|text|raw",
        choices=("json", "text", "raw", "human"),
        environment="HANDRAIL_FORMAT",
        text="Output format, json by default, also on a terminal. `human` is accepted for `text`.",
    ),
    GlobalFlag(flag="--json", kind="switch", text="The same as --format json."),
    GlobalFlag(flag="--human", kind="switch", text="The same as --format text."),
    GlobalFlag(
        flag="--envelope",
        kind="choice",
        value="cli|lafs",
        choices=("cli", "lafs"),
        environment="HANDRAIL_ENVELOPE",
        text="Dialect of the JSON document, cli by default. Exit statuses are the same.",
    ),
    GlobalFlag(
        flag="--fields",
        kind="text",
        value="a,b.c",
        text="Only these fields; on a list, of each item. Ids and paging keys are always kept.",
    ),
    GlobalFlag(
        flag="--field",
        kind="text",
        value="NAME",
        text="One value as plain text, without an envelope.",
    ),
    GlobalFlag(
        flag="--mvi",
        kind="choice",
        value="minimal|standard|full",
        choices=("minimal", "standard", "full"),
        text="How much is told, standard by default.",
        on="calls",
    ),
    GlobalFlag(
        flag="--budget",
        kind="text",
        value="tokens=N,bytes=N,items=N",
        text="Limits of the answer; a list is cut and continues with its cursor.",
        on="queries",
    ),
    GlobalFlag(
        flag="--compact",
        kind="switch",
        environment="HANDRAIL_COMPACT",
        text="JSON on one line.",
    ),
    GlobalFlag(flag="--quiet", kind="switch", text="Nothing on stderr but errors."),
    GlobalFlag(
        flag="--dry-run",
        kind="switch",
        text="Show what would change and get a confirm token; nothing is changed.",
        on="gated",
    ),
    GlobalFlag(
        flag="--confirm",
        kind="token",
        value="TOKEN",
        text="Make the change that the dry run with this token showed, once.",
        on="gated",
    ),
    GlobalFlag(
        flag="--input",
        kind="input",
        value="JSON|@FILE|-",
        text="The operation's whole input as one JSON object; `-` is stdin. Flags add to it.",
    ),
    GlobalFlag(
        flag="--timeout",
        kind="int",
        value="SECONDS",
        least=1,
        most=3600,
        environment="HANDRAIL_TIMEOUT",
        text="When to give up, 30 by default. It covers stdin and waiting for a lock.",
    ),
    GlobalFlag(
        flag="--project",
        kind="directory",
        value="DIR",
        environment="HANDRAIL_PROJECT",
        text="The project; by default the git root above the current directory, else that directory.",
        on="calls",
    ),
    GlobalFlag(
        flag="--schema-version",
        kind="text",
        value="N",
        text="The major version of the document that you understand; 1 is served.",
    ),
    GlobalFlag(flag="--help", kind="switch", text="Show this help.", on="every"),
    GlobalFlag(flag="--version", kind="switch", text="Show the version.", on="every"),
)

_CURSOR = Spelling(field="cursor", kind="token", value="CURSOR")
_LIMIT = Spelling(field="limit", value="N", text="Items per page, 50 by default.")
_NOTES = Spelling(field="output.notesMarkdown", flag="--notes", kind="text", value="TEXT")
_ARTIFACTS = Spelling(
    field="output.artifacts",
    flag="--artifacts",
    kind="array",
    value="JSON",
    text="What the step asks for, as a JSON array of objects with a kind, or @FILE.",
)
_NOTES_FILE = Spelling(
    field="output.notesMarkdown",
    flag="--notes-file",
    kind="file",
    value="FILE",
    text="The same from a file; `-` is stdin.",
)
_STATE = Spelling(field="stateToken", flag="--state", kind="token", value="TOKEN")
_WORKFLOW = Spelling(
    field="workflowId",
    position=1,
    is_required=True,
    kind="source",
    value="ID|PATH",
    text="The id of the workflow, or a file; `-` is stdin.",
)

ROWS = (
    Row(
        path="workflow list",
        operation="workflow.list",
        spellings=(
            Spelling(field="query", value="WORDS"),
            Spelling(field="sources", kind="choices", choices=get_args(SourceKind)),
            _LIMIT,
            _CURSOR,
        ),
        columns=("id", "name", "kind", "sourceKind"),
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
        spellings=(_WORKFLOW,),
        raw="drawing",
        examples=(
            "handrail workflow graph wr.code_review --as text --format raw",
            "handrail workflow graph wr.code_review --as svg --format raw",
        ),
    ),
    Row(
        path="workflow simulate",
        operation="workflow.simulate",
        spellings=(
            msgspec.structs.replace(_WORKFLOW, is_required=False),
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
        spellings=(Spelling(field="query", value="WORDS"), _LIMIT, _CURSOR),
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
        path="run start",
        operation="run.start",
        spellings=(
            Spelling(field="workflowId", position=1, kind="id", value="ID", text="The id of the workflow."),
            Spelling(field="goal", value="TEXT"),
            Spelling(
                field="context", kind="object", value="JSON", text="External facts the steps need, or @FILE."
            ),
            Spelling(
                field="requestId",
                kind="text",
                value="KEY",
                text="Your key for this start: letters, digits, `._:-`. A repeat returns the same run.",
            ),
            Spelling(field="session", kind="token", value="SESSION"),
            Spelling(field="preferences.autonomy", flag="--autonomy", text="How far to go without the user."),
            Spelling(field="preferences.riskPolicy", flag="--risk-policy", text="How much risk to take."),
        ),
        examples=(
            "handrail run start wr.code_review --goal 'Review the change' --request-id pr-118 --compact",
            'handrail run start wr.small_change --context \'{"scope":"src"}\' --request-id pr-119 --compact',
        ),
    ),
    Row(
        path="run continue",
        operation="run.continue",
        spellings=(
            Spelling(field="ackToken", flag="--ack", kind="token", value="TOKEN"),
            _STATE,
            _NOTES,
            _NOTES_FILE,
            _ARTIFACTS,
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
        operation="run.checkpoint",
        spellings=(
            Spelling(field="checkpointToken", flag="--checkpoint", kind="token", value="TOKEN"),
            _STATE,
            _NOTES,
            _NOTES_FILE,
        ),
        examples=("handrail run checkpoint --checkpoint CHECKPOINT_TOKEN --notes 'Half way.' --compact",),
    ),
    Row(
        path="session list",
        operation="session.list",
        spellings=(Spelling(field="workflow", value="ID", kind="id"), _LIMIT, _CURSOR),
        columns=("id", "status", "workflow_id", "goal", "last_activity"),
        examples=("handrail session list --compact",),
    ),
    Row(
        path="session show",
        operation="session.show",
        spellings=(
            Spelling(field="sessionId", position=1, kind="id", value="ID", text="The id of the session."),
        ),
        examples=("handrail session show SESSION_ID --compact",),
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
                text="Words, a branch or a session id; optional.",
            ),
        ),
        columns=("sessionId", "status", "workflowId", "pendingTitle"),
        examples=("handrail session resume SESSION_ID --compact", "handrail session resume --compact"),
    ),
    Row(
        path="lafs check",
        operation="lafs.check",
        spellings=(
            Spelling(
                field="documents",
                position=1,
                kind="documents",
                value="FILE",
                text="Files to check; `-` is stdin.",
            ),
        ),
        examples=(
            "handrail lafs check answer.json --tier complete --compact",
            "handrail lafs check - --report-only --compact",
        ),
    ),
    Row(
        path="mcp",
        summary="Serve the Model Context Protocol on stdin and stdout, for an agent's client to start.",
        spellings=(
            Spelling(
                field="results",
                flag="--results",
                kind="choice",
                value="both|text|structured",
                choices=("both", "text", "structured"),
                text="What a tool result carries, both by default.",
            ),
        ),
        output="protocol",
        examples=("handrail mcp",),
    ),
    Row(
        path="demo",
        summary="Show a run that survives a lost chat and a killed process, in a scratch directory.",
        spellings=(
            Spelling(
                field="keep",
                kind="directory",
                value="DIR",
                text="Play in this new directory and keep it; by default in one that is removed.",
            ),
        ),
        output="text",
        also=("--format", "--json", "--human"),
        examples=("handrail demo", "handrail demo --format json"),
    ),
)
