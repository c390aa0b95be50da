"""What CONT and the design promise of the code tools: tokens, questions, edits, and what strangers send."""

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
      code.cont.preview-then-apply: An edit is located, shown and applied with tokens; until `--fix` no byte
          changes.
    CONT 4.3
      code.cont.cancel: A preview can be shown as a full diff or cancelled, and neither writes.
    CONT 7.1
      code.cont.invalid-token: A token that was not signed here answers INVALID_TOKEN with a suggestion.
    CONT 2.3
      code.cont.foreign-token: A token of another checkout fails, and what it offers repeats its query and
          never a write.
    CONT 7.2
      code.cont.expired-token: An expired token of a read comes with a fresh one, and `--refresh` uses it at
          once.
    tokens, continuation tokens
      code.cont.expired-write: An expired token that writes is never refreshed.
      code.cont.single-use: An apply token works once, also when the files are as before.
    CONT 7.3
      code.cont.stale-write: A write is refused with both digests and a new token when the source changed.
    CONT 3.3
      code.cont.stale-read: A read answers with what is there now, and says that it changed.
      code.cont.gone: When the file of a token is gone, the answer suggests the search that finds it again.
      code.cont.one-action: A token allows its own action in its own tool, and a refusal names it.
    CONT 2.2, 5.1
      code.cont.payload: A token stays under 2 KB, lives an hour, holds its parameters, and names its parent
          by digest.
    CONT 4.2
      code.cont.guard: Only a guarded token together with `--fix` writes.
    CONT 5.2
      code.cont.refetch: Parameters that do not fit a token are digests in it; `--refetch` brings them back.
    agent-cli, section 12
      code.cont.envelopes: The scripts print the bare document; `scan` and `edit` put the same one into an
          envelope.
    code-tools, how it works
      code.scan.same-answers: No answer depends on what is kept of earlier calls, and the store can be
          deleted at any time.
      code.scan.skipping: Files are skipped by whole path segments, size or content, and counted.
      code.edit.move: A move takes what it needs along and rewrites importers; it exports a neighbour only
          on request.
      code.edit.bytes: An edit keeps modes, line ends and every other byte; there and back is byte for byte
          the same.
      code.edit.refused: An edit that would change a meaning is refused with the place, and nothing is
          written.
      code.edit.full-disk: A disk that refuses in the middle of an apply leaves every file as it was.
    code-tools, what the answers mean
      code.scan.search: A search lists definitions before uses, and exact and exported names first.
      code.scan.pages: Pages joined are the whole list.
      code.scan.trace: A trace is a tree of callers or callees.
      code.scan.ripple: A ripple names layers, entry points and tests, and a score by a formula that is
          written down.
      code.scan.honest: Whatever may be missing makes an answer incomplete with the reason and the place.
      code.edit.named-modules: A module named in quotes, as mocks and workers do, is listed by a move and
          never led elsewhere.
    code-tools, commands
      code.scan.filters: Scope, kind, hash and export narrow a search.
      code.scan.several: A name with several definitions answers a question with a choice, and an edit with
          a refusal.
      code.edit.several: Several names or hashes are located in one call, and moved together.
      code.edit.batch: Several edits are one preview and one apply token, written as a whole or not at all.
      code.edit.replace: A definition gets a given text of the same name, and names that nothing declares
          are listed.
      code.set.tokens: A search, a question, a preview and its apply are one chain of tokens, passed back as
          arguments.
      code.set.guard: Nothing is written without `fix: true` and the apply token of a preview.
      code.python.languages: `js-scan` and `js-edit` see JavaScript alone; `--languages` narrows `scan` and
          `edit`.
    code-tools, must hold 4
      code.edit.killed: Killed before any change of an apply, each file is old or new; the same call again
          makes it whole, and a question changes nothing and warns.
      code.edit.one-winner: Of eight applies at once one wins, and the others answer RESULTS_STALE.
    code-tools, must hold 6
      code.hostile.paths: No path in a flag, a token or a file of changes leads out of the project.
      code.hostile.files: Binary files, odd encodings, huge lines, deep nesting and link loops never stop an
          answer.
    trust, rule 25
      code.proof.callers: A use as a value or of a member that may be a call is unsure with its place;
          "none" is a proof.
      code.proof.ripple: A ripple reaches the files around a private helper and around a member that is
          used.
      code.proof.clauses: A search finds a name that only an import or export clause spells.
      code.proof.exports: A move into a CommonJS module keeps what that exports, or is refused where that
          cannot be told.
      code.proof.complete: A rename that may have missed a use is not complete, and says where and why.
    trust, rule 26
      code.daily.public: `--public follow` changes a public name to the end; otherwise the answer says what
          was kept.
      code.daily.members: A member changes wherever its class is proven, and any other place is refused and
          named.
      code.daily.accepted: A place that somebody accepted is passed over and kept as a reason; a changed
          meaning never is.
      code.daily.way-back: A move there and back restores the bytes, or the preview names the files that
          will differ.
      code.daily.diff: A person sees an edit as a diff before it is made.
    mcp-and-http, section 1
      code.set.closed: `handrail mcp --set code` serves exactly five tools in both eras, no prompts and no
          resources.
    agent-cli, setup
      code.set.setup: `handrail setup --set code` adds the set to clients, and `--remove` leaves every byte
          as it was.
    code tools, issue 15
      code.set.budget: The five definitions stay within 1,200 tokens.
    mcp-and-http, section 1.3
      code.set.channels: Text and structured content about code are each complete alone.
    mcp-and-http, section 1.1
      code.set.repaired: Wrong arguments and tokens of another tool are refused with the corrected call.
    issue 15, Python sources
      code.python.questions: Search, outline, dependencies, callers and ripple answer for Python as they do
          for JavaScript.
      code.python.rename: A rename in Python changes importers, re-exports, lists, stubs, types in strings
          and keywords.
      code.python.replace: A definition in Python gets a given text, indented for its place, that fits its
          callers.
      code.python.tools: Agents without a shell search, explain, trace, rename and replace in Python with
          tokens alone.
      code.python.refused: What only a run of the program could tell is refused with the place, and nothing
          is written.
    """
)
