"""What CLI promises of lists and batches."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    CLI, 8
      cli.dotted-fields: Dotted names reach into objects, and `reference` lists them.
      cli.paging: A page has items, count, next_cursor and has_more; pages joined are the whole, in a stable
          order.
      cli.offset: A page by offset says its offset and the next one, null on the last page.
      cli.truncated: A list that was cut says so.
      cli.ids-and-times: Ids are strings and times are ISO 8601 in UTC, wherever they stand.
      cli.sort-declared: Every list declares its order and its paging in `reference`.
      cli.no-question: A filter that is missing is no question, and finding nothing says what was searched.
    CLI, 8.1
      cli.filters: A filter acts on the whole list and not on one page of it.
    CLI, 8.2
      cli.heavy: Heavy parts never stand in a list; they are fetched on demand, and fields choose from them.
      cli.expand: A part that is left out by default is added by name.
    CLI, 8.3
      cli.fan-out: What cannot be read is listed with its trouble and hides nothing else.
    CLI, 15.1
      cli.batch-inputs: Targets are given with commas, repeated or both; doubles go and the order stays.
      cli.batch-of-one: One target has the shape of many.
      cli.batch-empty: No target is refused with exit 2.
    CLI, 15.2
      cli.batch-preview: The preview of a batch names the action and every target, and the token is bound to
          all of them.
    CLI, 15.3
      cli.batch-token: One token does the whole batch, once.
    CLI, 15.4
      cli.dangerous: What destroys needs `--dangerous` and the token; a token without the word stays good.
      cli.dangerous-declared: `reference` marks what destroys, shows it with the flag, and says when a batch
          stops.
    CLI, 15.5
      cli.batch-items: Each target has its own result, with code and retryable where it failed; nothing is
          rolled back.
      cli.batch-tally: The tally is that of the items; a partly failed batch is a success.
      cli.batch-none: A batch that could not run at all is a failure.
      cli.batch-stops: A batch goes on after a failure unless told otherwise or dangerous; what it left is
          named.
      cli.batch-ended: A signal ends a batch between two targets and says which are done.
    """
)
