"""The flags that mean the same on every command that offers them."""

from __future__ import annotations

from typing import get_args

from handrail.contract.disclosure.fields import Level
from handrail.surfaces.cli.commands.row import GlobalFlag

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
        text="Limits of the answer; a list goes on with its cursor, `truncated_fields` names other cuts.",
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
