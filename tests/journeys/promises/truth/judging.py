"""What the rules promise of what counts: artifacts, observations, decisions, retries (truth, section 1)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    truth, R1
      truth.counts.full-kind: An artifact counts for a contract under its full kind and by a recorded
          validation, or not at all; a kind that is nearly one we know is named with the right one, however
          many came.
      truth.counts.exec-names: The names that EXEC itself gives, workflow_divergence and gap, are taken as
          the real thing.
      truth.counts.option-sets: A value that contradicts what the chosen option sets is refused, not
          dropped.
      truth.counts.own-rows: What an artifact names among its own rows is one of them: the option that a
          decision chose, the slices that a slice of a plan depends on.
    truth, R2
      truth.counts.own-object: A requirement is met by its own object: this loop, that capability, the
          assessment with its id.
      truth.counts.capability-lost: A required capability that is found missing later blocks, or becomes a
          gap, wherever that is told.
    truth, R16
      truth.counts.no-empty-answer: Where something is required of the user or the agent, blank text, text
          of invisible characters alone, an empty list or object, and a placeholder of our own are no
          answer, at the start and later.
    execution, Capabilities; truth, R16
      truth.counts.capability-cured: A run that lacks a capability says what must change and frames the
          observation that goes on; one that the capability works settles the gap about it.
    truth, R3
      truth.retry.good-only: A retry takes over what was good and never what was wrong; one corrected call
          is enough.
    truth, R14
      truth.retry.all-faults: A blocked reply lists every fault, ten in full, and a retry replaces what it
          sends again.
    truth, R4
      truth.facts.every-call: A gap, an observation or a divergence counts the same, whichever call brings
          it.
      truth.facts.refused-call: A gap, an observation or a divergence of an attempt that is blocked counts
          at once, and is recorded once, whatever follows.
      truth.facts.checkpoint-counts: What a checkpoint saved for a step answers the step like a report, and
          counts once.
    truth, R33
      truth.facts.known-gaps: Only a gap that was recorded on the branch can be resolved.
      truth.warnings.fields: A warning carries the ids and values that it speaks of as fields.
    truth, R5
      truth.preferences.next-call: Changed preferences apply at the next call that creates a node, a retry
          included.
    EXEC, Preferences; truth, R5
      truth.preferences.going-back: A change reaches the places where work stood when it was made; an older
          step is told and judged in its own, and what is told is what its report meets.
    truth, R6
      truth.confirmations.late: A confirmation that only the report makes necessary is asked for then, or
          disclosed; validate names a first step that reads what nobody can have sent.
    truth, R9
      truth.prompts.loop-named: A prompt calls the loop id optional only where leaving it out is accepted.
      truth.notes.required: Notes that a step calls required are required.
    truth, R9, R16
      truth.frames.inner-names: The required members of an artifact's members are named before their lack
          can block: in the example or in the frame of the next call, within the cost of a frame.
    truth, R6, R31
      truth.prompts.not-given: A prompt says of a value that nobody gave that it was not given, wherever it
          stands; no raw placeholder is shown, but in code that is about something else.
    execution, Context
      truth.context.merged-limit: The context of a branch is bounded, whatever its single calls bring.
    truth, R13
      truth.endings.contradicted: A verdict that the rows of its own report contradict does not pass.
      truth.endings.verification: A run whose last verification failed does not end as plain complete; one
          that passes later settles it.
    truth, R6, R7
      truth.loops.counted-by-a-value: A loop that runs as often as a value says tells its own rounds, skips
          nothing falsely, and asks for the value.
    truth, R33; hardening, H4
      truth.gone.nothing-made: A call for a session that is not there, or not there any more, is refused as
          such, and nothing of it is made again.
    """
)
