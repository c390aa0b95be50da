"""What CONT, the specification of continuation tokens, promises. The place of a row is a section."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    CONT 6 and 7
      code.cont.printed: Every command line and every key of CONT's examples works as printed, and so do
          suggested lines.
    CONT 6.1
      code.cont.menu: A search answers with results and tokens, and a token alone gets the next answer.
    CONT 6.2
      code.cont.preview-then-apply: An edit is located, shown and applied with tokens; until `--fix` no
          byte changes.
    CONT 4.3
      code.cont.cancel: A preview can be shown as a full diff or cancelled, and neither writes.
    CONT 7.1
      code.cont.invalid-token: A token that was not signed here answers INVALID_TOKEN with a suggestion.
    CONT 2.3
      code.cont.foreign-token: A token of another checkout fails, and what it offers repeats its query and
          never a write.
    CONT 7.2
      code.cont.expired-token: An expired token of a read comes with a fresh one, and `--refresh` uses it
          at once.
    CONT 7.3
      code.cont.stale-write: A write is refused with both digests and a new token when the source changed.
    CONT 3.3
      code.cont.stale-read: A read answers with what is there now, and says that it changed.
      code.cont.gone: When the file of a token is gone, the answer suggests the search that finds it
          again.
      code.cont.one-action: A token allows its own action in its own tool, and a refusal names it.
    CONT 2.2, 5.1
      code.cont.payload: A token stays under 2 KB, lives an hour, holds its parameters, and names its
          parent by digest.
    CONT 4.2
      code.cont.guard: Only a guarded token together with `--fix` writes.
    CONT 5.2
      code.cont.refetch: Parameters that do not fit a token are digests in it; `--refetch` brings them
          back.
    CONT 6.3
      code.workflow.choice: A workflow file runs to its choice and answers with the step and a token per
          option.
      code.workflow.checkpoints: In checkpoint mode the run stops after each step, and its token goes on.
    CONT 4.2
      code.workflow.guard: An action writes after a choice that its condition reads, or with an ack or
          `--fix` of its own.
    CONT 7.3
      code.workflow.stale: A plan is not applied to files that changed since; the preview can be made
          again.
    CONT 3.3, 7
      code.workflow.tokens: A resume token that is damaged, foreign, expired or of another tool says what
          to do next.
    """
)
