"""What our own design adds to the specifications: rules that users can rely on."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES = (
    Promise(
        "continue.replay.other-input",
        "DESIGN D9",
        "Other content with a used ack is not stored, and that is said.",
    ),
    Promise(
        "resume.ranked",
        "execution, resume",
        "Certain matches come before likely and recent ones; each says why.",
    ),
    Promise("several.named", "DESIGN D10", "Every reply names its run; tokens of two runs are told apart."),
    Promise("several.way-back", "DESIGN D10", "An outdated token leads to the tip with one more call."),
    Promise("start.duplicate", "mcp-and-http 1.1", "A start that equals an untouched one says so."),
    Promise(
        "start.first-here",
        "MCP and HTTP, section 7, S11",
        "The first run of a file from elsewhere is announced.",
    ),
    Promise("source.differs", "execution, must hold 6", "A rehydrate says that the file has changed."),
    Promise("session.switched-off", "mcp-and-http 1.1", "Switched off, agents are not offered it."),
    Promise(
        "session.without-run", "DESIGN 9", "A session without a run keeps notes, is found, and takes runs."
    ),
    Promise(
        "session.notes-by-id",
        "clarity, section 1",
        "Notes by the id of a session are a checkpoint of its work, kept once per key.",
    ),
    Promise("context.lineage", "DESIGN 9", "Context follows lineage: a fork never sees its sibling's."),
    Promise(
        "notes.kept-whole", "DESIGN 9", "Notes up to 64 KB are kept whole; recaps show a part and say so."
    ),
    Promise("tokens.repair", "DESIGN D7", "One wrong character is repaired and reported, two are refused."),
    Promise("tokens.glued", "tokens", "A state and an ack pasted together are told apart."),
    Promise(
        "tokens.wrong-field", "mcp-and-http 1.1", "A token in the wrong field is refused, never guessed."
    ),
    Promise("tokens.lost-history", "DESIGN D8", "A token proves that acknowledged history was cut off."),
    Promise(
        "tokens.rotation", "tokens, keyring", "Tokens of the previous key work, those of an older one do not."
    ),
    Promise(
        "input.nothing-stored",
        "mcp-and-http 1.1",
        "Output without an ack is refused with the call that stores it.",
    ),
    Promise(
        "workflows.broken-file", "workflows", "One broken file is listed with its problems and hides nothing."
    ),
    Promise("blocked.nodes", "execution, blocked", "N blocked attempts are N nodes and never a fork."),
    Promise("gaps.resolved", "execution, reasons", "A later gap settles an earlier one by link."),
    Promise("gates.followup", "workflows", "An assessment level that needs a follow-up blocks until then."),
    Promise("artifacts.limits", "execution, outputs", "Artifacts over a limit are refused whole."),
    Promise("artifacts.recap", "execution, outputs", "Current artifacts come back after a loss of context."),
    Promise("inputs.checked", "DESIGN D12", "Every problem of the inputs at once, with a call to fill in."),
    Promise("conditions.branch", "DESIGN D13", "Inputs and validated artifacts decide the way; it is told."),
    Promise("choices.tokens", "DESIGN 9", "A choice has a token per option, and an option sets context."),
    Promise("choices.replay", "tokens", "Only the first choice counts; its reply is replayed."),
    Promise("choices.user", "execution, reasons", "A choice that is the user's is never made in silence."),
    Promise("loops.decided", "DESIGN 9", "A loop goes on as its last step decided, and only then."),
    Promise("loops.attributable", "execution, loops", "Every loop exit has a reason that is shown."),
    Promise("prompts.filled", "workflows", "Prompts hold the values of the case and of the iteration."),
    Promise("prompts.recovered", "execution, recap", "Functions and references come again after a loss."),
    Promise("bundle.idempotent", "DESIGN 9", "The same bundle twice makes one session."),
    Promise("bundle.label", "DESIGN 9", "An imported session says so wherever it is told of."),
    Promise("bundle.provenance", "DESIGN D6", "A copy can be proven event by event against its source."),
    Promise("bundle.gated", "CLI 9", "An import is shown first, and made only as it was shown."),
    Promise(
        "answers.every-code",
        "execution, must hold 5",
        "Every error, blocker, reason, warning and event kind that exists can come out of a surface.",
    ),
    Promise(
        "cli.exact-names",
        "agent-cli 4",
        "Names are exact: no prefix, no other case; the nearest is told and never run.",
    ),
    Promise(
        "cli.flags-anywhere",
        "agent-cli 4",
        "Global flags stand anywhere; equal repeats pass and different ones are refused.",
    ),
    Promise("cli.strict-integers", "agent-cli 4", "An integer is ASCII digits within its range."),
    Promise(
        "cli.strict-values",
        "agent-cli 4",
        "Ids are 1 to 128 printable ASCII characters, times end in Z, and control characters are refused.",
    ),
    Promise(
        "cli.all-problems",
        "agent-cli 4",
        "Every problem of a line is told at once, each once, with the same four keys.",
    ),
    Promise("cli.next-command", "agent-cli 1", "A refusal carries a line that runs as it stands."),
    Promise(
        "cli.input",
        "agent-cli 4",
        "`--input` takes what `nextCall` of a reply gives; a field given twice differently is refused.",
    ),
    Promise("cli.one-field", "agent-cli 4", "`--field` is one bare value, and not beside `--fields`."),
    Promise(
        "cli.budget",
        "agent-cli 4",
        "Every budget holds for the whole document, and a cut list goes on where it was cut.",
    ),
    Promise(
        "cli.verdict",
        "agent-cli 4",
        "A negative verdict is a failure with the report, and an answer with `--report-only`.",
    ),
    Promise("cli.timeout", "agent-cli 4", "`--timeout` covers stdin and waiting for a lock."),
    Promise(
        "cli.precedence", "agent-cli 4", "A flag beats the environment, that the project, that the user."
    ),
    Promise(
        "cli.project-settings",
        "agent-cli 4",
        "Settings of a project say how answers look, and set neither store, keys, update nor permissions.",
    ),
    Promise("cli.ceiling", "agent-cli 6", "`max_effect` is a ceiling that the environment can only lower."),
    Promise(
        "cli.secret-variable",
        "agent-cli 4",
        "`AI_NATIVE_CLI_SECRET` stands in for the key file, and one that is too short is refused unseen.",
    ),
    Promise(
        "cli.ack-dry-run",
        "agent-cli 3",
        "A dry run of an acknowledgement tells the verdict and nothing that would go on.",
    ),
    Promise("cli.hook", "agent-cli 3", "A hook never fails its host, whatever its line is."),
    Promise("cli.cold-start", "agent-cli 2", "A command loads what it needs and nothing heavy."),
)
