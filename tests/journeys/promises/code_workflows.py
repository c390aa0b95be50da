"""What CONT and the design promise of workflows whose actions Handrail runs itself."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    CONT 6.3
      code.workflow.choice: A workflow file runs to its choice and answers with the step and a token per
          option.
      code.workflow.checkpoints: In checkpoint mode the run stops after each step, and its token goes on.
    code-tools, commands
      code.workflow.same-log: The run is an ordinary one: sessions list it, and any other command can go on
          with it.
    workflows, source
      code.workflow.own-actions: An action that names a code tool is run by Handrail; its result is recorded
          and steers the run.
      code.workflow.saved: What an action saves is set by the action alone.
    CONT 4.2
      code.workflow.guard: An action writes after a choice that its condition reads, or with an ack or
          `--fix` of its own.
    execution, the three ways to call continue
      code.workflow.once: A repeated call runs no action twice, and finishes what a killed one began.
    tokens, kinds
      code.workflow.race: Two calls with one resume token write once and get one answer; another option is
          told it came late.
    CONT 7.3
      code.workflow.stale: A plan is not applied to files that changed since; the preview can be made again.
    execution, blocked
      code.workflow.trouble: An action that cannot be carried out blocks with its reason, and a corrected
          call goes on.
    CONT 3.3, 7
      code.workflow.tokens: A resume token that is damaged, foreign, expired or of another tool says what to
          do next.
    workflows, validation
      code.workflow.bad-file: A workflow file that is wrong is refused with every problem before anything
          runs.
    """
)
