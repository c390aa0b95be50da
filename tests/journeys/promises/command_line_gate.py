"""What CLI promises of writes: previews, tokens, keys, secrets, audit."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise(
        "cli.token-binds",
        "CLI, 7",
        "A token is bound to command, arguments, targets, account, ceiling and machine.",
    ),
    Promise("cli.token-keyed", "CLI, 7", "A token cannot be made without the secret of this machine."),
    Promise(
        "cli.key-private",
        "CLI, 7",
        "The secret is made on first use, for its owner alone, and one that others can open is refused.",
    ),
    Promise("cli.token-version", "CLI, 7", "What changed since the preview makes the token worthless."),
    Promise("cli.token-expires", "CLI, 7", "A token ends after 15 minutes, and its answer says when."),
    Promise(
        "cli.token-reasons",
        "CLI, 7",
        "A refused token says by a word what is wrong: expired, used, arguments, target or machine.",
    ),
    Promise("cli.spelling-no-scope", "CLI, 7", "How a call is spelled does not matter to its token."),
    Promise(
        "cli.create-key",
        "CLI, 9",
        "A creation needs its key; a repeat gets the recorded reply and makes nothing twice.",
    ),
    Promise("cli.key-in-scope", "CLI, 9", "A request id is part of what a token is bound to."),
    Promise(
        "cli.single-use",
        "CLI, 9",
        "Of many processes with one token one makes the change; the others are told that it was used.",
    ),
    Promise("cli.claim-first", "CLI, 9", "A token is used up before the write begins."),
    Promise(
        "cli.claim-lost",
        "CLI, 9",
        "A claim that cannot be stored is told and stops no write; a known one still refuses.",
    ),
    Promise(
        "cli.claims-pruned",
        "CLI, 9",
        "The newest 1,024 used tokens are remembered whatever the clock says; of more, none is forgotten "
        "before an hour after its end.",
    ),
    Promise(
        "cli.what-is-left", "CLI, 9", "After a change another preview shows what is left, possibly nothing."
    ),
    Promise(
        "cli.secrets",
        "CLI, 10",
        "No key, no token of a command line and no secret setting comes out of any output or the audit.",
    ),
    Promise(
        "cli.credentials-boolean",
        "CLI, 10",
        "`context` says whether there are keys and where from, never what they are.",
    ),
    Promise(
        "cli.audit",
        "CLI, 10",
        "Each write that was understood, refused or not, is one line: command, arguments, account, time, "
        "exit and duration; a line that is refused for its spelling asks nothing of the store.",
    ),
    Promise("cli.audit-quiet", "CLI, 10", "`--quiet` leaves the audit as it is."),
)
