"""What CLI promises of answers: documents, formats, streams, exits."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    CLI, 1
      cli.one-document: A call writes one JSON document to stdout, also when it is refused, and nothing
          beside it.
      cli.stderr: What is for people goes to stderr: notices, progress, trouble of text output.
      cli.json-default: JSON is the default, also on a terminal, byte for byte.
      cli.never-waits: No call waits for a keyboard or starts a pager, an editor or a browser.
      cli.deterministic: The same call gives the same document, but for what it took and when its tokens and
          cursors end.
      cli.reads-change-nothing: A read changes no byte of sessions, settings or project.
      cli.write-needs-token: A write without a valid token fails and changes nothing.
      cli.codes-stable: A published code keeps its exit status and whether to send the call again.
    CLI, 2
      cli.format-spellings: `--json` is another spelling of `--format json`; two different formats are
          refused.
      cli.fields: `--fields` returns the chosen fields only; ids, paging keys, warnings of outside text and
          what a write answers at its minimal level stay.
      cli.flags-everywhere: Every global flag that a command offers is taken there, and refused everywhere
          else.
      cli.compact: `--compact` is the same document on one line, before or after the command.
      cli.dry-run: `--dry-run` shows the change with a token, and the token makes it, once.
      cli.quiet: `--quiet` silences everything on stderr but errors.
      cli.text: Text is for people, on every command.
      cli.raw: Raw output is the bytes themselves, without an envelope; its trouble leaves stdout empty.
    CLI, 3
      cli.envelope: Success has exactly ok, schema_version, data, meta, and failure error in place of data.
      cli.error: An error has exactly code, message, details and retryable; details hold hint and
          next_command.
      cli.details-redacted: Details tell nothing that stands under a telling name.
      cli.notices: Notices have a type, a severity and a message, and the key is left out when there is
          none.
      cli.schema-version: Our major version is served, another one is refused with those that are.
    CLI, 3.1
      cli.contract-published: The contract is published as data, generated from the one catalogue, and
          equals the specification.
      cli.core-frozen: The core codes are those of the specification; ours travel under them and behave as
          they do.
      cli.extension: A code of ours declares exit and retryable, shadows no core code, and leaves 9 to
          people.
      cli.contract-held: What real commands answer is compared with the published contract.
    CLI, 4
      cli.utf8: Both outputs are UTF-8 with LF and no BOM, whatever the locale.
    CLI, 5
      cli.stream: `--stream` is one object per line, the last a summary that counts them; else one document.
      cli.stream-broken: A stream that broke off says so in its last line; trouble before the first is an
          ordinary failure.
    CLI, 6
      cli.exits: Code, exit status and retryable agree with the table, for every code that a command
          declares.
      cli.upstream: A status of another server has its own code, by number and in one place.
      cli.one-table: No exit number, status or code stands outside the one catalogue.
      cli.reserved: A code that no command returns is marked as reserved; `run answer` returns
          E_HUMAN_REQUIRED.
      cli.interrupted: A signal ends a call with 130 and an envelope, or with the success that it already
          was.
      cli.integrity: What does not match its digest is an integrity failure, never to be retried.
      cli.disk: A disk that refuses is told by code and exit, and nothing is half done.
    """
)
