"""The types of a row and of a global flag, the flags, and the spellings that commands share."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import msgspec

from handrail.contract.disclosure.fields import Level
from handrail.surfaces.cli.reading.command_types import Kind

# Rows by hand

OutputKind: TypeAlias = Literal["document", "protocol", "text"]


class Spelling(msgspec.Struct, frozen=True, kw_only=True):
    """How one input field is written on a command line, where that differs from its kebab-case name."""

    field: str
    """Wire name, dotted where nested."""
    flag: str = ""
    """Empty: the last part of the field in kebab-case, where it is no position."""
    position: int = 0
    is_required: bool = False
    """Where the input type does not ask for it alone."""
    kind: Kind | None = None
    """Where the input type alone does not say it: ids, tokens, files."""
    value: str = ""
    """How usage lines call the value; empty: by its choices, or the flag in capitals."""
    choices: tuple[str, ...] = ()
    most: int = 0
    """The largest number, where the input type does not say it; 0: as large as numbers go."""
    text: str = ""
    """What it is for; empty: the description of the input field."""


BY_PATH = "*"
"""The operation of a row that is called as the command is: `run start` is `run.start`."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One leaf of the command tree. A path is a leaf or a group, never both.

    A command that answers several questions has a row for each: its path ends with the flag that chooses it
    (`session show --graph`), and the first row is the one without.
    """

    path: str
    operation: str = BY_PATH
    """Registry name: gives effect, summary, input, output, errors. Empty: it is not one operation."""
    summary: str = ""
    """Of a command that is not one operation."""
    spellings: tuple[Spelling, ...] = ()
    takes_rest: bool = True
    """Whether it also takes every field of its input that no spelling names."""
    columns: tuple[str, ...] = ()
    """Of a list: what text output shows."""
    shown: tuple[str, ...] = ()
    """The fields that are shown unless the call asks for others or for a part; of a list, those of an item.
    Empty: all."""
    raw: str = ""
    """The payload field that `--format raw` prints."""
    raw_when: tuple[str, str] = ("", "")
    """The field and value that raw output goes with; without a value, any."""
    seconds: int = 0
    """When to give up unless a caller says; 0: as every command."""
    out: str = ""
    """The payload field that `--out FILE` writes to a new file, instead of answering with it."""
    output: OutputKind = "document"
    also: tuple[str, ...] = ()
    """Global flags that it takes beside those its output brings."""
    schema: tuple[str, tuple[str, ...]] = ("", ())
    """Of a command that is not one operation: the name of what it writes, and its fields."""
    blast_radius: str = ""
    """What can be lost or changed, in a sentence; empty: what its effect says of itself."""
    needs: tuple[str, ...] = ()
    """Dear modules that this command may import."""
    errors: tuple[str, ...] = ()
    """Of a command that is not one operation: the codes that it ends with."""
    examples: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.operation == BY_PATH:
            msgspec.structs.force_setattr(self, "operation", self.path.replace(" ", "."))


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
    on: Literal[
        "every",
        "calls",
        "answers",
        "queries",
        "expansions",
        "writes",
        "gated",
        "dangerous",
        "batch",
        "stream",
        "exports",
    ] = "answers"
    """`every` command; those that make calls, the server too; those that answer; those that only read;
    reads with parts on demand; those that change something; those that a preview can authorise; those that
    destroy; those that take several targets; those that can answer line by line; those with something to
    keep in a file."""


def show_gated(line: str) -> tuple[str, str]:
    """The examples of a gated command: its dry run, and the call with the token that this prints."""
    return (
        f"handrail {line} --dry-run --compact",
        f"handrail {line} --confirm CONFIRM_TOKEN --compact",
    )


# Shared spellings

CURSOR = Spelling(field="cursor", kind="token")
LIMIT = Spelling(field="limit", value="N", text="Items per page, 50 by default.")
NOTES = Spelling(field="output.notesMarkdown", flag="--notes", value="TEXT")
ARTIFACTS = Spelling(
    field="output.artifacts",
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


# The flags that mean the same on every command that offers them

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
        value="cli|lafs|cont",
        choices=("cli", "lafs", "cont"),
        environment="HANDRAIL_ENVELOPE",
        text="Dialect of the JSON document, cli by default; cont is the bare document of the code tools.",
    ),
    GlobalFlag(
        flag="--fields",
        kind="text",
        value="a,b.c",
        text="Only these fields; of a list, in each item. Ids, paging keys and a write's minimal level stay.",
    ),
    GlobalFlag(
        flag="--expand",
        kind="text",
        value="a,b",
        text="Parts that are left out unless asked for; `expand` of the command in `reference` names them.",
        on="expansions",
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
        value="|".join(get_args(Level)),
        choices=get_args(Level),
        text="How much detail to show, standard by default.",
        on="calls",
    ),
    GlobalFlag(
        flag="--budget",
        kind="text",
        value="tokens=N,bytes=N,items=N",
        text="Limits of the answer; a list continues with its cursor, `truncated_fields` names other cuts.",
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
        flag="--progress",
        kind="switch",
        text="Tell on stderr how far long work is; without it only text at a terminal has that.",
    ),
    GlobalFlag(
        flag="--dry-run",
        kind="switch",
        text="Show what would happen, with a confirm token where one is needed; nothing is changed.",
        on="writes",
    ),
    GlobalFlag(
        flag="--confirm",
        kind="token",
        value="TOKEN",
        text="Make the change that the dry run with this token showed, once.",
        on="gated",
    ),
    GlobalFlag(
        flag="--out",
        kind="directory",
        value="FILE",
        text="Write the content to this new file, readable by you alone, and answer with its digest.",
        on="exports",
    ),
    GlobalFlag(
        flag="--dangerous",
        kind="switch",
        text="State that data may be destroyed; needed for the dry run and with --confirm.",
        on="dangerous",
    ),
    GlobalFlag(
        flag="--continue-on-error",
        kind="choice",
        value="true|false",
        choices=("true", "false"),
        text="Whether a batch continues after an item that failed; no by default if dangerous.",
        on="batch",
    ),
    GlobalFlag(
        flag="--stream",
        kind="switch",
        text="One JSON line per item as it arrives, then a summary line.",
        on="stream",
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
