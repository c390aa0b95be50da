"""What our own design adds to the specifications: rules that users can rely on."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    DESIGN D9
      continue.replay.other-input: Other content with a used ack is not stored, and that is said.
    execution, resume
      resume.ranked: Certain matches come before likely and recent ones; each says why.
    DESIGN D10
      several.named: Every reply names its run; tokens of two runs are told apart.
      several.way-back: An outdated token leads to the tip with one more call.
    mcp-and-http 1.1
      start.duplicate: A start that equals an untouched one says so.
      session.switched-off: Switched off, agents are not offered it.
      tokens.wrong-field: A token in the wrong field is refused, never guessed.
      input.nothing-stored: Output without an ack is refused with the call that stores it.
    MCP and HTTP, section 7, S11
      start.first-here: The first run of a file from elsewhere is announced.
    execution, must hold 6
      source.differs: A rehydrate says that the file has changed.
    DESIGN 9
      session.without-run: A session without a run keeps notes, is found, and takes runs.
      context.lineage: Context follows lineage: a fork never sees its sibling's.
      notes.kept-whole: Notes up to 64 KB are kept whole; recaps show a part and say so.
      choices.tokens: A choice has a token per option, and an option sets context.
      loops.decided: A loop goes on as its last step decided, and only then.
      bundle.idempotent: The same bundle twice makes one session.
      store.proven: An answer, a check result or a proof counts only in the store that recorded it.
      bundle.label: An imported session says so wherever it is told of.
    clarity, section 1
      session.notes-by-id: Notes by the id of a session are a checkpoint of its work, kept once per key.
    DESIGN D7
      tokens.repair: One wrong character is repaired and reported, two are refused.
    tokens
      tokens.glued: A state and an ack pasted together are told apart.
      choices.replay: Only the first choice counts; its reply is replayed.
    DESIGN D8
      tokens.lost-history: A token proves that acknowledged history was cut off.
    tokens, keyring
      tokens.rotation: Tokens of the previous key work, those of an older one do not.
    workflows
      workflows.broken-file: One broken file is listed with its problems and hides nothing.
      gates.followup: An assessment level that needs a follow-up blocks until then.
      prompts.filled: Prompts hold the values of the case and of the iteration.
    execution, blocked
      blocked.nodes: N blocked attempts are N nodes and never a fork.
    execution, reasons
      gaps.resolved: A later gap settles an earlier one by link.
      choices.user: A choice that is the user's is never made in silence.
    execution, outputs
      artifacts.limits: Artifacts over a limit are refused whole.
      artifacts.recap: Current artifacts come back after a loss of context.
    DESIGN D12
      inputs.checked: Every problem of the inputs at once, with a call to fill in.
    DESIGN D13
      conditions.branch: Inputs and validated artifacts decide the way; it is told.
    execution, loops
      loops.attributable: Every loop exit has a reason that is shown.
    execution, recap
      prompts.recovered: Functions and references come again after a loss.
    DESIGN D6
      bundle.provenance: A copy can be proven event by event against its source.
    CLI 9
      bundle.gated: An import is shown first, and made only as it was shown.
    execution, must hold 5
      answers.every-code: Every error, blocker, reason, warning and event kind that exists can come out of a
          surface.
    agent-cli 4
      cli.exact-names: Names are exact: no prefix, no other case; the nearest is told and never run.
      cli.flags-anywhere: Global flags stand anywhere; equal repeats pass and different ones are refused.
      cli.strict-integers: An integer is ASCII digits within its range.
      cli.strict-values: Ids are 1 to 128 printable ASCII characters, times end in Z, and control characters
          are refused.
      cli.all-problems: Every problem of a line is told at once, each once, with the same four keys.
      cli.input: `--input` takes what `nextCall` of a reply gives; a field given twice differently is
          refused.
      cli.one-field: `--field` is one bare value, and not beside `--fields`.
      cli.budget: Every budget holds for the whole document, and a cut list goes on where it was cut.
      cli.verdict: A negative verdict is a failure with the report, and an answer with `--report-only`.
      cli.timeout: `--timeout` covers stdin and waiting for a lock.
      cli.precedence: A flag beats the environment, that the project, that the user.
      cli.project-settings: Settings of a project say how answers look, and set neither store, keys, update
          nor permissions.
      cli.secret-variable: `AI_NATIVE_CLI_SECRET` stands in for the key file, and one that is too short is
          refused unseen.
    agent-cli 1
      cli.next-command: A refusal carries a line that runs as it stands.
    agent-cli 6
      cli.ceiling: `max_effect` is a ceiling that the environment can only lower.
    agent-cli 3
      cli.ack-dry-run: A dry run of an acknowledgement tells the verdict and nothing that would go on.
      cli.hook: A hook never fails its host, whatever its line is.
    agent-cli 2
      cli.cold-start: A command loads what it needs and nothing heavy.
    security, section 5
      update.no-release: Until a release is published, no call asks an index for Handrail and no line does.
      setup.hostile-project: In a checkout `setup` follows no link out, waits for no pipe, and names no
          place of this machine.
      delete.lost-race: A delete that found its session changed is a failure.
    security, section 4
      audit.no-free-text: What people and agents write stands in no audit, log, telemetry or notification.
    """
)
