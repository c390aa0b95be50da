"""What CONT and the design promise of workflows whose actions Handrail runs itself."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "code.workflow.choice",
        "CONT 6.3",
        "A workflow file runs to its choice and answers with the step and a token per option.",
    ),
    Promise(
        "code.workflow.checkpoints",
        "CONT 6.3",
        "In checkpoint mode the run stops after each step, and its token goes on.",
    ),
    Promise(
        "code.workflow.same-log",
        "code-tools, commands",
        "The run is an ordinary one: sessions list it, and any other command can go on with it.",
    ),
    Promise(
        "code.workflow.own-actions",
        "workflows, source",
        "An action that names a code tool is run by Handrail; its result is recorded and steers the run.",
    ),
    Promise(
        "code.workflow.guard",
        "CONT 4.2",
        "An action writes after a choice that its condition reads, or with an ack or `--fix` of its own.",
    ),
    Promise(
        "code.workflow.once",
        "execution, the three ways to call continue",
        "A repeated call runs no action twice, and finishes what a killed one began.",
    ),
    Promise(
        "code.workflow.race",
        "tokens, kinds",
        "Two calls with one resume token write once and get one answer; another option is told it came late.",
    ),
    Promise(
        "code.workflow.stale",
        "CONT 7.3",
        "A plan is not applied to files that changed since; the preview can be made again.",
    ),
    Promise(
        "code.workflow.trouble",
        "execution, blocked",
        "An action that cannot be carried out blocks with its reason, and a corrected call goes on.",
    ),
    Promise(
        "code.workflow.tokens",
        "CONT 3.3, 7",
        "A resume token that is damaged, foreign, expired or of another tool says what to do next.",
    ),
    Promise(
        "code.workflow.bad-file",
        "workflows, validation",
        "A workflow file that is wrong is refused with every problem before anything runs.",
    ),
    Promise(
        "code.workflow.saved",
        "workflows, source",
        "What an action saves is set by the action alone.",
    ),
)
