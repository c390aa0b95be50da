"""What CONT and the design promise of the code tools: tokens, questions, edits, and what strangers send."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

_TOKENS: tuple[Promise, ...] = (
    Promise(
        "code.cont.printed",
        "CONT 6 and 7",
        "Every command line and every key of CONT's examples works as printed, and so do suggested lines.",
    ),
    Promise(
        "code.cont.menu",
        "CONT 6.1",
        "A search answers with results and tokens, and a token alone gets the next answer.",
    ),
    Promise(
        "code.cont.preview-then-apply",
        "CONT 6.2",
        "An edit is located, shown and applied with tokens; until `--fix` no byte changes.",
    ),
    Promise(
        "code.cont.cancel",
        "CONT 4.3",
        "A preview can be shown as a full diff or cancelled, and neither writes.",
    ),
    Promise(
        "code.cont.invalid-token",
        "CONT 7.1",
        "A token that was not signed here answers INVALID_TOKEN with a suggestion.",
    ),
    Promise(
        "code.cont.foreign-token",
        "CONT 2.3",
        "A token of another checkout fails, and what it offers repeats its query and never a write.",
    ),
    Promise(
        "code.cont.expired-token",
        "CONT 7.2",
        "An expired token of a read comes with a fresh one, and `--refresh` uses it at once.",
    ),
    Promise(
        "code.cont.expired-write",
        "tokens, continuation tokens",
        "An expired token that writes is never refreshed.",
    ),
    Promise(
        "code.cont.stale-write",
        "CONT 7.3",
        "A write is refused with both digests and a new token when the source changed.",
    ),
    Promise(
        "code.cont.stale-read",
        "CONT 3.3",
        "A read answers with what is there now, and says that it changed.",
    ),
    Promise(
        "code.cont.gone",
        "CONT 3.3",
        "When the file of a token is gone, the answer suggests the search that finds it again.",
    ),
    Promise(
        "code.cont.one-action",
        "CONT 3.3",
        "A token allows its own action in its own tool, and a refusal names it.",
    ),
    Promise(
        "code.cont.payload",
        "CONT 2.2, 5.1",
        "A token stays under 2 KB, lives an hour, holds its parameters, and names its parent by digest.",
    ),
    Promise(
        "code.cont.guard",
        "CONT 4.2",
        "Only a guarded token together with `--fix` writes.",
    ),
    Promise(
        "code.cont.single-use",
        "tokens, continuation tokens",
        "An apply token works once, also when the files are as before.",
    ),
    Promise(
        "code.cont.refetch",
        "CONT 5.2",
        "Parameters that do not fit a token are digests in it; `--refetch` brings them back.",
    ),
    Promise(
        "code.cont.envelopes",
        "agent-cli, section 12",
        "The scripts print the bare document; `scan` and `edit` put the same one into an envelope.",
    ),
)
_QUESTIONS: tuple[Promise, ...] = (
    Promise(
        "code.scan.same-answers",
        "code-tools, how it works",
        "No answer depends on what is kept of earlier calls, and the store can be deleted at any time.",
    ),
    Promise(
        "code.scan.search",
        "code-tools, what the answers mean",
        "A search lists definitions before uses, and exact and exported names first.",
    ),
    Promise("code.scan.pages", "code-tools, what the answers mean", "Pages joined are the whole list."),
    Promise(
        "code.scan.filters",
        "code-tools, commands",
        "Scope, kind, hash and export narrow a search.",
    ),
    Promise(
        "code.scan.trace",
        "code-tools, what the answers mean",
        "A trace is a tree of callers or callees.",
    ),
    Promise(
        "code.scan.ripple",
        "code-tools, what the answers mean",
        "A ripple names layers, entry points and tests, and a score by a formula that is written down.",
    ),
    Promise(
        "code.scan.honest",
        "code-tools, what the answers mean",
        "Whatever may be missing makes an answer incomplete with the reason and the place.",
    ),
    Promise(
        "code.scan.skipping",
        "code-tools, how it works",
        "Files are skipped by whole path segments, size or content, and counted.",
    ),
    Promise(
        "code.scan.several",
        "code-tools, commands",
        "A name with several definitions answers a question with a choice, and an edit with a refusal.",
    ),
)
_EDITS: tuple[Promise, ...] = (
    Promise(
        "code.edit.several",
        "code-tools, commands",
        "Several names or hashes are located in one call, and moved together.",
    ),
    Promise(
        "code.edit.batch",
        "code-tools, commands",
        "Several edits are one preview and one apply token, written as a whole or not at all.",
    ),
    Promise(
        "code.edit.move",
        "code-tools, how it works",
        "A move takes what it needs along and rewrites importers; it exports a neighbour only on request.",
    ),
    Promise(
        "code.edit.named-modules",
        "code-tools, what the answers mean",
        "A module named in quotes, as mocks and workers do, is listed by a move and never led elsewhere.",
    ),
    Promise(
        "code.edit.replace",
        "code-tools, commands",
        "A definition gets a given text of the same name, and names that nothing declares are listed.",
    ),
    Promise(
        "code.edit.bytes",
        "code-tools, how it works",
        "An edit keeps modes, line ends and every other byte; there and back is byte for byte the same.",
    ),
    Promise(
        "code.edit.refused",
        "code-tools, how it works",
        "An edit that would change a meaning is refused with the place, and nothing is written.",
    ),
    Promise(
        "code.edit.killed",
        "code-tools, must hold 4",
        "Killed before any change of an apply, each file is old or new; the same call again makes it whole, "
        "and a question changes nothing and warns.",
    ),
    Promise(
        "code.edit.full-disk",
        "code-tools, how it works",
        "A disk that refuses in the middle of an apply leaves every file as it was.",
    ),
    Promise(
        "code.edit.one-winner",
        "code-tools, must hold 4",
        "Of eight applies at once one wins, and the others answer RESULTS_STALE.",
    ),
    Promise(
        "code.hostile.paths",
        "code-tools, must hold 6",
        "No path in a flag, a token or a file of changes leads out of the project.",
    ),
    Promise(
        "code.hostile.files",
        "code-tools, must hold 6",
        "Binary files, odd encodings, huge lines, deep nesting and link loops never stop an answer.",
    ),
)
_TOOLS: tuple[Promise, ...] = (
    Promise(
        "code.set.closed",
        "mcp-and-http, section 1",
        "`handrail mcp --set code` serves exactly five tools in both eras, no prompts and no resources.",
    ),
    Promise(
        "code.set.setup",
        "agent-cli, setup",
        "`handrail setup --set code` adds the set to clients, and `--remove` leaves every byte as it was.",
    ),
    Promise(
        "code.set.budget",
        "code tools, issue 15",
        "The five definitions stay within 1,200 tokens.",
    ),
    Promise(
        "code.set.tokens",
        "code-tools, commands",
        "A search, a question, a preview and its apply are one chain of tokens, passed back as arguments.",
    ),
    Promise(
        "code.set.guard",
        "code-tools, commands",
        "Nothing is written without `fix: true` and the apply token of a preview.",
    ),
    Promise(
        "code.set.channels",
        "mcp-and-http, section 1.3",
        "Text and structured content about code are each complete alone.",
    ),
    Promise(
        "code.set.repaired",
        "mcp-and-http, section 1.1",
        "Wrong arguments and tokens of another tool are refused with the corrected call.",
    ),
)
_PYTHON: tuple[Promise, ...] = (
    Promise(
        "code.python.questions",
        "issue 15, Python sources",
        "Search, outline, dependencies, callers and ripple answer for Python as they do for JavaScript.",
    ),
    Promise(
        "code.python.rename",
        "issue 15, Python sources",
        "A rename in Python changes importers, re-exports, lists, stubs, types in strings and keywords.",
    ),
    Promise(
        "code.python.replace",
        "issue 15, Python sources",
        "A definition in Python gets a given text, indented for its place, that fits its callers.",
    ),
    Promise(
        "code.python.tools",
        "issue 15, Python sources",
        "Agents without a shell search, explain, trace, rename and replace in Python with tokens alone.",
    ),
    Promise(
        "code.python.refused",
        "issue 15, Python sources",
        "What only a run of the program could tell is refused with the place, and nothing is written.",
    ),
    Promise(
        "code.python.languages",
        "code-tools, commands",
        "`js-scan` and `js-edit` see JavaScript alone; `--languages` narrows `scan` and `edit`.",
    ),
)
_PROOF: tuple[Promise, ...] = (
    Promise(
        "code.proof.callers",
        "trust, rule 25",
        'A use as a value or of a member that may be a call is unsure with its place; "none" is a proof.',
    ),
    Promise(
        "code.proof.ripple",
        "trust, rule 25",
        "A ripple reaches the files around a private helper and around a member that is used.",
    ),
    Promise(
        "code.proof.clauses",
        "trust, rule 25",
        "A search finds a name that only an import or export clause spells.",
    ),
    Promise(
        "code.proof.exports",
        "trust, rule 25",
        "A move into a CommonJS module keeps what that exports, or is refused where that cannot be told.",
    ),
    Promise(
        "code.proof.complete",
        "trust, rule 25",
        "A rename that may have missed a use is not complete, and says where and why.",
    ),
    Promise(
        "code.daily.public",
        "trust, rule 26",
        "`--public follow` changes a public name to the end; otherwise the answer says what was kept.",
    ),
    Promise(
        "code.daily.members",
        "trust, rule 26",
        "A member changes wherever its class is proven, and any other place is refused and named.",
    ),
    Promise(
        "code.daily.accepted",
        "trust, rule 26",
        "A place that somebody accepted is passed over and kept as a reason; a changed meaning never is.",
    ),
    Promise(
        "code.daily.way-back",
        "trust, rule 26",
        "A move there and back restores the bytes, or the preview names the files that will differ.",
    ),
    Promise(
        "code.daily.diff",
        "trust, rule 26",
        "A person sees an edit as a diff before it is made.",
    ),
)
PROMISES: tuple[Promise, ...] = (*_TOKENS, *_QUESTIONS, *_EDITS, *_PROOF, *_TOOLS, *_PYTHON)
