"""What CLI promises of answers: documents, formats, streams, exits."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise(
        "cli.one-document",
        "CLI, 1",
        "A call writes one JSON document to stdout, also when it is refused, and nothing beside it.",
    ),
    Promise(
        "cli.stderr",
        "CLI, 1",
        "What is for people goes to stderr: notices, progress, trouble of text output.",
    ),
    Promise("cli.json-default", "CLI, 1", "JSON is the default, also on a terminal, byte for byte."),
    Promise(
        "cli.never-waits", "CLI, 1", "No call waits for a keyboard or starts a pager, an editor or a browser."
    ),
    Promise(
        "cli.deterministic",
        "CLI, 1",
        "The same call gives the same document, but for what it took and when its tokens and cursors end.",
    ),
    Promise("cli.reads-change-nothing", "CLI, 1", "A read changes no byte of sessions, settings or project."),
    Promise("cli.write-needs-token", "CLI, 1", "A write without a valid token fails and changes nothing."),
    Promise(
        "cli.codes-stable",
        "CLI, 1",
        "A published code keeps its exit status and whether to send the call again.",
    ),
    Promise(
        "cli.format-spellings",
        "CLI, 2",
        "`--json` is another spelling of `--format json`; two different formats are refused.",
    ),
    Promise(
        "cli.fields",
        "CLI, 2",
        "`--fields` returns the chosen fields only; ids, paging keys, warnings of outside text and what a "
        "write answers at its minimal level stay.",
    ),
    Promise(
        "cli.flags-everywhere",
        "CLI, 2",
        "Every global flag that a command offers is taken there, and refused everywhere else.",
    ),
    Promise(
        "cli.compact", "CLI, 2", "`--compact` is the same document on one line, before or after the command."
    ),
    Promise(
        "cli.dry-run", "CLI, 2", "`--dry-run` shows the change with a token, and the token makes it, once."
    ),
    Promise("cli.quiet", "CLI, 2", "`--quiet` silences everything on stderr but errors."),
    Promise("cli.text", "CLI, 2", "Text is for people, on every command."),
    Promise(
        "cli.raw",
        "CLI, 2",
        "Raw output is the bytes themselves, without an envelope; its trouble leaves stdout empty.",
    ),
    Promise(
        "cli.envelope",
        "CLI, 3",
        "Success has exactly ok, schema_version, data, meta, and failure error in place of data.",
    ),
    Promise(
        "cli.error",
        "CLI, 3",
        "An error has exactly code, message, details and retryable; details hold hint and next_command.",
    ),
    Promise("cli.details-redacted", "CLI, 3", "Details tell nothing that stands under a telling name."),
    Promise(
        "cli.notices",
        "CLI, 3",
        "Notices have a type, a severity and a message, and the key is left out when there is none.",
    ),
    Promise(
        "cli.schema-version",
        "CLI, 3",
        "Our major version is served, another one is refused with those that are.",
    ),
    Promise(
        "cli.contract-published",
        "CLI, 3.1",
        "The contract is published as data, generated from the one catalogue, and equals the specification.",
    ),
    Promise(
        "cli.core-frozen",
        "CLI, 3.1",
        "The core codes are those of the specification; ours travel under them and behave as they do.",
    ),
    Promise(
        "cli.extension",
        "CLI, 3.1",
        "A code of ours declares exit and retryable, shadows no core code, and leaves 9 to people.",
    ),
    Promise(
        "cli.contract-held", "CLI, 3.1", "What real commands answer is compared with the published contract."
    ),
    Promise("cli.utf8", "CLI, 4", "Both outputs are UTF-8 with LF and no BOM, whatever the locale."),
    Promise(
        "cli.stream",
        "CLI, 5",
        "`--stream` is one object per line, the last a summary that counts them; else one document.",
    ),
    Promise(
        "cli.stream-broken",
        "CLI, 5",
        "A stream that broke off says so in its last line; trouble before the first is an ordinary failure.",
    ),
    Promise(
        "cli.exits",
        "CLI, 6",
        "Code, exit status and retryable agree with the table, for every code that a command declares.",
    ),
    Promise(
        "cli.upstream", "CLI, 6", "A status of another server has its own code, by number and in one place."
    ),
    Promise("cli.one-table", "CLI, 6", "No exit number, status or code stands outside the one catalogue."),
    Promise(
        "cli.reserved",
        "CLI, 6",
        "A code that no command returns is marked as reserved; `run confirm` returns E_HUMAN_REQUIRED.",
    ),
    Promise(
        "cli.interrupted",
        "CLI, 6",
        "A signal ends a call with 130 and an envelope, or with the success that it already was.",
    ),
    Promise(
        "cli.integrity",
        "CLI, 6",
        "What does not match its digest is an integrity failure, never to be retried.",
    ),
    Promise("cli.disk", "CLI, 6", "A disk that refuses is told by code and exit, and nothing is half done."),
)
