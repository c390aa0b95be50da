"""What CLI promises of writes: previews, tokens, keys, secrets, audit."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    CLI, 7
      cli.token-binds: A token is bound to command, arguments, targets, account, ceiling and machine.
      cli.token-keyed: A token cannot be made without the secret of this machine.
      cli.key-private: The secret is made on first use, for its owner alone, and one that others can open is
          refused.
      cli.token-version: What changed since the preview makes the token worthless.
      cli.token-expires: A token ends after 15 minutes, and its answer says when.
      cli.token-reasons: A refused token says by a word what is wrong: expired, used, arguments, target or
          machine.
      cli.spelling-no-scope: How a call is spelled does not matter to its token.
    CLI, 9
      cli.create-key: A creation needs its key; a repeat gets the recorded reply and makes nothing twice.
      cli.key-in-scope: A request id is part of what a token is bound to.
      cli.single-use: Of many processes with one token one makes the change; the others are told that it was
          used.
      cli.claim-first: A token is used up before the write begins.
      cli.claim-lost: A claim that cannot be stored is told and stops no write; a known one still refuses.
      cli.claims-pruned: The newest 1,024 used tokens are remembered whatever the clock says; of more, none
          is forgotten before an hour after its end.
      cli.what-is-left: After a change another preview shows what is left, possibly nothing.
    CLI, 10
      cli.secrets: No key, no token of a command line and no secret setting comes out of any output or the
          audit.
      cli.credentials-boolean: `context` says whether there are keys and where from, never what they are.
      cli.audit: Each write that was understood, refused or not, is one line: command, arguments, account,
          time, exit and duration; a line that is refused for its spelling asks nothing of the store.
      cli.audit-quiet: `--quiet` leaves the audit as it is.
    """
)
