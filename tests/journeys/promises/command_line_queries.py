"""What CLI promises of lists and batches."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise("cli.dotted-fields", "CLI, 8", "Dotted names reach into objects, and `reference` lists them."),
    Promise(
        "cli.paging",
        "CLI, 8",
        "A page has items, count, next_cursor and has_more; pages joined are the whole, in a stable order.",
    ),
    Promise(
        "cli.offset", "CLI, 8", "A page by offset says its offset and the next one, null on the last page."
    ),
    Promise("cli.truncated", "CLI, 8", "A list that was cut says so."),
    Promise(
        "cli.ids-and-times", "CLI, 8", "Ids are strings and times are ISO 8601 in UTC, wherever they stand."
    ),
    Promise("cli.sort-declared", "CLI, 8", "Every list declares its order and its paging in `reference`."),
    Promise(
        "cli.no-question",
        "CLI, 8",
        "A filter that is missing is no question, and finding nothing says what was searched.",
    ),
    Promise("cli.filters", "CLI, 8.1", "A filter acts on the whole list and not on one page of it."),
    Promise(
        "cli.heavy",
        "CLI, 8.2",
        "Heavy parts never stand in a list; they are fetched on demand, and fields choose from them.",
    ),
    Promise("cli.expand", "CLI, 8.2", "A part that is left out by default is added by name."),
    Promise(
        "cli.fan-out", "CLI, 8.3", "What cannot be read is listed with its trouble and hides nothing else."
    ),
    Promise(
        "cli.batch-inputs",
        "CLI, 15.1",
        "Targets are given with commas, repeated or both; doubles go and the order stays.",
    ),
    Promise("cli.batch-of-one", "CLI, 15.1", "One target has the shape of many."),
    Promise("cli.batch-empty", "CLI, 15.1", "No target is refused with exit 2."),
    Promise(
        "cli.batch-preview",
        "CLI, 15.2",
        "The preview of a batch names the action and every target, and the token is bound to all of them.",
    ),
    Promise("cli.batch-token", "CLI, 15.3", "One token does the whole batch, once."),
    Promise(
        "cli.dangerous",
        "CLI, 15.4",
        "What destroys needs `--dangerous` and the token; a token without the word stays good.",
    ),
    Promise(
        "cli.dangerous-declared",
        "CLI, 15.4",
        "`reference` marks what destroys, shows it with the flag, and says when a batch stops.",
    ),
    Promise(
        "cli.batch-items",
        "CLI, 15.5",
        "Each target has its own result, with code and retryable where it failed; nothing is rolled back.",
    ),
    Promise(
        "cli.batch-tally", "CLI, 15.5", "The tally is that of the items; a partly failed batch is a success."
    ),
    Promise("cli.batch-none", "CLI, 15.5", "A batch that could not run at all is a failure."),
    Promise(
        "cli.batch-stops",
        "CLI, 15.5",
        "A batch goes on after a failure unless told otherwise or dangerous; what it left is named.",
    ),
    Promise(
        "cli.batch-ended", "CLI, 15.5", "A signal ends a batch between two targets and says which are done."
    ),
)
